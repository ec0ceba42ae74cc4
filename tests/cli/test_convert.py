"""`fyke convert`: a file, stdin, a folder; HTML, text or JSON; failures with their reason."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from fyke.cli import run


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "a.html"
    path.write_text('<html lang=en><title>T</title><meta name=x:where content=Hull><h1>Head</h1>See <a href="b">B</a>.')
    return path


def test_forms(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["convert", str(page)]) == 0
    assert capsys.readouterr().out == '<h1>Head</h1><p>See <a href="b">B</a>.</p>\n'
    assert run(["convert", str(page), "--to", "text"]) == 0
    assert capsys.readouterr().out == "Head\nSee B.\n"
    assert run(["convert", str(page), "--json", "--url", "https://example.org/"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["title"], facts["type"], facts["language"]) == ("T", "text/html", "en")
    assert facts["tags"] == [["h1", 0, 4], ["p", 6, 12], ["a", 10, 11]]
    assert facts["links"] == [{"url": "https://example.org/b", "text": "B", "rel": ""}]


def test_a_users_tags(page: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "tags.toml"
    table.write_text('[tags]\nplace = ["x:where"]\n')
    assert run(["convert", str(page), "--json", "--tags", str(table)]) == 0
    assert json.loads(capsys.readouterr().out)["meta"]["place"] == "Hull"
    table.write_text('[tags]\nplase = ["x:where"]\n')
    assert run(["convert", str(page), "--tags", str(table)]) == 2
    assert "unknown field 'plase'" in capsys.readouterr().err


def test_stdin(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Stdin:
        buffer = io.BytesIO(b"a,b\n1,2\n")

    monkeypatch.setattr("sys.stdin", Stdin)
    assert run(["convert", "-", "--media-type", "text/csv", "--to", "text"]) == 0
    assert capsys.readouterr().out == "a\tb\n1\t2\n"


def test_a_folder_with_a_bad_file(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (page.parent / "z.txt").write_bytes(b"")
    assert run(["convert", str(page.parent), "--json"]) == 1
    shown = capsys.readouterr()
    assert [json.loads(line)["error"] for line in shown.out.splitlines()] == [None, "empty"]
    assert "1 of 2 documents" in shown.err


def test_mistakes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["convert", "no-such-file"]) == 2
    assert "no file no-such-file" in capsys.readouterr().err


def test_markdown_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.html").write_text("<h1>T</h1><ol><li>a<ul><li>b</ul></ol>")
    assert run(["convert", str(tmp_path / "a.html"), "--to", "markdown"]) == 0
    assert capsys.readouterr().out == "# T\n\n1. a\n   - b\n"
