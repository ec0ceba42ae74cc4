"""The plan of a desktop store: which folders it is of, and what is left out; and whether others could read it.

``desktop.json`` in the store: format ``fyke-desktop``, version 1 (docs/desktop.md).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from fyke.desktop.ignore import Policy, purge_mark
from fyke.desktop.state import outermost
from fyke.errors import UNREADABLE, StorageError, UserError
from fyke.store import Codec, Settings, Store
from fyke.store.manifest import NAME as MANIFEST
from fyke.store.manifest import read as read_manifest

NAME = "desktop.json"
STATUS = "desktop-status.json"
FORMAT, VERSION = "fyke-desktop", 1


class Root(msgspec.Struct, frozen=True):
    """A folder that was asked for, and which one it was: an empty mount point is another."""

    path: str
    device: int = 0
    inode: int = 0


class Plan(msgspec.Struct, frozen=True):
    """What a desktop store is made of."""

    roots: tuple[Root, ...] = ()
    exclude: tuple[str, ...] = ()
    include_hidden: bool = False
    keep_raw: bool = False
    max_file: int = 50_000_000
    """Bytes; of a larger file only the name is kept."""
    mounts: tuple[str, ...] = ()
    """Where other disks were mounted in these folders: while one is not, nothing of it is gone."""
    purged: frozenset[str] = frozenset()
    """Marks of paths that were purged (``ignore.purge_mark``)."""
    format: str = FORMAT
    version: int = VERSION

    def extended(self, roots: Sequence[Root], secret: int, **given: Any) -> Plan:
        """Return the plan with more folders, and with what was said this time; a folder that is named is not purged."""
        said = {name: value for name, value in given.items() if value is not None}
        known = {root.path: root for root in (*self.roots, *roots)}
        return msgspec.structs.replace(
            self,
            roots=tuple(known[path] for path in outermost(known)),
            purged=self.purged - {purge_mark(root.path, secret) for root in roots},
            **said,
        )

    def policy(self, secret: int) -> Policy:
        """Return what is left out."""
        return Policy(self.exclude, self.include_hidden, self.purged, secret)


def is_desktop(store: Path) -> bool:
    """Whether a store is one of local files."""
    return (store / NAME).exists()


def read(store: Path) -> Plan:
    """Return the plan of a store. Raises ``StorageError`` where it is damaged, or there is none."""
    try:
        found = msgspec.json.decode((store / NAME).read_bytes(), type=Plan)
    except FileNotFoundError:
        raise StorageError(f"{store} holds no local files; `fyke desktop DIR --store {store}` puts some in") from None
    except (OSError, *UNREADABLE) as error:
        raise StorageError(f"{store / NAME} cannot be read ({error}); restore it from a copy") from None
    if found.format != FORMAT or found.version != VERSION:
        raise StorageError(f"{store / NAME} is of another version ({found.version}); use the fyke that wrote it")
    return found


def write(store: Path, plan: Plan) -> None:
    """Write the plan, whole or not at all."""
    new = store / f"{NAME}.new"
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(plan)) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    new.rename(store / NAME)


def open_store(path: Path, keep_versions: int = 1) -> Store:
    """Open a store of local files to write, made if need be, readable by nobody else. Raises.

    Cells are packed without dictionaries: these are made
    of pages, and would keep some of what is purged.
    """
    if path.exists():
        refuse_open(path)
        if (path / MANIFEST).exists() and not is_desktop(path) and _has_rows(path):
            raise UserError(f"{path} holds what a crawl or an import brought; give local files a store of their own")
    tablets = read_manifest(path).settings.tablets if (path / MANIFEST).exists() else 1
    plain = Settings(tablets, keep_versions, Codec.ZSTD, Codec.ZSTD, Codec.ZSTD)
    store = Store.open(path, settings=plain)
    try:
        refuse_open(path)
        if not is_desktop(path):
            write(path, Plan())
    except BaseException:
        store.close()
        raise
    return store


def refuse_open(path: Path) -> None:
    """Raise ``UserError`` where others than its owner could read a store, or it is another's."""
    found = path.stat()
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise UserError(f"others can read {path} (mode {stat.S_IMODE(found.st_mode):04o}); close it: chmod 700 {path}")
    if found.st_uid != os.geteuid():
        raise UserError(f"{path} belongs to another user; name a store of your own")


def _has_rows(path: Path) -> bool:
    with Store.open(path, mode="r") as store:
        return any(True for _ in store.scan(parts=()))
