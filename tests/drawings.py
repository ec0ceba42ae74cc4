"""Draws what the documentation shows of the source: code map, room graph, commands, Python face (``make docs``)."""

from __future__ import annotations

import ast
import re

import grimp
import typer
from typer.testing import CliRunner

from fyke.cli import COMMANDS, app
from tests import face
from tests.source import ROOT, SOURCE, modules


def code_map() -> str:
    """Every module with the first line of its docstring, in the order of the folders."""
    lines = []
    for path, tree in sorted(modules(), key=lambda m: (m[0].relative_to(SOURCE).parent.parts, m[0].name)):
        first = (ast.get_docstring(tree) or "").split("\n")[0]
        lines.append(f"| `{path.relative_to(SOURCE)}` | {first} |")
    return "\n".join(["| module | what it is |", "|---|---|", *lines])


def room_graph() -> str:
    """One line a room: the rooms and words of the vocabulary that it imports."""
    graph = grimp.build_graph("fyke", exclude_type_checking_imports=True, cache_dir=None)
    arrows: dict[str, set[str]] = {}
    for importer in sorted(graph.modules):
        room = _room(importer)
        arrows.setdefault(room, set())
        arrows[room] |= {_room(m) for m in graph.find_modules_directly_imported_by(importer)} - {room, "fyke"}
    lines = [f"{room:10} → {' '.join(sorted(to))}".rstrip(" →") for room, to in arrows.items() if room != "fyke"]
    return "\n".join(["```", *lines, "```"])


def _room(module: str) -> str:
    return module.split(".")[1] if "." in module else module


def commands() -> str:
    """The reference of commands: each ``--help``."""
    parts = ["# Commands\n\nWhat each command's `--help` says (`make docs` writes this page)."]
    for name in ["", *COMMANDS]:
        parts.append(f"## fyke {name}".rstrip() + f"\n\n```\n{help_text(name.split())}\n```")
        command = typer.main.get_command(app)
        group = command.get_command(None, name) if name else None  # type: ignore[attr-defined]
        subcommands = getattr(group, "commands", {})
        parts += [f"### fyke {name} {sub}\n\n```\n{help_text([name, sub])}\n```" for sub in subcommands]
    return "\n\n".join(parts) + "\n"


def help_text(words: list[str]) -> str:
    """What ``fyke WORDS --help`` prints on a terminal of 100 columns."""
    runner = CliRunner(env={"COLUMNS": "100", "TERMINAL_WIDTH": "100", "NO_COLOR": "1"})
    result = runner.invoke(app, [*words, "--help"], prog_name="fyke", terminal_width=100)
    assert result.exit_code == 0, result.output
    return "\n".join(line.rstrip() for line in result.output.strip().split("\n"))


def architecture(text: str) -> str:
    """``text`` with its two drawings drawn anew."""
    for name, drawing in (("room graph", room_graph()), ("code map", code_map())):
        pattern = re.compile(rf"(<!-- {name}: begin[^>]*-->\n).*?(<!-- {name}: end -->)", re.DOTALL)
        text = pattern.sub(lambda m, d=drawing: f"{m[1]}{d}\n{m[2]}", text)  # type: ignore[misc]
    return text


def main() -> None:
    page = ROOT / "ARCHITECTURE.md"
    page.write_text(architecture(page.read_text(encoding="utf-8")), encoding="utf-8")
    (ROOT / "docs" / "commands.md").write_text(commands(), encoding="utf-8")
    (ROOT / "docs" / "python.md").write_text(face.page(), encoding="utf-8")


if __name__ == "__main__":
    main()
