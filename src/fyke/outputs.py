"""Folders that fyke makes: a new or empty one, or one that it made itself; whole or not at all, and nobody else's.

Work is done in ``.fyke-building`` inside the folder, under a lock. When it is whole, what an earlier run made goes, the
new entries take their places, and the mark (an archive's manifest, say) comes last. The work folder lists the
names that are about to change, so that a killed run leaves a folder that the next one knows as its own.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from fyke.errors import UNREADABLE, StorageError, UserError

WORK = ".fyke-building"
_LOCK, _NAMES, _NEW, _OLD = "lock", "names.json", "new", "old"

Own = Callable[[Path], frozenset[str]]
"""The names of what an earlier run of the same command made in a folder; none where it made nothing there."""


@contextlib.contextmanager
def making(folder: Path, kind: str, own: Own, mark: str = "") -> Iterator[Path]:
    """Yield an empty folder to write into; when the body ends well, what it holds becomes what ``folder`` holds.

    ``mark`` is the entry that makes the folder a ``kind``: it goes first and comes last. Raises ``UserError`` where
    ``folder`` holds anything that ``own`` does not name, and ``StorageError`` while another process works there.
    """
    existed = folder.exists()
    try:
        refuse_foreign(folder, kind, own)
        work = folder / WORK
        work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder} cannot be made: {error.strerror}; name another folder") from None
    with _locked(work):
        try:
            names = _known(folder, own)
            for part in (_NEW, _OLD):
                shutil.rmtree(work / part, ignore_errors=True)
                (work / part).mkdir()
            yield work / _NEW
            _swap(folder, work, names, mark)
        finally:
            if not _torn(work):
                shutil.rmtree(work)
                if not existed:
                    with contextlib.suppress(OSError):  # it holds what was made
                        folder.rmdir()


def refuse_input(out: Path | None, *inputs: Path) -> None:
    """Raise ``UserError`` where the file to write is one of those that are read."""
    if out is not None and out.exists() and any(other.exists() and out.samefile(other) for other in inputs):
        raise UserError(f"{out} is what is read; name another file to write")


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield where to write the file that ``path`` becomes when the body ends well; until then the old one stays.

    What is no file (``/dev/stdout``, a pipe) is written at once.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    target = path.resolve()
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".new", dir=target.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    new = Path(name)
    try:
        mask = os.umask(0)
        os.umask(mask)
        os.fchmod(handle, 0o666 & ~mask)
        os.close(handle)
        yield new
        new.rename(target)
    finally:
        new.unlink(missing_ok=True)


def refuse_foreign(folder: Path, kind: str, own: Own) -> None:
    """Raise ``UserError`` unless a ``kind`` may be made at ``folder``: nothing there is anybody else's."""
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir():
        raise UserError(f"{folder} is a file; name a new folder for the {kind}")
    known = _known(folder, own)
    foreign = min((entry.name for entry in folder.iterdir() if entry.name not in known), default=None)
    if foreign is not None:
        raise UserError(
            f"{folder} holds {foreign}, which is no part of a {kind} that this command made; name a new or empty folder"
        )


def _known(folder: Path, own: Own) -> frozenset[str]:
    """What ``folder`` may hold: what was made there, the work folder, and what a killed run was about to change."""
    known = own(folder)
    work = folder / WORK
    if (work / _LOCK).is_file():
        known |= {WORK}
        with contextlib.suppress(OSError, *UNREADABLE):
            known |= frozenset(msgspec.json.decode((work / _NAMES).read_bytes(), type=list[str]))
    return frozenset(name for name in known if "/" not in name) - {"", ".", ".."}


def _swap(folder: Path, work: Path, names: frozenset[str], mark: str) -> None:
    new = [entry.name for entry in (work / _NEW).iterdir()]
    listed = sorted((names | set(new)) - {WORK})
    half = work / f"{_NAMES}.half"
    half.write_bytes(msgspec.json.encode(listed))
    half.rename(work / _NAMES)
    for name in sorted(listed, key=lambda name: name != mark):
        if os.path.lexists(folder / name):
            (folder / name).rename(work / _OLD / name)
    for name in sorted(new, key=lambda name: name == mark):
        (work / _NEW / name).rename(folder / name)
    (work / _NAMES).unlink()


def _torn(work: Path) -> bool:
    """Whether entries were being swapped when something went wrong: the list must stay."""
    return (work / _NAMES).exists()


@contextlib.contextmanager
def _locked(work: Path) -> Iterator[None]:
    handle = os.open(work / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StorageError(
                f"another process is making {work.parent}; wait for it, or name another folder"
            ) from None
        yield
    finally:
        os.close(handle)
