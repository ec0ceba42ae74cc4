"""docs/security.md's tables: each stands between two marks, and a command writes it."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "security.md"


def put(name: str, text: str, page: Path = PAGE) -> None:
    """Write ``text`` between the marks of ``name``."""
    marks = rf"(<!-- {name}: begin[^>]*-->\n).*?(<!-- {name}: end -->)"
    old = page.read_text(encoding="utf-8")
    new, found = re.subn(marks, lambda match: f"{match[1]}{text.rstrip()}\n{match[2]}", old, flags=re.DOTALL)
    assert found == 1, f"{page} has no place for {name}"
    page.write_text(new, encoding="utf-8")
