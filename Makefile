# Everything a newcomer types. Each target makes its own .venv the first time and starts at once afterwards.
PYTHON ?= python3
# Another Python has a .venv of its own: make test PYTHON=python3.13
VENV := .venv$(if $(filter-out python3,$(PYTHON)),-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])'))
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
# Tests wait more than they compute: some more at a time than there are cores. Each collects all tests by itself (5 s).
JOBS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 4)')
# Without bytecode each of some hundred processes compiles the source anew, and pytest every test.
unexport PYTHONDONTWRITEBYTECODE

ifdef UV
MAKE_VENV = uv venv --quiet --allow-existing --python $(PYTHON) $(VENV)
INSTALL = uv pip install --quiet --compile-bytecode --python $(BIN)/python
else
MAKE_VENV = $(PYTHON) -m venv $(VENV)
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check
endif

.PHONY: help demo test bounds lint judges bench train docs site tour lock wheel mutants clean
help: ## show this help
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):[^#]*## /make \1@/' | column -t -s@

demo: $(VENV)/.main ## a small web on loopback, and fyke at work on it
	@$(BIN)/fyke demo

test: $(VENV)/.dev ## the whole test suite, in parallel; every kernel once more without the compiler
	@$(BIN)/python -m compileall -q src tests  # once, and not by each of the hundred processes that tests start
	@$(BIN)/fyke warm all
	@$(BIN)/python -m pytest -qq --collect-only >/dev/null 2>&1 || true  # the same of the tests with their assertions
	@scratch=$$(.ci/scratch) && TMPDIR=$$scratch $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal; status=$$?; rm -rf $$scratch; exit $$status

bounds: $(VENV)/.dev ## the kernels' tests, compiled with every index checked, in a cache of their own; five minutes
	@cache=$$(mktemp -d) && NUMBA_BOUNDSCHECK=1 FYKE_CACHE_DIR=$$cache $(BIN)/python -m pytest -q -m kernel -n $(JOBS); status=$$?; rm -rf $$cache; exit $$status

audit: $(VENV)/.dev ## what is locked and installed, offline: versions, hashes, licences, versions known to be bad
	@$(BIN)/python -m tests.audit

lint: $(VENV)/.dev ## ruff, mypy and the import rules
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports

judges: .venv-judges/.judges ## the venv of other people's programs that judge exports (tests/store/test_judges.py), and npm (tests/browser/apps)

bench: $(VENV)/.bench ## fyke beside its peers
	@$(BIN)/python -m bench

train: $(VENV)/.dev ## train the model of main content anew from ../shared/data, bit for bit (docs/content.md)
	@$(BIN)/python -m bench.train_content

docs: $(VENV)/.dev ## redraw what is drawn from the source: code map, room graph, list of commands
	@$(BIN)/python -m tests.drawings

site: .venv-site/.site ## the documentation as a site in site/, with search; dead links and anything from the network are faults
	@.venv-site/bin/python .ci/site.py site

tour: $(VENV)/.dev ## run what docs/tour.md and docs/howto tell to type, and write the answers into them
	@$(BIN)/python -m tests.walkthrough

mutants: $(VENV)/.dev .venv-mutants/.mutants ## mutation tests of a sample of each room (SAMPLE=25, ROOMS=…), scores into docs/mutants.md
	@nice .venv-mutants/bin/python .ci/mutants.py $(BIN)/python $(ROOMS) --sample $(or $(SAMPLE),25)

wheel: $(VENV)/.dev ## a platform wheel with the compiled kernels, for this Python, in dist/
	@$(BIN)/python .ci/wheel.py dist

lock: ## pin the dependencies anew (needs uv)
	uv pip compile $(LOCK) pyproject.toml requirements/build.in --extra dashboard --extra plot --extra pdf -o requirements/main.lock
	uv pip compile $(LOCK) pyproject.toml requirements/build.in --extra dev -c requirements/main.lock --override requirements/override.in -o requirements/dev.lock
	uv pip compile $(LOCK) requirements/judges.in -o requirements/judges.lock
	uv pip compile $(LOCK) requirements/site.in -o requirements/site.lock
	uv pip compile $(LOCK) requirements/mutants.in -o requirements/mutants.lock
	uv pip compile $(LOCK) pyproject.toml requirements/build.in --extra bench -c requirements/dev.lock --override requirements/override.in -o requirements/bench.lock

LOCK := --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url --no-emit-find-links

clean: ## remove the virtual environments and caches
	rm -rf .venv .venv-* site .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

# Programs of others that fyke does not import, each set in a venv of its own.
.venv-judges/.judges: requirements/judges.lock
.venv-site/.site: requirements/site.lock
.venv-mutants/.mutants: requirements/mutants.lock
.venv-judges/.judges .venv-site/.site .venv-mutants/.mutants:
	@echo "making $(@D), once" >&2
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r $<
	@touch $@

# A stamp for each set of dependencies: newer than its lock file means installed.
$(VENV)/bin/python:
	@echo "making $(VENV), once" >&2
	@$(MAKE_VENV)

$(VENV)/.main $(VENV)/.dev $(VENV)/.bench: $(VENV)/.%: requirements/%.lock pyproject.toml | $(VENV)/bin/python
	@echo "installing the locked dependencies ($*), once; a minute or two" >&2
	@$(INSTALL) --require-hashes --no-deps -r requirements/$*.lock
	@$(INSTALL) --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q src  # as of what is installed; some environments keep Python from it later
	@touch $@
