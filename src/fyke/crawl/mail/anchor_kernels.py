"""Anchors, inverted: from the packed links of many pages to one packed group for each target, without an object each.

A page's links are what ``cells.pack_links`` wrote: MessagePack, the hrefs, the texts and the rels, each an array of
strings. An anchor becomes a record ``[source, when, text]``: the head of its page (``[source, when,``) before its text,
both copied as they stand. n anchors cost a pass over their bytes and a sort of n hashes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fyke.bits.hashing import mix
from fyke.bits.jit import LANES, copy_lanes, eight_bytes, kernel, leaf
from fyke.bits.search_kernels import same_bytes

PAGE, HREF, HREF_END, TEXT, TEXT_END, ROW = range(6)
"""Of an anchor: its page; its href without, its text with the head of the string."""
GROUP_HREF, GROUP_HREF_END, GROUP_END, GROUP = range(4)
"""Of a target: its href, and where its records end in the output."""

MARGIN = LANES
"""Bytes behind what is read and written, as that is done by so many."""

_PRIME = np.uint64(0x9FB21C651E98DF25)
_U1, _U29 = np.uint64(1), np.uint64(29)
_FIXED_STRING, _STRINGS, _FIXED_ARRAY, _ARRAYS = 0xA0, 0xD9, 0x90, 0xDC
_FEW, _SHORT = 16, 1 << 16


@leaf
def _number(data: Any, at: int, width: int) -> int:
    """Return ``width`` bytes as a number, the first one highest."""
    found = 0
    for here in range(at, at + width):
        found = found * 256 + int(data[here])
    return found


@leaf
def _content(data: Any, at: int) -> int:
    """Return where the string that is packed at ``at`` begins."""
    return at + 1 if data[at] < _STRINGS else at + 1 + (1 << (int(data[at]) - _STRINGS))


@leaf
def _end(data: Any, at: int) -> int:
    """Return where the string that is packed at ``at`` ends."""
    begin = _content(data, at)
    return begin + (int(data[at]) - _FIXED_STRING if begin == at + 1 else _number(data, at + 1, begin - at - 1))


@leaf
def _first(data: Any, at: int) -> int:
    """Return where the first member of the array that is packed at ``at`` is."""
    return at + 1 if data[at] < _ARRAYS else at + 1 + (2 << (int(data[at]) - _ARRAYS))


@leaf
def _hashed(data: Any, at: int, end: int, seed: int) -> np.uint64:
    value: np.uint64 = mix(np.uint64(seed) ^ np.uint64(end - at))
    while at + 8 <= end:
        value = np.uint64((value ^ eight_bytes(data, at)) * _PRIME)
        value = np.uint64(value ^ (value >> _U29))
        at += 8
    rest = eight_bytes(data, at) & ((_U1 << np.uint64(8 * (end - at))) - _U1)
    return mix(np.uint64((value ^ rest) * _PRIME))


@kernel
def locate(data: Any, counts: Any, begins: Any, seed: int, rows: Any, hashes: Any) -> int:
    """Find the anchors that have a text among the links of pages, packed in ``data`` from ``begins`` on.

    ``counts`` says how many links each page has. Writes a row and the hash of the href for each; returns their number.
    REQUIRES: ``pack_links`` wrote all of it; there is room for every link; MARGIN bytes behind the last.
    """
    found = 0
    for page in range(counts.size):
        href = _first(data, begins[page] + 1)
        text = href
        for _ in range(counts[page]):
            text = _end(data, text)
        text = _first(data, text)
        for _ in range(counts[page]):
            begin, end, text_end = _content(data, href), _end(data, href), _end(data, text)
            if text_end > text + 1:
                hashes[found] = _hashed(data, begin, end, seed)
                row = rows[found]
                row[PAGE], row[HREF], row[HREF_END], row[TEXT], row[TEXT_END] = page, begin, end, text, text_end
                found += 1
            href, text = end, text_end
    return found


@leaf
def _same(data: Any, one: Any, other: Any) -> bool:
    """Whether two anchors have one href."""
    size = one[HREF_END] - one[HREF]
    return bool(size == other[HREF_END] - other[HREF] and same_bytes(data, one[HREF], data, other[HREF], size))


@leaf
def _copy(data: Any, begin: int, end: int, out: Any, size: int) -> int:
    """Copy bytes, and up to MARGIN further ones, which whoever writes next overwrites; return the size then."""
    for at in range(begin, end, LANES):
        copy_lanes(data, at, out, size + at - begin)
    return size + end - begin


@leaf
def _write_count(count: int, out: Any, size: int) -> int:
    """Begin an array of so many."""
    if count < _FEW:
        out[size] = _FIXED_ARRAY + count
        return size + 1
    width = 2 if count < _SHORT else 4
    out[size] = _ARRAYS + width // 4
    for k in range(width):
        out[size + 1 + k] = (count >> (8 * (width - 1 - k))) & 255
    return size + 1 + width


@kernel
def invert(data: Any, rows: Any, heads: Any, head_ends: Any, out: Any, groups: Any) -> int:
    """Write the records of anchors, of which those to one target stand side by side, as one array a target.

    ``heads`` are those of the pages, each up to its place in ``head_ends[1:]``. Returns the number of targets.
    REQUIRES: ``groups`` has a row for each anchor, ``out`` room for every record and five bytes more for each; MARGIN
    bytes behind data, heads and out.
    """
    size, place, count = 0, 0, 0
    while place < rows.shape[0]:
        one, group, end = rows[place], groups[count], place + 1
        while end < rows.shape[0] and _same(data, one, rows[end]):
            end += 1
        size = _write_count(end - place, out, size)
        for k in range(place, end):
            row = rows[k]
            size = _copy(heads, head_ends[row[PAGE]], head_ends[row[PAGE] + 1], out, size)
            size = _copy(data, row[TEXT], row[TEXT_END], out, size)
        group[GROUP_HREF], group[GROUP_HREF_END], group[GROUP_END] = one[HREF], one[HREF_END], size
        place, count = end, count + 1
    return count
