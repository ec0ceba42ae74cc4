"""Scratch folders: nobody else's, gone when they are closed, and gone with the next one if their process was killed.

A folder is made by ``mkdtemp`` (0700, no window) as ``fyke-KIND-…`` with a file in it that its process keeps locked.
Who makes one removes those that lie beside it, are ours, and are locked by nobody.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType

_PREFIX = "fyke-"
_LOCK = ".fyke-lock"
_swept: set[Path] = set()


class Scratch:
    """A folder for a while. A context manager that gives its path."""

    def __init__(
        self, kind: str, parent: str | os.PathLike[str] | None = None, copy: str | os.PathLike[str] | None = None
    ) -> None:
        """Make it in ``parent``, or in the system's folder for temporary files; with what is in folder ``copy``."""
        beside = Path(parent if parent is not None else tempfile.gettempdir())
        sweep(beside)
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{kind}-", dir=beside))
            self._lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            if self.path.exists():  # else somebody took it for left over before it was locked
                break
            os.close(self._lock)
        if copy is not None:
            shutil.copytree(copy, self.path, dirs_exist_ok=True)

    def close(self) -> None:
        """Remove it with all that it holds."""
        if self._lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> Path:
        return self.path

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def sweep(folder: Path) -> None:
    """Remove, once, what processes that were killed left in ``folder``; what cannot be looked at stays."""
    if folder in _swept:
        return
    _swept.add(folder)
    with contextlib.suppress(OSError):
        for left in folder.glob(f"{_PREFIX}*"):
            with contextlib.suppress(OSError):
                _remove_if_left(left)


def _remove_if_left(left: Path) -> None:
    if left.is_symlink() or left.stat().st_uid != os.geteuid():
        return
    lock = os.open(left / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)  # what has none is not a scratch folder
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(left, ignore_errors=True)
    finally:
        os.close(lock)
