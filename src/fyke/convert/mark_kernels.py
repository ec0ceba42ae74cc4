"""Words in the marks of a page, names in quotation marks, as scripts have them, and where elements end.

Marks are classes, ids and other names by which authors tell what an element is.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fyke.bits.jit import inlined, kernel, leaf, trailing_zeros
from fyke.bits.search_kernels import find_byte
from fyke.formats.markup_names import ATTRIBUTE
from fyke.formats.markup_rows import CLOSE, ELEMENT_, FIRST, KIND, NAME, OPEN, SELF_CLOSING, VALUE, VALUE_END

Bytes = npt.NDArray[np.uint8]
Rows = npt.NDArray[np.int32]

MAX_MARKS = 20_000
"""Classes, ids and such of a page that are looked at."""
_IS_MARK = np.zeros(256, np.uint8)
_IS_MARK[[ATTRIBUTE[name] for name in ("class", "id", "rel", "itemprop", "property", "role")]] = 1
_MAX_ELEMENT = 1 << 16
"""Tokens of an element in which its end is looked for."""
_NO_BITS, _FIRST_BIT = np.uint64(0), np.uint64(1)
_QUOTE = np.uint8(ord('"'))


@inlined
def _lower(byte: int) -> int:
    return byte + 32 if 65 <= byte <= 90 else byte


@leaf
def _stands(page: Bytes, at: int, end: int, word: Bytes) -> bool:
    """Whether ``word``, which ends with a zero, stands at ``at``."""
    k = 0
    while word[k]:
        if at + k >= end or _lower(int(page[at + k])) != word[k]:
            return False
        k += 1
    return True


@kernel
def find_marks(
    page: Bytes, tokens: Rows, attributes: Rows, words: Bytes, firsts: npt.NDArray[np.uint64], counts: Rows, found: Rows
) -> int:
    """Write the number of a word and the token of the tag for each place where it stands in a mark; return how many.

    ``words`` are in lower case, a row for each, zeros behind it; bit w of ``firsts[b]`` says that word w begins with b.
    ``counts`` gets how often each was met, up to its share of the room: as many rows for each word.
    """
    owner, marks, size = 0, 0, 0
    most = found.shape[0] // words.shape[0]
    for a in range(attributes.shape[0]):
        if not _IS_MARK[attributes[a, NAME]]:
            continue
        marks += 1
        if marks > MAX_MARKS:
            break
        end = int(attributes[a, VALUE_END])
        for at in range(attributes[a, VALUE], end):
            begun = firsts[page[at]]
            while begun != _NO_BITS:
                word = trailing_zeros(begun)
                begun &= begun - _FIRST_BIT
                if counts[word] < most and _stands(page, at, end, words[word]):
                    while tokens[owner + 1, FIRST] <= a:
                        owner += 1
                    found[size, 0], found[size, 1] = word, owner
                    counts[word] += 1
                    size += 1
    return size


@kernel
def find_names(page: Bytes, names: Bytes, places: npt.NDArray[np.int64]) -> None:
    """Write where each of ``names`` first stands in quotation marks, behind these; -1 where it does not.

    ``names`` is a row for each, the closing mark and zeros behind it.
    """
    for n in range(names.shape[0]):
        places[n] = -1
    at = find_byte(page, 0, _QUOTE)
    while at < page.size:
        at += 1
        for n in range(names.shape[0]):
            if places[n] >= 0 or at >= page.size or page[at] != names[n, 0]:
                continue
            k = 1
            while names[n, k] and at + k < page.size and page[at + k] == names[n, k]:
                k += 1
            if names[n, k] == 0:
                places[n] = at + k
        at = find_byte(page, at, _QUOTE)


@kernel
def element_end(tokens: Rows, token: int, implied: Bytes) -> int:
    """Return the token that ends the element opened at ``token``: its end tag, or the start of an ``implied`` one."""
    name, depth = tokens[token, ELEMENT_] & (SELF_CLOSING - 1), 0
    for at in range(token, min(tokens.shape[0], token + _MAX_ELEMENT)):
        kind, element = tokens[at, KIND], tokens[at, ELEMENT_] & (SELF_CLOSING - 1)
        if kind == OPEN and at > token and implied[element]:
            return at
        if element == name and (kind == OPEN or kind == CLOSE):
            depth += 1 if kind == OPEN else -1
            if depth <= 0:
                return at
    return min(token + _MAX_ELEMENT, int(tokens.shape[0]) - 1)
