"""Repeated paragraphs: the lines of a collection that stand in it more than once, whoever has them first.

A paragraph is a line of at least ``SHORTEST`` characters; two are equal if they have the same words, whatever their
case and spacing. Passing once over a collection costs 8 bytes for each paragraph; what is kept after it, those of
paragraphs that come again.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import xxhash

SHORTEST = 20
"""Characters: shorter lines are headings, dates and buttons, which are equal by chance."""


class Repeated(NamedTuple):
    """A paragraph that stood in an earlier document, or earlier in the same."""

    start: int
    end: int
    """Where it is in the text, in characters."""
    first: str
    """The document that had it first."""


class Paragraphs:
    """Counts the paragraphs of documents as they pass by, then tells which are repeated."""

    def __init__(self) -> None:
        self._hashes = array("Q")
        self._repeated: set[int] = set()
        self._first: dict[int, str] = {}
        self.count = 0

    def watch(self, documents: Iterable[tuple[str, str | bytes]]) -> Iterator[tuple[str, str | bytes]]:
        """Yield documents as they are, and note their paragraphs."""
        for name, text in documents:
            if isinstance(text, str):
                self._hashes.extend(hashed for _, _, hashed in paragraphs(text))
            yield name, text

    def settle(self) -> int:
        """Find what is repeated, once all have passed; return how many paragraphs are."""
        found, counts = np.unique(np.frombuffer(self._hashes, np.uint64), return_counts=True)
        self.count = len(self._hashes)
        self._repeated = set(found[counts > 1].tolist())
        self._hashes = array("Q")
        return int((counts[counts > 1] - 1).sum())

    def repeated(self, name: str, text: str) -> list[Repeated]:
        """Return the paragraphs of a document that another one, asked for before it, has too; and those it repeats."""
        found = []
        for start, end, hashed in paragraphs(text):
            if hashed in self._repeated:
                first = self._first.get(hashed)
                if first is None:
                    self._first[hashed] = name
                else:
                    found.append(Repeated(start, end, first))
        return found


def paragraphs(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield where each paragraph of a text begins and ends, and a hash of its words."""
    start = 0
    for line in text.split("\n"):
        end = start + len(line)
        if len(line) >= SHORTEST:
            words = " ".join(line.casefold().split())
            if len(words) >= SHORTEST:
                yield start, end, xxhash.xxh3_64_intdigest(words.encode("utf-8", "replace"))
        start = end + 1
