"""Every number of the lecture notes is fyke's; a wrong one is seen; each example names a module that there is."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fyke.cli import app
from fyke.lecture import all as lecture
from fyke.lecture import figures
from fyke.lecture.example import Example, Said, example


@pytest.mark.parametrize("given", lecture.EXAMPLES, ids=lambda e: e.title)
def test_the_numbers_are_the_notes(given: Example) -> None:
    facts = list(given.facts())
    assert facts
    assert [(fact.what, fact.fyke) for fact in facts] == [(fact.what, fact.notes) for fact in facts]
    assert importlib.import_module(given.module).__doc__


def test_every_set_of_notes_is_there() -> None:
    for notes in ("CS276", "CS6200", "IR:IX", "Web Search 1", "Compressed Collections"):
        assert sum(given.chapter.startswith(notes) for given in lecture.EXAMPLES) >= 4, notes


@example("Notes of nobody", "fyke.url")
def wrong() -> Iterator[Said]:
    """Two and two."""
    yield "2 + 2", 5, 2 + 2


def test_a_wrong_number_is_seen_and_is_the_status(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = CliRunner()
    monkeypatch.setattr(lecture, "EXAMPLES", (wrong,))
    told = runner.invoke(app, ["lecture"])
    assert told.exit_code == 1
    assert "DIFFERS" in told.output
    found = runner.invoke(app, ["lecture", "nobody", "--json"])
    assert found.exit_code == 1
    assert json.loads(found.output)["facts"] == [{"what": "2 + 2", "notes": "5", "fyke": "4", "agrees": False}]


def test_examples_by_a_word() -> None:
    found = CliRunner().invoke(app, ["lecture", "adler", "--json"])
    assert [json.loads(line)["module"] for line in found.output.splitlines()] == ["fyke.dedupe.exact"]


def test_figures_are_drawn_and_nobody_elses_are_replaced(tmp_path: Path) -> None:
    runner = CliRunner()
    for _ in range(2):  # the second replaces our own
        told = runner.invoke(app, ["lecture", "--plot", str(tmp_path / "f"), "--json"])
        assert told.exit_code == 0, told.output
    files = json.loads(told.output)["files"]
    assert {"age-curve.png", "slope-curve.png"} <= set(files)
    assert all((tmp_path / "f" / name).read_bytes().startswith(b"\x89PNG") for name in files)
    (tmp_path / "f" / "age-curve.png").write_bytes(b"mine")
    assert runner.invoke(app, ["lecture", "--plot", str(tmp_path / "f")]).exit_code != 0
    assert (tmp_path / "f" / "age-curve.png").read_bytes() == b"mine"


def test_the_age_curve_is_that_of_the_notes() -> None:
    (line, *_) = figures.age().axes[0].lines
    days, ages = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    assert ages[0] == 0
    assert ages[days.tolist().index(7.0)] == pytest.approx(7 / math.e)  # t − (1 − e^(−λt))/λ at t = 1/λ
