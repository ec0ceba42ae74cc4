"""What is known of a file, and what follows from what is seen now: pure, so that it can be told and tested.

A *state* is 40 bytes by which a file is known to be the same (device, inode, size, mtime, ctime), then what became of
it. A file is unchanged if the last four are: a disk that is mounted anew may have another number. One with the device,
inode, size and mtime of a vanished one has moved (renaming changes the ctime).
"""

from __future__ import annotations

import heapq
import os
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

_IDENTITY = struct.Struct("<QQQqq")
SIZE = _IDENTITY.size
_DEVICE, _CHANGED = 8, 32
"""Where the device ends and the ctime begins."""
RACE = 0.02
"""Seconds within which two writes may have one time: what was read so soon after a write is read again."""
COARSE = 2.0
"""The same where times have whole seconds."""
TOGETHER = 0.1
"""Seconds in which both halves of a rename are told."""
MIN_GONE = 4
"""Fewer files than these may vanish unasked, even if they are more than half."""


class Known(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """What became of a file."""

    since: float = 0.0
    """When it was first taken, in seconds since 1970."""
    reason: str = ""
    """Why it has no row (``private-key``, ``denied`` …); empty where it has one."""
    members: bool = False
    """It has rows of its members, too."""


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Known).decode


def identity(stat: os.stat_result) -> bytes:
    """Return the 40 bytes of a file."""
    return _IDENTITY.pack(
        stat.st_dev & 0xFFFFFFFFFFFFFFFF, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns
    )


def unsure(found: bytes) -> bytes:
    """Return an identity that no file has, so that this one is read again; that it moved is still seen."""
    return found[:_CHANGED] + bytes(SIZE - _CHANGED)


def is_unsure(found: bytes) -> bool:
    """Whether ``unsure`` made an identity."""
    return not any(found[_CHANGED:SIZE])


def is_same(state: bytes, found: bytes) -> bool:
    """Whether a file is the one that a state is of, and unchanged."""
    return state[_DEVICE:SIZE] == found[_DEVICE:SIZE]


def is_racy(found: bytes, read: float) -> bool:
    """Whether a file that was read at that time may have been written since, and not look so: by its ctime.

    (The mtime is what programs say it is; one in the future would never come to rest.)
    """
    changed: int = _IDENTITY.unpack(found)[4]
    return abs(read - changed / 1e9) < (RACE if changed % 1_000_000_000 else COARSE)


def size_and_time(found: bytes) -> tuple[int, float]:
    """Return bytes and mtime of an identity."""
    _, _, size, modified, _ = _IDENTITY.unpack(found)
    return size, modified / 1e9


def pack(found: bytes, known: Known) -> bytes:
    """Return the state of a file."""
    return found + _encode(known)


def known_of(state: bytes) -> Known:
    """Return what became of a file. Raises ``msgspec.DecodeError``."""
    return _decode(state[SIZE:])


@dataclass(slots=True)
class Difference:
    """What is seen beside what is known, by path."""

    new: dict[str, bytes] = field(default_factory=dict)
    """Files without a state, by their identity."""
    changed: dict[str, bytes] = field(default_factory=dict)
    vanished: dict[str, bytes] = field(default_factory=dict)
    """States of files that are not seen."""
    unchanged: int = 0

    def compare(self, folder: str, seen: Mapping[str, bytes], known: Mapping[str, bytes]) -> None:
        """Take one folder: names with their identities, and names with their states."""
        get, join = known.get, folder.rstrip("/") + "/"
        same = 0
        for name, found in seen.items():
            state = get(name)
            if state is None:
                self.new[join + name] = found
            elif state[_DEVICE:SIZE] == found[_DEVICE:]:
                same += 1
            else:
                self.changed[join + name] = found
        self.unchanged += same
        if same < len(known):
            for name, state in known.items():
                if name not in seen:
                    self.vanished[join + name] = state

    def moves(self) -> dict[str, str]:
        """Take files that moved out of what is new and vanished; return old paths with the new ones."""
        if not self.new or not self.vanished:
            return {}
        places: dict[bytes, list[str]] = {}
        for path, found in self.new.items():
            places.setdefault(found[:_CHANGED], []).append(path)
        moved: dict[str, str] = {}
        for path, state in self.vanished.items():
            there = places.get(state[:_CHANGED])
            if there and not is_unsure(state):  # else another file may have its inode, size and time
                moved[path] = there.pop()
        for old, new in moved.items():
            del self.vanished[old], self.new[new]
        return moved

    def is_half_gone(self, gone: int) -> bool:
        """Whether so much has vanished that it is rather a disk that is not there."""
        return gone >= MIN_GONE and gone > self.unchanged + len(self.changed)


@dataclass(slots=True)
class Settling:
    """Paths that were touched, each until it has been left alone for a while. Times are the caller's."""

    quick: float = 0.3
    restless: float = 5.0
    slow: float = 60.0
    _due: dict[str, float] = field(default_factory=dict)
    _since: dict[str, float] = field(default_factory=dict)
    _heap: list[tuple[float, str]] = field(default_factory=list)
    _touched: dict[str, tuple[float, int]] = field(default_factory=dict)

    def touch(self, path: str, now: float, at_rest: bool = False) -> None:
        """Note that a path was written or made; ``at_rest``: that it was moved or is gone, so nobody writes to it."""
        last, often = self._touched.get(path, (0.0, 0))
        if path not in self._due:  # how often it came to rest and was touched again, not how many writes that took
            often = often + 1 if now - last < 2 * self.restless else 1
            self._touched[path] = (now, often)
            self._since[path] = now
            if len(self._touched) > 10_000:
                self._touched.clear()
        wait = self.slow if is_slow(path) else self.restless if often > 3 else self.quick
        wait = TOGETHER if at_rest else wait
        due = min(now + wait, self._since[path] + 2 * max(wait, self.restless))  # a file that is written for ever
        self._due[path] = due
        heapq.heappush(self._heap, (due, path))

    def settled(self, now: float) -> list[str]:
        """Return the paths that have come to rest, and forget them."""
        found = []
        while self._heap and self._heap[0][0] <= now + TOGETHER / 2:
            due, path = heapq.heappop(self._heap)
            if self._due.get(path) == due:
                del self._due[path], self._since[path]
                found.append(path)
        return found

    def wait(self, now: float) -> float | None:
        """Return the seconds until something may have settled; None where nothing waits."""
        return max(0.0, self._heap[0][0] - now) if self._heap else None

    def __len__(self) -> int:
        return len(self._due)


_SLOW = (".mbox", ".mbx", ".sqlite", ".sqlite3", ".db", ".log", ".jsonl", ".part", ".crdownload", ".tmp", ".swp")


def is_slow(path: str) -> bool:
    """Whether a file is one that programs write to all the time."""
    return path.lower().endswith(_SLOW)


def outermost(paths: Iterable[str]) -> list[str]:
    """Return the paths that lie in none of the others."""
    kept: list[str] = []
    for path in sorted(set(paths), key=lambda path: path.replace("/", "\0")):  # what is inside follows at once
        if not kept or not is_inside(path, kept[-1]):
            kept.append(path)
    return kept


def is_inside(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies in it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")
