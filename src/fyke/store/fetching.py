"""Whole stores out of depots: fetched into a directory, or checked where they are.

A tablet is the files of its newest base with the logs that follow written over them; whoever opens it replays these.
That may be done while somebody writes the depot: what a newer base has made needless meanwhile is looked for anew.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import msgspec

from fyke.errors import StorageError
from fyke.store import manifest
from fyke.store.copying import new_store
from fyke.store.depot import STORE_FILES, Chain, Contents, Depot, Entry, Kind
from fyke.store.lineage import Lineage, Uploaded, file_state
from fyke.store.rocks import disk_bytes
from fyke.store.shipper import FILE_NAME, LOG_NAME, checksum
from fyke.store.store import Store

AT_ONCE = 8
"""Objects that are downloaded at once; of log entries as many are held in memory."""
_TRIES = 5
_NAMED = 100
Progress = Callable[[int], None]


class _GoneError(Exception):
    """Something was deleted while it was read: a newer base has made it needless."""


def fetch(depot: Depot, target: Path, progress: Progress | None = None) -> int:
    """Make an ordinary store of a depot; return how many bytes were fetched. Raises ``StorageError``.

    A crawl may go on there (``fyke resume``): then it takes over from whoever wrote the depot.
    """
    about = depot.store_file(manifest.NAME)
    if about is None:
        raise StorageError(f"{depot.url} holds no {manifest.NAME}: no crawl has got that far; crawl anew")
    with new_store(target) as half:
        half.mkdir(mode=0o700, parents=True)
        size, sequences = 0, []
        for number in range(depot.about.tablets):
            contents = fetch_tablet(depot, number, half)
            sequences.append(contents.head.sequence if contents.head is not None else 0)
            size += disk_bytes(manifest.tablet_path(half, number))
            if progress is not None:
                progress(number + 1)
        for name in STORE_FILES:
            data = depot.store_file(name)
            if data is not None:
                (half / name).write_bytes(data)
        _replay(half, depot, sequences)
    return size


def fetch_tablet(depot: Depot, number: int, store: Path) -> Contents:
    """Make the directory of one tablet as the depot has it, in the place of what is there.

    REQUIRES: nobody has it open.
    """
    path, chain = manifest.tablet_path(store, number), depot.chain(number)
    contents = restore(chain, path)
    if contents.head is not None:
        files = contents.base.files if contents.base is not None else []
        kept = tuple(Uploaded(*file_state(path / each.name), each) for each in files if each.name.endswith(".sst"))
        Lineage(depot.about.identity, (contents.head.owner,), kept).write(store, number)
    return contents


def _replay(store: Path, depot: Depot, sequences: list[int]) -> None:
    """Open every tablet once: its logs are replayed, and it has got as far as its chain says."""
    if manifest.read(store).settings.tablets != depot.about.tablets:
        raise StorageError(f"{depot.url}/{manifest.NAME} does not belong to this depot; restore it from a copy")
    with Store.open(store) as opened:
        for number, sequence in enumerate(sequences):
            if sequence and opened.tablet(number).sequence < sequence:
                raise StorageError(
                    f"tablet {number} of {depot.url} cannot be replayed to its end "
                    f"(write {opened.tablet(number).sequence:,} of {sequence:,}); run `fyke store check` with the depot"
                )


def restore(chain: Chain, path: Path) -> Contents:
    """Make the directory of a tablet as its chain's head has it, and return what it is made of.

    REQUIRES: ``path`` is new. Raises ``StorageError`` where something is missing or damaged.
    """
    for _ in range(_TRIES):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(mode=0o700)
        contents = chain.contents()
        try:
            with ThreadPoolExecutor(AT_ONCE) as pool:
                _restore_base(chain, contents.base, path, pool)
                _restore_logs(chain, contents, path, pool)
        except _GoneError as error:
            if chain.head()[0] == contents.number:  # nobody was at work
                raise StorageError(f"{chain.folder} lacks {error}; restore it from a copy of the depot") from None
            continue
        return contents
    raise StorageError(f"{chain.folder} changes too quickly to be fetched; try again")


def _restore_base(chain: Chain, base: Entry | None, path: Path, pool: ThreadPoolExecutor) -> None:
    def one(place: int) -> None:
        assert base is not None
        file = base.files[place]
        if not FILE_NAME.fullmatch(file.name):
            raise StorageError(f"a base of {chain.folder} names a file {file.name!r}; it is not fyke's")
        if not chain.download(file, path / file.name):
            raise _GoneError(file.remote)
        if (path / file.name).stat().st_size != file.size or checksum(path / file.name) != file.checksum:
            raise StorageError(f"{chain.folder}/files/{file.remote} is damaged; restore it from a copy of the depot")

    list(pool.map(one, range(len(base.files) if base is not None else 0)))


def _restore_logs(chain: Chain, contents: Contents, path: Path, pool: ThreadPoolExecutor) -> None:
    in_base = {file.name for file in contents.base.files} if contents.base is not None else set()
    needless: set[str] = set()
    for entry, payload in _entries(chain, contents.logs, pool):
        at = 0
        for piece in entry.pieces:
            data = payload[at : at + piece.size]
            at += piece.size
            log = path / piece.log
            if not LOG_NAME.fullmatch(piece.log):
                raise StorageError(f"an entry of {chain.folder} names a log {piece.log!r}; it is not fyke's")
            size = log.stat().st_size if log.exists() else 0
            if piece.offset > size:
                # A checkpoint has all logs that it needs: one that it lacks, and that was begun before, is needless.
                if piece.log in in_base or log.exists():
                    raise StorageError(f"a piece of {piece.log} is missing in {chain.folder}; restore it from a copy")
                needless.add(piece.log)
            if piece.log not in needless:
                with log.open("r+b" if log.exists() else "w+b") as file:
                    file.seek(piece.offset)
                    file.write(data)


def _entries(chain: Chain, numbers: tuple[int, ...], pool: ThreadPoolExecutor) -> Iterator[tuple[Entry, memoryview]]:
    """Yield entries in order, with their bytes, a few of them read ahead."""
    left = iter(numbers)
    under_way = [(number, pool.submit(chain.read, number)) for number in islice(left, AT_ONCE)]
    while under_way:
        number, future = under_way.pop(0)
        found = future.result()
        if found is None:
            raise _GoneError(f"entry {number}")
        under_way += [(further, pool.submit(chain.read, further)) for further in islice(left, 1)]
        yield found


class DepotCheck(msgspec.Struct):
    """What a check of a depot found."""

    tablets: int = 0
    entries: int = 0
    claims: int = 0
    files: int = 0
    bytes: int = 0
    """Of what makes up the tablets."""
    faults: int = 0
    named: list[str] = []
    """The first of them, in words."""

    def fault(self, what: str) -> None:
        """Note a fault."""
        self.faults += 1
        if len(self.named) < _NAMED:
            self.named.append(what)


def check(depot: Depot, progress: Progress | None = None) -> DepotCheck:
    """Read everything that makes up the tablets of a depot, and compare it with its checksums."""
    found = DepotCheck()
    if depot.store_file(manifest.NAME) is None:
        found.fault(f"{manifest.NAME} is missing")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for number in range(depot.about.tablets):
            for last in reversed(range(_TRIES)):
                found.tablets = number
                once = msgspec.structs.replace(found, named=list(found.named))
                try:
                    _check_tablet(depot.chain(number), once, pool)
                except _GoneError as error:
                    if last:  # a newer base may have come
                        continue
                    once.fault(f"tablet {number} lacks {error}")
                except StorageError as error:
                    once.fault(str(error))
                break
            found = once
            found.tablets = number + 1
            if progress is not None:
                progress(found.tablets)
    return found


def _check_tablet(chain: Chain, found: DepotCheck, pool: ThreadPoolExecutor) -> None:
    contents = chain.contents()
    sizes = chain.sizes()
    for file in contents.base.files if contents.base is not None else ():
        if file.remote not in sizes:
            raise _GoneError(file.remote)
    with tempfile.TemporaryDirectory(prefix="fyke-check-") as folder:
        for place, file in enumerate(contents.base.files if contents.base is not None else ()):
            path = Path(folder, str(place))
            if not chain.download(file, path):
                raise _GoneError(file.remote)
            if path.stat().st_size != file.size or checksum(path) != file.checksum:
                found.fault(f"{chain.folder}/files/{file.remote} is damaged")
            found.files += 1
            found.bytes += file.size
            path.unlink()
    epoch = sequence = 0
    for entry, payload in _entries(chain, contents.logs, pool):
        found.entries += 1
        found.claims += entry.kind is Kind.CLAIM
        found.bytes += len(payload)
        if entry.epoch < epoch or entry.sequence < sequence:
            found.fault(f"{chain.folder} goes backwards: an entry of epoch {entry.epoch}, sequence {entry.sequence}")
        epoch, sequence = entry.epoch, entry.sequence
