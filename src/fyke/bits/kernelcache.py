"""The kernels' cache on disk: checked files under names that say all that their content depends on, and locks.

A file is a SHA-256 of what follows, then the compiled kernel; it is written beside its place and renamed, so that it
is whole or absent. What is damaged, cannot be read or cannot be written is as if it were absent: a cache is never an
error. Compiled kernels are unpickled, hence code: the folder must be ours and nobody else's to write, else it
is left alone and a sentence says so. ``SHIPPED`` is a second, read-only folder: what a platform wheel brings along.

A lock is a file locked by ``flock``: it dies with its process, and whoever waited finds the other's files.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # no such locks on this system: processes that start together compile the same
    fcntl = None  # type: ignore[assignment]

SHIPPED = Path(__file__).parent.parent / "compiled"
_DIGEST = 32
_LOCKS = 64
_ROOM = 8 << 20
"""Bytes that all kernels together take, twice over."""
_told: set[str] = set()
_quiet = False


def cache_directory() -> Path:
    """Return the directory of fyke's caches: what is in it can be deleted at any time."""
    own = os.environ.get("FYKE_CACHE_DIR")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fyke"


def load(name: str, shipped: str | None) -> bytes | None:
    """Return what was saved as ``name``, else what the wheel brings as ``shipped``, else None."""
    with _folder() as folder:
        found = _read(name, folder) if folder is not None else None
    if found is None and shipped is not None:
        found = _read(str(SHIPPED / shipped), None)
    return found


def save(name: str, data: bytes) -> None:
    """Keep ``data`` under ``name``, whole or not at all; do nothing where that cannot be."""
    scratch = f"{name}.{os.getpid()}.tmp"
    with _folder() as folder:
        if folder is None:
            return
        try:
            file = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600, dir_fd=folder)
            with os.fdopen(file, "wb") as out:
                out.write(hashlib.sha256(data).digest())
                out.write(data)
            os.replace(scratch, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.unlink(scratch, dir_fd=folder)
            tell(f"compiled kernels are not kept ({error.strerror}): {cache_directory()}")


def is_kept() -> bool:
    """Whether what is saved now would be kept: the folder is ours, and there is room in it."""
    name = f"probe-{os.getpid()}"
    save(name, bytes(_ROOM))
    with _folder() as folder:
        if folder is None:
            return False
        try:
            os.unlink(name, dir_fd=folder)
        except OSError:
            return False
    return True


@contextlib.contextmanager
def lock(name: str) -> Iterator[None]:
    """Let one process at a time compile ``name``; where no lock can be had, all may."""
    file = None
    with _folder() as folder:
        if folder is not None and fcntl is not None:
            number = hashlib.sha256(name.encode()).digest()[0] % _LOCKS
            with contextlib.suppress(OSError):
                file = os.open(f"lock-{number}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600, dir_fd=folder)
                fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if file is not None:
            os.close(file)


@contextlib.contextmanager
def _folder() -> Iterator[int | None]:
    """Open the folder; None where there is none, or where others could have put code into it."""
    path = cache_directory() / "kernels"
    folder = None
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        found = os.fstat(folder)
        if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            tell(f"{path} is not used: others may write there; make it yours alone (chmod 700), or set FYKE_CACHE_DIR")
            os.close(folder)
            folder = None
    except OSError as error:
        tell(f"compiled kernels are not kept ({error.strerror}): {path}")
    try:
        yield folder
    finally:
        if folder is not None:
            os.close(folder)


def _read(name: str, folder: int | None) -> bytes | None:
    try:
        with os.fdopen(os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder), "rb") as file:
            data = file.read()
    except OSError:
        return None
    return data[_DIGEST:] if hashlib.sha256(data[_DIGEST:]).digest() == data[:_DIGEST] else None


def quiet() -> None:
    """Say nothing from now on: somebody else shows what happens."""
    global _quiet  # noqa: PLW0603 - of the process
    _quiet = True


def tell(what: str) -> None:
    """Say something on stderr, once."""
    if what not in _told and not _quiet:
        _told.add(what)
        print(f"fyke: {what}", file=sys.stderr, flush=True)
