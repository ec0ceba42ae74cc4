"""Copies of whole stores: a backup beside a running crawl, a restore, and two stores merged into one.

A backup is a store itself. Each tablet is copied as it was at one moment, key by key, so that its writer goes on; the
tablets' moments lie as close together as they can be opened. Half a copy has another name (``NAME.half``).
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fyke.errors import StorageError, UserError
from fyke.store import bodies, manifest
from fyke.store.batch import Batch
from fyke.store.cells import (
    ANCHOR,
    FAMILIES,
    LINKS,
    OWN,
    SEEN_MARK,
    TEXT,
    Change,
    Page,
    Version,
    unpack_links,
    unpack_text,
)
from fyke.store.manifest import Manifest
from fyke.store.objects import sync_folder
from fyke.store.row import Row
from fyke.store.store import Store
from fyke.store.tablet import Tablet
from fyke.values import Links

STEP = 4 << 20
"""Bytes written at once."""
PLANS = ("crawl.json", "desktop.json")
"""The plans of a crawl and of local files, which a copy goes on with; the second also says that it is private."""
Progress = Callable[[int], None]


@contextlib.contextmanager
def new_store(target: Path) -> Iterator[Path]:
    """Yield where to make the folder that ``target`` becomes when the body ends well; else nothing is left.

    Raises ``UserError`` where ``target`` is anything already, and ``StorageError`` where it cannot be written.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UserError(f"{target} is there already; name a new folder")
    half = target.with_name(target.name + ".half")
    try:
        shutil.rmtree(half, ignore_errors=True)
        yield half
        if target.exists():
            target.rmdir()
        half.rename(target)
        sync_folder(target.parent)
    except OSError as error:
        raise StorageError(f"cannot write {target}: {error.strerror or error}; free space or name another") from None
    finally:
        shutil.rmtree(half, ignore_errors=True)


def copy_store(source: Path, target: Path, progress: Progress | None = None) -> int:
    """Copy a store, also while it is written to; return how many keys. Raises where ``target`` is anything already."""
    with new_store(target) as half:
        with Store.open(source, mode="r") as old:
            tablets = {number: old.tablet(number) for number in old.owned if old.exists(number)}
            found = manifest.read(source)
            with Store.open(half, settings=found.settings) as new:
                copied = 0
                for number, tablet in tablets.items():
                    copied = _copy_tablet(tablet, new.writable(number), copied, progress)
        manifest.write(half, Manifest(found.settings, secret=found.secret))
        for name in PLANS:
            if (source / name).exists():
                shutil.copyfile(source / name, half / name)
    return copied


def _copy_tablet(old: Tablet, new: Tablet, copied: int, progress: Progress | None) -> int:
    batch = new.batch()
    batch.delete(OWN, bodies.BODY_RECORD)  # said of an empty tablet; what the old one says is copied
    for family in (OWN, *FAMILIES):  # dictionaries before the cells that need them
        for key, value in old.items(family):
            batch.put(family, key, value)
            copied += 1
            if batch.size() > STEP:
                new.write(batch)
                batch = new.batch()
                if progress is not None:
                    progress(copied)
    new.write(batch)
    new.ledger.forget()  # it was written past it
    bodies.list_pages(new)
    new.sync()
    return copied


@dataclass(slots=True)
class Merged:
    """What a merge did."""

    rows: int = 0
    versions: int = 0
    """Versions put."""
    known: int = 0
    """Versions that were there already."""


def merge(store: Store, other: Store, progress: Progress | None = None) -> Merged:
    """Put every row of ``other`` into ``store``: versions, columns and anchors; done twice, it changes nothing.

    What a crawl knows beside its rows (queue, robots rules, mail) is not merged.
    """
    done = Merged()
    for tablet in other.tablets():
        for row in tablet.scan(parts=()):
            target = store.writable(store.tablet_of(row.key))
            with store.lock:
                batch = target.batch()
                batch.delete("queue", SEEN_MARK)
                _merge_row(store, tablet, batch, row, done)
                target.write(batch)
            done.rows += 1
            if progress is not None and done.rows % 64 == 0:
                progress(done.rows)
        _merge_anchors(store, tablet)
    store.sync()
    return done


def _merge_row(store: Store, source: Tablet, batch: Batch, row: Row, done: Merged) -> None:
    """Put the versions of a row that are not there; ``placed`` maps the old stamps to what they have become."""
    placed: dict[int, Version] = {}
    for each in row.history():
        version = each.version
        assert version is not None
        same = [v for v in batch.at_time(row.key, version.meta.fetched) if _is_same(v, version)]
        if same:
            placed[version.stamp] = same[0]
            done.known += 1
            continue
        columns = tuple((cell.column, cell.value) for cell in each.cells_at(version.stamp))
        text, weights, links = _made(source, row.key, version)
        page = _page(store, each) if version.page == version.stamp else None
        like = next((placed[p] for p in (version.page, version.text) if p in placed), None)
        change = Change(version.meta, page, text, links, columns, weights, fresh=page is None and like is None)
        stamp = batch.put_row(row.key, change, version.stamp, like)
        placed[version.stamp] = batch.known_version(row.key, stamp)
        done.versions += 1


def _is_same(mine: Version, others: Version) -> bool:
    """Whether two versions of one time are one: both captures of one body, or both annotations that say the same."""
    captures = (mine.page == mine.stamp, others.page == others.stamp)
    if captures == (True, True):
        return mine.meta.digest == others.meta.digest
    return captures == (False, False) and mine.meta == others.meta and mine.stamp == others.stamp


def _made(tablet: Tablet, row: bytes, version: Version) -> tuple[str | None, bytes, Links | None]:
    """The text, its weights and the links that a version was put with."""
    text, weights, links = None, b"", None
    if version.text and version.text == version.stamp:
        text, weights = unpack_text(tablet.decode(tablet.cell(row, version, TEXT)))
    if version.links and version.links == version.stamp:
        links = unpack_links(tablet.decode(tablet.cell(row, version, LINKS)))
    return text, weights, links


def _page(store: Store, row: Row) -> Page:
    """The page of a version: with its body, unless it only names one that ``store`` has."""
    whole = row.page
    assert whole is not None
    assert row.version is not None
    digest = row.meta.digest
    if whole.body and bodies.is_digest(digest) and not store.settings.keep_versions and row.meta.duplicate_of:
        stored = row.stored_page()
        if not stored.body and any(place.here for place in bodies.find(store, digest)):
            return stored
    return whole


def _merge_anchors(store: Store, source: Tablet) -> None:
    batches: dict[int, Batch] = {}
    for key, value in source.items(ANCHOR):
        number = store.tablet_of(key)
        tablet = store.writable(number)
        head, group = key[:-8], int.from_bytes(key[-8:], "big")
        while (there := tablet.get(ANCHOR, head + group.to_bytes(8, "big"))) not in (None, value):
            group += 1
        if there is None:
            batch = batches.get(number)
            if batch is None:
                batch = batches[number] = tablet.batch()
            batch.put(ANCHOR, head + group.to_bytes(8, "big"), value)
            if batch.size() > STEP:
                tablet.write(batches.pop(number))
    for number, batch in batches.items():
        store.writable(number).write(batch)
