"""The worst pages to single commands: the memory of ``fyke fetch``, ``fyke extract`` and ``fyke convert``.

``python -m bench.hostile_commands [NAME…] [--write]``: each command reads each page, 10 MB as a fetch would leave them;
the memory is the most of any of its processes (VmHWM). ``--write`` puts the table into docs/security.md. More than
``BOUND`` is told, and the status is 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.hostile import BODIES, BOUND, PAGE, Ran, run
from bench.hostile_bodies import MILLION, repeated
from bench.hostile_web import Case, Web, whole
from bench.measure import figure, table

SIZE = 10 * MILLION
_EMOJI = "<p>\N{GRINNING FACE}"
CASES: dict[str, Case] = {
    **{name: BODIES[name] for name in (
        "one-text", "one-word", "attributes", "nested", "nested-inline", "nested-lists", "tables", "spans", "links",
        "links-long", "entities", "paragraphs", "linked-data", "less-thans", "utf-16",
    )},
    "styled": whole(repeated("<p>a <b>word</b> of it")),
    "breaks": whole(repeated("a<br>")),
    "cells": whole(repeated("<tr><td>a<td>b", "<table>")),
    "wide-text": whole(repeated("words without an end ", _EMOJI)),
    "wide-paragraphs": whole(repeated("<p>words ", _EMOJI)),
    "escapes": whole(repeated("\x1b[1mword ", "<p>")),
}  # fmt: skip
"""Pages of which a tree, a text and Markdown are made; one character beyond 16 bits makes Python's texts four times as
long."""


def commands(site: Web, name: str, file: Path) -> dict[str, list[str]]:
    """The command lines that read a page."""
    fetch = ["fetch", site.url(name), "--resolve", f"{name}.test:127.0.0.1", "--delay", "0", "--no-robots", "--yes"]
    return {
        "fetch": fetch,
        "fetch --json": [*fetch, "--json"],
        "extract": ["extract", str(file), "--to", "markdown"],
        "convert": ["convert", str(file)],
    }


def main() -> int:
    """Run the commands; print or write their table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--write", action="store_true", help="write the table into docs/security.md")
    options = parser.parse_args()
    rows: list[list[object]] = []
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="fyke-hostile-") as folder:
        site = Web(CASES, Path(folder))
        try:
            for name in options.names or CASES:
                case, file = CASES[name], Path(folder) / f"{name}.html"
                assert case.body is not None
                file.write_bytes(case.body()[:SIZE])
                ran = {what: run(words) for what, words in commands(site, name, file).items()}
                file.unlink()
                rows.append([name, *(round(max(each.memory, each.converter)) for each in ran.values()), cpu(ran)])
                print(*rows[-1], sep="\t", flush=True)
                wrong += [f"{name}: {what}: {each.memory:.0f} MB, {each.converter:.0f} MB in a converter"
                          for what, each in ran.items() if max(each.memory, each.converter) > BOUND]  # fmt: skip
                wrong += [f"{name}: {what}: status {each.status}: {each.err[-500:]}"
                          for what, each in ran.items() if each.status not in (0, 1)]  # fmt: skip
        finally:
            site.close()
    if options.write:
        write(rows)
    worst = max(max(int(str(each)) for each in row[1:5]) for row in rows)
    figure("hostile pages: the most memory of a command", "MB", worst, size=f"{len(rows)} pages")
    print("\n".join(wrong) or "all bounded", file=sys.stderr)
    return bool(wrong)


def cpu(ran: dict[str, Ran]) -> float:
    """Processor time of the slowest command."""
    return max(each.cpu for each in ran.values())


def write(rows: Sequence[Sequence[object]]) -> None:
    """Put the table between its marks in the page."""
    mark = "hostile commands"
    begin, end = f"<!-- {mark}: begin (python -m bench.hostile_commands --write) -->", f"<!-- {mark}: end -->"
    text = PAGE.read_text()
    before, _, rest = text.partition(begin)
    head = ["page", "fetch, MB", "fetch --json", "extract", "convert", "CPU s, slowest"]
    PAGE.write_text(f"{before}{begin}\n{table(head, rows)}\n{end}{rest.partition(end)[2]}")


if __name__ == "__main__":
    sys.exit(main())
