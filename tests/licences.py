"""docs/licences.md: the licence of every package that fyke brings along (``python -m tests.licences --write``)."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "licences.md"
FORBIDDEN = re.compile(r"\b(?:A?GPL|GNU (?:Affero )?General|SSPL|BUSL|Commons Clause|CC[- ]BY[- ]NC)", re.IGNORECASE)
"""What no package that fyke imports may ask for; the LGPL and MPL are let be."""


def packages() -> list[str]:
    """The packages that a user's install has, as they are locked."""
    return re.findall(r"^([a-z0-9][\w.-]*)==", (ROOT / "requirements" / "main.lock").read_text("utf-8"), re.MULTILINE)


def licence_of(name: str) -> tuple[str, str] | None:
    """Version and licence of a package as it states them; None where it is not installed here."""
    try:
        said = dict(metadata.metadata(name).json)
    except metadata.PackageNotFoundError:
        return None
    classes = [each.rpartition(" :: ")[2] for each in said.get("classifier") or () if each.startswith("License ::")]
    stated = (
        said.get("license_expression") or "; ".join(classes) or str(said.get("license") or "").strip().split("\n")[0]
    )
    return str(said["version"]), str(stated)[:80] or "not stated"


def page() -> str:
    """The page as it should be."""
    rows = [(name, *found) for name in packages() if (found := licence_of(name)) is not None]
    table = "\n".join(f"| {name} | {version} | {licence} |" for name, version, licence in rows)
    return (
        "# Licences\n\nWhat an install of fyke with `dashboard`, `plot` and `pdf` brings, as the packages state it.\n"
        "`python -m tests.licences --write` writes this page; the tests hold it against what is installed. Programs\n"
        "under the GPL judge fyke in tests, in a venv of their own (`make judges`), and are never imported.\n\n"
        f"| package | version | licence |\n|---|---|---|\n{table}\n"
    )


if __name__ == "__main__" and "--write" in sys.argv:
    PAGE.write_text(page(), encoding="utf-8")
