"""The store's side: rows of files and their states, changed together in one batch of one tablet.

A state lies in the family ``host``, under what all keys of local files begin with, then ``desktop`` 00 ``f`` folder 00
name (docs/desktop.md draws it); the texts of ignore files under ``i``, so that a scan opens none that has not changed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from fyke.desktop.documents import COLUMN, Facts, Row
from fyke.desktop.state import SIZE, Known, is_inside, known_of, pack
from fyke.store import Batch, RowMeta, Store, Version
from fyke.store.cells import COLUMN as COLUMNS
from fyke.store.cells import META, SEEN_MARK, Change, after
from fyke.store.imports.files import file_url
from fyke.store.moving import move_rows
from fyke.url import Url, host_key
from fyke.values import Reason

STATES = "host"
_PREFIX = host_key("") + b"desktop\0"
_FILE, _IGNORE = _PREFIX + b"f", _PREFIX + b"i"
STEP = 256
"""Rows that move or go in one batch."""


def _key(path: str) -> bytes:
    folder, _, name = os.fsencode(path).rpartition(b"/")
    return b"%b%b\0%b" % (_FILE, folder or b"/", name)


def _stamp(current: Version | None) -> int:
    """The time of a new version: now, or behind the current one where the clock was set back."""
    now = time.time_ns() // 1000
    return now if current is None else max(now, current.stamp + 1)


def row_key(path: str) -> bytes:
    """Return the row key of a file."""
    return file_url(Path(path)).key


class Files:
    """What a store holds of local files. Changes wait in a batch until ``write``."""

    def __init__(self, store: Store) -> None:
        number = store.tablet_of(file_url(Path("/")))
        self._tablet = store.writable(number) if store.mode == "w" else store.tablet(number)
        self._batch: Batch = self._tablet.batch()

    # ---- what is known

    def known(self, root: str) -> dict[str, dict[str, bytes]]:
        """Return the states below a folder, by folder and name."""
        found: dict[str, dict[str, bytes]] = {}
        start = _FILE + os.fsencode(root)
        prefix, last, names = len(_FILE), b"", {}
        inside = False
        for key, value in self._tablet.items(STATES, start, after(start)):
            folder, _, name = key[prefix:].partition(b"\0")
            if folder != last:
                last, path = folder, os.fsdecode(folder)
                inside = is_inside(path, root)
                if inside:
                    names = found.setdefault(path, {})
            if inside:
                names[os.fsdecode(name)] = value
        return found

    def state(self, path: str) -> bytes | None:
        """Return the state of one file."""
        return self._tablet.get(STATES, _key(path))

    def below(self, path: str) -> dict[str, bytes]:
        """Return the states of a file, or of all files below a folder, by path."""
        own = self.state(path)
        found = {path: own} if own is not None else {}
        for folder, names in self.known(path).items():
            found |= {os.path.join(folder, name): state for name, state in names.items()}
        return found

    def version(self, url: Url) -> Version | None:
        """Return the current version of a row; None where there is none, or its file is gone."""
        found = self._tablet.version(url.key)
        return None if found is None or found.meta.error == Reason.GONE else found

    def facts(self, key: bytes) -> Facts | None:
        """Return what the file system said of a row's file."""
        for cell in self._tablet.cells(key, COLUMN):
            return msgspec.msgpack.decode(cell.value, type=Facts)
        return None

    def ignore_text(self, path: str, found: bytes) -> str | None:
        """Return what was in an ignore file that has not changed since it was read."""
        kept = self._tablet.get(STATES, _IGNORE + os.fsencode(path))
        return kept[SIZE:].decode("utf-8", "replace") if kept is not None and kept[:SIZE] == found else None

    # ---- changes

    def put_ignore_text(self, path: str, found: bytes, text: str) -> None:
        """Keep what is in an ignore file."""
        self._batch.put(STATES, _IGNORE + os.fsencode(path), found + text.encode("utf-8", "replace"))

    def put(self, path: str, found: bytes, rows: Sequence[Row], members: set[bytes] | None = None) -> None:
        """Put the rows of a file, its own first, with its state; members that it has no more go.

        ``members`` are the keys of those that stay as they are.
        """
        known = self._known(path)
        kept = (members or set()) | {row.url.key for row in rows}
        if known.members:
            for key in self._member_keys(path):
                if key not in kept:
                    self._batch.delete_row(key)
        for row in rows:
            self.put_row(row)
        has = len(kept) > 1 or bool(members)
        self._put_state(path, found, Known(known.since or time.time(), members=has))

    def put_row(self, row: Row) -> None:
        """Put a row that belongs to a file whose state comes later."""
        key = row.url.key
        self._batch.put_row(key, row.change, _stamp(self._tablet.version(key)))

    def touch(self, path: str, found: bytes, change: Change) -> None:
        """Note that a file has the same bytes, but other facts: its row says so, and is no new version."""
        key = row_key(path)
        version = self._tablet.version(key)
        assert version is not None
        said = change.meta
        meta = msgspec.structs.replace(version.meta, last_modified=said.last_modified, truncated=said.truncated)
        self._batch.mark(key, version, meta)
        self._batch.put_columns(key, change.columns, version.stamp)
        self._put_state(path, found, self._known(path))

    def refuse(self, path: str, found: bytes, reason: str) -> None:
        """Note that a file has no row, and why; a row that it had goes for good."""
        known = self._known(path)
        self._delete_rows(path, known)
        self._put_state(path, found, Known(known.since or time.time(), reason))

    def move(self, moved: Mapping[str, str], found: Mapping[str, bytes]) -> None:
        """Give files other paths: rows keep their history, states their ``since``. ``found`` are the new identities."""
        targets = set(moved.values())
        entangled = [old for old, new in moved.items() if new in moved or old in targets]  # as in a swap: all at once
        loose = [old for old, new in moved.items() if new not in moved and old not in targets]
        for step in (entangled, *(loose[at : at + STEP] for at in range(0, len(loose), STEP))):
            pairs: list[tuple[bytes, bytes]] = []
            states = []
            for old in step:
                state, before, behind = self.state(old), row_key(old), row_key(moved[old])
                assert state is not None
                if self._tablet.version(before) is not None:
                    pairs.append((before, behind))
                if known_of(state).members:
                    pairs += [(key, behind + key[len(before) :]) for key in self._member_keys(old)]
                states.append((old, moved[old], found[moved[old]] + state[SIZE:]))
            move_rows(self._tablet, self._batch, pairs)
            for old, _, _ in states:
                self._batch.delete(STATES, _key(old))
            for _, new, state in states:
                self._batch.put(STATES, _key(new), state)
            self.write()

    def bury(self, paths: Iterable[str]) -> None:
        """Leave a tombstone of each file that is gone; the texts of all its versions go at once."""
        for number, path in enumerate(paths, 1):
            known, key = self._known(path), row_key(path)
            if known.members:
                for member in self._member_keys(path):
                    self._batch.delete_row(member)
            version = self._tablet.version(key)
            if version is not None:
                stamp = _stamp(version)
                gone = RowMeta(error=Reason.GONE, fetched=stamp / 1e6, private=True)
                self._batch.put_row(key, Change(gone, fresh=True), stamp)
                self._batch.prune(key, 1)
                for column, _ in self._tablet.few(COLUMNS, key + b"\0", key + b"\1"):
                    self._batch.delete(COLUMNS, column)
            self._batch.delete(STATES, _key(path))
            if number % STEP == 0:
                self.write()
        self.write()

    def forget(self, paths: Iterable[str]) -> None:
        """Take files out for good: rows with their history, members and states."""
        for number, path in enumerate(paths, 1):
            self._delete_rows(path, self._known(path))
            self._batch.delete(STATES, _key(path))
            if number % STEP == 0:
                self.write()
        self.write()

    def forget_below(self, path: str) -> int:
        """Take out all that is known of a file or folder, tombstones and ignore files too; return how many rows."""
        self.forget(self.below(path))
        rows = list(self._rows_below(path))
        for at in range(0, len(rows), STEP):
            for key in rows[at : at + STEP]:
                self._batch.delete_row(key)
            self.write()
        start = _IGNORE + os.fsencode(path)
        for key, _ in self._tablet.items(STATES, start, after(start)):
            if is_inside(os.fsdecode(key[len(_IGNORE) :]), path):
                self._batch.delete(STATES, key)
        self.write()
        return len(rows)

    def count_below(self, path: str) -> int:
        """Return how many rows there are of a file or folder."""
        return sum(1 for _ in self._rows_below(path))

    def _rows_below(self, path: str) -> Iterator[bytes]:
        own = row_key(path)
        if self._tablet.get(META, own) is not None:
            yield own
        for prefix in (own + b"!/", own.rstrip(b"/") + b"/"):
            for key, _ in self._tablet.items(META, prefix, after(prefix)):
                yield key

    def write(self) -> None:
        """Write what was changed, all or nothing."""
        if len(self._batch):
            self._batch.delete("queue", SEEN_MARK)
            self._tablet.write(self._batch)
            self._batch = self._tablet.batch()

    def sync(self) -> None:
        """Bring what was written to the disk."""
        self._tablet.sync()

    def pending(self) -> int:
        """Bytes that wait to be written."""
        return self._batch.size()

    def _known(self, path: str) -> Known:
        state = self.state(path)
        return known_of(state) if state is not None else Known()

    def _put_state(self, path: str, found: bytes, known: Known) -> None:
        self._batch.put(STATES, _key(path), pack(found, known))

    def _delete_rows(self, path: str, known: Known) -> None:
        if known.members:
            for member in self._member_keys(path):
                self._batch.delete_row(member)
        self._batch.delete_row(row_key(path))

    def _member_keys(self, path: str) -> list[bytes]:
        prefix = row_key(path) + b"!/"
        return [key for key, _ in self._tablet.items(META, prefix, after(prefix))]
