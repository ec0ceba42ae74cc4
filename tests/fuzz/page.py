"""docs/security.md's tables: each stands between two marks, and a command writes it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "security.md"


def put_rows(name: str, text: str, order: Iterable[str], page: Path = PAGE) -> None:
    """Write the rows of a table; those of others that ``order`` names stay as they are."""
    found = re.search(rf"<!-- {name}: begin[^>]*-->\n(.*?)<!-- {name}: end -->", page.read_text("utf-8"), re.DOTALL)
    assert found is not None, f"{page} has no place for {name}"
    head, lines = text.splitlines()[:2], found[1].splitlines()[2:] + text.splitlines()[2:]
    rows = {line.split(" | ")[0].strip("| "): line for line in lines}
    put(name, "\n".join([*head, *(rows[each] for each in order if each in rows)]), page)


def put(name: str, text: str, page: Path = PAGE) -> None:
    """Write ``text`` between the marks of ``name``."""
    marks = rf"(<!-- {name}: begin[^>]*-->\n).*?(<!-- {name}: end -->)"
    old = page.read_text(encoding="utf-8")
    new, found = re.subn(marks, lambda match: f"{match[1]}{text.rstrip()}\n{match[2]}", old, flags=re.DOTALL)
    assert found == 1, f"{page} has no place for {name}"
    page.write_text(new, encoding="utf-8")
