"""Anchor texts, inverted: the links of the pages that were stored, put to the rows that they point at, in groups.

The links of a page are the truth; what is held here is lost by a crash and made anew from them. A group holds the
anchors of some thousand pages, packed per target, so that a target costs one put for each group and not for each
link; targets of other agents get theirs by mail. Of each tablet a watermark says up to which version the anchors of
its pages are put::

    outbox    "w"   → stamp (8, big-endian) of the last page whose anchors are put

A crash between the two puts some anchors again, in another group: readers take the newest of each source.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence

from fyke.crawl.mail.outbox import AnchorCells, Letter, Note, Post
from fyke.store import Batch, Store
from fyke.store.cells import pack_anchor_records, unpack_version
from fyke.url import Url
from fyke.values import Link, Links

GROUP = 200_000
"""Anchors that make a group: some 25 MB. Half as many would make a half more puts."""
HOLD = 60.0
"""Seconds after which a smaller group is put too."""
STEP = 1500
"""Targets that are put in one step: about 10 ms."""

_SHOWN = 8  # anchors of a page that a classifier is shown
_WATERMARK = b"w"


class Anchors:
    """The anchors that one agent holds, and their way into the tablets."""

    def __init__(self, store: Store, post: Post, tablet_of: Callable[[Url], int], *, marking: bool = True) -> None:
        """Without ``marking`` the watermarks stay as they are: versions that are put come from any time."""
        self._marking = marking
        self._store = store
        self._post = post
        self._tablet_of = tablet_of
        self._held: defaultdict[str, list[tuple[str, float, str]]] = defaultdict(list)
        self._count = 0
        self._since = 0.0
        self._marks: dict[int, int] = {}
        self._sending: deque[tuple[str, list[tuple[str, float, str]]]] = deque()
        self._sent_marks: dict[int, int] = {}
        self._group = 0

    @property
    def pending(self) -> bool:
        """Whether anything is held that is not put."""
        return bool(self._count or self._sending)

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
        held, when, count, links = self._held, stamp / 1e6, 0, Links.of(links)
        for target, text in zip(links.targets, links.texts, strict=True):
            if text:
                held[target.href].append((source, when, text))
                count += 1
        if count:
            self._since = self._since or when
            self._count += count
            if self._marking:
                self._marks[number] = max(self._marks.get(number, 0), stamp)

    def texts(self, href: str) -> str:
        """Some texts of links to ``href`` that are held here: those of the last minute, or of some thousand pages."""
        return " ".join(dict.fromkeys(text for _, _, text in self._held.get(href, ())[:_SHOWN]))

    def step(self, now: float, everything: bool = False) -> None:
        """Put a few of those whose time has come; with ``everything`` all that are held."""
        full = self._count >= GROUP or (self._count and now - self._since > HOLD)
        while self._sending or full or (everything and self._count):
            if not self._sending:
                self._sending.extend(self._held.items())
                self._sent_marks, self._group = self._marks, max(self._group, int(now * 1e6))
                self._held, self._count, self._since, self._marks = defaultdict(list), 0, 0.0, {}
                full = False
            self._put([self._sending.popleft() for _ in range(min(STEP, len(self._sending)))])
            if not self._sending:
                self._write_marks()
            if not everything:
                return

    def _put(self, targets: list[tuple[str, list[tuple[str, float, str]]]]) -> None:
        cells: defaultdict[int, list[tuple[bytes, bytes]]] = defaultdict(list)
        for href, anchors in targets:
            url = Url(href)
            cells[self._tablet_of(url)].append((url.key, pack_anchor_records(anchors)))
        carrier = self._store.owned[0]
        letters = self._store.tablet(carrier).batch()
        for number, packed in cells.items():
            if number in self._store.owned:
                tablet = self._store.tablet(number)
                batch = tablet.batch()
                for row, value in packed:
                    batch.put_packed_anchors(row, carrier, self._group, value)
                tablet.write(batch)
            else:
                note: Note = AnchorCells(self._group, packed)
                self._post.write(letters, carrier, number, [], [note])
        if len(letters):
            self._store.tablet(carrier).write(letters)
        self._group += 1  # a name is never used twice

    @staticmethod
    def apply(batch: Batch, letters: Iterable[Letter]) -> None:
        """Let the anchors of letters take effect with ``batch``, which is of their destination."""
        for letter in letters:
            for note in letter.notes:
                if isinstance(note, AnchorCells):
                    for row, value in note.cells:
                        batch.put_packed_anchors(row, letter.source, note.group, value)

    def _write_marks(self) -> None:
        for number, stamp in self._sent_marks.items():
            tablet = self._store.tablet(number)
            batch = tablet.batch()
            batch.put("outbox", _WATERMARK, stamp.to_bytes(8, "big"))
            tablet.write(batch)
