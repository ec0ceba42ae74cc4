"""The documentation speaks of every command and option, and of nothing that is not there."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

import fyke
from fyke.cli import COMMANDS, app, command_module
from tests import drawings, face

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def test_commands_page_is_fresh() -> None:
    assert (ROOT / "docs" / "commands.md").read_text(encoding="utf-8") == drawings.commands(), "run `make docs`"


def test_python_page_is_fresh_and_whole() -> None:
    assert (ROOT / "docs" / "python.md").read_text(encoding="utf-8") == face.page(), "run `make docs`"
    assert sorted(name for names in face.CHAPTERS.values() for name in names) == sorted(fyke.__all__)


@pytest.mark.parametrize("name", COMMANDS)
def test_command_says_what_it_does_with_an_example(name: str) -> None:
    module = importlib.import_module(command_module(name))
    assert (module.__doc__ or "").split("\n")[0] == COMMANDS[name]
    assert "Example" in drawings.help_text([name])


def test_every_command_file_is_a_command() -> None:
    files = {p.stem[:-1] for p in (ROOT / "src" / "fyke" / "cli").glob("*_.py") if not p.stem.startswith("_")}
    assert files == set(COMMANDS)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_no_page_shows_a_program_that_failed(page: Path) -> None:
    assert "Traceback" not in page.read_text(encoding="utf-8"), "run `make tour`"


def test_figures_of_readme_are_those_of_the_bench() -> None:
    block = (
        (ROOT / "README.md").read_text(encoding="utf-8").split("<!-- figures: begin")[1].split("<!-- figures: end")[0]
    )
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in block.splitlines() if line.startswith("|")]
    assert len(rows) > 5
    assert [row for row in rows if row not in page] == []


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 120


EXAMPLE = re.compile(r"^```([a-z]*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", [p for p in PAGES if p.name != "commands.md"], ids=lambda p: p.name)
def test_command_lines_in_examples_can_be_typed(page: Path) -> None:
    lines = [
        line
        for _, example in EXAMPLE.findall(page.read_text(encoding="utf-8"))
        for line in re.findall(r"^(?:\$ )?fyke ([a-z].*)", example, re.MULTILINE)
        if "…" not in line and "..." not in line
    ]
    assert [(line, why) for line in lines if (why := complaint(line))] == []


def complaint(line: str) -> str:
    """Why a command line cannot be typed: the command, a subcommand, an option or the kind of a value is not there."""
    words = shlex.split(line.partition("→")[0], comments=True)
    command: Any = typer.main.get_command(app)
    context = None
    while True:
        name, rest = (words[0], words[1:]) if context else ("fyke", list(words))
        try:
            context = command.make_context(name, rest, context)
        except Exception as error:  # whatever the command line says of them
            return str(error)
        if not hasattr(command, "get_command"):
            return ""
        words = context._protected_args + context.args if hasattr(context, "_protected_args") else context.args
        command = command.get_command(context, words[0])
        if command is None:
            return f"there is no {words[0]}"


def test_a_line_that_cannot_be_typed_is_told() -> None:
    assert not complaint("crawl https://example.org/ --max-pages 5")
    assert all(complaint(line) for line in ("craw x", "crawl x --most 5", "crawl x --max-pages many", "store chek"))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_programs_in_examples_compile(page: Path) -> None:
    programs = [text for language, text in EXAMPLE.findall(page.read_text(encoding="utf-8")) if language == "python"]
    assert all(compile(text, page.name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT) for text in programs)
