"""Import: WARC, ARC, WET, WACZ and TREC files into a store, in batches, with what could not be read counted and named.

A capture becomes a version at its own date; one that is there already (the same URL, date and digest) is counted and
left. A revisit becomes a version with heads of its own whose body is found by digest, once all files are read: the
original may come before it, after it, in another file, or be in the store (fyke.store.imports.revisits).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from msgspec.structs import replace as changed

from fyke.errors import UserError
from fyke.formats.damage import Report
from fyke.formats.streams import inflated
from fyke.formats.warc_record import Record
from fyke.store.batch import Batch
from fyke.store.bodies import is_digest
from fyke.store.cells import OWN, PAGE, SEEN_MARK, Change, Version, unpack_page
from fyke.store.imports.columns import REFERS_TO
from fyke.store.imports.items import Item
from fyke.store.imports.revisits import resolve, waiting_key
from fyke.store.imports.trec import trec_items
from fyke.store.imports.warc import is_zip, record_items, wacz_items, warc_items
from fyke.store.spool import Payload, Payloads
from fyke.store.store import Store
from fyke.url import Url

ROWS, BYTES = 64, 4 << 20
"""What is read and written at once: more costs memory and wins nothing."""

_SNIFF = 1 << 16
_TREC = re.compile(rb"(?:\xef\xbb\xbf)?\s*<DOC>", re.IGNORECASE)
"""TREC is what begins with a document: a page inside a WARC may hold one, too."""

Enrich = Callable[[Sequence[tuple[Url, Change]]], list[Change]]
"""What an import may add to pages before they are stored: text, title, links."""
Stored = Callable[[Sequence[tuple[Url, int, Change]]], None]
"""Is told of the versions that were put, with their stamps."""


@dataclass(slots=True)
class Imported:
    """What an import did, and what it met."""

    rows: int = 0
    """Versions put."""
    known: int = 0
    """Captures that were there already."""
    body_bytes: int = 0
    revisits: int = 0
    report: Report = field(default_factory=Report)


class Importer:
    """Puts the documents of files into a store. A context manager: revisits are resolved at its end."""

    def __init__(self, store: Store, enrich: Enrich | None = None, stored: Stored | None = None) -> None:
        self._store = store
        self._enrich = enrich
        self._stored = stored
        self._payloads = Payloads()
        self._batches: dict[int, Batch] = {}
        self.unresolved = 0
        """Revisits whose payload was not found."""

    def file(self, path: Path, progress: Callable[[int], None] | None = None) -> Imported:
        """Put every document of a file; ``progress`` is told the place in the file. Raises ``UserError``."""
        done = Imported()
        try:
            with path.open("rb") as file:
                self._put_all(_watched(self._items(file, done.report), file, progress), done)
        except OSError as error:
            raise UserError(
                f"cannot read {path}: {error.strerror or error}; give a WARC, WACZ, ARC or TREC file"
            ) from None
        if not done.report.records and not done.rows and path.stat().st_size:
            damage = f" that can be read ({done.report.damages[0].detail})" if done.report.damages else ""
            raise UserError(f"{path} is neither WARC, WACZ, ARC nor TREC{damage}; give a file of one of those formats")
        return done

    def items(self, items: Iterable[Item], report: Report) -> Imported:
        """Put documents from elsewhere; ``report`` is what their reader fills."""
        done = Imported(report=report)
        self._put_all(items, done)
        return done

    def records(self, records: Iterable[Record], report: Report) -> Imported:
        """Put the captures of WARC records, wherever they are from."""
        return self.items(record_items(records, report, self._aliased), report)

    def _items(self, file: BinaryIO, report: Report) -> Iterator[Item]:
        start = file.read(_SNIFF)
        file.seek(0)
        if is_zip(start):
            return wacz_items(file, report, self._aliased)
        try:
            start = inflated(file).read(_SNIFF)
        except OSError:
            start = b""  # damaged: whoever reads it says where, and goes on behind it
        file.seek(0)
        return trec_items(file, report) if _TREC.match(start) else warc_items(file, report, self._aliased)

    def _aliased(self, stated: str, href: str, when: float) -> None:
        self._payloads.put(stated.encode(), Payload(href, when, ""))

    def _put_all(self, items: Iterable[Item], done: Imported) -> None:
        held: list[Item] = []
        size = 0
        for item in items:
            held.append(item)
            page = item.change.page
            size += len(page.body) if page is not None else 0
            if len(held) >= ROWS or size >= BYTES:
                self._put(held, done)
                held, size = [], 0
        self._put(held, done)
        self._store.sync()

    def _put(self, items: list[Item], done: Imported) -> None:
        """Put what is new of some items, each tablet's in one batch."""
        batches: dict[int, Batch] = {}
        new: list[Item] = []
        at_once: defaultdict[tuple[str, float], list[Item]] = defaultdict(list)
        with self._store.lock:
            for item in items:
                if item.aside:
                    continue
                others = at_once[item.url.href, item.change.meta.fetched]
                if self._is_known(self._batch(batches, item), item) or any(_same(item, other) for other in others):
                    done.known += 1
                else:
                    new.append(item)
                    others.append(item)
            changes = [item.change for item in new]
            if self._enrich is not None:
                made = iter(self._enrich([(i.url, i.change) for i in new if not i.reference]))
                changes = [item.change if item.reference else next(made) for item in new]
            put = [
                (item.url, self._put_one(self._batch(batches, item), item, change, done), change)
                for item, change in zip(new, changes, strict=True)
            ]
            for item in items:
                if item.aside:
                    self._put_aside(self._batch(batches, item), item, done)
            for number, batch in batches.items():
                self._store.writable(number).write(batch)
        if self._stored is not None:
            self._stored(put)

    def _batch(self, batches: dict[int, Batch], item: Item) -> Batch:
        number = self._store.tablet_of(item.url.key)
        batch = batches.get(number)
        if batch is None:
            batch = batches[number] = self._store.writable(number).batch()
            batch.delete("queue", SEEN_MARK)
        return batch

    def _is_known(self, batch: Batch, item: Item) -> bool:
        return any(self._tells(item, version) for version in batch.at_time(item.url.key, item.change.meta.fetched))

    def _tells(self, item: Item, version: Version) -> bool:
        """Whether a version of the same time is this capture."""
        if version.page != version.stamp:
            return False
        change, key = item.change, item.url.key
        if not item.reference:
            return _named(version.meta.digest) == _named(change.meta.digest)
        tablet = self._store.tablet(self._store.tablet_of(key))
        page = unpack_page(tablet.decode(tablet.cell(key, version, PAGE)))
        return change.page is not None and page.response_head == change.page.response_head

    def _put_one(self, batch: Batch, item: Item, change: Change, done: Imported) -> int:
        done.rows += 1
        if change.page is not None:
            done.body_bytes += len(change.page.body)
        if item.reference:
            done.revisits += 1
            change = changed(change, columns=(*change.columns, (REFERS_TO, item.reference)))
        stamp = batch.put_row(item.url.key, change, item.stamp)
        if item.reference:
            batch.put(OWN, waiting_key(item.url.key, stamp), b"")
        return stamp

    def _put_aside(self, batch: Batch, item: Item, done: Imported) -> None:
        """Put a text or columns to the version of the same time, or on their own."""
        key, change = item.url.key, item.change
        there = batch.at_time(key, change.meta.fetched)
        if change.text is None:
            batch.put_columns(key, change.columns, there[0].stamp if there else item.stamp)
            return
        pages = [version for version in there if version.page]
        if pages and not pages[0].text:
            batch.complete(key, pages[0], changed(change, meta=pages[0].meta))
        elif pages or any(version.meta.digest == change.meta.digest for version in there):
            done.known += 1
        else:
            batch.put_row(key, change, item.stamp)
            done.rows += 1

    def __enter__(self) -> Importer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        try:
            if kind is None:
                self.unresolved = resolve(self._store, self._payloads, self._enrich, self._stored)
        finally:
            self._payloads.close()


def _named(digest: bytes) -> bytes:
    return digest if is_digest(digest) else b""


def _same(item: Item, other: Item) -> bool:
    """Whether two items of one URL and time are one capture."""
    if item.reference or other.reference:
        heads = [each.change.page.response_head if each.change.page is not None else b"" for each in (item, other)]
        return heads[0] == heads[1]
    return item.change.meta.digest == other.change.meta.digest


def import_file(
    store: Store, path: Path, enrich: Enrich | None = None, progress: Callable[[int], None] | None = None
) -> Imported:
    """Put every document of one file into ``store`` (``Importer``)."""
    with Importer(store, enrich) as importer:
        return importer.file(path, progress)


def _watched(items: Iterable[Item], file: BinaryIO, progress: Callable[[int], None] | None) -> Iterator[Item]:
    for number, item in enumerate(items):
        if progress is not None and number % ROWS == 0:
            progress(file.tell())
        yield item
