"""Maintenance: check a store, compact it, and count what it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fyke.errors import UNREADABLE, StorageError
from fyke.store import rocks
from fyke.store.bodies import BODY_RECORD, COUNTER, ELSEWHERE, HERE, is_digest
from fyke.store.cells import (
    ANCHOR,
    COLUMN,
    LINKS,
    META,
    OWN,
    PAGE,
    PAST,
    RAW_FAMILIES,
    TEXT,
    RowMeta,
    Version,
    after,
    cell_key,
    host_prefix,
    row_of,
    split_cell_key,
    unpack_anchors,
    unpack_links,
    unpack_page,
    unpack_text,
    unpack_version,
)
from fyke.store.codec import sha1
from fyke.store.manifest import splits, tablet_of
from fyke.store.store import Store
from fyke.store.tablet import Tablet
from fyke.url import Url

MAX_NAMED = 100
RANGE = 4096
"""Rows whose versions and cells are compared at a time."""
Progress = Callable[[int], None]


@dataclass(slots=True)
class Check:
    """What ``check`` found: counts, and faults of which the first hundred are named."""

    rows: int = 0
    versions: int = 0
    cells: int = 0
    anchors: int = 0
    faults: int = 0
    named: list[str] = field(default_factory=list)

    def fault(self, what: str) -> None:
        """Count a fault."""
        self.faults += 1
        if len(self.named) < MAX_NAMED:
            self.named.append(what)


@dataclass(frozen=True, slots=True)
class Stats:
    """What a store holds."""

    tablets: int
    rows: int
    pages: int
    """Page cells: versions that have a body of their own."""
    hosts: int
    page_bytes: int
    """Bytes of heads and bodies before compression."""
    stored_bytes: int
    """Bytes of their cells."""
    disk_bytes: int
    """Bytes of all files."""
    dictionaries: int
    dictionary_bytes: int
    counters: dict[str, int]

    @property
    def ratio(self) -> float:
        """How many times smaller pages became."""
        return self.page_bytes / self.stored_bytes if self.stored_bytes else 0.0


def check(store: Store, progress: Progress | None = None) -> Check:
    """Read every block (RocksDB verifies their checksums), version, cell and anchor, and compare them with one another.

    A cell that no version names, a version whose cell is missing, a body that does not match its digest, a row
    in the wrong tablet and a total that is not the sum of its rows are faults.
    """
    found = Check()
    for building in splits(store.path):
        wanted = building.name.removeprefix("split-")
        found.fault(f"{building} is an unfinished split; finish it with `fyke store split --tablets {wanted}`")
    elsewhere = 0
    for number in store.owned:
        if not store.exists(number):
            continue
        try:
            tablet = store.tablet(number)
            _check_tablet(store, number, tablet, found, progress)
            elsewhere += _check_bodies(tablet, found) - tablet.ledger.counter(COUNTER)
        except StorageError as error:
            found.fault(str(error))
    if elsewhere and not found.faults:
        found.fault(f"the counter {COUNTER} is wrong by {-elsewhere}")
    return found


def _check_tablet(store: Store, number: int, tablet: Tablet, found: Check, progress: Progress | None) -> None:
    totals: dict[bytes, list[int]] = {}
    for start, end in _ranges(tablet):
        needed: dict[str, set[bytes]] = {PAGE: set(), TEXT: set(), LINKS: set()}
        bodies: dict[bytes, RowMeta] = {}
        for row, value in tablet.items(META, start, end):
            found.rows += 1
            totals.setdefault(host_prefix(row), [0, 0])[0] += 1
            if tablet_of(row, store.settings.tablets) != number:
                found.fault(f"{_name(row)} lies in tablet {number}, where it does not belong")
            _check_version(row, value, needed, bodies, found)
        for key, value in tablet.items(PAST, start, end):
            _check_version(split_cell_key(key)[0], value, needed, bodies, found)
        for family in (PAGE, TEXT, LINKS):
            _check_cells(tablet, family, (start, end), needed[family], bodies, totals, found)
        if progress is not None:
            progress(found.rows)
    for family in (ANCHOR, COLUMN, *RAW_FAMILIES):
        _check_others(tablet, family, found)
    recorded = {stats.name: (stats.rows, stats.pages) for stats in tablet.ledger.hosts()}
    counted = {host[2:-1].decode(): tuple(pair) for host, pair in totals.items()}
    for name in recorded.keys() | counted.keys():
        if recorded.get(name, (0, 0)) != counted.get(name, (0, 0)):
            found.fault(f"{name}: {counted.get(name)} rows and pages, but its totals say {recorded.get(name)}")


def _ranges(tablet: Tablet) -> Iterator[tuple[bytes, bytes]]:
    """Cut all keys into ranges of so many rows that what must be compared fits in memory."""
    start = b""
    for number, (row, _) in enumerate(tablet.items(META), 1):
        if number % RANGE == 0:
            yield start, row
            start = row
    yield start, b""


def _check_version(
    row: bytes, value: bytes, needed: dict[str, set[bytes]], bodies: dict[bytes, RowMeta], found: Check
) -> None:
    try:
        version = unpack_version(value)
    except StorageError as error:
        found.fault(f"a version of {_name(row)} is damaged: {error}")
        return
    found.versions += 1
    _note_needed(row, version, needed, bodies)


def _note_needed(row: bytes, version: Version, needed: dict[str, set[bytes]], bodies: dict[bytes, RowMeta]) -> None:
    for family in (PAGE, TEXT, LINKS):
        if stamp := getattr(version, family):
            key = cell_key(row, stamp)
            needed[family].add(key)
            if family == PAGE and stamp == version.stamp and version.meta.digest:
                bodies[key] = version.meta


def _check_cells(
    tablet: Tablet, family: str, within: tuple[bytes, bytes], needed: set[bytes], bodies: dict[bytes, RowMeta],
    totals: dict[bytes, list[int]], found: Check,
) -> None:  # fmt: skip
    for key, value in tablet.items(family, *within):
        found.cells += 1
        if family == PAGE:
            totals.setdefault(host_prefix(key), [0, 0])[1] += 1
        row, _ = split_cell_key(key)
        if key not in needed:
            found.fault(f"a {family} of {_name(row)} belongs to no version")
        needed.discard(key)
        try:
            data = tablet.decode(value)
            if family == PAGE:
                _check_body(tablet, key, unpack_page(data).body, bodies.get(key), found)
            elif family == TEXT:
                unpack_text(data)
            else:
                unpack_links(data)
        except (StorageError, *UNREADABLE) as error:
            found.fault(f"a {family} of {_name(row)} is damaged: {error}")
    for key in needed:
        found.fault(f"a {family} of {_name(split_cell_key(key)[0])} is missing")


def _check_body(tablet: Tablet, key: bytes, body: bytes, meta: RowMeta | None, found: Check) -> None:
    """Compare the body of a page with the digest that its version states, and with the list of bodies."""
    if meta is None:
        return
    row, _ = split_cell_key(key)
    named = is_digest(meta.digest)
    if named and tablet.get(OWN, BODY_RECORD) is not None:  # else an earlier fyke wrote it
        listed = tablet.get(OWN, BODY_RECORD + meta.digest + key)
        if listed != (HERE if body else ELSEWHERE):
            found.fault(f"the body of {_name(row)} is not where the list of bodies says")
    if named and not body:
        body = tablet.body_of(meta.duplicate_of, meta.digest)
        if not body:
            found.fault(f"{_name(row)} is a copy of {meta.duplicate_of or 'a page'}, whose body is gone")
            return
    if meta.digest != sha1(body):
        found.fault(f"the body of {_name(row)} does not match its digest")


def _check_bodies(tablet: Tablet, found: Check) -> int:
    """Find bodies that are listed without a page; return how many are listed as elsewhere."""
    elsewhere = 0
    for key, value in tablet.items(OWN, BODY_RECORD, after(BODY_RECORD)):
        if len(key) > 21:
            row, stamp = split_cell_key(key[21:])
            elsewhere += value == ELSEWHERE
            if not any(version.page == stamp for version in tablet.versions(row)):
                found.fault(f"a body of {_name(row)} is listed, but belongs to no version")
    return elsewhere


def _check_others(tablet: Tablet, family: str, found: Check) -> None:
    for key, value in tablet.items(family):
        found.cells += 1
        if family == ANCHOR:
            try:
                found.anchors += len(unpack_anchors(value))
            except StorageError as error:
                found.fault(f"the anchors of {_name(row_of(key))} are damaged: {error}")


def _name(row: bytes) -> str:
    try:
        return Url.from_key(row).href
    except ValueError:
        return repr(row)


def stats(store: Store) -> Stats:
    """Count what the store holds, from the hosts' totals: nothing is scanned."""
    rows = pages = hosts = size = stored = dictionaries = dictionary_bytes = 0
    counters: dict[str, int] = {}
    for tablet in store.tablets():
        for host in tablet.ledger.hosts():
            hosts += host.rows > 0
            rows, pages = rows + host.rows, pages + host.pages
            size, stored = size + host.size, stored + host.stored
        for _, dictionary in tablet.ledger.dictionaries():
            dictionaries, dictionary_bytes = dictionaries + 1, dictionary_bytes + len(dictionary)
        for name, value in tablet.ledger.counters().items():
            counters[name] = counters.get(name, 0) + value
    return Stats(
        store.settings.tablets, rows, pages, hosts, size, stored, rocks.disk_bytes(store.path), dictionaries,
        dictionary_bytes, counters,
    )  # fmt: skip


def compact(store: Store, progress: Progress | None = None) -> tuple[int, int]:
    """Merge the files of every tablet and drop what was deleted; return the bytes on disk before and after."""
    before = rocks.disk_bytes(store.path)
    for done, tablet in enumerate(store.tablets(), 1):
        tablet.compact()
        if progress is not None:
            progress(done)
    return before, rocks.disk_bytes(store.path)


def scrub(path: Path) -> None:
    """Rewrite a store so that no file of it holds anything that was deleted: neither data, nor log, nor list of files.

    Deleting hides a row at once; its bytes go when the files that hold them are merged, those of the log when all
    it holds is in files, and the keys that RocksDB's list of files names when that list is made anew.
    """
    with Store.open(path) as store:
        for tablet in store.tablets():
            tablet.compact(rewrite=True)
    with Store.open(path) as store:
        for tablet in store.tablets():
            tablet.sync()
