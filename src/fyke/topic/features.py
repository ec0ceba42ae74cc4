"""Texts to hashed features: the vector of a page, and the features of its links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fyke.text.words import folded, make_room
from fyke.topic import kernels

BITS = 18
"""Features are numbers below 2^18: of a topic's few ten thousand words, few share a number; the weights are 1 MB."""
SIZE = 1 << BITS
MASK = np.uint64(SIZE - 1)
MAX_BYTES = 1 << 16
"""Of a page's text: what comes after 64 KB changes no mind."""
SHORT = 1024
"""Bytes of its title, of its anchor texts, and of its URL."""
TITLE_WEIGHT, ADDRESS_WEIGHT = 3, 2
"""A word of the title counts as three of the text; one of the URL or of an anchor text as two."""
MOST = 24
"""Features of a link: an anchor's, an address's and some words around. They wait in the queue with it."""
AROUND = 24
"""Characters before and after a link that are looked at."""
SALTS = np.array([0x9E3779B97F4A7C15, 0xD1B54A32D192ED03, 0x8CB92BA72F3D8DD7], np.uint64)

_FIELD, _LINK = chr(kernels.FIELD_END), chr(kernels.LINK_END)


@dataclass(frozen=True, slots=True, eq=False)
class Vector:
    """A page as a sparse vector of length 1."""

    features: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    words: int


@dataclass(frozen=True, slots=True, eq=False)
class LinkFeatures:
    """Features of links: those of link k stand from ``starts[k]`` to ``starts[k + 1]``."""

    starts: npt.NDArray[np.int64]
    features: npt.NDArray[np.int64]
    looks: npt.NDArray[np.float64]
    """What the page classifier makes of the link's words, as its score."""


class Hasher:
    """Makes features; keeps the tables that it needs, so one for each thread."""

    def __init__(self) -> None:
        self._counts = np.zeros(SIZE, np.int32)
        self._touched = np.empty(2 * (MAX_BYTES + 3 * SHORT), np.int64)  # two features a byte
        self._values = np.empty(len(self._touched))

    def page(self, text: str, title: str = "", url: str = "", anchors: str = "") -> Vector:
        """Return the vector of a page; the arrays are the hasher's own until the next call."""
        used = words = 0
        fields = (
            (text, MAX_BYTES, 1),
            (title, SHORT, TITLE_WEIGHT),
            (anchors, SHORT, ADDRESS_WEIGHT),
            (words_of(url), SHORT, ADDRESS_WEIGHT),
        )
        for field, room, weight in fields:
            if field:
                found = folded(field[:room].encode("utf-8", "replace")[:room])
                used, count = kernels.add_words(found, weight, True, MASK, self._counts, self._touched, used)
                words += count
        kernels.page_vector(self._counts, self._touched, used, self._values)
        return Vector(self._touched[:used], self._values[:used], words)


def words_of(href: str) -> str:
    """Return what of a URL says something: all after its scheme."""
    return href.partition("://")[2] or href


def link_contexts(text: str, anchors: Sequence[str]) -> list[str]:
    """Return some text around each anchor text, in whose order they are looked for; empty where it is not found."""
    found, at = [], 0
    for anchor in anchors:
        place = text.find(anchor, at) if anchor else -1
        if place < 0:
            found.append("")
            continue
        end = place + len(anchor)
        found.append(text[max(0, place - AROUND) : place] + " " + text[end : end + AROUND])
        at = end
    return found


def clean(text: str) -> str:
    """Return a text without the two characters that end fields and links."""
    return text.replace(_FIELD, " ").replace(_LINK, " ")


def link_features(
    links: Sequence[tuple[str, str, str]], weights: npt.NDArray[np.float32] | None = None
) -> LinkFeatures:
    """Return the features of links, each (anchor text, absolute href, text around it).

    ``weights`` are a page classifier's, for ``looks``. The first word of an href, its scheme, is no feature.
    """
    if not links:
        return LinkFeatures(np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0))
    joined = _LINK.join(map(_FIELD.join, links))
    if joined.count(_LINK) != len(links) - 1 or joined.count(_FIELD) != 2 * len(links):
        return link_features([(clean(text), clean(href), clean(around)) for text, href, around in links], weights)
    buffer = np.frombuffer((joined + _LINK).encode("utf-8", "replace"), np.uint8)
    starts = np.zeros(len(links) + 2, np.int64)
    features = np.empty(min(len(buffer), len(links) * MOST) + 1, np.int64)
    looks = np.zeros(len(links) + 1)
    known = NO_WEIGHTS if weights is None else weights
    kernels.link_features(buffer, make_room(len(buffer)), SALTS, MASK, known, starts, features, looks, MOST)
    return LinkFeatures(starts[: len(links) + 1], features[: starts[len(links)]], looks[: len(links)])


NO_WEIGHTS = np.zeros(SIZE, np.float32)
