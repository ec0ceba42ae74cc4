"""The depot: each tablet as a chain of numbered objects, each made once, which is durability and fencing in one.

::

    fyke-depot.json                        format name and version, the depot's identity, its number of tablets
    fyke-store.json  crawl.json  …         as in a store; replaced by whoever writes
    tablet-03/log/000000000123             an entry of the chain; made by put-if-absent, never changed
    tablet-03/files/000000000120-000045.sst    a file of a RocksDB, named by the epoch that made it; never changed

An entry is a claim, a piece of log, or a base (docs/depot.md has the bytes). Whoever is to write a tablet appends a
*claim*; its number is the owner's epoch. A former owner that does not know of it finds its next number taken: nothing
that it does counts any more (``FencedError``). No clock, no lock and no server decides that.

A *base* names the files of a RocksDB checkpoint, and the last entry that these cover; *log* entries hold what
RocksDB's own logs got since the entry before. The newest base and the log entries that it does not cover are the
tablet. What a base covers is deleted, claims excepted: the number after an owner's last entry stays taken for ever.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import msgspec
import xxhash

from fyke.errors import UNREADABLE, FencedError, StorageError
from fyke.store.objects import Objects, open_objects

NAME = "fyke-depot.json"
FORMAT = "fyke-depot"
VERSION = 1
MAGIC = b"FYKD"
STORE_FILES = ("fyke-store.json", "crawl.json", "topic.model", "quarantine.jsonl", "steering.json")
"""What a store holds beside its tablets and a crawl cannot go on without."""

_PREFIX = len(MAGIC) + 1 + 4
_KIND_AT = _PREFIX + 1  # the header is an array of under 16 values, of which the kind is the first
_FIRST_READ = 1 << 16
_TRIES = 8


class Kind(IntEnum):
    """What an entry of a chain is."""

    CLAIM = 1
    LOG = 2
    BASE = 3


class Piece(msgspec.Struct, frozen=True, array_like=True):
    """So many bytes of a log file from an offset on; they follow the header, one piece after the other."""

    log: str
    offset: int
    size: int


class File(msgspec.Struct, frozen=True, array_like=True):
    """A file of a base."""

    name: str
    """In the tablet's directory."""
    remote: str
    """In the folder ``files`` of the tablet."""
    size: int
    checksum: int
    """XXH3, 64 bits."""


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """The header of an entry."""

    kind: Kind
    epoch: int
    """The number of its owner's claim."""
    owner: str
    """Host, process and a number drawn for this claim alone."""
    sequence: int
    """RocksDB's number of the last write that is in the chain with this entry."""
    base: int = 0
    """The number of the newest base before it; 0 where there is none."""
    covers: int = 0
    """Of a base: the last entry that its files hold."""
    checksum: int = 0
    """XXH3, 64 bits, of what follows the header."""
    pieces: list[Piece] = []
    files: list[File] = []


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Entry).decode


def encode(entry: Entry, payload: Sequence[bytes] = ()) -> bytes:
    """Return the bytes of an entry; ``payload`` are its pieces."""
    digest = xxhash.xxh3_64()
    for piece in payload:
        digest.update(piece)
    header = _encode(msgspec.structs.replace(entry, checksum=digest.intdigest()))
    return b"".join((MAGIC, bytes((VERSION,)), len(header).to_bytes(4, "big"), header, *payload))


def decode(data: bytes) -> tuple[Entry, memoryview]:
    """Return the header of an entry and what follows it. Raises ``ValueError`` for what is damaged."""
    entry, end = _header(data)
    payload = memoryview(data)[end:]
    if xxhash.xxh3_64_intdigest(payload) != entry.checksum:
        raise ValueError("its bytes do not have their checksum")
    if sum(piece.size for piece in entry.pieces) != len(payload):
        raise ValueError("its pieces are not as long as its bytes")
    return entry, payload


def _header(data: bytes) -> tuple[Entry, int]:
    if data[:4] != MAGIC:
        raise ValueError("it does not begin as an entry does")
    if data[4] != VERSION:
        raise ValueError(f"it has version {data[4]} of the format, and this fyke reads {VERSION}")
    end = _PREFIX + int.from_bytes(data[5:_PREFIX], "big")
    if len(data) < end:
        raise ValueError("it is cut off")
    try:
        return _decode(data[_PREFIX:end]), end
    except UNREADABLE as error:
        raise ValueError(str(error)) from None


@dataclass(frozen=True, slots=True)
class Contents:
    """What a chain holds: whoever has all of it has the tablet as it was at the head."""

    number: int
    """Of the head; 0 where nobody has claimed the tablet yet."""
    head: Entry | None
    base: Entry | None
    logs: tuple[int, ...]
    """Entries that the base does not cover, in order; claims may be among them."""


class Chain:
    """The chain of one tablet. A reader needs nothing more; a writer must ``claim`` it first.

    A writer's ``append`` may raise ``DepotError``: then the entry may be there or not, and the same bytes are
    appended again until that is known.
    """

    def __init__(self, objects: Objects, tablet: int) -> None:
        self._objects = objects
        self.folder = f"tablet-{tablet:02}"
        self.tablet = tablet
        self.epoch = 0
        """The number of our claim; 0 before it."""
        self.owner = ""
        self.next = 0
        """The number of our next entry."""
        self.base = 0
        """The number of the newest base."""
        self.sequence = 0
        """What the newest entry says."""
        self._unclaimed: set[int] = set()  # entries of ours that are no claims
        self._claims: set[int] = set()  # what is known to be one

    # ---- reading

    def numbers(self) -> list[int]:
        """The entries that are there, in order."""
        names = (name.rpartition("/")[2] for name, _ in self._objects.list(f"{self.folder}/log/"))
        return sorted(int(name) for name in names if name.isdecimal())

    def header(self, number: int) -> Entry | None:
        """Return the header of an entry, None where it is not there. Raises ``StorageError`` where it is damaged."""
        data = self._objects.get(self.name(number), _FIRST_READ)
        if data is not None and len(data) == _FIRST_READ < _PREFIX + int.from_bytes(data[5:_PREFIX], "big"):
            data = self._objects.get(self.name(number))
        if data is None:
            return None
        try:
            return _header(data)[0]
        except (ValueError, IndexError) as error:
            raise self._damaged(number, error) from None

    def read(self, number: int) -> tuple[Entry, memoryview] | None:
        """Return an entry with its bytes, None where it is not there. Raises ``StorageError`` where it is damaged."""
        data = self._objects.get(self.name(number))
        try:
            return None if data is None else decode(data)
        except (ValueError, IndexError) as error:
            raise self._damaged(number, error) from None

    def head(self) -> tuple[int, Entry | None]:
        """The last entry and its number; (0, None) of a chain that nobody has claimed."""
        for _ in range(_TRIES):
            last = max(self.numbers(), default=0)
            entry = self.header(last) if last else None
            if entry is not None or not last:
                return last, entry
        raise StorageError(f"{self._objects.url}/{self.folder} changes too quickly to be read; try again")

    def contents(self) -> Contents:
        """Say what makes up the tablet. Raises ``StorageError`` where something of it is missing."""
        for _ in range(_TRIES):
            numbers = self.numbers()
            last = numbers[-1] if numbers else 0
            if not last:
                return Contents(0, None, None, ())
            head = self.header(last)
            if head is None:
                continue  # a base came meanwhile, and what it covers went
            at = last if head.kind is Kind.BASE else head.base
            base = self.header(at) if at else None
            needed = set(range(base.covers + 1 if base is not None else 1, last + 1))
            missing = needed.difference(numbers)
            if not missing and (base is not None or not at):
                return Contents(last, head, base, tuple(sorted(needed - {at})))
            if max(self.numbers()) == last:  # nobody was at work
                raise StorageError(
                    f"the chain {self._objects.url}/{self.folder} lacks entry {min(missing, default=at)}; "
                    "restore it from a copy of the depot"
                )
        raise StorageError(f"{self._objects.url}/{self.folder} changes too quickly to be read; try again")

    # ---- writing

    def claim(self, owner: str) -> int:
        """Become the owner of the tablet; return the epoch. Whoever owned it before is fenced."""
        while True:
            last, head = self.head()
            sequence, base = (head.sequence, last if head.kind is Kind.BASE else head.base) if head else (0, 0)
            number = last + 1
            entry = Entry(Kind.CLAIM, number, owner, sequence, base)
            # A claimer that slept may fill a number whose entry was covered by a base and deleted: look once more.
            if self._objects.create(self.name(number), encode(entry)) and max(self.numbers()) == number:
                self.epoch, self.owner, self.next = number, owner, number + 1
                self.base, self.sequence = base, sequence
                self._unclaimed.clear()
                return number

    def entry(
        self,
        kind: Kind,
        sequence: int,
        payload: Sequence[bytes] = (),
        *,
        pieces: list[Piece] | None = None,
        covers: int = 0,
        files: list[File] | None = None,
    ) -> bytes:
        """Return the bytes of an entry of ours, to be appended next."""
        header = Entry(kind, self.epoch, self.owner, sequence, self.base, covers, 0, pieces or [], files or [])
        return encode(header, payload)

    def append(self, data: bytes) -> int:
        """Append an entry; return its number. Raises ``FencedError`` where somebody else has claimed the tablet."""
        assert self.epoch, "whoever appends has claimed the tablet"
        number, entry = self.next, _header(data)[0]
        if not self._objects.create(self.name(number), data):
            there = self._objects.get(self.name(number))
            if there != data:  # else it is ours, and the answer got lost
                raise FencedError(self._fenced(there))
        self.next = number + 1
        self.sequence = entry.sequence
        self._unclaimed.add(number)
        if entry.kind is Kind.BASE:
            self.base = number
        return number

    def sweep(self, base: Entry) -> None:
        """Delete what our newest base makes needless: entries that it covers, and files that it does not name."""
        covered = [number for number in self.numbers() if number <= base.covers]
        gone = [number for number in covered if not self._is_claim(number)]
        self._objects.delete(map(self.name, gone))
        self._unclaimed.difference_update(gone)
        named = {file.remote for file in base.files}
        files = (name for name, _ in self._objects.list(f"{self.folder}/files/"))
        self._objects.delete(name for name in files if self._is_surplus(name.rpartition("/")[2], named))

    def _is_claim(self, number: int) -> bool:
        if number not in self._unclaimed and number not in self._claims:
            start = self._objects.get(self.name(number), _KIND_AT + 1)
            if start is not None and start[_KIND_AT:] != bytes((Kind.CLAIM,)):
                return False
            self._claims.add(number)
        return number in self._claims

    def put_file(self, remote: str, path: Path) -> None:
        """Upload a file."""
        self._objects.put(f"{self.folder}/files/{remote}", path)

    def download(self, file: File, path: Path) -> bool:
        """Download a file of a base; return False where it is gone."""
        return self._objects.download(f"{self.folder}/files/{file.remote}", path)

    def sizes(self) -> dict[str, int]:
        """The files that are there, by their remote names, and their sizes."""
        return {name.rpartition("/")[2]: size for name, size in self._objects.list(f"{self.folder}/files/")}

    def name(self, number: int) -> str:
        """The name of an entry."""
        return f"{self.folder}/log/{number:012}"

    def _is_surplus(self, remote: str, named: set[str]) -> bool:
        epoch = remote.partition("-")[0]
        return remote not in named and epoch.isdecimal() and int(epoch) <= self.epoch

    def _fenced(self, there: bytes | None) -> str:
        try:
            owner = _header(there or b"")[0].owner
        except (ValueError, IndexError):
            owner = "somebody else"
        return (
            f"tablet {self.tablet} of the depot {self._objects.url} was taken over by {owner}; "
            "this copy is out of date: fetch it anew with `fyke store fetch`"
        )

    def _damaged(self, number: int, error: Exception) -> StorageError:
        return StorageError(
            f"{self._objects.url}/{self.name(number)} is damaged ({error}); run `fyke store check` with the depot"
        )


class About(msgspec.Struct, frozen=True):
    """The contents of ``fyke-depot.json``."""

    tablets: int
    identity: str
    format: str = FORMAT
    version: int = VERSION


class Depot:
    """A depot, opened."""

    def __init__(self, objects: Objects, about: About) -> None:
        self.objects = objects
        self.about = about

    @property
    def url(self) -> str:
        """How people name it."""
        return self.objects.url

    @classmethod
    def open(cls, where: str | Objects) -> Depot:
        """Open a depot. Raises ``StorageError`` where there is none, or one of another version."""
        objects = open_objects(where) if isinstance(where, str) else where
        data = objects.get(NAME)
        if data is None:
            raise StorageError(f"{objects.url} holds no depot (no {NAME}); `fyke crawl --depot` makes one")
        try:
            about = msgspec.json.decode(data, type=About)
        except UNREADABLE as error:
            raise StorageError(f"{objects.url}/{NAME} is damaged ({error}); restore it from a copy") from None
        if (about.format, about.version) != (FORMAT, VERSION):
            raise StorageError(
                f"{objects.url} is {about.format} version {about.version}; this fyke reads version {VERSION}"
            )
        return cls(objects, about)

    @classmethod
    def create(cls, where: str | Objects, tablets: int) -> Depot:
        """Open a depot of so many tablets, and make it where there is none. Raises ``StorageError``."""
        objects = open_objects(where, make=True) if isinstance(where, str) else where
        if next(iter(objects.list("")), None) is not None and objects.get(NAME) is None:
            raise StorageError(f"{objects.url} holds other things; give an empty directory or prefix as the depot")
        objects.create(NAME, msgspec.json.encode(About(tablets, secrets.token_hex(8))))
        depot = cls.open(objects)
        if depot.about.tablets != tablets:
            raise StorageError(
                f"the depot {objects.url} holds {depot.about.tablets} tablets, and the store has {tablets}; "
                "give another depot"
            )
        return depot

    def chain(self, tablet: int) -> Chain:
        """The chain of a tablet."""
        return Chain(self.objects, tablet)

    def put_store_files(self, store: Path, names: Iterable[str] = STORE_FILES) -> None:
        """Copy what a store holds beside its tablets."""
        for name in names:
            if (store / name).is_file():
                self.objects.put(name, (store / name).read_bytes())

    def store_file(self, name: str) -> bytes | None:
        """What a store held beside its tablets; None where it held nothing of the name."""
        return self.objects.get(name)
