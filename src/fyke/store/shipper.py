"""One tablet on its way to the depot: claimed, a base, then what its logs get, and now and then another base.

What is shipped is RocksDB's own log, byte for byte: a restored tablet replays it. A base comes first, since what was
written before the tablet was opened is in no log any more; later ones are uploaded while the log goes on, and cover
the entries up to their checkpoint. A checkpoint has every log that it needs within itself, so what follows may be
written over it.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path

import msgspec
import xxhash

from fyke.errors import DepotError, StorageError
from fyke.store.depot import Chain, Depot, Entry, File, Kind, Piece
from fyke.store.lineage import FOLDER, Lineage, Uploaded, file_state, stale
from fyke.store.tablet import Tablet

LOG_NAME = re.compile(r"[0-9]{6,20}\.log")
FILE_NAME = re.compile(r"CURRENT|MANIFEST-[0-9]{6,20}|[0-9]{6,20}\.(sst|log)")
"""The files of a base. OPTIONS are left out: whoever opens a tablet brings fyke's."""
ENTRY = 16 << 20
"""Bytes of log in an entry at most: what a process holds of each tablet while the depot is silent."""
BASE_EVERY = 256 << 20
"""Bytes of log after which a base is made, unless half of the last base is more: so all that is uploaded is three to
four times what is written, and no more than that is ever replayed."""
ENTRIES = 2_000
"""Entries after which a base is made: a good hour of a tablet that gets little, and a restore of some seconds."""


class Shipper:
    """Ships one tablet; ``step`` is called by one thread at a time."""

    def __init__(self, store: Path, number: int, tablet: Tablet, depot: Depot) -> None:
        self.backlog = 0
        """Bytes of log that were not in the depot when it was last looked at."""
        self._store = store
        self._number = number
        self._tablet = tablet
        self._depot = depot
        self._chain: Chain = depot.chain(number)
        self._folder = store / FOLDER / f"tablet-{number:02}.base"
        self._based = False
        self._at: dict[str, int] = {}  # bytes of each log that are in the depot
        self._tail = ""  # the newest log that was seen: what is not in the depot is there or in later ones
        self._since, self._entries, self._base_size = 0, 0, 0  # bytes and entries since the base; bytes of the base
        self._pending: tuple[bytes, Callable[[], None]] | None = None
        self._upload: Future[list[Uploaded]] | None = None
        self._closing = False
        self._checkpoint = (0, 0)  # what the checkpoint that is uploaded covers, and its sequence

    def step(self, beside: Executor) -> None:
        """Bring to the depot all that was written before the call. Raises ``DepotError``: then call it again.

        Raises ``FencedError`` where somebody else has claimed the tablet. Later bases are uploaded ``beside``.
        """
        if not self._chain.epoch:
            self._claim()
        self._push()
        sequence, logs = self._tablet.sequence, {}
        if self._based and sequence != self._chain.sequence:  # else nothing was written
            logs = self._logs()  # after the sequence was read: what it counts has been written
            if self._tail and self._tail not in logs:  # the depot was silent for longer than logs are kept
                self._based = False
        if not self._based:
            self._drop_upload()
            self._first_base(beside)
            return
        if self._upload is not None and self._upload.done():
            upload, self._upload = self._upload, None
            try:
                self._append_base(upload.result(), beside)
            finally:
                shutil.rmtree(self._folder, ignore_errors=True)
        self._ship(logs, sequence)
        if self._upload is None and self._wants_base():
            self._begin_base()
            self._upload = beside.submit(self._put_files)

    def close(self) -> None:
        """Let go of what is half uploaded."""
        self._closing = True
        self._drop_upload()

    # ---- claiming

    def _claim(self) -> None:
        lineage = Lineage.read(self._store, self._number)
        _, head = self._chain.head()
        lineage.check(self._store, self._depot, self._number, head)
        if head is not None and self._tablet.sequence < head.sequence:  # an older copy of what this owner wrote
            raise stale(self._store, self._depot, self._number, head)
        owner = f"{os.uname().nodename}:{os.getpid()}:{secrets.token_hex(8)}"
        if lineage.depot != self._depot.about.identity:
            lineage = Lineage(self._depot.about.identity)
        lineage = msgspec.structs.replace(lineage, owners=(*lineage.owners, owner))
        lineage.write(self._store, self._number)
        self._chain.claim(owner)
        msgspec.structs.replace(lineage, owners=(owner,)).write(self._store, self._number)

    # ---- appending

    def _commit(self, data: bytes, done: Callable[[], None]) -> None:
        """Append an entry; ``done`` is called once it is in the chain, now or after being tried again."""
        self._pending = data, done
        self._push()

    def _push(self) -> None:
        if self._pending is not None:
            data, done = self._pending
            self._chain.append(data)
            self._pending = None
            done()

    # ---- log

    def _logs(self) -> dict[str, tuple[Path, int]]:
        """The logs that there are, in order, archived ones too, and their sizes now."""
        found: dict[str, tuple[Path, int]] = {}
        for folder in (self._tablet.path, self._tablet.path / "archive"):  # in the order in which a log moves
            with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
                for entry in entries:
                    if LOG_NAME.fullmatch(entry.name):
                        with contextlib.suppress(FileNotFoundError):
                            found[entry.name] = Path(entry.path), entry.stat().st_size
                        if entry.name not in found:  # it moved between the two calls
                            path = self._tablet.path / "archive" / entry.name
                            found[entry.name] = path, path.stat().st_size
        return dict(sorted(found.items(), key=lambda item: int(item[0][:-4])))

    def _ship(self, logs: dict[str, tuple[Path, int]], sequence: int) -> None:
        """Append what the logs have got; ``sequence`` is in the chain then."""
        wanted = [(name, path, self._at.get(name, 0), size) for name, (path, size) in logs.items()]
        wanted = [each for each in wanted if each[2] < each[3]]
        self.backlog = sum(end - start for _, _, start, end in wanted)
        pieces: list[Piece] = []
        data: list[bytes] = []
        room = ENTRY
        for place, (name, path, start, end) in enumerate(wanted):
            at = start
            while at < end:
                some = _read(path, at, min(end - at, room))
                pieces.append(Piece(name, at, len(some)))
                data.append(some)
                at += len(some)
                room -= len(some)
                last = at == end and place == len(wanted) - 1
                if last or not room:
                    self._append_log(pieces, data, sequence if last else self._chain.sequence)
                    pieces, data, room = [], [], ENTRY
        self._tail = next(reversed(logs), self._tail)
        for name, (path, size) in logs.items():
            if path.parent.name == "archive" and self._at.get(name, 0) >= size:
                path.unlink(missing_ok=True)
        if logs:
            self._at = {name: at for name, at in self._at.items() if name in logs}

    def _append_log(self, pieces: list[Piece], payload: list[bytes], sequence: int) -> None:
        size = sum(map(len, payload))

        def done() -> None:
            for piece in pieces:
                self._at[piece.log] = piece.offset + piece.size
            self.backlog -= size
            self._since += size
            self._entries += 1

        self._commit(self._chain.entry(Kind.LOG, sequence, payload, pieces=pieces), done)

    # ---- bases

    def _wants_base(self) -> bool:
        return self._since > max(BASE_EVERY, self._base_size // 2) or self._entries >= ENTRIES

    def _first_base(self, beside: Executor) -> None:
        """Make the base that everything after it stands on."""
        self._begin_base()
        try:
            self._append_base(self._put_files(), beside)
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _begin_base(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._tablet.begin()
        newest = next(reversed(self._logs()), "")  # before the checkpoint: what follows is there or in later ones
        self._checkpoint = self._chain.next - 1, self._tablet.sequence
        self._tablet.checkpoint(self._folder)
        if not self._based:  # what the logs held until now is in the checkpoint
            self._at = {
                path.name: path.stat().st_size for path in self._folder.iterdir() if LOG_NAME.fullmatch(path.name)
            }
            self._tail = newest

    def _put_files(self) -> list[Uploaded]:
        """Upload what the depot has not got of the checkpoint."""
        chain, covers = self._chain, self._checkpoint[0]
        lineage = Lineage.read(self._store, self._number)
        known = lineage.known(chain.header(chain.base) if chain.base else None)
        files = []
        for path in sorted(self._folder.iterdir()):
            if self._closing:
                raise DepotError(f"the upload to {self._depot.url} was given up")
            if not FILE_NAME.fullmatch(path.name):
                continue
            state = file_state(path)
            file = known.get(state) if path.suffix == ".sst" else None
            if file is None or file.name != path.name:
                mark = "" if path.suffix == ".sst" else f"{covers:012}-"  # these are others in each base
                remote = f"{chain.epoch:012}-{mark}{path.name}"
                file = File(path.name, remote, state[0], checksum(path))
                chain.put_file(remote, path)
            files.append(Uploaded(*state, file))
        return files

    def _append_base(self, files: list[Uploaded], beside: Executor) -> None:
        covers, sequence = self._checkpoint

        def done() -> None:
            self._based = True
            self._since, self._entries = 0, self._chain.next - covers
            self._base_size = sum(each.size for each in files)
            kept = tuple(each for each in files if each.file.name.endswith(".sst"))
            lineage = Lineage.read(self._store, self._number)
            msgspec.structs.replace(lineage, uploaded=kept).write(self._store, self._number)

        names = [each.file for each in files]
        data = self._chain.entry(Kind.BASE, max(sequence, self._chain.sequence), covers=covers, files=names)
        self._commit(data, done)
        beside.submit(self._sweep, Entry(Kind.BASE, self._chain.epoch, "", sequence, covers=covers, files=names))

    def _sweep(self, base: Entry) -> None:
        # What is left over costs room, and nothing else: the next base sweeps it.
        with contextlib.suppress(StorageError):
            self._chain.sweep(base)

    def _drop_upload(self) -> None:
        upload, self._upload = self._upload, None
        if upload is not None and not upload.cancel():
            with contextlib.suppress(Exception):
                upload.result()
        shutil.rmtree(self._folder, ignore_errors=True)


def checksum(path: Path) -> int:
    """XXH3 of a file."""
    digest = xxhash.xxh3_64()
    with path.open("rb") as file:
        while some := file.read(1 << 20):
            digest.update(some)
    return digest.intdigest()


def _read(path: Path, start: int, size: int) -> bytes:
    """Read so many bytes of a log, which are on the disk when this returns: the depot is never ahead of the disk."""
    try:
        file = os.open(path, os.O_RDONLY)
    except FileNotFoundError:  # it has moved meanwhile
        file = os.open(path.parent / "archive" / path.name, os.O_RDONLY)
    try:
        os.fdatasync(file)
        return os.pread(file, size, start)
    finally:
        os.close(file)
