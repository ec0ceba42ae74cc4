"""Splitting: the rows of a store dealt out to another number of tablets, in steps that a crash cannot tear.

The new tablets are built in ``split-N/`` beside the old ones, one old tablet after another; a small record says
which are done, and one that was begun is begun again (its keys are the same, so nothing doubles). At the end
the directories change places in an order that ``resume`` can finish: the manifest says what is true.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec

from fyke.errors import StorageError
from fyke.store import manifest
from fyke.store.batch import Batch
from fyke.store.cells import LINKS, OWN, PAGE, ROW_FAMILIES, TEXT
from fyke.store.codec import dictionary_of
from fyke.store.hosts import DICTIONARY_RECORD, HOST_RECORD, decode_totals
from fyke.store.manifest import MAX_TABLETS, Manifest, tablet_of
from fyke.store.store import Store
from fyke.store.tablet import Tablet

STEP = 4 << 20
"""Bytes written at once."""


class _Progress(msgspec.Struct):
    tablets: int
    done: list[int]


def split(path: Path, tablets: int, progress: Callable[[int], None] | None = None) -> None:
    """Change the number of tablets of the store at ``path``. Called again after a crash, it goes on.

    Refused while queues or outboxes hold anything: their keys name tablets. Raises ``StorageError``.
    """
    if not 1 <= tablets <= MAX_TABLETS:
        raise StorageError(f"a store cannot have {tablets} tablets; choose 1 to {MAX_TABLETS}")
    _finish_move(path)
    with Store.open(path) as old:
        if old.settings.tablets == tablets:
            return
        _refuse_if_crawling(old)
        building = path / f"split-{tablets}"
        state = _state(building, tablets)
        settings = msgspec.structs.replace(old.settings, tablets=tablets)
        with Store.open(building / "store", settings=settings) as new:
            copied = 0
            for number in old.owned:
                if number not in state.done:
                    copied = _deal(old.tablet(number), new, copied, progress)
                    new.sync()
                    state.done.append(number)
                    (building / "progress.json").write_bytes(msgspec.json.encode(state))
            _sum_counters(old, new)
    manifest.write(building, Manifest(settings))  # from here on the split can only go forward
    _finish_move(path)


def _refuse_if_crawling(store: Store) -> None:
    for tablet in store.tablets():
        for family in ("queue", "outbox"):
            # Mail's counters ("n", "a") may be there: they begin anew, as all letters have come; so does the watermark
            # of anchors ("w"), at the price of anchors that are put twice.
            if any(family == "queue" or key[:1] not in (b"n", b"a", b"w") for key, _ in tablet.items(family)):
                raise StorageError(f"{store.path} holds an unfinished crawl; let it end, then split")


def _state(building: Path, tablets: int) -> _Progress:
    building.mkdir(exist_ok=True)
    try:
        return msgspec.json.decode((building / "progress.json").read_bytes(), type=_Progress)
    except (FileNotFoundError, msgspec.DecodeError):
        return _Progress(tablets, [])


def _deal(tablet: Tablet, new: Store, copied: int, progress: Callable[[int], None] | None) -> int:
    """Copy every key of a tablet to where it belongs, each cell after the dictionary that it needs.

    Content types get new dictionaries in their new tablets.
    """
    dealer = _Dealer(tablet, new)
    for key, value in tablet.items(OWN):
        if key[:1] == HOST_RECORD:
            number = tablet_of(key[1:], new.settings.tablets)
            dealer.put_dictionary(number, decode_totals(value).dictionary)
            dealer.put(number, OWN, key, value)
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
    """Finish a move that was begun: the old tablets go, the new ones come, then the manifest."""
    for building in path.glob("split-*"):
        if not (building / manifest.NAME).exists():
            continue
        settings = manifest.read(building).settings
        if not (building / "emptied").exists():
            for stale in path.glob("tablet-*"):
                shutil.rmtree(stale) if stale.is_dir() else stale.unlink()
            (building / "emptied").touch()
        for number in range(settings.tablets):
            source = manifest.tablet_path(building / "store", number)
            if source.exists():
                source.rename(manifest.tablet_path(path, number))
        manifest.write(path, Manifest(settings))
        shutil.rmtree(building)
