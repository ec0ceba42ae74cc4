"""What hrefs lead to, by their bytes: one look-up for all links of many pages.

A table of slots (open addressing) leads to entries; an entry has the place that its href depends on, the bytes of the
href, and the key of its target in the seen-set. Bytes are compared, so nobody's hrefs are taken for others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fyke.bits.hashing import mix
from fyke.bits.jit import LANES, copy_lanes, eight_bytes, kernel, leaf, trailing_zeros
from fyke.bits.search_kernels import same_bytes

Bytes = npt.NDArray[np.uint8]
Rows = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]

EVERYWHERE, NOWHERE = 0, -1
"""The place of absolute hrefs; and of those that are not kept."""
ENTRY, START, SIZE, PLACE, FOUND = range(5)
"""Columns of what is told of an href: its entry or -1, where its bytes are without a fragment, and its place."""
FRAGMENT = 0
"""The entry of what leads to another place of its own page."""
LAST, MISSING, DROPPED, TOLD = range(4)
"""Columns of what is told of a page: where its hrefs end, how many have no entry, how many lead nowhere."""
SITE, FOLDER = 4, 5
"""Columns of a page's places, behind those where its anchors' hrefs begin and where hrefs, texts and rels end."""
KEY, COLUMNS = 3, 4
"""Of an entry."""
PLAIN = 4
"""Columns of what is told of a page that is packed."""
MAX_SIZE = 512
"""Bytes of an href that is kept: a longer one is hardly met twice."""
MARGIN = 8
"""Bytes behind the last href that may be read."""
BEHIND = LANES
"""Bytes behind packed links that may be written."""
_KEPT = np.zeros(256, np.uint8)
_KEPT[[*range(48, 58), *range(65, 91), *range(97, 123), *b"_.~%#-"]] = 1
"""Bytes with which an href begins that depends on the directory of its page alone: not "" and "?x"."""
_SLASH, _AMPERSAND, _SPACE = ord("/"), ord("&"), ord(" ")
_ARRAY, _STRING = 0x90, 0xA0  # MessagePack's, where they are short
_HTTP = np.array([*b"https://"], np.uint8)
_HASHES = np.uint64(0x2323232323232323)
_ONES, _HIGHS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_MULTIPLIER = np.uint64(0x9FB21C651E98DF25)
_U0, _U1, _U29 = np.uint64(0), np.uint64(1), np.uint64(29)


class Memo(NamedTuple):
    """The table: ``slots`` are a power of two, 0 where free, else one more than the entry; at most half are taken."""

    slots: Rows
    entries: Words
    """Of each a hash, its place and the size of its href (``_form``), where that begins in ``text``, and the key of its
    target in the seen-set, 0 where it leads nowhere."""
    text: Bytes
    targets: Bytes
    """The URLs that entries lead to, one after another."""
    ends: npt.NDArray[np.int64]
    """Where these begin and end: entry n has ``targets[ends[n]:ends[n + 1]]``."""


@leaf
def _extent(text: Bytes, at: int) -> tuple[int, int]:
    """Return how many bytes of the href at ``at`` say which document it leads to, and how many it has: up to a zero.

    What follows a ``#`` is a place in the document. All counts where that is of a character reference (``&#38;``), and
    behind a space, which would be stripped at an end.
    """
    begin, cut = at, -1
    while True:
        word = eight_bytes(text, at)
        zero = (word - _ONES) & ~word & _HIGHS
        if cut < 0:
            other = word ^ _HASHES
            mark = (other - _ONES) & ~other & _HIGHS
            if mark != _U0 and (zero == _U0 or trailing_zeros(mark) < trailing_zeros(zero)):
                cut = at + (trailing_zeros(mark) >> 3)
        if zero != _U0:
            break
        at += 8
    size = at + (trailing_zeros(zero) >> 3) - begin
    if cut < 0 or (cut > begin and (text[cut - 1] == _AMPERSAND or text[cut - 1] <= _SPACE)):
        return size, size
    return cut - begin, size


@leaf
def _hashed(text: Bytes, at: int, size: int, place: int, seed: np.uint64) -> np.uint64:
    """Return a hash of so many bytes of the href that begins at ``at``."""
    h: np.uint64 = mix(seed + np.uint64(place + 1))
    end = at + size
    while at + 8 <= end:
        h = np.uint64((h ^ eight_bytes(text, at)) * _MULTIPLIER)
        h = np.uint64(h ^ (h >> _U29))
        at += 8
    rest = eight_bytes(text, at) & ((_U1 << np.uint64(8 * (end - at))) - _U1)
    return mix(np.uint64((h ^ rest) * _MULTIPLIER) ^ np.uint64(size))


@leaf
def _place(text: Bytes, at: int, site: int, folder: int) -> int:
    """Return what the href at ``at`` depends on."""
    if text[at] == _SLASH:
        return site
    same = 0
    while same < 8 and text[at + same] == _HTTP[same]:
        same += 1
    plain = same == 4 and text[at + 4] == 58 and text[at + 5] == _SLASH and text[at + 6] == _SLASH
    if same == 8 or plain:
        return EVERYWHERE
    return folder if _KEPT[text[at]] else NOWHERE


@leaf
def _form(place: int, size: int) -> np.uint64:
    return np.uint64((place << 16) + size)


@leaf
def _find(text: Bytes, at: int, size: int, place: int, h: np.uint64, memo: Memo) -> int:
    """Return the entry of an href, or -1 - the slot that is free for it."""
    mask = memo.slots.size - 1
    slot = int(np.int64(h) & mask)
    form = _form(place, size)
    while memo.slots[slot]:
        entry = memo.slots[slot] - 1
        row = memo.entries[entry]
        if row[0] == h and row[1] == form and same_bytes(text, at, memo.text, int(np.int64(row[2])), size):
            return int(entry)
        slot = (slot + 1) & mask
    return -1 - slot


@kernel
def look_up(text: Bytes, spans: Rows, memo: Memo, seed: np.uint64, rows: Rows, keys: Words, pages: Rows) -> int:
    """Look up the hrefs ``text[spans[i, 0]:spans[i, 1]]`` of pages, a zero behind each; return how many there are.

    ``spans`` has the places of each page's site and directory, too; ``rows`` and ``keys`` get what is told of each
    href, as far as there is room, ``pages`` what is told of each page. REQUIRES: MARGIN bytes behind the last.
    """
    count = 0
    for page in range(spans.shape[0]):
        at, missing, dropped = int(spans[page, 0]), 0, 0
        while at < spans[page, 1] and count < rows.shape[0]:
            size, whole = _extent(text, at)
            place = int(_place(text, at, spans[page, SITE], spans[page, FOLDER]))
            entry = FRAGMENT if size == 0 and whole > 0 else -1
            if place < 0:
                size = whole
            elif entry < 0 and size <= MAX_SIZE:
                entry = _find(text, at, size, place, _hashed(text, at, size, place, seed), memo)
            row = rows[count]
            row[ENTRY], row[START], row[SIZE], row[PLACE] = max(entry, -1), at, size, place
            if entry < 0:
                missing += 1
                keys[count] = _U0
            else:
                keys[count] = memo.entries[entry, KEY]
                dropped += memo.entries[entry, KEY] == _U0
            count += 1
            at += whole + 1
        pages[page, LAST], pages[page, MISSING], pages[page, DROPPED] = count, missing, dropped
    return count


@kernel
def keep(text: Bytes, rows: Rows, keys: Words, memo: Memo, seed: np.uint64, first: int, used: int) -> int:
    """Enter hrefs that are not there, each with its key, from entry ``first`` on; return how much of the text is used.

    ``used`` is how much is. Of equal hrefs the first counts. REQUIRES: room for the entries and for their bytes.
    """
    for k in range(rows.shape[0]):
        row, entry = rows[k], first + k
        size = int(row[SIZE])
        h = _hashed(text, int(row[START]), size, int(row[PLACE]), seed)
        slot = -1 - _find(text, int(row[START]), size, int(row[PLACE]), h, memo)
        if slot < 0:
            continue
        memo.slots[slot] = entry + 1
        own = memo.entries[entry]
        own[0], own[1], own[2], own[KEY] = h, _form(int(row[PLACE]), size), used, keys[k]
        for b in range(size):
            memo.text[used + b] = text[row[START] + b]
        used += size
    return used


@leaf
def _head(out: Bytes, at: int, size: int, tiny: int, few: int, wide: int) -> int:
    """Write how long an array or a string is, as MessagePack does; return where it goes on.

    ``tiny`` is the first byte of what has up to ``few``; ``wide`` that of what needs two bytes for its size.
    """
    if size <= few:
        out[at] = tiny | size
        return at + 1
    if tiny == _STRING and size < 256:
        out[at], out[at + 1] = wide - 1, size
        return at + 2
    bytes_of = 2 if size < 65536 else 4
    out[at] = wide if bytes_of == 2 else wide + 1
    for b in range(bytes_of):
        out[at + 1 + b] = (size >> (8 * (bytes_of - 1 - b))) & 255
    return at + 1 + bytes_of


@leaf
def _string(source: Bytes, begin: int, end: int, out: Bytes, at: int) -> int:
    """Write a string; return where it goes on. REQUIRES: BEHIND bytes more in ``out``."""
    at = int(_head(out, at, end - begin, _STRING, 31, 0xDA))
    size, done = end - begin, 0
    while done < size and begin + done + LANES <= source.size:
        copy_lanes(source, begin + done, out, at + done)
        done += LANES
    for b in range(done, size):
        out[at + b] = source[begin + b]
    return at + size


@leaf
def _is_plain(text: Bytes, begin: int, end: int) -> bool:
    """Whether texts are as they are meant: ASCII without a character reference."""
    for at in range(begin, end):
        if text[at] >= 128 or text[at] == _AMPERSAND:
            return False
    return True


@leaf
def _is_empty(text: Bytes, begin: int, end: int) -> bool:
    for at in range(begin, end):
        if text[at]:
            return False
    return True


@leaf
def _all_kept(rows: Rows, begin: int, end: int) -> bool:
    for k in range(begin, end):
        if rows[k, ENTRY] < 0:
            return False
    return True


@kernel
def target_bytes(rows: Rows, memo: Memo) -> int:
    """Return how many bytes hrefs lead to, as far as they have an entry."""
    size = 0
    for k in range(rows.shape[0]):
        entry = rows[k, ENTRY]
        if entry >= 0:
            size += memo.ends[entry + 1] - memo.ends[entry]
    return size


@kernel
def pack(text: Bytes, spans: Rows, rows: Rows, pages: Rows, memo: Memo, out: Bytes, packed: Rows) -> None:
    """Write the links of pages as MessagePack (``values.Links``): their URLs, their texts, no rels.

    ``spans`` are those of `look_up`, ``rows`` and ``pages`` are what it told. ``packed`` gets where each page begins
    and ends in ``out``, whether it has texts, and how many links; begin and end are the same where a page must be done
    otherwise: some hrefs lead nowhere or have no entry, texts are not plain, or there are rels.
    REQUIRES: room for all, and BEHIND bytes more.
    """
    at, begin = 0, 0
    for page in range(spans.shape[0]):
        end, start, last = int(pages[page, LAST]), int(spans[page, 1]), int(spans[page, 2])
        packed[page, 0] = packed[page, 1] = at
        packed[page, 2], packed[page, 3] = 0 if _is_empty(text, start, last) else 1, end - begin
        plain = _is_plain(text, start, last) and _is_empty(text, last, int(spans[page, 3]))
        if plain and end > begin and pages[page, DROPPED] == 0 and _all_kept(rows, begin, end):
            out[at] = 0x93
            at = int(_head(out, at + 1, end - begin, _ARRAY, 15, 0xDC))
            for k in range(begin, end):
                entry = int(rows[k, ENTRY])
                at = int(_string(memo.targets, int(memo.ends[entry]), int(memo.ends[entry + 1]), out, at))
            at = int(_head(out, at, end - begin, _ARRAY, 15, 0xDC))
            for _ in range(end - begin):
                stop = start
                while stop < last and text[stop]:
                    stop += 1
                at = int(_string(text, start, stop, out, at))
                start = stop + 1
            at = int(_head(out, at, end - begin, _ARRAY, 15, 0xDC))
            for _ in range(end - begin):
                out[at] = _STRING
                at += 1
            packed[page, 1] = at
        begin = end
