"""The source as trees, each file parsed once in a process: for what is drawn of it, and what is asked of it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "fyke"


@cache
def tree(path: Path) -> ast.Module:
    """A file's tree. It is everybody's: nobody changes it."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def modules(below: Path = SOURCE) -> list[tuple[Path, ast.Module]]:
    """Every module in a folder, with its tree."""
    return [(path, tree(path)) for path in sorted(below.rglob("*.py"))]


def forget() -> None:
    """Free the trees, which are some million objects."""
    modules.cache_clear()
    tree.cache_clear()
