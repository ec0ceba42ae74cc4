"""The loop of ``--watch``: what the user changes is stored at once, the backlog at its pace, and the rest is sleep.

In each turn the first of these that there is: files that have settled, a step of the backlog, a rescan of what is not
watched. Between two turns it waits for whatever comes first.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from fyke.desktop import plan as plans
from fyke.desktop.ignore import MARKS, OTHERS, OWN, PROFILES
from fyke.desktop.plan import Root
from fyke.desktop.run import FILES, Ask, Desktop
from fyke.desktop.state import Difference, Settling, outermost
from fyke.desktop.throttle import Throttle, give_back
from fyke.desktop.watch import Watcher
from fyke.errors import UNREADABLE, StorageError

RESCAN = 600.0
"""Seconds between two looks at folders that are not watched, and at roots that are not there."""
BEAT = 60.0
"""Seconds after which a status is written though nothing happens."""
IDLE = 20.0
"""Seconds without work after which memory is given back."""
STEP, STEP_BYTES = 16, 1 << 20
"""A step of the backlog is small: what the user saves meanwhile waits for it."""
_SPEAKING = frozenset({OWN, *OTHERS, *MARKS, *PROFILES})
"""Names whose coming and going change what is left out of their folder."""


class Status(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a watch is doing (``fyke status``)."""

    process: int
    when: float
    state: str
    """``scanning`` its backlog, ``watching``, or ``waiting``."""
    waits_for: str = ""
    """``battery``, ``cpu`` or ``io``: what the backlog waits for; ``folder``: a root that is not there."""
    files: int = 0
    queued: int = 0
    settling: int = 0
    """Files that were touched, and are left alone until they come to rest."""
    watched: int = 0
    unwatched: int = 0
    complaint: str = ""
    new: int = 0
    changed: int = 0
    moved: int = 0
    gone: int = 0
    left_out: dict[str, int] = {}
    errors: dict[str, int] = {}
    roots: tuple[str, ...] = ()


class Watching:
    """A watch over the folders of a store."""

    def __init__(self, desktop: Desktop, watcher: Watcher, throttle: Throttle, store: Path) -> None:
        self._desktop, self._watcher, self._throttle, self._store = desktop, watcher, throttle, store
        self._settling = Settling()
        self._roots: tuple[Root, ...] = ()
        self._rescan = self._worked = time.monotonic()
        self._resting = False
        self._told, self._untold = (0.0, b""), False
        self._complaint = ""

    def begin(self, roots: list[Root], ask: Ask) -> None:
        """Watch folders, look at them, and do what follows but for the reading: that is the backlog."""
        self._roots = tuple(roots)
        difference = self._desktop.look(roots, ask, self._watcher.add)
        for folder in self._watcher.prefer(_newest):
            self._desktop.see(folder, difference, self._watcher.add)
        self._desktop.work.add(self._desktop.apply(difference, ask))
        self._rescan = time.monotonic() + RESCAN
        self._tell()

    def run(self) -> None:
        """Go on until somebody ends it."""
        while True:
            self.turn()

    def turn(self, longest: float | None = None) -> None:
        """Wait until there is something to do, at most so many seconds, and do it."""
        wait = self._wait()
        events = self._watcher.events(wait if longest is None else min(wait, longest))
        now = time.monotonic()
        for path in events.touched:
            self._settling.touch(path, now, path in events.moved)
            if os.path.dirname(path) in self._desktop.rules:
                self._desktop.converter.wake(path)
        settled = self._settling.settled(now)
        if events.overflow:
            self._look_at_all()
        elif settled:
            self._see(settled)
        elif self._may_step():
            with self._throttle.step():
                self._again(self._desktop.take(self._desktop.work.next(STEP, STEP_BYTES)))
        elif now >= self._rescan:
            self._rescan_some()
        elif not self._resting and now - self._worked > IDLE and not self._desktop.work:
            self._resting = True
            self._desktop.files.sync()
            give_back()
        self._desktop.converter.rest()
        if settled or events.overflow or self._desktop.work:
            self._worked, self._resting = now, False
        self._tell()

    def _may_step(self) -> bool:
        """Whether a step of the backlog may be done; a short one is not worth waiting for."""
        left = len(self._desktop.work)
        return 0 < left <= FILES or (left > 0 and not self._throttle.wait())

    def _wait(self) -> float:
        """Seconds until the next thing that is due by itself."""
        now = time.monotonic()
        due = [max(0.0, self._rescan - now), 1.0 if self._untold else BEAT]
        settling = self._settling.wait(now)
        if settling is not None:
            due.append(settling)
        if self._desktop.work:
            due.append(0.0 if self._may_step() else self._throttle.wait())
        elif not self._resting:
            due.append(max(0.1, IDLE - (now - self._worked)))
        return min(due)

    def _see(self, paths: list[str]) -> None:
        """Look at files that have settled, and store what they are now; of many, most join the backlog."""
        difference = Difference()
        folders = {os.path.dirname(path) for path in paths if os.path.basename(path) in _SPEAKING}
        for folder in outermost(folders):
            self._desktop.see(folder, difference, self._watcher.add)
        for path in outermost(paths):
            self._desktop.see(path, difference, self._watcher.add)
        found = list(self._desktop.apply(difference, None).items())
        self._again(self._desktop.take(found[:FILES]))
        self._desktop.work.add(dict(found[FILES:]))
        self._desktop.files.sync()

    def _again(self, unsure: list[str]) -> None:
        """Have files read once more that may have been written since."""
        now = time.monotonic()
        for path in unsure:
            self._settling.touch(path, now)

    def _look_at_all(self) -> None:
        """The kernel dropped what it had to tell, or a root has come back."""
        difference = self._desktop.look(self._roots, self._hold, self._watcher.add)
        self._desktop.work.add(self._desktop.apply(difference, self._hold))

    def _rescan_some(self) -> None:
        self._rescan = time.monotonic() + RESCAN
        if self._missing() or any(root.path not in self._desktop.rules for root in self._roots):
            self._look_at_all()
            return
        difference = Difference()
        for folder in outermost(self._watcher.unwatched):
            self._desktop.see(folder, difference, self._watcher.add)
        self._desktop.work.add(self._desktop.apply(difference, None))

    def _hold(self, question: str) -> bool:
        """Nobody is there to answer: nothing is forgotten."""
        self._complaint = question
        return False

    def _missing(self) -> bool:
        return any(not os.path.isdir(root.path) for root in self._roots)

    def status(self) -> Status:
        """Return what is being done."""
        report, work = self._desktop.told(), len(self._desktop.work)
        waits = self._throttle.waits_for if work > FILES else "folder" if self._missing() else ""
        return Status(
            process=os.getpid(),
            when=time.time(),
            state="waiting" if waits else "scanning" if work else "watching",
            waits_for=waits,
            files=report.files,
            queued=work,
            settling=len(self._settling),
            watched=len(self._watcher),
            unwatched=len(self._watcher.unwatched),
            complaint=self._complaint or self._watcher.complaint,
            new=report.new,
            changed=report.changed,
            moved=report.moved,
            gone=report.gone,
            left_out=report.left_out,
            errors=report.errors,
            roots=tuple(root.path for root in self._roots),
        )

    def _tell(self) -> None:
        """Write the status, at most once a second, and not where nothing is new."""
        when, last = self._told
        now = time.monotonic()
        self._untold = now - when < 1.0
        if self._untold:
            return
        found = self.status()
        said = msgspec.json.encode(msgspec.structs.replace(found, when=0.0))
        if said == last and now - when < BEAT:
            return
        self._told = (now, said)
        new = self._store / f"{plans.STATUS}.new"
        with suppress(OSError):
            new.write_bytes(msgspec.json.encode(found))
            new.rename(self._store / plans.STATUS)


def _newest(folder: str) -> float:
    with suppress(OSError):
        return os.stat(folder).st_mtime
    return 0.0


def is_running(store: Path) -> bool:
    """Whether somebody writes a store now."""
    try:
        handle = os.open(store / "tablet-00.lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def read_status(store: Path) -> Status | None:
    """Return what the watch of a store does, or last did; None where there was none. Raises ``StorageError``."""
    try:
        return msgspec.json.decode((store / plans.STATUS).read_bytes(), type=Status)
    except FileNotFoundError:
        return None
    except (OSError, *UNREADABLE) as error:
        raise StorageError(f"{store / plans.STATUS} cannot be read ({error}); the next watch makes it anew") from None
