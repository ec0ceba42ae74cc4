"""The words of fyke.text again, in plain Python from unicodedata: slow, short, and the truth."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from fyke.text.characters import DEFAULT_FOLDING, UNSPACED_RANGES, Folding

M64 = (1 << 64) - 1
BASE = 0x9FB21C651E98DF25


def mix(x: int) -> int:
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & M64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & M64
    return x ^ (x >> 31)


def unspaced(character: str) -> bool:
    point = ord(character)
    return 0x20000 <= point < 0x40000 or any(a <= point <= b for a, b in UNSPACED_RANGES)


def accent(character: str) -> bool:
    """A mark that no script makes other letters with: not nukta, virama, kana voicing, Thai, Lao, Tibetan."""
    place = unicodedata.combining(character)
    return place == 1 or 10 <= place <= 36 or 200 <= place <= 240


def split(text: str, folding: Folding = DEFAULT_FOLDING) -> list[str]:
    """The words of a text; a bigram of an unspaced script comes as its two characters."""
    found: list[str] = []
    word = run = ""
    for character in [*text, " "]:
        plain = character
        mark = unicodedata.category(plain).startswith("M")
        letter = ord(plain) < 0x40000 and (mark or plain.isalnum() or ord(plain) >= 0x20000)
        if accent(plain) and folding.accents and ord(plain) < 0x20000:
            continue
        if letter and ord(plain) < 0x20000:
            if folding.accents and all(map(accent, (apart := unicodedata.normalize("NFD", plain))[1:])):
                plain = apart[0]
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
