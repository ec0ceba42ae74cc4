"""The public face: exactly these names, each of which loads."""

from __future__ import annotations

import fyke

FACE: list[str] = [
    "Archive",
    "Graph",
    "Robots",
    "Store",
    "crawl",
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
