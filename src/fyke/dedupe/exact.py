"""Exact copies: sums that propose, digests that prove.

A byte sum does not see the order of bytes, so every anagram collides; CRC-32 and Adler-32 do, but 32 bits collide by
chance among some 77,000 documents (birthday), and all three can be forged at will, as can MD5 and SHA-1 with effort.
So a weak sum only proposes: two documents are exact copies if their SHA-256 or their bytes are equal.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import xxhash
from numpy.typing import NDArray

from fyke.text.characters import DEFAULT_FOLDING, Folding
from fyke.text.words import word_hashes


def byte_sum(data: bytes) -> int:
    """Return the sum of the bytes: the textbook's first check sum."""
    return sum(data)


def lecture_adler32(data: bytes, modulus: int = 65521) -> int:
    """Return the lecture's Adler-32, whose sums start at 0 (zlib's B starts at 1): sum of sums above, sum below."""
    a = b = 0
    for byte in data:
        b += byte
        a += b
    return (a % modulus) << 16 | b % modulus


SUMS: dict[str, Callable[[bytes], str]] = {
    "sum": lambda data: f"{byte_sum(data):x}",
    "adler32-lecture": lambda data: f"{lecture_adler32(data):08x}",
    "adler32": lambda data: f"{zlib.adler32(data):08x}",
    "crc32": lambda data: f"{zlib.crc32(data):08x}",
    "xxh3": xxhash.xxh3_64_hexdigest,
    "md5": lambda data: hashlib.md5(data, usedforsecurity=False).hexdigest(),
    "sha1": lambda data: hashlib.sha1(data, usedforsecurity=False).hexdigest(),
    "sha256": lambda data: hashlib.sha256(data).hexdigest(),
}
"""Name to the function of the bytes, as hexadecimal; the last alone proves."""


@dataclass(frozen=True, slots=True)
class Digests:
    """What the crawl keeps of a document to recognise its copies. Owners of a digest keep the first seen."""

    raw: bytes
    """SHA-256 of the body."""
    text: bytes
    """SHA-256 of the normal form of the main text; empty where it has no words."""


def text_digest(text: str | bytes, folding: Folding = DEFAULT_FOLDING) -> bytes:
    """Return SHA-256 over the sequence of words: white space, punctuation and folded differences do not count."""
    return words_digest(word_hashes(text, folding))


def words_digest(hashes: NDArray[np.uint64]) -> bytes:
    """Return ``text_digest`` of the text whose words have these hashes."""
    return hashlib.sha256(hashes.astype("<u8", copy=False).data).digest() if len(hashes) else b""
