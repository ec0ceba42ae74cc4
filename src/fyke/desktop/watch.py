"""Watching: what the kernel tells of folders while nobody walks them (inotify, by inotify_simple).

A folder is watched before it is listed, and a folder that appears is walked, so that nothing falls between. At most
half of the watches that the system allows are used; folders beyond that, and those of network mounts, are left to
rescans. Where there is no inotify, everything is.
"""

from __future__ import annotations

import errno
import os
import select
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fyke.desktop.state import is_inside
from fyke.desktop.walk import is_network, mounts

LIMIT = Path("/proc/sys/fs/inotify/max_user_watches")
SYSCTL = "fs.inotify.max_user_watches"


@dataclass(slots=True)
class Events:
    """What happened since the last look."""

    touched: set[str] = field(default_factory=set)
    """Files and folders that were written, made, moved or deleted; files wait until they have settled."""
    moved: set[str] = field(default_factory=set)
    """Those among them that were renamed or deleted: nothing is being written, so nothing needs to settle."""
    overflow: bool = False
    """The kernel dropped some: everything must be looked at."""


class Watcher:
    """Watches folders. A context manager."""

    def __init__(self, limit: int | None = None) -> None:
        self._inotify, self._mask, self._flags = _open()
        self._budget = allowed() // 2 if limit is None else limit
        self._paths: dict[int, str] = {}
        self._numbers: dict[str, int] = {}
        self._mounts = mounts()
        self.unwatched: set[str] = set()
        """Folders that only rescans look after."""
        self.complaint = ""
        """Why some are: for a person, with the remedy."""

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, folder: str) -> None:
        """Watch a folder, or note that it is not watched."""
        if folder in self._numbers:
            return
        if self._inotify is None:
            self.complaint = "this system has no inotify: everything is rescanned"
        elif is_network(folder, self._mounts):
            self.complaint = self.complaint or f"{folder} is on a network: it is rescanned"
        elif len(self._numbers) >= self._budget:
            self.complaint = (
                f"{len(self._numbers):,} folders are watched, half of {SYSCTL}; others are rescanned: "
                f"raise it with `sudo sysctl {SYSCTL}={4 * max(self._budget, 1)}`"
            )
        else:
            try:
                number = self._inotify.add_watch(folder, self._mask)
            except OSError as error:
                if error.errno == errno.ENOSPC:
                    self._budget = len(self._numbers)
                    self.add(folder)
                    return
                if error.errno in (errno.ENOENT, errno.ENOTDIR):
                    return  # it went meanwhile
            else:
                self.unwatched.discard(folder)
                self._forget_number(number)
                self._paths[number], self._numbers[folder] = folder, number
                return
        self.unwatched.add(folder)

    def remove(self, folder: str) -> None:
        """Watch a folder and what is below it no more."""
        for path in [path for path in self._numbers if is_inside(path, folder)]:
            number = self._numbers.pop(path)
            if self._paths.get(number) == path:
                del self._paths[number]
                with suppress(OSError):
                    self._inotify.rm_watch(number)
        self.unwatched = {path for path in self.unwatched if not is_inside(path, folder)}

    def prefer(self, newest: Callable[[str], float]) -> list[str]:
        """Where not all can be watched, watch the folders that changed last; return those that are watched anew."""
        if not self.unwatched or self._inotify is None or not self._budget:
            return []
        local = [path for path in self.unwatched if not is_network(path, self._mounts)]
        ranked = sorted([*self._numbers, *local], key=newest, reverse=True)
        wanted = set(ranked[: self._budget])
        for path in set(self._numbers) - wanted:
            number = self._numbers.pop(path)
            del self._paths[number]
            with suppress(OSError):
                self._inotify.rm_watch(number)
            self.unwatched.add(path)
        anew = [path for path in wanted if path not in self._numbers]
        for path in anew:
            self.add(path)
        return anew

    def events(self, wait: float | None) -> Events:
        """Return what happened, as soon as something does, or after ``wait`` seconds (None: whenever)."""
        found = Events()
        if self._inotify is None:
            time.sleep(60.0 if wait is None else wait)
            return found
        for event in self._inotify.read(None if wait is None else max(0, int(wait * 1000 + 0.999))):
            self._take(event, found)
        return found

    def _take(self, event: Any, found: Events) -> None:
        flags = self._flags
        if event.mask & flags.Q_OVERFLOW:
            found.overflow = True
            return
        folder = self._paths.get(event.wd)
        if folder is None:
            return
        if event.mask & (flags.IGNORED | flags.UNMOUNT):
            self._forget_number(event.wd)
            return
        if not event.name:  # the folder itself: what is above it tells, unless it is a root
            if event.mask & (flags.DELETE_SELF | flags.MOVE_SELF):
                found.touched.add(folder)
                found.moved.add(folder)
            return
        path = os.path.join(folder, event.name)
        found.touched.add(path)
        if event.mask & (flags.MOVED_FROM | flags.MOVED_TO | flags.DELETE):
            found.moved.add(path)
        if event.mask & flags.ISDIR:
            found.moved.add(path)
            if event.mask & (flags.MOVED_FROM | flags.DELETE):
                self.remove(path)

    def _forget_number(self, number: int) -> None:
        path = self._paths.pop(number, None)
        if path is not None and self._numbers.get(path) == number:
            del self._numbers[path]

    def fileno(self) -> int:
        """The descriptor that is readable when something happened; −1 without inotify."""
        return -1 if self._inotify is None else int(self._inotify.fileno())

    def is_quiet(self) -> bool:
        """Whether nothing has happened that ``events`` would tell."""
        return self._inotify is None or not select.select([self._inotify], [], [], 0)[0]

    def __enter__(self) -> Watcher:
        return self

    def __exit__(self, *reason: object) -> None:
        if self._inotify is not None:
            self._inotify.close()


def _open() -> tuple[Any, int, Any]:
    """Return an open inotify, what is asked of each folder, and the names of what it answers."""
    try:
        from inotify_simple import INotify, flags

        opened = INotify()
    except (ImportError, OSError, AttributeError):
        return None, 0, None
    mask = (
        flags.CREATE | flags.CLOSE_WRITE | flags.MODIFY | flags.ATTRIB | flags.MOVED_FROM | flags.MOVED_TO
        | flags.DELETE | flags.DELETE_SELF | flags.MOVE_SELF | flags.ONLYDIR | flags.DONT_FOLLOW | flags.EXCL_UNLINK
    )  # fmt: skip
    return opened, int(mask), flags


def allowed() -> int:
    """Return how many watches the system allows a user."""
    try:
        return int(LIMIT.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 8192
