"""Words: a text as the list of its words, as hashes, as n-grams; and as the bytes that kernels take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from fyke.text import word_kernels as kernels
from fyke.text.characters import DEFAULT_FOLDING, Folding, character_table, folded_table

MAX_BYTES = 4 << 20
"""A longer text is sampled down to this, which bounds time (about 10 ms) and memory (64 MB) for one document."""
SAMPLE_BYTES = 64 << 10
_PART = 1 << 20
"""Bytes that are folded at once."""


def encode(text: str | bytes) -> bytes:
    """Return the UTF-8 of a text, sampled where it is longer than MAX_BYTES; lone surrogates become separators."""
    data = text.encode("utf-8", "replace") if isinstance(text, str) else text
    return data if len(data) <= MAX_BYTES else sample(data)


def sample(data: bytes) -> bytes:
    """Return MAX_BYTES of ``data`` as windows spread evenly over it, so that one rule serves texts of any length."""
    count = MAX_BYTES // SAMPLE_BYTES
    window = SAMPLE_BYTES - 1  # and the space that joins it to the next
    step = (len(data) - window) / (count - 1)
    return b" ".join(data[start : start + window] for start in (round(i * step) for i in range(count)))


def pack(texts: Sequence[str | bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return texts as one buffer and offsets, the shape that kernels take."""
    encoded = [encode(text) for text in texts]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(data) for data in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded) or b"\0", np.uint8), offsets


def word_hashes(text: str | bytes, folding: Folding = DEFAULT_FOLDING) -> NDArray[np.uint64]:
    """Return the hash of each word of a text, in order."""
    buffer = np.frombuffer(encode(text) or b"\0", np.uint8)
    out = np.empty(len(buffer) // 2 + 2, np.uint64)
    out.resize(kernels.words(buffer, 0, len(buffer), character_table(folding), out), refcheck=False)  # keeps no more
    return out


def vocabulary(text: str) -> tuple[int, int]:
    """Return how many words a text of any length has, and how many different ones.

    In scripts without spaces pairs of characters are words. Of a long text the different ones are a lower bound.
    """
    total = distinct = 0
    for part in _parts(text.encode("utf-8", "replace")):
        found = word_hashes(part)
        total += len(found)
        distinct = max(distinct, len(np.unique(found)))
    return total, distinct


def shingle_hashes(text: str | bytes, n: int = 5, folding: Folding = DEFAULT_FOLDING) -> NDArray[np.uint64]:
    """Return the hash of each n-gram of words, in order, repetitions included."""
    return words_shingles(word_hashes(text, folding), n)


def words_shingles(hashes: NDArray[np.uint64], n: int = 5) -> NDArray[np.uint64]:
    """Return ``shingle_hashes`` of the text whose words have these hashes."""
    out = np.empty(len(hashes) + 1, np.uint64)
    return out[: kernels.shingles(hashes, len(hashes), n, out)].copy()


def words(text: str, folding: Folding = DEFAULT_FOLDING) -> list[str]:
    """Return the words of a text of any length, folded, in order."""
    found: list[str] = []
    for part in _parts(text.encode("utf-8", "replace")):
        found += folded(part, folding).tobytes().decode().split()
    return found


def folded(data: bytes, folding: Folding = DEFAULT_FOLDING) -> NDArray[np.uint8]:
    """Return the words of UTF-8, folded, a space behind each. Takes four times the memory of ``data``."""
    room = make_room(len(data), folding)
    size, _ = kernels.fold_words(np.frombuffer(data or b"\0", np.uint8), 0, len(data), room)
    return room.out[:size]


def make_room(size: int, folding: Folding = DEFAULT_FOLDING, spans: int = 0) -> kernels.Room:
    """Return what ``fold_words`` needs for ``size`` bytes, with room for the places of ``spans`` words."""
    out = np.empty(kernels.GROWTH * size + kernels.MARGIN, np.uint8)
    return kernels.Room(folded_table(folding), out, np.empty((spans, 2), np.int64))


def located(text: str, limit: int, folding: Folding = DEFAULT_FOLDING) -> Iterator[tuple[str, int, int]]:
    """Yield the first ``limit`` words of a text, folded, and where each begins and ends in it.

    In scripts without spaces neighbouring words share a character.
    """
    source = np.frombuffer(text.encode("utf-8", "replace") or b"\0", np.uint8)
    room = make_room(len(source), folding, min(limit, len(source)))
    size, count = kernels.fold_words(source, 0, len(source), room)
    found = room.out[:size].tobytes().decode().split()
    for word, (start, end) in zip(found, room.spans[:count].tolist(), strict=False):
        yield word, start, end


def _parts(data: bytes) -> Iterator[bytes]:
    """Cut a text where no word is, so that a part takes little memory; a word that fills a part is cut itself."""
    start = 0
    while len(data) - start > _PART:
        end = start + _PART
        space = max(data.rfind(b" ", start, end), data.rfind(b"\n", start, end)) + 1
        while not space and data[end] & 0xC0 == 0x80 and end > start + 1:
            end -= 1
        end = space or end
        yield data[start:end]
        start = end
    yield data[start:]
