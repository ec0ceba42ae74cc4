"""The documentation speaks of every command and option, and of nothing that is not there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from fyke.cli import COMMANDS, command_module
from tests import drawings

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def test_commands_page_is_fresh() -> None:
    assert (ROOT / "docs" / "commands.md").read_text(encoding="utf-8") == drawings.commands(), "run `make docs`"


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


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 120


def test_commands_named_in_examples_exist() -> None:
    for page in PAGES:
        for example in re.findall(r"^```[a-z]*\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            for name in re.findall(r"^(?:\$ )?fyke ([a-z]+)(?= |$)", example, re.MULTILINE):
                assert name in COMMANDS, f"{page.name} speaks of `fyke {name}`"
