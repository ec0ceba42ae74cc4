"""Splitting: the rows of a store dealt out to another number of tablets, in steps that a crash cannot tear.

The new tablets are built in ``split-N/`` beside the old ones, one old tablet after another; a small record says
which are done, and one that was begun is begun again (its keys are the same, so nothing doubles). While that folder
is there, nobody else may write (``Store.open`` refuses): what is copied stays true. The folder's manifest, written when
all is copied, turns the copy into the truth; the directories then change places, which can be done any number of times.
All tablets are locked from the first step to the last.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from fyke.errors import UNREADABLE, StorageError
from fyke.store import manifest
from fyke.store.batch import Batch
from fyke.store.bodies import BODY_RECORD, list_pages
from fyke.store.cells import LINKS, OWN, PAGE, ROW_FAMILIES, TEXT
from fyke.store.codec import dictionary_of
from fyke.store.hosts import DICTIONARY_RECORD, HOST_RECORD, WAITING_RECORD, decode_totals
from fyke.store.manifest import MAX_TABLETS, Manifest, Settings, tablet_of
from fyke.store.store import Store
from fyke.store.tablet import Tablet

STEP = 4 << 20
"""Bytes written at once."""


class _Progress(msgspec.Struct):
    tablets: int
    done: list[int]


def split(path: Path, tablets: int, progress: Callable[[int], None] | None = None) -> None:
    """Change the number of tablets of the store at ``path``. Called again after a crash, it goes on.

    Called with another number, it gives up an unfinished one, unless that is past copying: then it is finished first.
    Refused while outboxes hold anything: their keys name tablets. Raises ``StorageError``.
    """
    if not 1 <= tablets <= MAX_TABLETS:
        raise StorageError(f"a store cannot have {tablets} tablets; choose 1 to {MAX_TABLETS}")
    with _locked(path):
        _finish_move(path)
        settings = manifest.read(path).settings
        building = manifest.split_path(path, tablets)
        for other in manifest.splits(path):
            if other != building or settings.tablets == tablets:
                shutil.rmtree(other)
        if settings.tablets != tablets:
            _copy(path, settings, building, tablets, progress)
            _finish_move(path)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the locks of all tablets that are there or will be."""
    locks: list[int] = []
    try:
        locks.extend(manifest.lock(path, number) for number in range(manifest.read(path).settings.tablets))
        yield
    finally:
        for lock in locks:
            os.close(lock)


def _copy(path: Path, settings: Settings, building: Path, tablets: int, progress: Callable[[int], None] | None) -> None:
    """Copy every row of ``path`` into the new tablets, and say that this was done."""
    for number in range(settings.tablets):
        manifest.check_tablet(manifest.tablet_path(path, number))
    new_settings = msgspec.structs.replace(settings, tablets=tablets)
    with Store.locked_by_caller(path, settings) as old:
        _refuse_if_crawling(old)
        state = _state(building, tablets)
        with Store.open(building / "store", settings=new_settings) as new:
            copied = 0
            for number in old.owned:
                if number not in state.done:
                    copied = _deal(old.tablet(number), new, copied, progress)
                    new.sync()
                    state.done.append(number)
                    _record(building, state)
            _sum_counters(old, new)
    # From here on the split can only go forward.
    manifest.write(building, Manifest(new_settings, secret=manifest.read(path).secret))


_QUEUE_ROWS = {b"s": 1, b"q": 1, b"t": 9, b"k": 0, b"m": 0}
"""Kinds of keys in the family ``queue``, and where the host or row key stands in them; 0 for what is not copied."""
_OUTBOX_ROWS = {b"s": 1, b"n": 0, b"a": 0, b"w": 0, b"e": 0}
"""The same of ``outbox``, but for letters. Mail's counters begin anew, as all letters have come; so does the watermark
of anchors, at the price of anchors that are put twice."""


_OWN_ROWS = {BODY_RECORD: 21, WAITING_RECORD: 1}
"""The same of ``default``, but for what belongs to hosts and types."""


def _refuse_if_crawling(store: Store) -> None:
    for tablet in store.tablets():
        for family, known in (("queue", _QUEUE_ROWS), ("outbox", _OUTBOX_ROWS)):
            if any(key[:1] not in known for key, _ in tablet.items(family)):
                holds = "letters between its tablets, or an order of its own"
                raise StorageError(f"{store.path} holds {holds}; let its crawl end, then split")


def _state(building: Path, tablets: int) -> _Progress:
    building.mkdir(exist_ok=True)
    try:
        return msgspec.json.decode((building / "progress.json").read_bytes(), type=_Progress)
    except (FileNotFoundError, *UNREADABLE):
        return _Progress(tablets, [])


def _record(building: Path, state: _Progress) -> None:
    """Say durably which tablets are copied."""
    half = building / "progress.json.half"
    with half.open("wb") as file:
        file.write(msgspec.json.encode(state))
        file.flush()
        os.fsync(file.fileno())
    half.rename(building / "progress.json")


def _deal(tablet: Tablet, new: Store, copied: int, progress: Callable[[int], None] | None) -> int:
    """Copy every key of a tablet to where it belongs, each cell after the dictionary that it needs.

    Content types get new dictionaries in their new tablets.
    """
    dealer = _Dealer(tablet, new)
    list_pages(tablet)
    for key, value in tablet.items(OWN):
        if key[:1] == HOST_RECORD:
            number = tablet_of(key[1:], new.settings.tablets)
            dealer.put_dictionary(number, decode_totals(value).dictionary)
            dealer.put(number, OWN, key, value)
        elif row := _OWN_ROWS.get(key[:1], 0) * (len(key) > 1):
            dealer.put(tablet_of(key[row:], new.settings.tablets), OWN, key, value)
    for family, rows in (("queue", _QUEUE_ROWS), ("outbox", _OUTBOX_ROWS)):
        for key, value in tablet.items(family):
            row = rows[key[:1]]
            if row:  # else it is made anew
                dealer.put(tablet_of(key[row:], new.settings.tablets), family, key, value)
    for family in (*ROW_FAMILIES, "host", "seen"):
        for key, value in tablet.items(family):
            number = tablet_of(key, new.settings.tablets)
            if family in (PAGE, TEXT, LINKS):
                dealer.put_dictionary(number, dictionary_of(value))
            dealer.put(number, family, key, value)
            copied += 1
            if progress is not None and copied % 1024 == 0:
                progress(copied)
    dealer.finish()
    return copied


class _Dealer:
    """Collects keys for the new tablets and writes them in steps."""

    def __init__(self, old: Tablet, new: Store) -> None:
        self._old = old
        self._new = new
        self._batches: dict[int, Batch] = {}
        self._placed: set[tuple[int, bytes]] = set()

    def put(self, number: int, family: str, key: bytes, value: bytes) -> None:
        batch = self._batches.get(number)
        if batch is None:
            batch = self._batches[number] = self._new.tablet(number).batch()
        batch.put(family, key, value)
        if batch.size() > STEP:
            self._new.tablet(number).write(self._batches.pop(number))

    def put_dictionary(self, number: int, identity: bytes) -> None:
        if identity and (number, identity) not in self._placed:
            self._placed.add((number, identity))
            dictionary = self._old.ledger.dictionary(identity)
            if dictionary is not None:
                self.put(number, OWN, DICTIONARY_RECORD + identity, dictionary)

    def finish(self) -> None:
        for number, batch in self._batches.items():
            self._new.tablet(number).write(batch)
        self._batches.clear()


def _sum_counters(old: Store, new: Store) -> None:
    """Counters are the store's as a whole: their sums go to the first tablet."""
    batch = new.tablet(0).batch()
    sums: dict[str, int] = {}
    for tablet in old.tablets():
        for name, amount in tablet.ledger.counters().items():
            sums[name] = sums.get(name, 0) + amount
    present = new.tablet(0).ledger.counters()
    for name, amount in sums.items():
        batch.count(name, amount - present.get(name, 0))
    new.tablet(0).write(batch)


def _finish_move(path: Path) -> None:
    """Finish a move that was begun: old tablets make room, new ones take their places, then the manifest.

    A new tablet that still lies in the copy has not been moved, so what has its name in the store is an old one.
    """
    for building in manifest.splits(path):
        if not (building / manifest.NAME).exists():
            continue
        settings = manifest.read(building).settings
        (building / "old").mkdir(exist_ok=True)
        for tablet in sorted(entry for entry in path.glob("tablet-*") if entry.is_dir()):
            number = int(tablet.name.removeprefix("tablet-"))
            if number >= settings.tablets or manifest.tablet_path(building / "store", number).exists():
                tablet.rename(building / "old" / tablet.name)
        for number in range(settings.tablets):
            source = manifest.tablet_path(building / "store", number)
            if source.exists():
                source.rename(manifest.tablet_path(path, number))
        manifest.write(path, Manifest(settings, secret=manifest.read(path).secret))
        for lock in path.glob("tablet-*.lock"):
            if int(lock.name[7:-5]) >= settings.tablets:
                lock.unlink()
        shutil.rmtree(building)
