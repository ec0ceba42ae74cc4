"""Compressed collections (Orlandi and Vigna): ν, instantaneous codes, Elias–Fano, summaries by frequency rank."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from fyke.archive.archive import Archive
from fyke.archive.combine import PAPER_CODES, Catalogue, Coding, combine
from fyke.archive.preprocess import Preprocessing
from fyke.archive.run import Page, runs_of, scan
from fyke.bits.codes import nat
from fyke.bits.coding import Code
from fyke.bits.eliasfano import EliasFano
from fyke.lecture.example import Said, example
from fyke.scratch import Scratch


@example("Compressed Collections §2: the mapping ν", "fyke.bits.codes", by="its formula")
def nu() -> Iterator[Said]:
    """Differences of counts become naturals: 2x, or 2|x| − 1 below zero."""
    yield "ν of 0 −1 1 −2 2 −3 3", list(range(7)), [int(nat(x)) for x in (0, -1, 1, -2, 2, -3, 3)]


@example("Compressed Collections §2: Choosing the codes", "fyke.bits.coding", by="the paper, and by hand")
def codes() -> Iterator[Said]:
    """The four codes, and their words for 0 to 7."""
    names = [PAPER_CODES[stream] for stream in ("length", "size", "count", "gap")]
    yield "of lengths, sizes, counts, terms", "delta zeta3 gamma zeta2", names
    words = {
        "gamma": "1 010 011 00100 00101 00110 00111 0001000",
        "delta": "1 0100 0101 01100 01101 01110 01111 00100000",
        "zeta2": "10 110 111 01000 01001 01010 01011 011000",
        "zeta3": "100 1010 1011 1100 1101 1110 1111 0100000",
    }
    for name, written in words.items():
        yield name, written, [_bits(Code.parse(name), n) for n in range(8)]


def _bits(code: Code, value: int) -> str:
    words, length = code.encode(np.array([value]))
    return "".join(f"{word:064b}" for word in words.tolist())[:length]


@example("Compressed Collections §2: Random access", "fyke.bits.eliasfano", by="by hand")
def rank_and_select() -> Iterator[Said]:
    """Elias–Fano: rank counts the smaller, select gives the r-th from 0; near the least possible space."""
    missing = EliasFano.of(np.array([2, 5, 11, 31]), 40)
    yield "rank of 12 in {2, 5, 11, 31}", 3, missing.rank(12)
    yield "select of 2", 11, missing[2]
    yield "document 12 is the summary at place", 12 - 3, 12 - missing.rank(12)
    pointers = np.cumsum(np.full(10_000, 1800))
    held = EliasFano.of(pointers)
    bound = 2 + math.ceil(math.log2(held.universe / held.size))
    yield "bits a pointer for summaries of 1,800 bits are fewer than 13", True, held.payload_bits / held.size < 13
    yield "and at most 2 + ⌈log₂(u/n)⌉", True, held.payload_bits / held.size <= bound


@example("Compressed Collections §2: Archives of Summaries", "fyke.archive.archive", by="by hand")
def summaries() -> Iterator[Said]:
    """Three documents: length, size, and terms numbered by frequency rank."""
    pages = [
        Page("http://a.test/1", "fish fish in water", ()),
        Page("http://a.test/2", "fish and ships", ()),
        Page("http://a.test/3", "fish in the water", ()),
    ]
    with Scratch("lecture") as name:
        folder = name
        for _ in scan(pages, folder / "run", Preprocessing("none", "none", 1)):
            pass
        for _ in combine(Catalogue(runs_of([folder / "run"])), folder / "archive", Coding("paper")):
            pass
        archive = Archive.open(folder / "archive")
        yield "term 0 is that of the highest frequency", "fish 3", [
            archive.dictionary.term(0), int(archive.dictionary.documents[0]),
        ]  # fmt: skip
        summary = archive[0]
        assert summary is not None
        yield "length and size of the first", "4 3", [summary.length, summary.size]
        yield "its terms, in alphabetical order", "fish in water", sorted(summary.terms)
        counts = dict(zip(summary.terms, summary.counts.tolist(), strict=True))
        yield "count of fish in it", 2, counts["fish"]


EXAMPLES = (nu, codes, rank_and_select, summaries)
