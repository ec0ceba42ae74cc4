"""The manifest: what makes a directory a store, who may write it, and how it is laid out.

::

    fyke-store.json      format name and version, number of tablets, row-key function, settings
    tablet-00/ …         one RocksDB directory each, for the rows of a range of host hashes
    tablet-00.lock …     locked by the tablet's writer for as long as it lives; holds its process id
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import stat
from pathlib import Path

import msgspec

from fyke.errors import UNREADABLE, StorageError
from fyke.spawning import cores
from fyke.store.codec import Codec

NAME = "fyke-store.json"
FORMAT = "fyke-store"
VERSION = 5
READ = (2, 3, 4, 5)
"""Versions that are read: 2 queued URLs by host and numbered letters without epochs, 3 did not list bodies by digest,
4 compressed every body itself; a writer makes it 5."""
ROW_KEY = "xxh3-16(host) host scheme target"
"""Names the function that makes row keys (``Url.key``); another one would be another format."""
MAX_TABLETS = 4096
USUAL_TABLETS = 16
"""Of a new store at most, unless more are asked for: one agent writes them all until there is work for more."""


class Settings(msgspec.Struct, frozen=True):
    """How a store writes. All of it can change between runs but ``tablets`` (``fyke store split`` changes that)."""

    tablets: int = 0
    """Ranges of hosts. An agent owns some of them, so it is the most agents that can share a crawl. 0: one for each
    core of the machine that makes the store (``usual_tablets``). Sixteen cost a crawl a sixth more CPU than two."""
    keep_versions: int = 0
    """Versions kept of each row; 0 keeps all of them."""
    page: Codec = Codec.DICTIONARY
    text: Codec = Codec.ZSTD
    """Without a dictionary: the pages' made texts 3 % smaller and their scan 40 % slower."""
    links: Codec = Codec.DICTIONARY


class Manifest(msgspec.Struct, frozen=True):
    """The contents of ``fyke-store.json``."""

    settings: Settings
    format: str = FORMAT
    version: int = VERSION
    row_key: str = ROW_KEY
    secret: int = 0
    """Seeds the keys of the seen-set, so that no stranger finds a URL that passes for another one; 0 in old stores."""


def usual_tablets() -> int:
    """Tablets of a store that is made on this machine."""
    return min(cores(), USUAL_TABLETS)


def tablet_of(row: bytes, tablets: int) -> int:
    """Return the tablet of a row: ranges of the two bytes of hash that a row key begins with, as equal as can be."""
    return (row[0] << 8 | row[1]) * tablets >> 16


def tablet_path(store: Path, tablet: int) -> Path:
    """Return the directory of a tablet."""
    return store / f"tablet-{tablet:02}"


def split_path(store: Path, tablets: int) -> Path:
    """Return the directory in which a split into so many tablets is made."""
    return store / f"split-{tablets}"


def splits(store: Path) -> list[Path]:
    """Return the directories of unfinished splits."""
    return sorted(entry for entry in store.glob("split-*") if entry.is_dir() and entry.name[6:].isdigit())


def create(store: Path, settings: Settings) -> Manifest:
    """Make ``store`` a store, unless it is one already; return its manifest. Raises ``StorageError``."""
    settings = msgspec.structs.replace(settings, tablets=settings.tablets or usual_tablets())
    if not 1 <= settings.tablets <= MAX_TABLETS:
        raise StorageError(f"a store cannot have {settings.tablets} tablets; choose 1 to {MAX_TABLETS}")
    try:
        store.parent.mkdir(parents=True, exist_ok=True)
        store.mkdir(mode=0o700, exist_ok=True)  # what was behind a login is nobody else's
        _refuse_others(store)
        if not (store / NAME).exists() and any(not _ours(entry.name) for entry in store.iterdir()):
            raise StorageError(f"{store} is a directory with other things in it; give an empty or new one")
        for tablet in range(settings.tablets):
            if not (store / NAME).exists():
                tablet_path(store, tablet).mkdir(exist_ok=True)
        write(store, Manifest(settings, secret=secrets.randbits(62)), replace=False)
    except OSError as error:
        raise StorageError(f"cannot make a store at {store}: {error.strerror}; check the path and its rights") from None
    return read(store)


def _refuse_others(store: Path) -> None:
    """Raise ``StorageError`` where others own the folder, or everybody may write to it."""
    found = store.stat()
    if found.st_uid != os.geteuid() and os.geteuid() != 0:
        raise StorageError(f"{store} belongs to another user; name a store of your own, or chown it")
    if found.st_mode & stat.S_IWOTH:
        raise StorageError(f"everybody may write to {store}; close it: chmod o-w {store}")


def read(store: Path) -> Manifest:
    """Return the manifest of ``store``. Raises ``StorageError`` where it is none, or one of another version."""
    try:
        data = (store / NAME).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        what = "is not a store" if store.exists() else "does not exist"
        raise StorageError(
            f"{store} {what} (no {NAME}); give --store, or make one with `fyke crawl` or `fyke import`"
        ) from None
    except OSError as error:
        raise StorageError(f"cannot read {store / NAME}: {error.strerror}; check its rights") from None
    try:
        kind = msgspec.json.decode(data, type=_Kind)
    except UNREADABLE:
        raise StorageError(f"{store / NAME} is damaged; restore it from a copy") from None
    if kind.format != FORMAT:
        raise StorageError(f"{store / NAME} is of the format {kind.format!r}, not {FORMAT!r}; give another directory")
    if kind.version not in READ or kind.row_key != ROW_KEY:
        raise StorageError(
            f"{store} has version {kind.version} of the format ({kind.row_key!r}); this fyke reads {READ}: "
            "export it with the fyke that wrote it and import it with this one"
        )
    try:
        return msgspec.json.decode(data, type=Manifest)
    except UNREADABLE as error:
        raise StorageError(f"{store / NAME} is damaged ({error}); restore it from a copy") from None


class _Kind(msgspec.Struct):
    format: str = ""
    version: int = 0
    row_key: str = ""


def write(store: Path, manifest: Manifest, replace: bool = True) -> None:
    """Write the manifest so that it is whole or absent; with ``replace=False`` an existing one stays."""
    new = store / f"{NAME}.{os.getpid()}.new"
    with new.open("wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(manifest)) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        if replace:
            new.rename(store / NAME)
        else:
            with contextlib.suppress(FileExistsError):
                os.link(new, store / NAME)
    finally:
        new.unlink(missing_ok=True)
    directory = os.open(store, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def lock(store: Path, tablet: int) -> int:
    """Become the writer of a tablet; return the open lock file. Raises ``StorageError`` where there is one."""
    path = store / f"tablet-{tablet:02}.lock"
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StorageError(
            f"cannot write to {store}: {error.strerror}; check its rights, or read with mode='r'"
        ) from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        owner = os.pread(file, 20, 0).decode("ascii", "replace").strip() or "unknown"
        os.close(file)
        raise StorageError(
            f"{store} is being written by process {owner}; stop it, or read beside it with mode='r'"
        ) from None
    os.ftruncate(file, 0)
    os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
    return file


def check_tablet(path: Path) -> bool:
    """Say whether a tablet's directory holds a database yet. Raises ``StorageError`` where it is missing or gutted."""
    try:
        names = [entry.name for entry in path.iterdir()]
    except OSError:
        raise StorageError(f"{path} is missing: its rows are lost unless you restore it from a copy") from None
    has_tables = any(name.endswith(".sst") for name in names)
    if "CURRENT" not in names:
        if has_tables:
            raise StorageError(f"{path} has lost its CURRENT file; restore the directory from a copy")
        return False
    # RocksDB writes its options last of all: without them, and without anything else, a writer is about to make it.
    return has_tables or any(name.startswith("OPTIONS-") for name in names) or any(map(_holds, path.glob("*.log")))


def _holds(log: Path) -> bool:
    try:
        return log.stat().st_size > 0
    except OSError:  # it was deleted meanwhile: it was a database
        return True


def _ours(name: str) -> bool:
    """Whether a half-made store may hold this file."""
    return name.startswith((f"{NAME}.", "tablet-"))


def refuse_split(path: Path, mode: str) -> None:
    """Raise ``StorageError`` while a split is unfinished: of a writer, and of all once tablets are on the move."""
    for building in splits(path):
        moving = (building / NAME).exists()
        if mode == "w" or moving:
            number = building.name.removeprefix("split-")
            raise StorageError(
                f"a split of {path} is unfinished (under way, or interrupted); "
                f"finish it with `fyke store split --tablets {number}`"
                + ("" if moving else ", or give it up with --tablets and the number that `fyke store stats` shows")
            )
