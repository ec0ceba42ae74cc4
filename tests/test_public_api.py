"""The public face: exactly these names, each of which loads."""

from __future__ import annotations

import subprocess
import sys

import fyke

FACE: list[str] = [
    "Archive",
    "Graph",
    "Robots",
    "Store",
    "crawl",
    "pages",
    "pages_async",
    "fetch",
    "DuplicateIndex",
    "minhash",
    "near_duplicates",
    "parse_feed",
    "parse_sitemap",
    "simhash",
    "convert",
    "decode",
    "extract",
    "simulate",
]


def test_face_is_pinned() -> None:
    assert sorted(fyke.__all__) == sorted(FACE)


def test_every_name_loads() -> None:
    for name in fyke.__all__:
        assert getattr(fyke, name).__doc__, f"fyke.{name} has no docstring"


def test_modules_of_a_room_with_a_public_name_are_imported_by_any_way() -> None:
    script = (
        "import fyke\n"
        "fyke.crawl, fyke.convert, fyke.fetch, fyke.simulate\n"
        "import fyke.fetch.http as http\n"
        "import fyke.crawl.agent as engine\n"
        "import fyke.convert.html as html\n"
        "import fyke.simulate.run as run\n"
        "from fyke.crawl import agent as again\n"
        "assert engine is again and callable(fyke.crawl) and callable(fyke.convert)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
