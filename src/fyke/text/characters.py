"""Characters: which of them make words, how they are folded. One table, from Python's Unicode data, for all rooms.

An entry is ``folded character << 2 | kind``: kind 0 separates words, LETTER is of a word (letters, digits and marks, so
that the vowel signs of India stay inside words), UNSPACED is of a script without spaces between words, SKIP is folded
away. Folding is one character to one character.
"""

from __future__ import annotations

import functools
import unicodedata
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fyke.bits.hashing import mixed
from fyke.text.word_kernels import KIND, LETTER, SKIP, TABLE_SIZE, UNSPACED

WORDS = 2
"""The version of what a word is, which files made of words record. 1 was before this room: sketches of it are the same
but where accents are folded; archives and topic models cut marks, Thai and Chinese otherwise."""

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

_ACCENTS = frozenset({1, *range(10, 37), *range(200, 241)})
"""Combining classes of accents: overlays, Hebrew and Arabic points, marks above and below. Not: vowel signs, nukta,
virama, the voicing of kana, Thai vowels and tones, which make other letters or words."""
_BLOCK = 512  # characters that are looked at together


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
def folded_table(folding: Folding = DEFAULT_FOLDING) -> NDArray[np.uint32]:
    """Return the entry of each character below TABLE_SIZE."""
    points = np.arange(TABLE_SIZE, dtype=np.uint32)
    characters = points.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
    kind = np.fromiter(map(str.isalnum, characters), np.bool_, TABLE_SIZE) * np.uint32(LETTER)
    shown = np.fromiter(map(str.isprintable, characters), np.bool_, TABLE_SIZE)
    for point in np.flatnonzero(shown & (kind == 0)).tolist():
        if unicodedata.category(characters[point])[0] == "M":
            kind[point] = LETTER
    folded = np.where(kind, points, np.uint32(0))
    for start in range(0, TABLE_SIZE, _BLOCK):
        block = characters[start : start + _BLOCK]
        if not folding.accents and block.casefold() == block:  # most are what they are folded to
            continue
        for point in (np.flatnonzero(kind[start : start + _BLOCK]) + start).tolist():
            character = characters[point]
            if folding.accents and is_accent(character):
                folded[point], kind[point] = 0, SKIP
            else:
                folded[point] = ord(fold_character(character, folding))
    for first, last in UNSPACED_RANGES:
        span = kind[first : last + 1]
        span[span == LETTER] = UNSPACED
    return folded << np.uint32(2) | kind


@functools.cache
def character_table(folding: Folding = DEFAULT_FOLDING) -> NDArray[np.uint64]:
    """Return the same as codes of 64 bits to hash with: mix of the folded character, the kind in its lowest bits."""
    entries = folded_table(folding).astype(np.uint64)
    return mixed(entries >> np.uint64(2)) & ~KIND | entries & KIND


def fold_character(character: str, folding: Folding) -> str:
    """Return a character as one character: without its accents, in lower case, where ``folding`` asks for it."""
    if folding.accents and not character.isascii():
        apart = unicodedata.normalize("NFD", character)
        if all(map(is_accent, apart[1:])):
            character = apart[0]
    if folding.case and len(lower := character.casefold()) == 1:
        return lower
    return character


def is_accent(character: str) -> bool:
    """Whether a mark is an accent: what a careless writer leaves out."""
    return unicodedata.combining(character) in _ACCENTS
