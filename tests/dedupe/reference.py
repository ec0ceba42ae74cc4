"""The kernels of dedupe again, in plain Python as their docstrings define them: slow, short, and the truth."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

from fyke.dedupe.words import DEFAULT_FOLDING, UNSPACED_RANGES, Folding

M64 = (1 << 64) - 1
BASE = 0x9FB21C651E98DF25


def mix(x: int) -> int:
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & M64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & M64
    return x ^ (x >> 31)


def unspaced(character: str) -> bool:
    point = ord(character)
    return 0x20000 <= point < 0x40000 or any(a <= point <= b for a, b in UNSPACED_RANGES)


def split(text: str, folding: Folding = DEFAULT_FOLDING) -> list[str]:
    """The words of a text; a bigram of an unspaced script comes as its two characters."""
    found: list[str] = []
    word = run = ""
    for character in [*text, " "]:
        plain = character
        mark = unicodedata.category(plain).startswith("M")
        letter = ord(plain) < 0x40000 and (mark or plain.isalnum() or ord(plain) >= 0x20000)
        if mark and folding.accents and ord(plain) < 0x20000:
            continue
        if letter and ord(plain) < 0x20000:
            if folding.accents:
                plain = unicodedata.normalize("NFD", plain)[0]
            if folding.case and len(plain.casefold()) == 1:
                plain = plain.casefold()
        if letter and unspaced(character):
            if word:
                found.append(word)
            word, run = "", run + plain
            continue
        if run:
            found += [run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]
            run = ""
        if letter:
            word += plain
        elif word:
            found.append(word)
            word = ""
    return found


def hash_word(word: str) -> int:
    h = 0
    for character in word:
        code = mix(ord(character)) & ~3 | (2 if unspaced(character) else 1)
        h = (((h << 5) | (h >> 59)) + code) & M64
    return mix(h)


def word_hashes(text: str, folding: Folding = DEFAULT_FOLDING) -> list[int]:
    return [hash_word(word) for word in split(text, folding)]


def shingles(hashes: Sequence[int], n: int) -> list[int]:
    if not hashes:
        return []
    width = min(n, len(hashes))
    return [
        mix(sum(w * pow(BASE, width - 1 - j, 1 << 64) for j, w in enumerate(hashes[i : i + width])) & M64)
        for i in range(len(hashes) - width + 1)
    ]


def minima(hashes: Sequence[int], a: Sequence[int], b: Sequence[int], p: int = 1 << 32) -> list[int]:
    values = [x >> 32 if p == 1 << 32 else x % p for x in hashes]
    return [min(((s * x + t) % p for x in values), default=0xFFFFFFFF) for s, t in zip(a, b, strict=True)]


def simhash(hashes: Sequence[int], bits: int = 64) -> int:
    totals = [0] * bits
    for value, weight in Counter(hashes).items():
        for i in range(bits):
            totals[i] += weight if value >> i & 1 else -weight
    return sum(1 << i for i, total in enumerate(totals) if total > 0)


def jaccard(left: set[int], right: set[int]) -> float:
    return len(left & right) / len(left | right) if left | right else 0.0
