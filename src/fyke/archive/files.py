"""The files of an archive: a folder of mapped sections and a manifest that names, measures and checks them.

``archive.json`` is one line of JSON and one line with the xxh3 of the first; it is written last. Sections are
little-endian 64-bit words (docs/archive-format.md). ``map_section`` checks sizes always and checksums on wish.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import msgspec
import numpy as np
import xxhash
from numpy.typing import NDArray

from fyke.archive.preprocess import Preprocessing
from fyke.errors import UNREADABLE, StorageError

FORMAT = "fyke-archive"
SUB_FORMAT = "fyke-subarchive"
VERSION = 1
MANIFEST = "archive.json"


class Section(msgspec.Struct, frozen=True):
    """A file of the archive: its size in bytes and the xxh3 of its content, in hexadecimal."""

    bytes: int
    xxh3: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What an archive says of itself."""

    format: str = FORMAT
    version: int = VERSION
    mode: str
    codes: dict[str, str]
    """Stream to code."""
    bits: dict[str, int]
    """Stream to the bits it takes."""
    stream_bits: int
    documents: int
    """Nodes of the graph: summaries and missing documents."""
    missing: int
    postings: int
    words: int
    """Σℓ, for the mean length."""
    terms: int
    largest: int
    """Postings of the largest summary."""
    window: int
    max_chain: int
    dates: tuple[int, int] = (0, 0)
    """When the first and the last document was fetched, in seconds since 1970; (0, 0) where nobody knows."""
    preprocessing: Preprocessing
    tokeniser: int = 1
    """What a word was (text/characters.WORDS); archives that do not say are older than the number."""
    sections: dict[str, Section]


class SubManifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a sub-archive says of itself: which archive it lies over, and how many of its documents it has."""

    format: str = SUB_FORMAT
    version: int = VERSION
    base: str
    """The path of the archive below, from this folder."""
    base_xxh3: str
    """Of the manifest below: another archive at that place is refused."""
    documents: int
    base_documents: int
    sections: dict[str, Section]


def date_width(dates: tuple[int, int]) -> int:
    """Return the bits of a date in dates.bits: seconds since the first plus 1, or 0 for one that is not known."""
    return (dates[1] - dates[0] + 1).bit_length()


def write_manifest(folder: Path, manifest: Manifest | SubManifest) -> None:
    """Write the manifest, which makes the folder an archive."""
    line = msgspec.json.encode(manifest)
    (folder / MANIFEST).write_bytes(line + b"\n" + xxhash.xxh3_64_hexdigest(line).encode() + b"\n")


def read_manifest(folder: Path) -> Manifest | SubManifest:
    """Return the manifest of an archive or sub-archive. Raises ``StorageError``."""
    file = folder / MANIFEST
    try:
        line, _, check = file.read_bytes().partition(b"\n")
    except OSError:
        raise StorageError(
            f"{folder} is not an archive: it has no {MANIFEST}; make one with `fyke archive build`"
        ) from None
    if xxhash.xxh3_64_hexdigest(line).encode() != check.strip():
        raise StorageError(f"{file} is damaged (its checksum differs); build the archive again")
    try:
        head = msgspec.json.decode(line, type=_Head)
        if head.format not in {FORMAT, SUB_FORMAT} or head.version != VERSION:
            raise StorageError(
                f"{file} is {head.format} {head.version}, this is for {FORMAT} {VERSION}; build the archive again"
            )
        kind: type[Manifest | SubManifest] = Manifest if head.format == FORMAT else SubManifest
        return msgspec.json.decode(line, type=kind)
    except UNREADABLE as error:
        raise StorageError(f"{file} is not an archive's manifest ({error}); build the archive again") from None


def own_files(folder: Path, format_: str) -> frozenset[str]:
    """Return the names of the archive's files in ``folder``: none where it is no archive of this format."""
    try:
        manifest = read_manifest(folder)
    except StorageError:
        return frozenset()
    return frozenset({MANIFEST, *manifest.sections}) if manifest.format == format_ else frozenset()


class _Head(msgspec.Struct):
    format: str
    version: int


class SectionWriter:
    """A section being written, word by word, with its checksum."""

    def __init__(self, folder: Path, name: str) -> None:
        self._file = (folder / name).open("wb")
        self._hash = xxhash.xxh3_64()
        self._bytes = 0

    def write(self, words: NDArray[np.generic]) -> None:
        """Append an array as it lies in memory."""
        data = np.ascontiguousarray(words).view(np.uint8).data
        self._file.write(data)
        self._hash.update(data)
        self._bytes += len(data)

    def close(self) -> Section:
        """Close the file; return what the manifest says of it."""
        self._file.close()
        return Section(self._bytes, self._hash.hexdigest())


def write_section(folder: Path, name: str, arrays: Iterable[NDArray[np.generic]]) -> Section:
    """Write arrays one after another as a section."""
    if sys.byteorder != "little":
        raise StorageError("archives are written and mapped on little-endian machines only")
    writer = SectionWriter(folder, name)
    for array in arrays:
        writer.write(array)
    return writer.close()


def map_section(folder: Path, name: str, sections: dict[str, Section], verify: bool) -> NDArray[np.uint8]:
    """Map a section. Raises ``StorageError`` where it is absent, truncated or (if ``verify``) damaged."""
    file = folder / name
    if name not in sections or not file.is_file():
        raise StorageError(f"{file} is absent; build the archive again or copy the whole folder")
    said = sections[name]
    size = file.stat().st_size
    if size != said.bytes:
        raise StorageError(f"{file} has {size} bytes instead of {said.bytes}; copy it again or build the archive again")
    data: NDArray[np.uint8] = np.memmap(file, np.uint8, "r") if size else np.empty(0, np.uint8)
    if verify and xxhash.xxh3_64_hexdigest(data.data) != said.xxh3:
        raise StorageError(f"{file} is damaged (its checksum differs); copy it again or build the archive again")
    return data
