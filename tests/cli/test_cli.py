"""The command line as a user meets it: real processes."""

from __future__ import annotations

import json
import resource
import subprocess
import sys

import pytest


def fyke(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fyke", *words], capture_output=True, text=True, timeout=60, check=False
    )


def test_help_is_quick_and_lists_commands() -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    result = fyke("--help")
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    assert result.returncode == 0
    assert "url" in result.stdout
    assert spent < 3, "ten times the bar, for a loaded machine; bench/start.py measures"


def test_help_loads_no_heavy_library() -> None:
    code = (
        "import sys; from fyke.cli import run; run(['--help']); "
        "print([m for m in ('numpy', 'numba', 'rocksdict', 'lxml', 'matplotlib', 'rich') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.endswith("[]\n")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["nonsense"], "nonsense"),
        (["url", "http://a b/"], "http://a b/"),
        (["url", "--no-such-option"], "--no-such-option"),
        (["url"], "URL"),
    ],
)
def test_mistakes_end_in_one_sentence_and_status_2(words: list[str], part: str) -> None:
    result = fyke(*words)
    assert result.returncode == 2
    assert part in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_version() -> None:
    assert fyke("--version").stdout == "fyke 0.1.0\n"


def test_url_prints_json() -> None:
    result = fyke("url", "http://en.wikipedia.org/wiki/Main_Page", "/wiki/Wikipedia:General_disclaimer", "--json")
    facts = json.loads(result.stdout)
    assert facts["url"] == "http://en.wikipedia.org/wiki/Wikipedia:General_disclaimer"
    assert facts["domain"] == "wikipedia.org"
