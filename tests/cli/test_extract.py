"""fyke extract: text, blocks, JSON and a picture from a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fyke.cli import run

PAGE = (
    "<title>Sharks</title><nav><ul><li><a href=/>Home</a></li></ul></nav>"
    "<article><h1>Sharks</h1>"
    "<p>The sharks were flown eight thousand miles, and the crowd was glad to see them.</p></article>"
)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    file = tmp_path / "page.html"
    file.write_text(PAGE, encoding="utf-8")
    return file


def test_text_is_printed(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["extract", str(page)]) == 0
    out = capsys.readouterr().out
    assert "eight thousand miles" in out
    assert "Home" not in out


def test_every_method_answers_in_json(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["extract", str(page), "--method", "all", "--json", "--show", "blocks"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [f["method"] for f in found] == ["auto", "plateau", "slices", "dom", "layout"]
    assert all(f["title"] == "Sharks" for f in found)
    assert {b["text"] for b in found[0]["blocks"]} >= {"Home", "Sharks"}


def test_blocks_and_html_are_shown(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["extract", str(page), "--show", "blocks"]) == 0
    assert "navigation" in capsys.readouterr().out
    assert run(["extract", str(page), "--method", "dom", "--show", "html"]) == 0
    assert "<p>The sharks" in capsys.readouterr().out


def test_the_curve_is_drawn(page: Path) -> None:
    picture = page.with_suffix(".png")
    assert run(["extract", str(page), "--plot", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert run(["extract", str(page), "--plot", str(page.with_suffix(".nothing"))]) == 2


def test_other_encodings_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "latin.html"
    file.write_bytes(PAGE.replace("glad", "très contente").encode("latin-1"))
    assert run(["extract", str(file), "--method", "plateau"]) == 0
    assert "très contente" in capsys.readouterr().out


def test_a_missing_file_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["extract", "nowhere.html"]) == 1
    assert "nowhere.html can not be read" in capsys.readouterr().err


def test_content_is_printed_in_every_form(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for form, sign in (("markdown", "\n"), ("html", "<p>"), ("json", '"markdown"')):
        assert run(["extract", str(page), "--to", form]) == 0
        assert sign in capsys.readouterr().out
