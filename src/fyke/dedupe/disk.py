"""The disk: folders of sketches, and the sorted runs of an index. Everything of dedupe that touches files is here.

A folder of sketches ("fyke-sketches", version 1; docs/sketches.md draws the bytes) holds

    header.json   name, version, parameters, records known to be whole
    signatures    16 bits of each minimum, a row for each document
    facts         four 64-bit words for each document: end of its name, simhash, text key, shingles and check sum
    names         the documents' ids in UTF-8, one after the other
    lock          held by the process that writes
    bands-BxR-N   slots of the first N documents for B bands of R, sorted: derived, and rebuilt where it is missing

A folder may be anybody's: every number in it is checked when it is opened, before a kernel follows it.
Of a run that is open kernels read single pages. Records are written through shared mappings, so a killed process loses
nothing that it wrote; each record has a check sum, so a power cut loses at most the records since the last `sync`, and
what is left is told from what was torn.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import weakref
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from fyke.dedupe import index_kernels
from fyke.dedupe.sketch import DEFAULTS, Features, Parameters, Sketches
from fyke.errors import UNREADABLE, DiskFullError, StorageError, UserError
from fyke.text.characters import WORDS, Folding

AnyPath = str | os.PathLike[str]

NAME = "fyke-sketches"
VERSION = 1
GROWTH = 1 << 14
"""Records by which the files grow at first: 6 MB; later by an eighth of what is there."""
_STEP = 1 << 11
"""Records for which blocks of the disk are taken at a time."""
NAME_BYTES = 64
"""Bytes reserved for a name on average; more are found when needed."""
MAX_PERMUTATIONS = 4096
MAX_WORDS = 1000
"""Parameters beyond which a header is not believed: the files would grow by gigabytes for nothing."""
CHUNK = 1 << 16
"""Slots or records that are checked or merged at a time: half a megabyte."""


class _Kept(msgspec.Struct):
    """Parameters by the names that they have in the file."""

    n: int
    permutations: int
    features: Features
    folding: Folding


class _Header(msgspec.Struct):
    name: str
    version: int
    kept: _Kept = msgspec.field(name="parameters")
    records: int = 0
    words: int = 1
    """What a word was to them (text/characters.WORDS)."""

    @classmethod
    def of(cls, parameters: Parameters, records: int) -> _Header:
        kept = _Kept(parameters.ngram, parameters.num_perm, parameters.features, parameters.folding)
        return cls(NAME, VERSION, kept, records, WORDS)

    @property
    def parameters(self) -> Parameters:
        kept = self.kept
        return Parameters(kept.n, kept.permutations, kept.features, kept.folding)


class SketchFolder:
    """An open folder of sketches: arrays mapped from its files, longer than ``count`` where it may be written."""

    def __init__(self, path: Path, header: _Header, *, writable: bool) -> None:
        self.path = path
        self.parameters = header.parameters
        self.writable = writable
        if writable:
            self._release = _take(self, path)
        try:
            rows = (path / "facts").stat().st_size // 32
            self._map(rows)
        except (OSError, ValueError) as error:
            raise StorageError(f"{path} is no whole folder of sketches ({error}); sketch the texts anew") from None
        whole = min(header.records, rows)
        _check_records(path, self.facts[:whole], len(self.names))
        self.count = int(index_kernels.valid_records(self.signatures, self.facts, self.names, whole))
        if self.count > index_kernels.MAX_DOCUMENTS:
            raise StorageError(f"{path} says that it has {self.count:,} records; remove it and sketch the texts anew")
        self.used = int(self.facts[self.count - 1, 0]) if self.count else 0
        self._held = (self.count, self.used)  # records and bytes of names that have their blocks on the disk

    @classmethod
    def open(
        cls,
        path: AnyPath,
        parameters: Parameters | None = None,
        *,
        create: bool = False,
        default: Parameters = DEFAULTS,
    ) -> Self:
        """Open a folder; with ``create``, make one that is missing, and open it for writing.

        A new one has ``parameters``, or the default.

        Raises UserError where it was made with other ``parameters``, StorageError where it is no such folder.
        """
        path = Path(path)
        if create and not (path / "header.json").exists():
            path.mkdir(parents=True, exist_ok=True)
            if any(path.iterdir()):
                raise StorageError(f"{path} is not empty and no folder of sketches; name a new one")
            for part in ("signatures", "facts", "names"):
                (path / part).touch()
            _write_header(path, _Header.of(parameters or default, 0))
        header = _read_header(path)
        if parameters is not None and header.parameters != parameters:
            theirs, ours = (asdict(p) for p in (header.parameters, parameters))
            differ = ", ".join(f"{key} = {theirs[key]} not {ours[key]}" for key in theirs if theirs[key] != ours[key])
            raise UserError(
                f"the sketches in {path} have other parameters ({differ}); sketch the texts anew with these"
            )
        return cls(path, header, writable=create)

    def reserve(self, records: int, name_bytes: int) -> None:
        """Make room for more records and bytes of names; arrays are mapped anew where there was none."""
        if not self.writable:
            raise StorageError(f"{self.path} is closed, or open for reading only; open it again to write")
        if self.count + records > len(self.facts) or self.used + name_bytes > len(self.names):
            self._grow(records, name_bytes)
        if self.count + records > self._held[0] or self.used + name_bytes > self._held[1]:
            self._hold(self.count + records + _STEP, self.used + name_bytes + _STEP * NAME_BYTES)

    def _hold(self, records: int, name_bytes: int) -> None:
        """Take the blocks of the disk: whoever writes to a mapped file that has none on a full disk is killed."""
        held = min(records, len(self.facts)), min(name_bytes, len(self.names))
        widths = (("signatures", 0, 2 * self.parameters.num_perm), ("facts", 0, 32), ("names", 1, 1))
        for part, column, width in widths:
            first, size = self._held[column] * width, (held[column] - self._held[column]) * width
            if size > 0 and hasattr(os, "posix_fallocate"):
                try:
                    with (self.path / part).open("r+b") as file:
                        os.posix_fallocate(file.fileno(), first, size)
                except OSError as error:
                    raise DiskFullError(f"{self.path} cannot grow ({error.strerror}); free some space") from None
        self._held = held

    def _grow(self, records: int, name_bytes: int) -> None:
        rows = max(self.count + records, len(self.facts), self.count + max(GROWTH, self.count // 8))
        more = rows * NAME_BYTES if rows > len(self.facts) else 2 * self.used
        room = max(self.used + name_bytes, len(self.names), more)
        os.truncate(self.path / "signatures", rows * self.parameters.num_perm * 2)
        os.truncate(self.path / "facts", rows * 32)
        os.truncate(self.path / "names", room)
        self._map(rows)

    def append(self, names: list[str], sketches: Sketches) -> None:
        """Add sketches under names."""
        if sketches.parameters != self.parameters:
            raise UserError(f"these sketches have other parameters than those in {self.path}; sketch the texts anew")
        data = [name.encode("utf-8", "replace") for name in names]
        self.reserve(len(data), sum(map(len, data)))
        start, end = self.used, self.count + len(data)
        joined = b"".join(data)
        self.names[start : start + len(joined)] = np.frombuffer(joined, np.uint8)
        self.signatures[self.count : end] = sketches.signatures.astype(np.uint16)
        rows = self.facts[self.count : end]
        rows[:, index_kernels.NAME_END] = start + np.cumsum([len(name) for name in data])
        rows[:, index_kernels.SIMHASH] = sketches.simhashes
        rows[:, index_kernels.TEXT_KEY] = sketches.keys
        rows[:, index_kernels.SHINGLES] = sketches.counts
        index_kernels.seal_records(self.signatures, self.facts, self.names, self.count, end)
        self.count, self.used = end, start + len(joined)

    def merge(self, other: SketchFolder, wanted: Callable[[str], bool] = lambda name: True) -> None:
        """Append every record of another folder of equal parameters whose name is ``wanted``."""
        if other.parameters != self.parameters:
            raise UserError(f"{other.path} and {self.path} have other parameters each; sketch one of them anew")
        for start in range(0, other.count, GROWTH):
            end = min(start + GROWTH, other.count)
            names = {document: other.name(document) for document in range(start, end)}
            chosen = [document for document, name in names.items() if wanted(name)]
            facts = other.facts[chosen]
            self.append(
                [names[document] for document in chosen],
                Sketches(
                    self.parameters,
                    other.signatures[chosen].astype(np.uint32),
                    facts[:, index_kernels.SIMHASH].copy(),
                    (facts[:, index_kernels.SHINGLES] & np.uint64(0xFFFFFFFF)).astype(np.int64),
                    facts[:, index_kernels.TEXT_KEY].copy(),
                ),
            )

    def name(self, document: int) -> str:
        """Return the id of a document."""
        return name_of(self.facts, self.names, document)

    def unload(self) -> None:
        """Let go of what was touched of the files: it is the system's to keep, and comes back when it is touched."""
        for part in (self.signatures, self.facts, self.names):
            if isinstance(part.base, np.memmap):
                cast(mmap.mmap, part.base.base).madvise(mmap.MADV_DONTNEED)

    def sync(self) -> None:
        """Return once every record is on the disk."""
        for part in (self.signatures, self.facts, self.names):
            if isinstance(part.base, np.memmap):
                part.base.flush()
        _write_header(self.path, _Header.of(self.parameters, self.count))

    def close(self) -> None:
        """Sync, and cut the files to what is used."""
        if not self.writable:
            return
        try:
            self.sync()
            rows = self.count
            self._map(0)
            os.truncate(self.path / "signatures", rows * self.parameters.num_perm * 2)
            os.truncate(self.path / "facts", rows * 32)
            os.truncate(self.path / "names", self.used)
        finally:
            self.writable = False
            self._release()

    def bands(self, shape: str) -> Run | None:
        """Return the sorted run of slots for bands of ``shape`` (32x6, say), checked; older ones are removed."""
        ends = ((p, p.name.removeprefix(f"bands-{shape}-")) for p in self.path.glob(f"bands-{shape}-*"))
        runs = {int(end): path for path, end in ends if end.isascii() and end.isdigit() and len(end) < 10}
        newest = max((covered for covered in runs if covered <= self.count), default=0)
        for covered, path in runs.items():
            if self.writable and covered != newest:
                path.unlink()
        if not newest:
            return None
        run = Run(runs[newest], newest)
        run.check()
        return run

    def write_bands(self, shape: str, old: Run | None, new: NDArray[np.uint64], covered: int) -> Run:
        """Merge sorted slots into the old run, which is removed; return the run of the first ``covered`` documents."""
        target = self.path / f"bands-{shape}-{covered}"
        half = self.path / "bands.half"
        with half.open("wb") as file:
            taken = 0
            for chunk in old.chunks() if old else ():
                upto = int(np.searchsorted(new, chunk[-1]))
                merged = np.concatenate([chunk, new[taken:upto]])
                merged.sort(kind="stable")
                file.write(merged.data)
                taken = upto
            file.write(new[taken:].data)
            file.flush()
            os.fsync(file.fileno())
        half.rename(target)
        if old and old.path != target:
            old.path.unlink(missing_ok=True)
        return Run(target, covered)

    def _map(self, rows: int) -> None:
        mode = "r+" if self.writable else "c"
        width = self.parameters.num_perm
        self.signatures: NDArray[np.uint16] = _mapped(self.path / "signatures", np.uint16, mode, (rows, width))
        self.facts: NDArray[np.uint64] = _mapped(self.path / "facts", np.uint64, mode, (rows, 4))
        self.names: NDArray[np.uint8] = _mapped(self.path / "names", np.uint8, mode) if rows else np.empty(0, np.uint8)


class Run:
    """A sorted run of slots on the disk, open. It is read and never mapped, as what is mapped counts as our memory."""

    def __init__(self, path: Path, covered: int) -> None:
        self.path = path
        self.covered = covered
        """Documents, from the first on, whose slots these are."""
        self.file = os.open(path, os.O_RDONLY)
        self.nbytes = os.fstat(self.file).st_size // 8 * 8
        weakref.finalize(self, os.close, self.file)

    def chunks(self) -> Iterator[NDArray[np.uint64]]:
        """Return the slots, CHUNK at a time."""
        for start in range(0, self.nbytes, 8 * CHUNK):
            yield np.fromfile(self.path, np.uint64, CHUNK, offset=start)

    def check(self) -> None:
        """Raise ``StorageError`` unless slots are in order and name documents that are there."""
        before = np.uint64(0)
        for some in self.chunks():
            named = some & index_kernels.DOCUMENT
            if some[0] < before or (some[1:] < some[:-1]).any() or named.min() < 1 or named.max() > self.covered:
                raise StorageError(
                    f"{self.path} is damaged: its slots are in no order, or of no document; remove this file"
                )
            before = some[-1]


def _check_records(path: Path, facts: NDArray[np.uint64], name_bytes: int) -> None:
    """Raise ``StorageError`` unless names end one after the other, and inside the file of names."""
    before = np.uint64(0)
    for start in range(0, len(facts), CHUNK):
        ends = facts[start : start + CHUNK, index_kernels.NAME_END]
        if ends[0] < before or (ends[1:] < ends[:-1]).any() or ends[-1] > name_bytes:
            raise StorageError(f"{path / 'facts'} is damaged: names end where there are none; sketch the texts anew")
        before = ends[-1]


def name_of(facts: NDArray[np.uint64], names: NDArray[np.uint8], document: int) -> str:
    """Return the id of a document, told by the arrays of a folder."""
    start = int(facts[document - 1, index_kernels.NAME_END]) if document else 0
    return bytes(names[start : int(facts[document, index_kernels.NAME_END])]).decode("utf-8", "replace")


def _take(owner: object, path: Path) -> weakref.finalize[Any, Any]:
    """Take a folder for its owner alone; what is returned lets it go, when called or when the owner is gone."""
    handle = os.open(path / "lock", os.O_CREAT | os.O_WRONLY, 0o644)
    release = weakref.finalize(owner, os.close, handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        release()
        raise StorageError(f"{path} is being written by another process; wait for it, or name another folder") from None
    return release


def _mapped(path: Path, kind: Any, mode: Any, shape: tuple[int, ...] | None = None) -> NDArray[Any]:
    """Map a file as a plain array that numba knows at once: no memmap, and never read-only ("c" writes to no file)."""
    size = path.stat().st_size // np.dtype(kind).itemsize
    if shape is not None and int(np.prod(shape)) > size:
        raise StorageError(f"{path} is shorter than its records; remove the folder and sketch the texts anew")
    if size == 0 or (shape is not None and 0 in shape):
        return np.empty(shape if shape is not None else 0, kind)
    return np.memmap(path, kind, mode, shape=shape if shape is not None else (size,)).view(np.ndarray)


def _read_header(path: Path) -> _Header:
    try:
        header = msgspec.json.decode((path / "header.json").read_bytes(), type=_Header)
        parameters = header.parameters
    except (OSError, *UNREADABLE):
        raise StorageError(
            f"{path} is no folder of sketches; make one with `fyke dedupe INPUT --save {path}`"
        ) from None
    if (header.name, header.version) != (NAME, VERSION):
        raise StorageError(
            f"{path} is {header.name} version {header.version}; this fyke reads {NAME} version {VERSION}"
        )
    if header.words > WORDS or (header.words < WORDS and parameters.folding.accents):
        raise StorageError(
            f"the sketches in {path} were made of other words (words {header.words}, here {WORDS}) and are like no new"
            " ones; sketch the texts anew"
        )
    if header.records < 0 or parameters.num_perm > MAX_PERMUTATIONS or parameters.ngram > MAX_WORDS:
        raise StorageError(f"{path / 'header.json'} has a number that cannot be true; sketch the texts anew")
    return header


def _write_header(path: Path, header: _Header) -> None:
    half = path / "header.json.half"
    with half.open("wb") as file:
        file.write(msgspec.json.encode(header) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    half.rename(path / "header.json")
