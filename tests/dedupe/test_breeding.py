"""Mirrors and templates that breed copies lose priority, with a reason."""

from __future__ import annotations

from fyke.dedupe import breeding
from fyke.dedupe.breeding import Breeding, Verdict, template


def test_templates() -> None:
    assert template("/2024/05/item-17.html?b=2&a=1") == "/0/0/item-0.html?a&b"
    assert template("/plain") == "/plain"


def test_mirrors_and_breeding_templates() -> None:
    counts = Breeding()
    for i in range(19):
        counts.note("mirror.example", f"/{i}", "www.example")
        counts.note("shop.example", f"/item/{i}?session={i}", "shop.example")
        counts.note("shop.example", f"/about{'x' * i}")
    assert counts.verdict("mirror.example", "/99") is None, "nineteen pages are too few"
    counts.note("mirror.example", "/19", "www.example")
    counts.note("shop.example", "/item/19?session=1", "shop.example")
    assert counts.verdict("mirror.example", "/new") == Verdict("mirror.example", "mirror of www.example")
    bred = Verdict("shop.example/item/0?session", "breeds copies")
    assert counts.verdict("shop.example", "/item/20?session=7") == bred
    assert counts.verdict("shop.example", "/aboutus") is None
    assert counts.verdict("www.example", "/") is None


def test_one_of_two_mirrors_that_are_fetched_at_once() -> None:
    counts = Breeding()
    for i in range(40):
        first, second = ("a.example", "b.example") if i % 3 else ("b.example", "a.example")
        counts.note(first, f"/{'x' * i}")
        counts.note(second, f"/{'x' * i}", first)
    assert counts.verdict("b.example", "/") == Verdict("b.example", "mirror of a.example")
    assert counts.verdict("a.example", "/") is None


def test_memory_is_bounded() -> None:
    counts = Breeding()
    for _ in range(30):
        counts.note("mirror.example", "/x", "www.example")
    for i in range(breeding.MAX_PLACES // 2 + 10):
        counts.note(f"h{i}.example", f"/p{'a' * (i % 7)}")
    assert len(counts.pages) <= breeding.MAX_PLACES
    assert counts.verdict("mirror.example", "/x") == Verdict("mirror.example", "mirror of www.example")
