"""The command line as a user meets it: help, mistakes, statuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from fyke.cli import COMMANDS, PURPOSES, app, run
from fyke.cli.common import SHORT
from tests.cli.test_nonsense import leaves


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
    assert fyke("--version").stdout == "fyke 0.2.0\n"


def test_url_prints_json() -> None:
    result = fyke("url", "http://en.wikipedia.org/wiki/Main_Page", "/wiki/Wikipedia:General_disclaimer", "--json")
    facts = json.loads(result.stdout)
    assert facts["url"] == "http://en.wikipedia.org/wiki/Wikipedia:General_disclaimer"
    assert facts["domain"] == "wikipedia.org"


def test_help_tells_every_command_under_what_it_is_for(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["-h"]) == 0
    said = capfd.readouterr().out
    assert [line[:-1] for line in said.splitlines() if line[:-1] in PURPOSES] == list(PURPOSES)
    assert all(f"\n  {name} " in said for name in COMMANDS)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("fyke cra", {"crawl"}),
        ("fyke convert --to ", {"html", "markdown", "text", "json"}),
        ("fyke store ch", {"check"}),
    ],
)
def test_a_shell_completes_what_is_typed(words: str, wanted: set[str]) -> None:
    typed = words.split(" ")
    environment = {
        **os.environ,
        "_FYKE_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(typed) - 1),
    }
    said = subprocess.run([sys.executable, "-m", "fyke"], env=environment, capture_output=True, text=True, check=True)
    assert set(said.stdout.split()) == wanted


def test_quiet_tells_errors_alone_and_verbose_where_they_come_from(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["list", "-q", "-s", "nowhere"]) == 1
    assert len(capfd.readouterr().err.splitlines()) == 1
    assert run(["list", "-v", "-s", "nowhere"]) == 1
    assert "StorageError" in capfd.readouterr().err
    assert run(["list", "-s", "nowhere"]) == 1
    assert len(capfd.readouterr().err.splitlines()) == 1, "-v was of that line alone"


def test_a_letter_means_the_same_everywhere() -> None:
    assert all(len(letter) == 2 for letter in SHORT.values())
    assert sorted(name for names in PURPOSES.values() for name in names) == sorted(COMMANDS)
    root: Any = typer.main.get_command(app)
    for name in COMMANDS:
        for words, command in leaves(root.get_command(None, name), (name,)):
            letters = [each for option in command.params for each in option.opts if len(each) == 2]
            assert len(letters) == len(set(letters)), words


DIFFERENT = frozenset({"--delay", "--exclude", "--memory", "--out", "--plot", "--stopwords", "--topic", "--write"})
"""Options whose values differ from command to command: a file here, a folder or a number there."""


def test_values_have_names_that_are_the_same_in_every_command() -> None:
    root: Any = typer.main.get_command(app)
    called: dict[str, set[str]] = {}
    for name in COMMANDS:
        for words, command in leaves(root.get_command(None, name), (name,)):
            for parameter in command.params:
                if parameter.type.name not in ("boolean", "choice"):
                    assert parameter.metavar, f"{words}: {parameter.opts}"
                    called.setdefault(parameter.opts[-1], set()).add(parameter.metavar)
    assert {option for option, names in called.items() if option.startswith("--") and len(names) > 1} == DIFFERENT


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_command_says_so(tmp_path: Path, number: int) -> None:
    pipe = tmp_path / "robots.txt"
    os.mkfifo(pipe)
    words = [sys.executable, "-m", "fyke", "robots", str(pipe)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process, pipe.open("w"):  # it reads now
        process.send_signal(number)
        _, said = process.communicate()
    assert process.returncode == 3
    assert said == "fyke: interrupted\n"


LATE = """
import sys, time
from fyke import cli
class Late:
    def __del__(self):
        sys.__stdout__.write("freed"); sys.__stdout__.flush(); time.sleep(1)
cli.kept = Late()  # freed with the modules, after every exit function
sys.exit(cli.main(["--version"]))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_after_the_work_changes_nothing(number: int) -> None:
    words = [sys.executable, "-c", LATE]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("fyke "), line
        assert process.stdout.read(5) == "freed"
        process.send_signal(number)
    assert process.returncode == 0


def test_resume_takes_other_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fyke.cli import resume_
    from fyke.crawl.run import plan
    from fyke.crawl.run.settings import CrawlSettings

    plan.write(tmp_path, plan.Plan(("http://a.test/",), CrawlSettings(max_time=60.0, max_pages=5, delay=2.0)))
    resumed: list[CrawlSettings] = []
    monkeypatch.setattr(resume_, "run", lambda seeds, store, settings, *rest: resumed.append(settings))
    assert run(["resume", "--store", str(tmp_path), "--max-time", "2h"]) == 0
    assert resumed == [CrawlSettings(max_time=7200.0, max_pages=5, delay=2.0)]
    assert run(["resume", "--store", str(tmp_path), "--max-time", "soon"]) == 2
