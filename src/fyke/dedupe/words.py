"""Words: which characters make them, how they are folded, and how a text becomes bytes for the kernels."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fyke.bits.hashing import mixed
from fyke.dedupe import kernels

UNSPACED_RANGES = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x2FDF),  # radicals
    (0x3005, 0x3007),  # iteration mark, zero
    (0x3040, 0x312F),  # Hiragana, Katakana, Bopomofo
    (0x31A0, 0x31FF),
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F),  # halfwidth Katakana
    (0x1AFF0, 0x1B16F),
)
"""Scripts written without spaces between words; planes 2 and 3 are Han as well. Korean has spaces."""

MAX_BYTES = 4 << 20
"""A longer text is sampled down to this, which bounds time (about 10 ms) and memory (64 MB) for one document."""
SAMPLE_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class Folding:
    """Which differences between characters do not count.

    Case is folded by default: a heading in capitals is the same text. Accents are kept by default, since they
    distinguish words in many languages.
    """

    case: bool = True
    accents: bool = False


DEFAULT_FOLDING = Folding()


@functools.cache
def character_table(folding: Folding = DEFAULT_FOLDING) -> NDArray[np.uint64]:
    """Return the code of each character below 0x20000: see kernels. Folding is one character to one character."""
    folded = np.zeros(kernels.TABLE_SIZE, np.uint64)
    kind = np.zeros(kernels.TABLE_SIZE, np.uint64)
    for point in range(kernels.TABLE_SIZE):
        character = chr(point)
        mark = unicodedata.category(character)[0] == "M"
        if not (mark or character.isalnum()):
            continue
        if mark and folding.accents:
            kind[point] = kernels.SKIP
            continue
        kind[point] = kernels.LETTER
        if folding.accents:
            character = unicodedata.normalize("NFD", character)[0]
        if folding.case and len(lower := character.casefold()) == 1:
            character = lower
        folded[point] = ord(character)
    for first, last in UNSPACED_RANGES:
        span = kind[first : last + 1]
        span[span == kernels.LETTER] = kernels.UNSPACED
    return mixed(folded) & ~kernels.KIND | kind


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
    out = np.empty(len(buffer) + 1, np.uint64)
    return out[: kernels.words(buffer, 0, len(buffer), character_table(folding), out)].copy()


def shingle_hashes(text: str | bytes, n: int = 5, folding: Folding = DEFAULT_FOLDING) -> NDArray[np.uint64]:
    """Return the hash of each n-gram of words, in order, repetitions included."""
    found = word_hashes(text, folding)
    out = np.empty(len(found) + 1, np.uint64)
    return out[: kernels.shingles(found, len(found), n, out)].copy()
