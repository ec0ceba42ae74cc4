"""Mutation tests: ``python .ci/mutants.py PYTHON [--sample 25] [ROOM...]``, by Cosmic Ray in a venv of its own.

Of each room a sample of mutants is drawn, always the same for a size; each is made in a copy of the tree, and the
room's own tests are run on it with ``PYTHON``, whose venv has fyke's dependencies. A mutant that no test notices has
survived. Kernels are mutated, too: they are compiled anew, since their cache goes by their source. What cannot be seen
from outside is not drawn: annotations, decorators, texts of messages. Writes scores into docs/mutants.md.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "mutants.md"
ROOMS = ("dedupe", "archive", "frontier", "store", "text", "reading", "graph")
UNSEEN = re.compile(r"core/RemoveDecorator|core/ReplaceBinaryOperator_BitOr_|core/ExceptionReplacer")
"""Operators whose mutants are no faults: without its decorator a kernel is the same, in Python; unions of types."""
LONGEST = 5.0
"""Times as long as without a mutant, five minutes at least: what takes longer never ends, and is noticed."""

Span = tuple[int, int, int, int]


def hidden(source: str) -> Iterator[Span]:
    """Where a mutant cannot be seen: annotations, assertions of invariants, and the messages of exceptions."""
    for node in ast.walk(ast.parse(source)):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.arg | ast.AnnAssign):
            parts.append(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            parts.append(node.returns)
        elif isinstance(node, ast.Raise | ast.Assert) or (
            isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        ):
            parts.append(node)
        for part in parts:
            if isinstance(part, ast.expr | ast.stmt):
                yield part.lineno, part.col_offset, part.end_lineno or 0, part.end_col_offset or 0


def draw(session: Path, tree: Path, size: int, room: str) -> int:
    """Leave ``size`` mutants in a session, drawn by chance that is always the same; return how many there were."""
    spans: dict[str, list[Span]] = {}
    with sqlite3.connect(session) as base:
        rows = base.execute(
            "select job_id, module_path, operator_name, start_pos_row, start_pos_col from mutation_specs"
        )
        seen = []
        for job, module, operator, row, column in sorted(rows, key=lambda r: (r[1], r[3], r[4], r[2])):
            if module not in spans:
                spans[module] = list(hidden((tree / module).read_text("utf-8")))
            inside = any((a, b) <= (row, column) < (c, d) for a, b, c, d in spans[module])
            if not inside and not UNSEEN.match(operator):
                seen.append(job)
        kept = set(random.Random(room).sample(seen, min(size, len(seen))))  # noqa: S311 - the same each time
        gone = [(job,) for (job,) in base.execute("select job_id from work_items").fetchall() if job not in kept]
        base.executemany("delete from mutation_specs where job_id = ?", gone)
        base.executemany("delete from work_items where job_id = ?", gone)
    return len(seen)


def tried(room: str, tree: Path, folder: Path, python: str, size: int) -> tuple[int, int, int, list[str]]:
    """Try a room whose tests pass: (mutants there are, drawn, noticed, the diffs of the survivors)."""
    settings, session = folder / f"{room}.toml", folder / f"{room}.sqlite"
    command = f"{python} -P -m pytest -x -q -p no:cacheprovider -p no:randomly tests/{room}"
    environment = {**os.environ, "PYTHONPATH": f"{tree / 'src'}:{tree}"}
    begun = time.monotonic()
    whole = subprocess.run(command.split(), cwd=tree, env=environment, check=False, capture_output=True, text=True)  # noqa: S603
    if whole.returncode != 0:
        raise SystemExit(f"{room}: its tests fail without a mutant, so they would notice every one\n{whole.stdout}")
    longest = max(300.0, LONGEST * (time.monotonic() - begun))
    settings.write_text(
        f'[cosmic-ray]\nmodule-path = ["src/fyke/{room}"]\ntimeout = {longest}\nexcluded-modules = []\n'
        f'test-command = "{command}"\n[cosmic-ray.distributor]\nname = "local"\n'
    )
    program = Path(sys.executable).with_name("cosmic-ray")
    for words in (["init", settings, session], ["exec", settings, session]):
        subprocess.run([program, *words], cwd=tree, env=environment, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        if words[0] == "init":
            there = draw(session, tree, size, room)
    with sqlite3.connect(session) as base:
        results = base.execute("select test_outcome, diff from work_results").fetchall()
    lived = [diff for outcome, diff in results if str(outcome).lower().endswith("survived")]
    return there, len(results), len(results) - len(lived), lived


def write(scores: dict[str, tuple[int, int, int]]) -> None:
    """Put scores into the page; those of other rooms stay."""
    text = PAGE.read_text("utf-8")
    for room, (there, drawn, noticed) in scores.items():
        row = f"| `{room}` | {there:,} | {drawn} | {noticed} | {noticed / max(1, drawn):.0%} |"
        text = re.sub(rf"^\| `{room}` \|.*$", row, text, flags=re.MULTILINE)
    PAGE.write_text(text, "utf-8")


def main() -> None:
    """Try the rooms that are named, or all that have a row in the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python")
    parser.add_argument("rooms", nargs="*", default=ROOMS)
    parser.add_argument("--sample", type=int, default=25)
    parser.add_argument("--no-write", action="store_true")
    options = parser.parse_intermixed_args()
    python = str(Path(options.python).absolute())
    with tempfile.TemporaryDirectory(prefix="fyke-mutants-") as name:
        folder, tree = Path(name), Path(name) / "tree"
        for part in ("src", "tests", "bench", "docs", ".ci"):
            shutil.copytree(ROOT / part, tree / part, ignore=shutil.ignore_patterns("__pycache__"))
        for file in [*ROOT.glob("*.md"), ROOT / "pyproject.toml", ROOT / "Makefile"]:
            shutil.copy(file, tree)
        scores = {}
        for room in options.rooms:
            there, drawn, noticed, lived = tried(room, tree, folder, python, options.sample)
            scores[room] = (there, drawn, noticed)
            print("\n".join(lived))
            print(
                f"{room}: {noticed} of {drawn} mutants noticed ({noticed / max(1, drawn):.0%}), of {there:,}",
                flush=True,
            )
    if not options.no_write:
        write(scores)


if __name__ == "__main__":
    main()
