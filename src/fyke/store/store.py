"""The store: tablets behind one door, by URL.

``Store.open(path)`` is its one writer; ``Store.open(path, mode="r")`` reads beside it. Tablets are opened when
they are first needed. A reader sees what was written up to a second before.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import msgspec

from fyke.errors import StorageError, UserError
from fyke.scratch import Scratch
from fyke.store import bodies, manifest, rocks
from fyke.store.cells import (
    host_prefix_known,
    row_of,
    row_range,
)
from fyke.store.codec import Codecs
from fyke.store.hosts import HostStats
from fyke.store.manifest import Manifest, Settings
from fyke.store.putting import Parts, When, put, stamp_of
from fyke.store.row import PARTS, Row
from fyke.store.tablet import Tablet
from fyke.store.where import Where
from fyke.url import Url

if TYPE_CHECKING:  # loaded by who exports
    from fyke.store.exports.columns import Derived

STALE = 0.5
"""Seconds after which a reader looks for new rows, and a writer of single rows syncs its log."""


class Store:
    """A collection of documents on disk, by URL, in every version. Use ``open``; it is a context manager."""

    def __init__(
        self,
        path: Path,
        settings: Settings,
        mode: Literal["r", "w"],
        owned: Sequence[int],
        secret: int,
        log_ttl: int = 0,
    ) -> None:
        self.path = path
        self.settings = settings
        self.secret = secret
        """Seeds the keys by which a crawl knows the URLs of this store (``Manifest.secret``)."""
        self.mode = mode
        self.owned = tuple(owned)
        """The tablets that this process writes, or may read."""
        self._memory = rocks.Memory.make(len(self.owned), log_ttl=log_ttl)
        self._codecs = Codecs(reads=mode == "r")
        self._tablets: dict[int, Tablet] = {}
        self._fresh: dict[int, float] = {}
        self._locks: list[int] = []
        self.lock = threading.RLock()
        """The lock of all tablets: threads may share a store, and a body may move from one tablet to another."""
        self._timer: threading.Timer | None = None
        self._closed = False

    @classmethod
    def open(
        cls,
        path: str | Path,
        mode: Literal["r", "w"] = "w",
        settings: Settings | None = None,
        tablets: Iterable[int] | None = None,
        log_ttl: int = 0,
    ) -> Store:
        """Open a store; ``mode="w"`` makes it if need be and is refused while somebody else writes.

        ``settings`` are those of a new store, and replace an old one's for what is written from now on.
        ``tablets`` limits a writer to some of them, so that others may write the rest. ``log_ttl`` keeps logs for
        whoever ships them (fyke.store.shipping). Raises ``StorageError``.
        """
        path = Path(path)
        if mode not in ("r", "w"):
            raise UserError(f"mode {mode!r} is unknown; use 'r' to read beside a writer or 'w' to write")
        manifest.refuse_split(path, mode)
        found = manifest.read(path) if mode == "r" else manifest.create(path, settings or Settings())
        chosen = found.settings if settings is None or mode == "r" else settings
        if not chosen.tablets:
            chosen = msgspec.structs.replace(chosen, tablets=found.settings.tablets)
        if chosen.tablets != found.settings.tablets:
            raise StorageError(
                f"{path} has {found.settings.tablets} tablets, not {chosen.tablets}; "
                f"change it with `fyke store split --tablets {chosen.tablets}`"
            )
        for tablet in range(chosen.tablets):
            manifest.check_tablet(manifest.tablet_path(path, tablet))
        owned = range(chosen.tablets) if tablets is None else tuple(tablets)
        store = cls(path, chosen, mode, owned, found.secret, log_ttl)
        if mode == "w":
            rocks.raise_file_limit()
            rocks.HEAP.settle()
            try:
                for tablet in store.owned:
                    store._locks.append(manifest.lock(path, tablet))
                manifest.refuse_split(path, mode)  # one that began, or came to its end, before the locks were ours
                if manifest.read(path).settings.tablets != chosen.tablets:
                    raise StorageError(f"{path} was split just now; open it again")
                if chosen.keep_versions and not found.settings.keep_versions and len(store.owned) == chosen.tablets:
                    bodies.fill_all(store)
                if chosen != found.settings or found.version != manifest.VERSION:
                    manifest.write(path, Manifest(chosen, secret=found.secret))
            except StorageError:
                store.close()
                raise
        return store

    @classmethod
    def locked_by_caller(cls, path: Path, settings: Settings) -> Store:
        """Open a store to write. REQUIRES: the caller holds the locks of all tablets."""
        rocks.raise_file_limit()
        rocks.HEAP.settle()
        return cls(path, settings, "w", range(settings.tablets), manifest.read(path).secret)

    # ---- tablets

    def tablet_of(self, url: str | Url | bytes) -> int:
        """Return the number of the tablet that holds a URL or row key."""
        return manifest.tablet_of(_key(url), self.settings.tablets)

    def tablet(self, number: int) -> Tablet:
        """Return a tablet, opened. REQUIRES of a reader: it was written to (``exists`` asks)."""
        tablet = self._tablets.get(number) or self._first_touch(number)
        if self.mode == "r" and time.monotonic() - self._fresh[number] > STALE:
            tablet.refresh()
            self._fresh[number] = time.monotonic()
        return tablet

    def _first_touch(self, number: int) -> Tablet:
        with self.lock:
            tablet = self._tablets.get(number)  # another thread may have been quicker
            if tablet is None:
                if self._closed:
                    raise StorageError(f"{self.path} is closed; open it again")
                if number not in self.owned:
                    raise StorageError(
                        f"tablet {number} of {self.path} belongs to another process; open the store with it"
                    )
                tablet = self._tablets[number] = self._open_tablet(number)
            return tablet

    def tablets(self) -> Iterator[Tablet]:
        """Yield the tablets that were ever written to, in the order of their rows."""
        for number in self.owned:
            if self.exists(number):
                yield self.tablet(number)

    def exists(self, number: int) -> bool:
        """Whether a tablet was ever written to."""
        tablet = self._tablets.get(number)
        return manifest.check_tablet(self._directory(number)) if tablet is None else tablet.was_written

    def _directory(self, number: int) -> Path:
        return manifest.tablet_path(self.path, number)

    def _open_tablet(self, number: int) -> Tablet:
        path, settings = self._directory(number), self.settings
        manifest.check_tablet(path)
        self._fresh[number] = time.monotonic()
        tablet = self._opened(path, settings)
        store = weakref.ref(self)  # else the two would keep each other, and RocksDB's lock
        tablet.body_of = lambda href, digest: found.body_of(href, digest) if (found := store()) is not None else b""
        tablet.bequeath = lambda going: bodies.bequeath(found, going) if (found := store()) is not None else 0
        tablet.lock = self.lock
        return tablet

    def _opened(self, path: Path, settings: Settings) -> Tablet:
        if self.mode == "w":
            codecs = {"page": settings.page, "text": settings.text, "links": settings.links}
            return Tablet.open(path, self._memory, self._codecs, codecs, settings.keep_versions)
        with Scratch("reader") as logs:  # RocksDB wants one, and needs it no more
            return Tablet.follow(path, logs / path.name, self._memory, self._codecs)

    # ---- reading

    def get(self, url: str | Url, at: When | None = None) -> Row | None:
        """Return the document at ``url`` as it is, or as it was at a time; None where nothing is known of it."""
        key = _key(url)
        number = manifest.tablet_of(key, self.settings.tablets)
        if not self.exists(number):
            return None
        tablet = self.tablet(number)
        return tablet.read(key, None if at is None else stamp_of(at)) or (
            _anchored(tablet, key) if at is None else None
        )

    def multi_get(self, urls: Sequence[str | Url]) -> list[Row | None]:
        """Return many documents, in the order asked, each as ``get`` does; faster than one by one."""
        found: list[Row | None] = [None] * len(urls)
        places: dict[int, list[tuple[int, bytes]]] = {}
        for place, url in enumerate(urls):
            key = _key(url)
            places.setdefault(manifest.tablet_of(key, self.settings.tablets), []).append((place, key))
        for number, wanted in places.items():
            if self.exists(number):
                rows = self.tablet(number).multi_read([key for _, key in wanted])
                for (place, key), row in zip(wanted, rows, strict=True):
                    found[place] = row or _anchored(self.tablet(number), key)
        return found

    def scan(self, prefix: str = "", host: str = "", parts: Sequence[str] = PARTS) -> Iterator[Row]:
        """Yield the documents in the order of row keys: all, those below a URL, or those of a host.

        ``parts`` are read along the way; others are read when a row is asked for them.
        """
        start, end = row_range(prefix, host)
        if start and host_prefix_known(start):
            number = manifest.tablet_of(start, self.settings.tablets)
            if self.exists(number):
                yield from self.tablet(number).scan(start, end, parts)
            return
        for tablet in self.tablets():
            yield from tablet.scan(parts=parts)

    def to_arrow(
        self, columns: Iterable[str] | None = None, where: Where | Mapping[str, Any] | None = None, **options: Any
    ) -> Iterator[Any]:
        """Yield the documents, or the rows that ``where`` says, as Arrow record batches (``Dataset.of``)."""
        from fyke.store.exports.dataset import Dataset, to_arrow

        return to_arrow(self, Dataset.of(columns, where, **options), self.derived())

    def derived(self) -> Derived:
        """Return what makes the columns that the store does not hold; ``fyke.Store`` knows more of them."""
        from fyke.store.exports.columns import Stored

        return Stored()

    def body_of(self, href: str, digest: bytes) -> bytes:
        """Return the body with this SHA-1; empty where no page has it. ``href`` is a document that may have it."""
        return bodies.body_of(self, href, digest)

    def anchored(self, prefix: str = "", host: str = "") -> Iterator[bytes]:
        """Yield the keys of rows of which only the anchors that point at them are known, all or as ``scan`` does."""
        start, end = row_range(prefix, host)
        for tablet in self.tablets():
            last = b""
            for key, _ in tablet.items("anchor", start, end):
                row = row_of(key)
                if row != last and tablet.version(row) is None:
                    yield row
                last = row

    def __iter__(self) -> Iterator[Row]:
        return self.scan()

    def hosts(self) -> Iterator[HostStats]:
        """Yield the statistics of every host: rows, pages, bytes before and after compression."""
        for tablet in self.tablets():
            yield from tablet.ledger.hosts()

    # ---- writing

    def put(self, url: str | Url, *, sync: bool = False, **parts: Unpack[Parts]) -> None:
        """Put any part of a document as one transaction; it survives kill -9 on return, with ``sync`` a power cut.

        Parts (fyke.store.putting): ``raw``, ``request_head``, ``response_head``, ``text``, ``title``, ``links``,
        ``anchors``, ``columns``, ``meta``, ``fetched``. ``raw`` begins a new document; without it the rest is added to
        the one that is there, as a new version. ``anchors`` maps the URLs of other documents to the text of their link
        to this one. ``fetched`` (a datetime or seconds since 1970, default now) is the version's time; an older one
        adds to the history.
        """
        named = url if isinstance(url, Url) else Url.parse(url)
        put(self.writable(self.tablet_of(named)), named, parts, sync)
        self._sync_soon()

    def delete(self, url: str | Url) -> None:
        """Delete a row with its history, its anchors and its columns."""
        from fyke.store.deleting import delete_rows

        delete_rows(self, [_key(url)])

    @contextlib.contextmanager
    def locked(self, url: str | Url) -> Iterator[None]:
        """Hold a row for a read-modify-write: no other thread or task changes it inside the ``with``."""
        with self.writable(self.tablet_of(url)).lock:
            yield

    def sync(self) -> None:
        """Bring everything to the disk: it then survives a power cut."""
        for tablet in list(self._tablets.values()):
            if self.mode == "w":
                tablet.sync()

    def ease(self) -> None:
        """Use an idle moment: begin to move what is much in memory to files, so that closing takes less time."""
        for tablet in self._tablets.values():
            tablet.ease()

    def writable(self, number: int) -> Tablet:
        """Return a tablet to write to. Raises ``UserError`` of a reader."""
        if self.mode != "w":
            raise UserError(f"{self.path} is open for reading; open it with mode='w' to write")
        return self.tablet(number)

    def _sync_soon(self) -> None:
        """Have what was put synced within a second, whether or not anything is put after it."""
        if self._timer is None:
            self._timer = timer = threading.Timer(STALE, self._sync_now, (weakref.ref(self),))
            timer.daemon = True
            timer.start()

    @staticmethod
    def _sync_now(reference: weakref.ref[Store]) -> None:
        store = reference()
        if store is not None:
            with store.lock, contextlib.suppress(StorageError):  # a full disk is told to whoever writes next
                store._timer = None
                if not store._closed:  # while this one waited
                    store.sync()

    # ---- living

    def close(self) -> None:
        """Close all tablets and give the lock back. Iterations that are still open end."""
        with self.lock:  # a sync that is under way comes to its end
            if self._closed:
                return
            self._closed = True
            if self._timer is not None:
                self._timer.cancel()
        failures = self._flush() if self.mode == "w" else []
        for tablet in self._tablets.values():
            tablet.close()
        self._tablets.clear()
        for lock in self._locks:
            os.close(lock)
        self._locks.clear()
        if failures:
            raise failures[-1]

    def _flush(self) -> list[StorageError]:
        """Bring all that was written to the disk, several tablets at once, as each waits for it; return what failed."""

        def flush(tablet: Tablet) -> StorageError | None:
            try:
                tablet.sync()
            except StorageError as error:
                return error
            tablet.flush()
            return None

        if not self._tablets:
            return []
        with ThreadPoolExecutor(min(len(self._tablets), 2 * rocks.FLUSHES)) as threads:
            return [failure for failure in threads.map(flush, self._tablets.values()) if failure is not None]

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()


def _anchored(tablet: Tablet, key: bytes) -> Row | None:
    """A row of which only the anchors that point at it are known."""
    return Row(tablet, key, None) if tablet.anchors(key) else None


def _key(url: str | Url | bytes) -> bytes:
    if isinstance(url, bytes):
        return url
    return url.key if isinstance(url, Url) else Url.parse(url).key
