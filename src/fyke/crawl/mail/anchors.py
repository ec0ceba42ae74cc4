"""Anchor texts, inverted: the links of the pages that were stored, put to the rows that they point at, in groups.

The links of a page are the truth; what is held here is lost by a crash and made anew from them. A group holds the
anchors of some thousand pages, packed per target, so that a target costs one put for each group and not for each
link; targets of other agents get theirs by mail. Of each tablet a watermark says up to which version the anchors of
its pages are put::

    outbox    "w"   → stamp (8, big-endian) of the last page whose anchors are put

It is written once other agents have theirs, too. A crash before puts some anchors again, in another group: readers take
the newest of each source.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from fyke.crawl.mail.anchor_kernels import GROUP as GROUP_ROW
from fyke.crawl.mail.anchor_kernels import MARGIN, PAGE, ROW, TEXT, TEXT_END, invert, locate
from fyke.crawl.mail.outbox import AnchorCells, Letter, Outbox
from fyke.store import Batch, Store
from fyke.store.cells import encodable, pack_links, unpack_version
from fyke.url import Url
from fyke.values import Link, Links

GROUP = 400_000
"""Links whose anchors make a group: some 40 MB. Half as many would make up to twice as many puts."""
HOLD = 60.0
"""Seconds after which a smaller group is put too."""
STEP = 1500
"""Targets that are put in one step: about 10 ms."""
_EAGER_STEPS = 4  # at a time, where nothing else is to be done: what other agents get is on its way meanwhile

_SHOWN = 8  # anchors of a page that a classifier is shown
_WATERMARK = b"w"
_LONGEST_COUNT = 5  # bytes
_encode = msgspec.msgpack.Encoder().encode

Targets = list[tuple[str, bytes]]
"""Addresses, each with its packed anchors."""


class _Held:
    """The links of pages as they were packed: no object for a link.

    They lie one behind the other in a buffer that goes as a whole: thousands of pieces that stay for a minute among
    those of a moment leave a heap of holes behind, which grew by 25 MB in 100,000 pages.
    """

    def __init__(self) -> None:
        self._pages, self._page_ends = bytearray(), [0]
        self._heads, self._head_ends = bytearray(), [0]
        self._counts: list[int] = []
        self.links = 0
        self.since = 0.0
        self.marks: dict[int, int] = {}
        """Of each tablet the newest version among them."""

    def add(self, source: str, when: float, links: Links) -> None:
        self._pages += pack_links(links)
        self._page_ends.append(len(self._pages))
        self._counts.append(len(links))
        self._heads += b"\x93" + _encode(encodable(source)) + _encode(when)  # of an array of three
        self._head_ends.append(len(self._heads))
        self.links += len(links)
        self.since = self.since or when

    def targets(self, seed: int) -> Iterator[Targets]:
        """Yield the anchors by target, STEP targets at a time."""
        data, heads = _closed(self._pages), _closed(self._heads)
        head_ends, begins = np.array(self._head_ends, np.int64), np.array(self._page_ends[:-1], np.int64)
        rows, hashes = np.empty((self.links, ROW), np.int64), np.empty(self.links, np.uint64)
        found = locate(data, np.array(self._counts, np.int64), begins, seed, rows, hashes)
        order = _order(hashes[:found])
        rows, hashes = rows.take(order, 0), hashes[order]
        sizes = rows[:, TEXT_END] - rows[:, TEXT] + (head_ends[1:] - head_ends[:-1])[rows[:, PAGE]] + _LONGEST_COUNT
        turns = [*(np.flatnonzero(hashes[1:] != hashes[:-1]) + 1).tolist(), found] if found else []
        begin = 0
        for end in [*turns[STEP - 1 : -1 : STEP], *turns[-1:]]:
            out = np.empty(int(sizes[begin:end].sum()) + MARGIN, np.uint8)
            groups = np.empty((end - begin, GROUP_ROW), np.int64)
            count = invert(data, rows[begin:end], heads, head_ends, out, groups)
            yield _cut(data, out, groups[:count].tolist())
            begin = end


def _order(hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Return an order in which equal hashes stand side by side, each in the order they came.

    The hash and the place in one number can be sorted by vectors, which takes a fifth of the time.
    """
    places = np.uint64((1 << len(hashes).bit_length()) - 1)
    keys = hashes & ~places | np.arange(len(hashes), dtype=np.uint64)
    keys.sort()
    order = (keys & places).astype(np.int64)
    found = hashes[order]
    if (found[1:] < found[:-1]).any():  # hashes that are alike in their first bits
        return np.argsort(hashes, kind="stable")
    return order


def _closed(data: bytearray) -> npt.NDArray[np.uint8]:
    """Return the bytes, and MARGIN more; nothing can be added any more."""
    data += bytes(MARGIN)
    return np.frombuffer(memoryview(data).toreadonly(), np.uint8)  # one kind of array for the kernels


def _cut(data: npt.NDArray[np.uint8], out: npt.NDArray[np.uint8], groups: list[list[int]]) -> Targets:
    hrefs, records, begin, found = data.data, out.data, 0, []
    for href, href_end, end in groups:
        found.append((str(hrefs[href:href_end], "utf-8"), bytes(records[begin:end])))
        begin = end
    return found


class Anchors:
    """The anchors that one agent holds, and their way into the tablets."""

    def __init__(self, store: Store, outbox: Outbox, *, marking: bool = True) -> None:
        """Without ``marking`` the watermarks stay as they are: versions that are put come from any time."""
        self._marking = marking
        self._store = store
        self._outbox = outbox
        self._held = _Held()
        self._sending: tuple[Iterator[Targets], dict[int, int]] | None = None
        self._marks: dict[int, int] = {}  # of what is put, or on its way to other agents
        self._group = 0
        self.shown: defaultdict[str, list[str]] | None = None
        """The first texts of links to each address that are held here, where somebody wants to see them."""

    @property
    def pending(self) -> bool:
        """Whether anything is held that is not put."""
        return bool(self._held.links or self._sending or self._marks)

    def restore(self, now: float) -> None:
        """Hold again what an earlier run did not put."""
        for number in self._store.owned:
            tablet = self._store.tablet(number)
            mark = int.from_bytes(tablet.get("outbox", _WATERMARK) or b"", "big")
            for key, value in tablet.items("meta"):
                version = unpack_version(value)
                if version.stamp > mark and version.links:
                    row = tablet.read(key, parts=("links",))
                    if row is not None:
                        self.note(number, row.url, version.stamp, row.links)
                        self.step(now)

    def note(self, number: int, source: str, stamp: int, links: Sequence[Link]) -> None:
        """Hold the anchors of a page of tablet ``number`` that was put at ``stamp``."""
        links = Links.of(links)
        if not links.has_texts:
            return
        self._held.add(source, stamp / 1e6, links)
        if self._marking:
            self._held.marks[number] = max(self._held.marks.get(number, 0), stamp)
        if self.shown is not None:
            for href, text in zip(links.hrefs, links.texts, strict=True):
                if text and len(known := self.shown[href]) < _SHOWN:
                    known.append(text)

    def texts(self, href: str) -> str:
        """Some texts of links to ``href`` that are ``shown``: those of the last minute, or of some thousand pages."""
        return " ".join(dict.fromkeys(self.shown.get(href, ()))) if self.shown is not None else ""

    def step(self, now: float, eager: bool = False) -> bool:
        """Put a few of those whose time has come, and more the more are held; where ``eager`` it has come for all.

        Returns whether there are others.
        """
        held = self._held
        if self._sending is None and held.links and (eager or held.links >= GROUP or now - held.since > HOLD):
            self._sending = held.targets(self._store.secret), held.marks
            self._held = _Held()
            self._group = max(self._group, int(now * 1e6))
            if self.shown is not None:
                self.shown.clear()
        steps = _EAGER_STEPS if eager else 1 + 4 * held.links // GROUP  # else pages of many links are held without end
        while self._sending is not None and steps:
            targets, marks = self._sending
            if (some := next(targets, None)) is not None:
                self._put(some)
            else:
                self._sending = None
                self._marks |= marks
            steps -= 1
        if self._marks and not self._outbox.posted:
            self._write_marks()
        return self._sending is not None or self._held.links > 0

    def finish(self, now: float) -> None:
        """Put all; what other agents have not got by now lies in the outbox."""
        while self.step(now, eager=True):
            pass
        self._outbox.keep()
        self._write_marks()

    def _put(self, targets: Targets) -> None:
        cells: defaultdict[int, list[tuple[bytes, bytes]]] = defaultdict(list)
        sites: dict[str, tuple[int, bytes]] = {}  # tablet, and how row keys begin: what is asked once is not kept
        for href, packed in targets:
            end = href.index("/", href.index(":") + 3)
            known = sites.get(site := href[:end])
            if known is None:
                root = Url(site + "/").key
                known = sites[site] = self._store.tablet_of(root), root[:-1]
            cells[known[0]].append((known[1] + href[end:].encode(), packed))
        carrier = self._store.owned[0]
        for number, some in cells.items():
            if number in self._store.owned:
                tablet = self._store.tablet(number)
                batch = tablet.batch()
                batch.put_packed_anchors(some, carrier, self._group)
                tablet.write(batch)
            else:
                self._outbox.post(carrier, number, AnchorCells(self._group, some))
        self._group += 1  # a name is never used twice

    @staticmethod
    def apply(batch: Batch, letters: Iterable[Letter]) -> None:
        """Let the anchors of letters take effect with ``batch``, which is of their destination."""
        for letter in letters:
            for note in letter.notes:
                if isinstance(note, AnchorCells):
                    batch.put_packed_anchors(note.cells, letter.source, note.group)

    def _write_marks(self) -> None:
        marks, self._marks = self._marks, {}
        for number, stamp in marks.items():
            tablet = self._store.tablet(number)
            batch = tablet.batch()
            batch.put("outbox", _WATERMARK, stamp.to_bytes(8, "big"))
            tablet.write(batch)
