"""The command line as a user meets it: help, mistakes, statuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fyke.cli import run


def fyke(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "fyke", *words], capture_output=True, text=True, check=False)


def test_help_lists_commands() -> None:
    assert "\n  url " in fyke("--help").stdout


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["nonsense"], "nonsense"),
        (["url", "http://a b/"], "http://a b/"),
        (["url", "--no-such-option"], "--no-such-option"),
        (["url"], "URL"),
        (["crawl", "http://127.0.0.1/", "--scope", "docs/"], "--scope 'docs/'"),
    ],
)
def test_mistakes_end_in_one_sentence_and_status_2(
    words: list[str], part: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 2
    said = capfd.readouterr()
    assert part in said.err
    assert said.out == ""


def test_a_mistake_is_the_status_of_the_process() -> None:
    result = fyke("url", "http://a b/")
    assert result.returncode == 2
    assert "http://a b/" in result.stderr
    assert "Traceback" not in result.stderr


def test_what_the_disk_refuses_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "edges.txt").write_text("0 1\n")
    assert run(["graph", "convert", str(tmp_path / "edges.txt"), str(tmp_path / "no" / "such.txt")]) == 1
    assert f"fyke: {tmp_path}/no/such.txt: No such file or directory; name another" in capfd.readouterr().err


def test_version() -> None:
    assert fyke("--version").stdout == "fyke 0.1.0\n"


def test_url_prints_json() -> None:
    result = fyke("url", "http://en.wikipedia.org/wiki/Main_Page", "/wiki/Wikipedia:General_disclaimer", "--json")
    facts = json.loads(result.stdout)
    assert facts["url"] == "http://en.wikipedia.org/wiki/Wikipedia:General_disclaimer"
    assert facts["domain"] == "wikipedia.org"
