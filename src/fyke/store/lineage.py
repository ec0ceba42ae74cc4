"""What a local copy of a tablet knows of its depot: whether it is what the chain's head says, and what is up there.

Files in ``depot/`` of the store, of this copy alone::

    tablet-03.json    the depot, the owners that this copy was (each claim draws one), its files that are uploaded
    committed         for each tablet the time (float64) up to which its writes are in the depot, and when somebody last
                      asked for that; of the run alone
    tablet-03.base/   a RocksDB checkpoint while it is being uploaded

A copy may go on where the chain's head was written by one of its owners: nobody else has claimed the tablet since. An
owner is noted before it claims, so that whoever is killed in between knows its claim again.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
from pathlib import Path

import msgspec

from fyke.errors import UNREADABLE, StorageError
from fyke.store.depot import Depot, Entry, File

FOLDER = "depot"
_FLOAT = struct.Struct("<d")
_NEVER = float("inf")


class Uploaded(msgspec.Struct, frozen=True, array_like=True):
    """A local file that the depot has: it is the same while none of these changes."""

    size: int
    inode: int
    changed: int
    """Modification time in ns."""
    file: File


class Lineage(msgspec.Struct, frozen=True):
    """The contents of ``tablet-03.json``."""

    depot: str = ""
    """The depot's identity."""
    owners: tuple[str, ...] = ()
    """The owner that this copy is, and those that it has tried to be since."""
    uploaded: tuple[Uploaded, ...] = ()

    @classmethod
    def read(cls, store: Path, tablet: int) -> Lineage:
        """What the copy in ``store`` knows; nothing where it has never been in a depot, or was damaged."""
        try:
            return msgspec.json.decode(_path(store, tablet).read_bytes(), type=cls)
        except (FileNotFoundError, *UNREADABLE):
            return cls()

    def write(self, store: Path, tablet: int) -> None:
        """Keep it, durably."""
        path = _path(store, tablet)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        fresh = path.with_suffix(".new")
        with fresh.open("wb") as file:
            file.write(msgspec.json.encode(self))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)

    def check(self, store: Path, depot: Depot, tablet: int, head: Entry | None) -> None:
        """Raise ``StorageError`` where the copy in ``store`` is not what the chain's head says."""
        if head is not None and (self.depot != depot.about.identity or head.owner not in self.owners):
            raise stale(store, depot, tablet, head)

    def known(self, base: Entry | None) -> dict[tuple[int, int, int], File]:
        """The files of the newest base that are as they were when they were uploaded, by size, inode and time."""
        there = {file.remote for file in base.files} if base is not None else set()
        return {(u.size, u.inode, u.changed): u.file for u in self.uploaded if u.file.remote in there}


def stale(store: Path, depot: Depot, tablet: int, head: Entry) -> StorageError:
    """The sentence for a copy that must not go on."""
    return StorageError(
        f"tablet {tablet} in {store} is not what the depot {depot.url} holds (written by {head.owner}); "
        f"fetch that with `fyke store fetch {depot.url} DIR` and go on there, or give another depot"
    )


def file_state(path: Path) -> tuple[int, int, int]:
    """Size, inode and modification time of a file."""
    stat = path.stat()
    return stat.st_size, stat.st_ino, stat.st_mtime_ns


def _path(store: Path, tablet: int) -> Path:
    return store / FOLDER / f"tablet-{tablet:02}.json"


class Committed:
    """Up to when the writes of each tablet are in the depot, seen by all processes of a crawl.

    Times are fyke.clock.boot_time's, which all processes of a machine share. ``inf`` says that the tablet is closed
    with everything committed, 0 that nothing is known.
    """

    def __init__(self, store: Path, tablets: int) -> None:
        path = store / FOLDER / "committed"
        path.parent.mkdir(mode=0o700, exist_ok=True)
        self._tablets = tablets
        size = (tablets + 1) * _FLOAT.size
        with contextlib.suppress(FileExistsError):
            path.touch(exist_ok=False)
        with path.open("r+b") as file:
            if path.stat().st_size != size:
                file.truncate(size)
            self._map = mmap.mmap(file.fileno(), size)

    def begin(self) -> None:
        """Forget an earlier run, whose times may be of before the machine was started anew."""
        for place in range(self._tablets + 1):
            self.note(place, 0.0)

    def note(self, tablet: int, when: float = _NEVER) -> None:
        """Note that what was written to a tablet before ``when`` is in the depot; without it, that it is closed."""
        _FLOAT.pack_into(self._map, tablet * _FLOAT.size, when)

    def least(self) -> float:
        """The time up to which the writes of every tablet are in the depot."""
        return min(float(when) for (when,) in _FLOAT.iter_unpack(self._map[: -_FLOAT.size]))

    @property
    def wanted(self) -> float:
        """When somebody last asked every process to commit at once."""
        return float(_FLOAT.unpack_from(self._map, self._tablets * _FLOAT.size)[0])

    def want(self, when: float) -> None:
        """Ask every process to commit at once."""
        self.note(self._tablets, when)

    def close(self) -> None:
        """Let go of the file."""
        self._map.close()
