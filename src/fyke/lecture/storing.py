"""Storing documents: encodings, tags across sources, TREC Web, rows and cells, and noise removed."""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fyke.clean.elements import WORD
from fyke.clean.page import read
from fyke.clean.slope import FINN, LAVRENKO
from fyke.formats.encoding import decode
from fyke.formats.tags import canonical
from fyke.formats.trec import read_trec, write_trec
from fyke.lecture import texts
from fyke.lecture.example import Said, example
from fyke.scratch import Scratch
from fyke.store.store import Store

Bits = NDArray[np.int64]
"""1 for a tag, 0 for a word."""


@example("CS6200, UTF-8", "fyke.formats.encoding")
def pi() -> Iterator[Said]:
    """π is number 960 and two bytes in UTF-8."""
    yield "CF 80 is number", 960, ord(decode(bytes.fromhex("CF80"), "text/plain; charset=utf-8")[0])
    yield "bits of it", "11001111 10000000", " ".join(f"{byte:08b}" for byte in chr(960).encode())
    edges = ["7F", "C2 80", "DF BF", "E0 A0 80", "ED 9F BF", "EE 80 80", "EF BF BF", "F0 90 80 80", "F4 8F BF BF"]
    points = [127, 128, 2047, 2048, 55295, 57344, 65535, 65536, 1114111]
    found = [ord(decode(bytes.fromhex(edge), "text/plain; charset=utf-8")[0]) for edge in edges]
    yield "first and last numbers of each row of the table", points, found


@example("Web Search 1, Tags Across Sources", "fyke.formats.tags", by="the notes, in UTC")
def tags() -> Iterator[Said]:
    """One date under three names, and tags that masquerade as content."""
    for tag, written, normal in (
        ("pubDate", "Mon Sep 29 00:41:50 BST 2008", "2008-09-28T23:41:50Z"),
        ("published", "2010-05-24T21:27:52Z", "2010-05-24T21:27:52Z"),
        ("xn:publicationTime", "2007-02-22T00:00:00-05:00", "2007-02-22T05:00:00Z"),
    ):
        yield f"<{tag}>", normal, canonical([(tag, written)])[0].published
    source = "MRKTWIRE:Source=InvestSource, Inc."
    place = "MRKTWIRE:Geographic Code=RE/HUNTINGTON_BEACH"
    vendor = canonical([("xn:vendorData", source), ("xn:vendorData", place)])[0]
    yield "the source in <xn:vendorData>", "InvestSource, Inc.", vendor.source
    yield "the place in <xn:vendorData>", "RE/HUNTINGTON_BEACH", vendor.place


@example("IR:IX, TREC Web compound document format", "fyke.formats.trec")
def trec() -> Iterator[Said]:
    """Two documents in one file, read and written."""
    documents = list(read_trec(io.BytesIO(texts.TREC)))
    yield "documents", ["WTX001-B01-10", "WTX001-B01-109"], [document.docno for document in documents]
    yield "their addresses", ["204.244.59.33"] * 2, [document.address for document in documents]
    urls = ["http://www.example.com/test.html", "http://www.example.com/fish.html"]
    yield "their URLs", urls, [document.url for document in documents]
    out = io.BytesIO()
    for document in documents:
        write_trec(document, out)
    yield "written again, byte for byte", True, out.getvalue() == texts.TREC


@example("IR:IX, BigTable", "fyke.store.store", by="the notes' rule")
def bigtable() -> Iterator[Said]:
    """A row key, a column key and a timestamp point to a single cell."""
    url = "http://www.example.com/"
    with Scratch("lecture") as folder, Store.open(folder / "store") as store:
        store.put(url, raw=b"<p>old", text="old", fetched=1000.0)
        store.put(url, raw=b"<p>new", text="new", title="Example", fetched=2000.0)
        store.put(url, anchors={"http://www.other.com/": "an example"})
        now, then = store.get(url), store.get(url, at=1500.0)
        yield "text", "new", now.text if now else ""
        yield "text at 1500 s", "old", then.text if then else ""
        yield "title", "Example", now.meta.title if now else ""
        yield "anchor text, added without a new version", "an example", [a.text for a in now.anchors] if now else ""
        yield "versions", 2, len(list(now.versions)) if now else 0


@example("IR:IX and CS6200, Finding Content Blocks", "fyke.clean.slope", by="all pairs tried")
def plateau() -> Iterator[Said]:
    """The plateau of a small page: where tags before i, words from i to j and tags after j are most."""
    tokens = read(texts.PAGE).tokens
    bits = (tokens.kinds != WORD).astype(int)
    yield "tags and words", "26 24", [int(bits.sum()), int((1 - bits).sum())]
    most, (i, j) = _by_trying_all(bits, 1.0)
    yield "i and j: all pairs tried, and in linear time", (i, j), FINN.run(tokens)
    first, last = FINN.run(tokens)
    yield "the maximum", most, _objective(bits, first, last, 1.0)
    ends = [texts.PAGE[tokens.starts[n] : tokens.ends[n]].decode() for n in (first, last - 1)]
    yield "it begins and ends with", "The water", ends


@example("Web Search 1, Getting the text: tag plateau", "fyke.clean.slope", by="all pairs tried")
def weighted_plateau() -> Iterator[Said]:
    """The same with c = tags / non-tags, with which the whole page scores as much as nothing."""
    tokens = read(texts.PAGE).tokens
    bits = (tokens.kinds != WORD).astype(int)
    c = float(bits.sum() / (1 - bits).sum())
    yield "c", f"{26 / 24:.4f}", f"{c:.4f}"
    yield "a and b: all pairs tried, and in linear time", _by_trying_all(bits, c)[1], LAVRENKO.run(tokens)
    whole, nothing = _objective(bits, 0, len(bits), c), _objective(bits, 0, 0, c)
    yield "the whole page, and nothing of it", f"{nothing:.6f}", f"{whole:.6f}"


def _objective(bits: Bits, i: int, j: int, c: float) -> float:
    return float(bits[:i].sum() + c * (1 - bits[i:j]).sum() + bits[j:].sum())


def _by_trying_all(bits: Bits, c: float) -> tuple[float, tuple[int, int]]:
    """The textbook's O(n³): every i and j. Of several best the shortest counts, and of those the first."""
    pairs = [(i, j) for i in range(len(bits) + 1) for j in range(i, len(bits) + 1)]
    i, j = max(pairs, key=lambda p: (round(_objective(bits, p[0], p[1], c), 9), p[0] - p[1], -p[0]))
    return _objective(bits, i, j, c), (i, j)


EXAMPLES = (pi, tags, trec, bigtable, plateau, weighted_plateau)
