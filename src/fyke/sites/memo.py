"""``LinkMemo``: what hrefs lead to, each with its key in the seen-set, looked up for the links of many pages at once.

Absolute hrefs (``https://…``) are kept once for all, rooted ones (``/x``) for their site, relative ones (``x.html``)
for their directory, each without its fragment. It is bounded: once full, it begins anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fyke.errors import UrlError
from fyke.formats.markup import Batch, Cut, value_of

from fyke.sites.memo_kernels import (  # isort: skip
    BEHIND, COLUMNS, DROPPED, ENTRY, EVERYWHERE, FOUND, FRAGMENT, LAST, MARGIN, MAX_SIZE, MISSING, NOWHERE, PLAIN, TOLD,
    Memo, keep, look_up, pack, target_bytes,
)  # fmt: skip
from fyke.sites.traps import seen_key
from fyke.url import Url
from fyke.values import Drop, Links

ENTRIES = 50_000
"""About 21 MB: the links of the pages of one depth on a thousand sites."""
_MEAN_SIZE = 80
"""Bytes of an href, and of what it leads to, for which there is room, so many for each entry."""
_HEADS = 11
"""Bytes that stand before a link's parts, and before a page's columns, at most."""
_MAX_PACKED = 1 << 28
"""Bytes of the links of one call that are packed at once: an address of 2 KB may stand for each of millions of them."""
_NO_PLACE = (0,) * 6
"""Of a page whose links nobody wants."""
_FEW = 4_096
"""Hrefs of links that are no anchors which are kept beside the table."""
_OF_THE_DIRECTORY = re.compile(r"[\w.~%#-]")  # not "" and "?x", which depend on the page itself
_NO_DOCUMENTS = {"javascript": Drop.JAVASCRIPT, "mailto": Drop.MAILTO, "data": Drop.DATA}
_WHITE = re.compile(r"[\x00-\x20]+")

Target = tuple[Url | Drop, int]
"""What an href leads to: a URL with its key in the seen-set, or nowhere for a reason (0)."""
Join = Callable[[str], Target]


class Known(NamedTuple):
    """What the hrefs of a page's anchors lead to, in columns."""

    targets: Sequence[str]
    """URLs, or why it is none: a Drop. Empty where there are ``links``."""
    keys: npt.NDArray[np.uint64]
    """0 where it leads nowhere."""
    dropped: bool
    """Whether some lead nowhere."""
    links: Links | None = None
    """The anchors with their texts, of a page where all of them lead somewhere, texts are plain, and none has a rel."""


UNKNOWN = Known([], np.empty(0, np.uint64), False)


class LinkMemo:
    """What hrefs lead to, by site and directory. One for each agent; bounded by ``entries``."""

    def __init__(self, entries: int = ENTRIES, seed: int = 0) -> None:
        self.seed = seed
        """Of the keys in the seen-set."""
        self._limit = entries
        # Python's own secret of this process: nobody else can make hrefs for one slot.
        self._salt = np.uint64(hash("hrefs") & 0xFFFF_FFFF_FFFF_FFFF)
        self._begin()

    def _begin(self) -> None:
        limit = self._limit
        self._memo = Memo(
            np.zeros(1 << max(3, (2 * limit).bit_length()), np.int32), np.empty((limit + 1, COLUMNS), np.uint64),
            np.empty(_MEAN_SIZE * limit + MAX_SIZE, np.uint8), np.empty(_MEAN_SIZE * limit, np.uint8),
            np.zeros(limit + 2, np.int64),
        )  # fmt: skip
        self._memo.entries[FRAGMENT] = 0
        self._targets: list[str] = [Drop.FRAGMENT]  # URLs; a Drop of what leads nowhere
        self._used = self._end = 0  # bytes of hrefs, and of targets
        self._places: dict[str, tuple[int, int]] = {}
        self._others: dict[tuple[int, str], Target] = {}

    def __len__(self) -> int:
        """How many hrefs are kept."""
        return len(self._targets) - 1 + len(self._others)

    def _is_full(self) -> bool:
        sizes = max(self._used, self._end)
        taken = max(len(self._targets) - 1, sizes // _MEAN_SIZE, len(self._places))
        return 10 * taken >= 9 * self._limit  # the rest is for the pages of one call, as far as that goes

    def joiner(self, base: Url) -> Join:
        """Return what joins single hrefs with ``base``."""
        return partial(self._join, base)

    def _join(self, base: Url, href: str) -> Target:
        place = NOWHERE
        if len(href) <= MAX_SIZE:
            if href.startswith("/"):
                place = self._places_of(base)[0]
            elif href.startswith(("http://", "https://")):
                place = EVERYWHERE
            elif _OF_THE_DIRECTORY.match(href):
                place = self._places_of(base)[1]
        if place < 0:
            return judge(base, href, self.seed)
        found = self._others.get((place, href))
        if found is None:
            if len(self._others) >= min(_FEW, self._limit):
                self._others.clear()
            found = self._others[place, href] = judge(base, href, self.seed)
        return found

    def _places_of(self, base: Url) -> tuple[int, int]:
        """Return the numbers of the site of ``base`` and of its directory."""
        href = base.href
        query = href.find("?")
        folder = href[: href.rindex("/", 0, query if query > 0 else None) + 1]
        found = self._places.get(folder)
        if found is None:
            site = base.site
            own = self._places.setdefault(site, (2 * len(self._places) + 1, 0))[0]
            found = self._places[folder] = own, 2 * len(self._places) + 2
        return found

    def look_up(self, cuts: Sequence[Cut], bases: Sequence[Url | None], most: int) -> list[Known | None]:
        """Return what the anchors of pages lead to; None for a page without a base, and with more than ``most``.

        REQUIRES: the pages were cut in one call.
        """
        if self._is_full():
            self._begin()
        if not cuts:
            return []
        batch = cuts[0].batch
        places = [
            (*cut.ends, *self._places_of(base)) if base is not None else _NO_PLACE
            for cut, base in zip(cuts, bases, strict=True)
        ]
        room = sum([min(end - begin, cut.markup.count) for (begin, end, *_), cut in zip(places, cuts, strict=True)])
        rows, keys = np.empty((room, FOUND), np.int32), np.empty(room, np.uint64)
        spans, told = np.array(places, np.int32), np.empty((len(cuts), TOLD), np.int32)
        rows = rows[: look_up(batch.columns, spans, self._memo, self._salt, rows, keys, told)]
        ranges = [*pairwise([0, *told[:, LAST].tolist()])]
        wanted = [base is not None and end - begin <= most for base, (begin, end) in zip(bases, ranges, strict=True)]
        apart: dict[int, str] = {}
        if any(told[:, MISSING].tolist()):
            missing = np.flatnonzero(rows[:, ENTRY] < 0)
            pages = np.searchsorted(told[:, LAST], missing, side="right").tolist()
            joined = [(at, page) for at, page in zip(missing.tolist(), pages, strict=True) if wanted[page]]
            apart = self._resolve(batch, rows, keys, joined, bases, told)
        found: list[Known | None] = []
        packed, dropped = self._pack(batch, spans, rows, told), told[:, DROPPED].tolist()
        for page, (begin, end) in enumerate(ranges):
            if not wanted[page]:
                found.append(None)
            elif (links := packed[page]) is not None:
                found.append(Known((), keys[begin:end], False, links))
            else:
                entries = enumerate(rows[begin:end, ENTRY].tolist(), begin)
                targets = [self._targets[entry] if entry >= 0 else apart[at] for at, entry in entries]
                found.append(Known(targets, keys[begin:end], dropped[page] > 0))
        return found

    def _pack(
        self, batch: Batch, spans: npt.NDArray[np.int32], rows: npt.NDArray[np.int32], told: npt.NDArray[np.int32]
    ) -> list[Links | None]:
        """Return the links of the pages that are plain; None of the others."""
        pages = len(spans)
        size = target_bytes(rows, self._memo) + sum([texts - hrefs for _, hrefs, texts, *_ in spans.tolist()])
        if size > _MAX_PACKED:
            return [None] * pages
        out = np.empty(size + _HEADS * (len(rows) + 2 * pages) + BEHIND, np.uint8)
        packed = np.empty((pages, PLAIN), np.int32)
        pack(batch.columns, spans, rows, told, self._memo, out, packed)
        data = out.data
        return [
            Links.of_packed(bytes(data[begin:end]), count, bool(has_texts)) if end > begin else None
            for begin, end, has_texts, count in packed.tolist()
        ]

    def _resolve(
        self, batch: Batch, rows: npt.NDArray[np.int32], keys: npt.NDArray[np.uint64],
        missing: Sequence[tuple[int, int]], bases: Sequence[Url | None], told: npt.NDArray[np.int32],
    ) -> dict[int, str]:  # fmt: skip
        """Join what is not known, each with its page, and keep it as far as there is room; return what is not kept."""
        first, size_left = len(self._targets), self._memo.text.size - self._used - MARGIN
        room = self._memo.targets.size - self._end
        new: list[int] = []
        fresh: dict[tuple[int, bytes], tuple[str, int, int]] = {}  # what was joined since the look-up, and its entry
        apart: dict[int, str] = {}
        for (at, page), (_, start, size, place) in zip(missing, rows[[at for at, _ in missing]].tolist(), strict=True):
            base, raw = bases[page], batch.anchors[start : start + size]
            assert base is not None
            if (known := fresh.get((place, raw))) is None:
                found, key = judge(base, value_of(raw), self.seed)
                target, entry = found.href if isinstance(found, Url) else found, -1
                fits = size <= min(MAX_SIZE, size_left) and len(target) <= room
                if place >= 0 and fits and len(self._targets) <= self._limit:
                    size_left, room, entry = size_left - size, room - len(target), len(self._targets)
                    self._targets.append(target)
                    new.append(at)
                known = target, key, entry
                if entry >= 0:
                    fresh[place, raw] = known
            apart[at], keys[at], rows[at, ENTRY] = known
            if not known[1]:
                told[page, DROPPED] += 1
        if new:
            self._used = keep(batch.columns, rows[new], keys[new], self._memo, self._salt, first, self._used)
            self._keep_targets(first)
        return apart

    def _keep_targets(self, first: int) -> None:
        """Keep the bytes of what entries from ``first`` on lead to."""
        some = [target.encode() for target in self._targets[first:]]
        begin, data = self._end, b"".join(some)
        self._end += len(data)
        self._memo.targets[begin : self._end] = np.frombuffer(data, np.uint8)
        ends = np.cumsum(np.fromiter(map(len, some), np.int64, len(some)))
        self._memo.ends[first + 1 : first + 1 + len(some)] = begin + ends


def judge(base: Url, href: str, seed: int) -> Target:
    """Return what ``href`` leads to in a document at ``base``."""
    if not href.startswith(("/", "http")):
        start = _WHITE.sub("", href[:64])
        if start.startswith("#"):
            return Drop.FRAGMENT, 0
        if reason := _NO_DOCUMENTS.get(start[:11].partition(":")[0].lower()) if ":" in start else None:
            return reason, 0
    try:
        url = base.join(href)
    except UrlError as error:
        return (Drop.SCHEME if "names no document" in str(error) else Drop.INVALID), 0
    if not url.href.startswith(("http://", "https://")):
        return Drop.SCHEME, 0
    return url, seen_key(url, seed)
