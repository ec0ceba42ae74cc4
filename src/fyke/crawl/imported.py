"""What an import makes beside rows, as a crawl does: anchor texts at their targets, exact and near copies marked.

All tablets are ours and nobody waits, so notes between tablets are applied at once instead of being mailed.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Sequence

from fyke.crawl.duplicates.exact import Duplicates, strip_all
from fyke.crawl.duplicates.near import FOLDER, Asked, NearIndex
from fyke.crawl.mail.anchors import Anchors
from fyke.crawl.mail.outbox import Mark, Note, Offer, Outbox, Sighting
from fyke.dedupe.index import SAME_TEXT
from fyke.reading.reading import Material
from fyke.store import Batch, Change, Store
from fyke.store.cells import main_blocks
from fyke.url import Url
from fyke.values import BLOCK_END


class _Direct(Outbox):
    """A post that keeps notes in memory until they are applied."""

    def __init__(self) -> None:
        self.notes: deque[tuple[int, list[Note]]] = deque()
        self._posted = {}

    def write(
        self, batch: Batch, source: int, destination: int, offers: list[Offer], notes: list[Note] | None = None
    ) -> None:
        """Keep notes to another tablet."""
        self.notes.append((destination, notes or []))


class Settled:
    """A ``store.importing.Stored``; a context manager. REQUIRES: all tablets of the store are ours."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._outbox = _Direct()
        self._duplicates = Duplicates(store, self._outbox)
        self._anchors = Anchors(store, self._outbox, marking=False)
        self._index = NearIndex(store.path / FOLDER, store)

    def __call__(self, put: Sequence[tuple[Url, int, Change]]) -> None:
        """Take versions that were put."""
        found = []
        for url, stamp, change in put:
            if change.links:
                self._anchors.note(self._store.tablet_of(url.key), url.href, stamp, change.links)
            if (material := _material(change)) is not None:
                found.append((url.href, stamp, material))
        self._anchors.step(time.time())
        notes: defaultdict[int, list[Note]] = defaultdict(list)
        words = [material.words() for _, _, material in found]  # an address may come in several versions
        asked = [Asked(href, "", own) for (href, _, _), own in zip(found, words, strict=True) if len(own)]
        answers = {each.href: answer for each, answer in zip(asked, self._index.ask(asked), strict=True)}
        if self._index.wants_sync:
            self._index.sync()
        for (href, stamp, material), own in zip(found, words, strict=True):
            digests = material.digests(own)
            here = self._store.tablet_of(href)
            elsewhere = material.canonical not in ("", href)
            notes[here].append(Sighting(href, stamp, digests.raw, digests.text, elsewhere))
            answer = answers.get(href)
            if answer is not None and answer.original and answer.method != SAME_TEXT:
                notes[here].append(Mark(href, stamp, answer.original, answer.similarity, answer.method))
        for number, each in notes.items():
            tablet = self._store.tablet(number)
            batch = tablet.batch()
            self._duplicates.sighted(batch, number, [note for note in each if isinstance(note, Sighting)])
            self._duplicates.apply(batch, number, [note for note in each if isinstance(note, Mark)])
            tablet.write(batch)
        self._deliver()

    def _deliver(self) -> None:
        while self._outbox.notes:
            number, notes = self._outbox.notes.popleft()
            tablet = self._store.tablet(number)
            batch = tablet.batch()
            self._duplicates.apply(batch, number, notes)
            tablet.write(batch)

    def __enter__(self) -> Settled:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        try:
            self._anchors.finish(time.time())
            if kind is None:
                self._store.sync()
                strip_all(self._store)
        finally:
            self._index.close()


def _material(change: Change) -> Material | None:
    """What copies of a document are known by; None of what is no document."""
    page, meta = change.page, change.meta
    if page is None or not page.body or meta.error or not (200 <= meta.status < 300 or not meta.status):
        return None
    text = change.text or ""
    main = "\n".join(main_blocks(text, change.weights)) if change.weights else ""
    canonical = meta.document.canonical if meta.document is not None else ""
    return Material(page.body, main or text.replace(BLOCK_END, "\n"), meta.truncated, canonical)
