"""What all tests share: hypothesis' profile, the public test data, and the check that every kernel ran plain."""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import logging
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import hypothesis
import numpy as np
import pytest

from fyke import footprint
from fyke.bits import jit
from tests import source

Kernel = Callable[..., Any]
ROOT = Path(__file__).parent.parent

# Derandomised: a failure in CI is a failure here. No deadline: the machine is shared, and the first example compiles.
hypothesis.settings.register_profile("fyke", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("fyke")

# To look for cycles as often as Python does, in all that tests import, would be a fifth of their time.
gc.set_threshold(20_000, 20, 20)

# Where the suite runs in a script's background, Ctrl-C is ignored, and by every process that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _hashes_wrap() -> Iterator[None]:
    """In a kernel by themselves; where it is plain, numpy would warn."""
    with np.errstate(over="warn" if jit.JIT else "ignore"):
        yield


@pytest.fixture(autouse=True)
def _loggers_stay_on() -> Iterator[None]:
    """What turns loggers off (``logging.config`` does so to all that exist) mutes every later test of its process."""
    yield
    log = logging.getLogger("fyke")
    muted = log.disabled or not log.propagate or not log.isEnabledFor(logging.WARNING)
    log.disabled, log.propagate = False, True
    assert not muted, "fyke's logger was turned off: run what does so in a process of its own"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public test data beside the project; a test that wants it is skipped where it is absent."""
    # FYKE_SHARED names it for a checkout that lies elsewhere (a worktree, say).
    folder = Path(os.environ.get("FYKE_SHARED", ROOT.parent / "shared")) / "data"
    if not folder.is_dir():
        pytest.skip(f"public test data is not at {folder}")
    return folder


_ran: set[CodeType] = set()


def _noted(decorate: Callable[[Kernel], Kernel]) -> Callable[[Kernel], Kernel]:
    """A way to make kernels, each of which notes that it ran."""

    def kernel(function: Kernel) -> Kernel:
        made = decorate(function)

        @functools.wraps(made)
        def run(*arguments: Any) -> Any:
            _ran.add(made.__code__)
            return made(*arguments)

        return run

    return kernel


if not jit.JIT:  # before any room is imported; watching every call of Python instead takes twice as long
    for _name in ("kernel", "leaf", "inlined", "vector"):
        setattr(jit, _name, _noted(getattr(jit, _name)))


LONG = (
    *("tests/cluster/test_ray", "tests/crawl/test_disks", "tests/cli/test_world", "tests/store/test_judges"),
    *("tests/crawl/internet", "tests/crawl/test_rendering", "tests/crawl/test_backup", "tests/crawl/test_control"),
    *("tests/crawl/test_crawl", "tests/cli/test_warm", "tests/test_walkthrough", "tests/test_kernels"),
    *("tests/store/test_faults", "tests/store/test_shipping", "tests/browser", "tests/dashboard/test_live"),
    *("tests/cli/test_private_addresses", "tests/crawl/test_forms", "tests/test_growth", "tests/test_fuzz"),
)
"""Tests that take long, most of it waiting: they begin first and in this order, so that nobody waits for the last."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Deal the long tests evenly to the beginnings of what each worker is given."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    long = sorted(
        (item for item in items if item.nodeid.startswith(LONG)),
        key=lambda item: next(place for place, name in enumerate(LONG) if item.nodeid.startswith(name)),
    )
    short = [item for item in items if not item.nodeid.startswith(LONG)]
    share = -(-len(items) // workers)
    dealt: list[pytest.Item] = []
    for number in range(workers):
        own = long[number::workers]
        dealt += own + [short.pop(0) for _ in range(min(len(short), share - len(own)))]
    items[:] = dealt + short


def pytest_collection_finish() -> None:
    """What is imported by now stays."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """At the end pytest looks for cycles five times: once is enough, and not in the trees of the whole source."""
    source.forget()
    gc.collect()
    gc.freeze()
    atexit.register(gc.unfreeze)  # libraries tell of what they think was leaked


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Without the compiler, a run of the kernel tests fails where a kernel never ran."""
    if jit.JIT or exitstatus != 0 or session.config.option.markexpr != "kernel":
        return
    # Those of rooms that no such test loads, too; where kernels may live, tests/test_architecture.py says.
    for path in (*source.SOURCE.rglob("*kernels.py"), *(source.SOURCE / "bits").glob("[a-z]*.py")):
        importlib.import_module(".".join(("fyke", *path.relative_to(source.SOURCE).with_suffix("").parts)))
    missed = [f"{k.__module__}.{k.__qualname__}" for k in jit.REGISTRY if k.__code__ not in _ran]
    missed = [name for name in missed if name.startswith("fyke.")]
    if missed:
        print("\nkernels that no test with the mark `kernel` runs:", *missed, sep="\n  ")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(autouse=True, scope="session")
def nobody_goes_last() -> Iterator[None]:
    """``fyke desktop`` lets everybody else go first: run in this process, the tests after it would starve."""
    from fyke.desktop import throttle

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(throttle, "be_quiet", lambda: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def nothing_is_given_back() -> Iterator[None]:
    """A crawl drops the code of every library from memory; of this process, that is much, and the next test's too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(footprint, "MAP", Path("/proc/no/map"))
        yield
