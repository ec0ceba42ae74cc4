"""What the documentation tells its reader to type works: the tour as JSON, the how-to pages as they stand."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from fyke.cli import COMMANDS
from fyke.world.serve import Served, serve
from tests import json_schemas, walkthrough

TOUR, *HOWTO = walkthrough.PAGES
BESIDE = frozenset(
    {"archive-combine", "archive-sub", "cluster-archive", "cluster-crawl", "cluster-dedupe", "cluster-down",
     "cluster-drain", "cluster-export", "cluster-join", "cluster-rank",
     "cluster-status", "cluster-try", "cluster-up", "dashboard", "dedupe-merge", "demo", "doctor", "render",
     "store-backup", "store-fetch", "store-compact", "store-delete", "store-merge", "store-prune", "store-restore",
     "store-split", "warm", "world", "world-bench"}
)  # fmt: skip
"""Commands that are not on the tour: their answers are held against their schemas in tests/cli."""


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serve(walkthrough.WORLD) as served:
        yield served


def walk(page: Path, on: walkthrough.Stage, *more: str) -> dict[str, str]:
    """Take every step of a page; return what the commands said."""
    text = page.read_text(encoding="utf-8")
    said = {}
    on.write(text)
    for language, step in walkthrough.steps(text):
        if language == "python":
            on.execute(step)
        elif not walkthrough.unread(step):
            added = [word for word in more if word not in shlex.split(step)]
            answer = on.call(step, *added)
            assert answer.returncode == 0, f"{page.name}: {step}\n{answer.stdout}\n{answer.stderr}"
            said[step] = answer.stdout
    return said


def test_every_command_of_the_tour_speaks_json(served: Served, tmp_path: Path) -> None:
    on = walkthrough.stage(served, tmp_path, delay=0.0)
    for step, output in walk(TOUR, on, "--json").items():
        assert output.splitlines(), f"{step} says nothing"
        wrong = json_schemas.faults(json_schemas.name_of(step), output)
        assert not wrong, f"{step} is not as docs/json says: {wrong}"


def test_schemas_are_schemas_of_commands() -> None:
    for path in sorted(json_schemas.FOLDER.glob("*.json")):
        jsonschema.Draft202012Validator.check_schema(json.loads(path.read_text("utf-8")))
    have = {path.stem for path in json_schemas.FOLDER.glob("*.json")}
    groups = {"control"}  # all its commands say the same
    wanted = {name.partition("-")[0] if name.partition("-")[0] in groups else name for name in json_schemas.commands()}
    assert have == wanted
    steps = [step for language, step in walkthrough.steps(TOUR.read_text("utf-8")) if language == "console"]
    checked = {json_schemas.name_of(step) for step in steps if not walkthrough.unread(step)}
    assert have - checked == BESIDE, "of the others, nothing is held against their schemas"


def test_the_tour_shows_every_command() -> None:
    steps = walkthrough.steps(TOUR.read_text("utf-8"))
    assert {shlex.split(step)[1] for language, step in steps if language == "console"} == set(COMMANDS)


@pytest.mark.parametrize("page", HOWTO, ids=lambda p: p.stem)
def test_the_howto_works(page: Path, served: Served, tmp_path: Path) -> None:
    on = walkthrough.stage(served, tmp_path, delay=0.0)
    assert len(walk(page, on)) + page.read_text(encoding="utf-8").count("```python\n") >= 1
