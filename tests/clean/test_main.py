"""What a crawl stores: the main text, a byte for each block, and furniture that is learnt as pages come."""

from __future__ import annotations

import pytest

import fyke
from fyke.clean.furniture import Hosts
from fyke.clean.main import main_text, weighted_blocks
from fyke.formats.html import parse
from tests.clean.test_extract import PAGE, SENTENCE


@pytest.mark.kernel
def test_main_text_is_extracts_and_its_bytes_are_the_blocks_weights() -> None:
    made, content = main_text(parse(PAGE)), fyke.extract(PAGE)
    assert (made.text, made.kind) == (content.text, content.kind)
    assert main_text(parse(PAGE.encode())) == made
    blocks = weighted_blocks(parse(PAGE), made.weights)
    assert [(b.text, b.kind, b.main) for b in blocks] == [(b.text, b.kind, b.main) for b in content.blocks]
    assert [b.weight for b in blocks] == pytest.approx([b.weight for b in content.blocks], abs=0.005)
    assert weighted_blocks(parse(PAGE + "<p>one more"), made.weights) == ()


@pytest.mark.parametrize("page", ["", "<p></p>", b"\xff\xfe"])
def test_a_page_without_text_has_no_bytes(page: str | bytes) -> None:
    assert main_text(parse(page)).text in {"", "��"}


@pytest.mark.kernel
def test_a_host_teaches_its_furniture_as_its_pages_come() -> None:
    promise = "Our promise to you: fresh fish every day, from people who know the sea and love it, to your door."
    pages = [
        f"<body><div><p>{promise}</p></div><div><p>Story {n}: {SENTENCE * 2} It was day {n}.</p></div></body>"
        for n in range(8)
    ]
    hosts = Hosts()
    texts = [main_text(parse(page), hosts["fish.example"]).text for page in pages]
    assert promise in texts[0]
    assert promise not in texts[-1]
    assert "Story 7" in texts[-1]


def test_only_so_many_hosts_are_remembered() -> None:
    hosts = Hosts(limit=3)
    for name in ["a", "b", "c", "a", "d"]:
        main_text(parse(PAGE), hosts[name])
    assert len(hosts) == 3
    assert hosts["a"].pages == 2
    assert hosts["b"].pages == 0  # was forgotten: not met for longest
