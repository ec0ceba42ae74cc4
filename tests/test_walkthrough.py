"""What the documentation tells its reader to type works: the tour as JSON, the how-to pages as they stand."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import jsonschema
import pytest

from fyke.cli import COMMANDS
from tests import json_schemas, walkthrough

TOUR, *HOWTO = walkthrough.PAGES


def walk(page: Path, folder: Path, *more: str) -> dict[str, str]:
    """Take every step of a page; return what the commands said."""
    text = page.read_text(encoding="utf-8")
    said = {}
    with walkthrough.stage(folder, delay=0.0) as on:
        on.write(text)
        for language, step in walkthrough.steps(text):
            if language == "python":
                on.execute(step)
            elif not walkthrough.unread(step):
                added = [word for word in more if word not in shlex.split(step)]
                answer = on.call(step, *added)
                assert answer.status == 0, f"{page.name}: {step}\n{answer.output}\n{answer.errors}"
                said[step] = answer.output
    return said


def test_every_command_of_the_tour_speaks_json(tmp_path: Path) -> None:
    for step, output in walk(TOUR, tmp_path, "--json").items():
        lines = output.splitlines()
        assert lines, f"{step} says nothing"
        shape = jsonschema.Draft202012Validator(json_schemas.schema_of(json_schemas.name_of(step)))
        for line in lines:
            wrong = [f"{fault.json_path}: {fault.message[:200]}" for fault in shape.iter_errors(json.loads(line))]
            assert not wrong, f"{step} is not as docs/json says: {wrong}"


def test_schemas_are_schemas_of_commands() -> None:
    known = {json_schemas.name_of(step) for language, step in walkthrough.steps(TOUR.read_text("utf-8")) if
             language == "console"}  # fmt: skip
    for path in sorted(json_schemas.FOLDER.glob("*.json")):
        jsonschema.Draft202012Validator.check_schema(json.loads(path.read_text("utf-8")))
        assert path.stem in known, f"{path.name} is of no command of the tour, so nothing is held against it"


def test_the_tour_shows_every_command() -> None:
    steps = walkthrough.steps(TOUR.read_text("utf-8"))
    assert {shlex.split(step)[1] for language, step in steps if language == "console"} == set(COMMANDS)


@pytest.mark.parametrize("page", HOWTO, ids=lambda p: p.stem)
def test_the_howto_works(page: Path, tmp_path: Path) -> None:
    assert len(walk(page, tmp_path)) + page.read_text(encoding="utf-8").count("```python\n") >= 1
