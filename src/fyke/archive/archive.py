"""Reading archives: a summary by document number, many at once, scores under linear models, and sub-archives."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xxhash
from numpy.typing import NDArray

from fyke.archive import reader_kernels as kernels
from fyke.archive.dictionary import Dictionary, decode_frequencies, number_width
from fyke.archive.files import (
    MANIFEST,
    SUB_FORMAT,
    Manifest,
    SubManifest,
    date_width,
    map_section,
    own_files,
    read_manifest,
    write_manifest,
    write_section,
)
from fyke.archive.writer_kernels import FYKE_STREAMS, PAPER_STREAMS
from fyke.bits.coding import Code, Codes
from fyke.bits.eliasfano import EliasFano, sizes
from fyke.bits.frontcoded import FrontCoded
from fyke.bits.hashing import GOLDEN, mixed
from fyke.bits.lists import unpack
from fyke.bits.stream import words_for
from fyke.errors import StorageError
from fyke.outputs import making

Ints = NDArray[np.int64]
Section = Callable[[str], NDArray[np.uint8]]
"""The bytes of a section by its name."""


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """What an archive tells of a document: ℓ, and its terms with their counts, most frequent terms first."""

    length: int
    """Words of the whole document, before any was filtered."""
    ranks: Ints
    """Terms by frequency rank, increasing."""
    counts: Ints
    dictionary: Dictionary

    @property
    def size(self) -> int:
        """Distinct terms."""
        return len(self.ranks)

    @property
    def terms(self) -> list[str]:
        """The original terms, in the order of ``counts``."""
        return [self.dictionary.term(int(rank)) for rank in self.ranks]


@dataclass(frozen=True, slots=True, eq=False)
class Summaries:
    """Many summaries: document i has ``ranks[starts[i]:starts[i+1]]``; a missing one has length −1."""

    lengths: Ints
    starts: Ints
    ranks: Ints
    counts: Ints


class Archive:
    """A compressed archive of summaries, mapped. Document numbers are node numbers of its graph.

    ``len(archive)`` counts documents, missing ones included. A sub-archive is an archive whose documents are
    some of another's (``members``); their numbers begin at 0 again.
    """

    def __init__(self, folder: Path, manifest: Manifest, stream: kernels.Stream, dictionary: Dictionary) -> None:
        """Use ``Archive.open``."""
        self.folder = folder
        self.manifest = manifest
        self.dictionary = dictionary
        self.members: EliasFano | None = None
        """Of a sub-archive: its documents' numbers in the archive below."""
        self._stream = stream

    @classmethod
    def open(cls, path: str | os.PathLike[str], verify: bool = True) -> Archive:
        """Open an archive or sub-archive.

        ``verify=False`` skips the checksums of the files (about a second for 10 GB).
        Raises ``StorageError`` where it is foreign, damaged, incomplete or of another version.
        """
        folder = Path(path)
        manifest = read_manifest(folder)
        try:
            if isinstance(manifest, SubManifest):
                return _open_sub(folder, manifest, verify)
            return _open(folder, manifest, verify)
        except ValueError as error:
            raise StorageError(f"{folder} is damaged ({error}); copy it again or build the archive again") from None

    def __len__(self) -> int:
        return len(self.members) if self.members is not None else self.manifest.documents

    def __getitem__(self, document: int) -> Summary | None:
        """Return the summary of a document, or None where it is missing. Raises ``IndexError``."""
        found = self.read(np.array([document]))
        if found.lengths[0] < 0:
            return None
        return Summary(int(found.lengths[0]), found.ranks, found.counts, self.dictionary)

    def __iter__(self) -> Iterator[Summary | None]:
        """Yield all summaries, in order."""
        for start in range(0, len(self), 1024):
            found = self.read(np.arange(start, min(start + 1024, len(self))))
            for i, length in enumerate(found.lengths.tolist()):
                own = slice(found.starts[i], found.starts[i + 1])
                yield None if length < 0 else Summary(length, found.ranks[own], found.counts[own], self.dictionary)

    @property
    def mean_length(self) -> float:
        """Mean ℓ of the documents that are there (of the archive below, for a sub-archive)."""
        return self.manifest.words / max(1, self.manifest.documents - self.manifest.missing)

    @property
    def pointer_index_bits(self) -> int:
        """Bits of the inventory over the pointers, in memory only."""
        return self._stream.ones.size * 64

    def below(self, documents: Ints) -> Ints:
        """Return the numbers of ``documents`` in the archive that holds the bits."""
        documents = np.asarray(documents, np.int64)
        if documents.size and not 0 <= documents.min() <= documents.max() < len(self):
            raise IndexError(f"the archive has documents 0 … {len(self) - 1}")
        return documents if self.members is None else self.members.select(documents)

    def read(self, documents: Ints) -> Summaries:
        """Return the summaries of many documents."""
        below = self.below(documents)
        lengths, starts = np.empty(below.size, np.int64), np.zeros(below.size + 1, np.int64)
        mean = self.manifest.postings / max(1, self.manifest.documents)
        room = int(1.2 * mean * below.size) + self.manifest.largest + 1
        ranks, counts = np.empty(room, np.int64), np.empty(room, np.int64)
        done = 0
        while True:
            done = kernels.read_many(self._stream, below, done, lengths, starts, ranks, counts)
            if done < 0:
                raise self._damage(int(below[-1 - done]))
            if done == below.size:
                break
            ranks, counts = (np.concatenate([a, np.empty(len(a), np.int64)]) for a in (ranks, counts))
        return Summaries(lengths, starts, ranks[: starts[-1]], counts[: starts[-1]])

    def score(
        self, documents: Ints, weights: NDArray[np.float64], bm25: tuple[float, float] | None = None
    ) -> NDArray[np.float64]:
        """Return Σ weights[rank]·f(count) of each document; 0 for a missing one.

        f(c) = c, or with ``bm25`` = (k, b): c(k+1)/(c + k(1 − b + bℓ/mean ℓ)).
        """
        if len(weights) != self.manifest.terms:
            raise StorageError(f"{len(weights)} weights for {self.manifest.terms} terms; use the archive's dictionary")
        below = self.below(documents)
        scores = np.empty(below.size)
        saturation, slope = bm25 or (-1.0, 0.0)
        try:
            damaged = kernels.score_many(
                self._stream, below, np.asarray(weights, np.float64), float(saturation), float(slope),
                self.mean_length or 1.0, scores,
            )  # fmt: skip
        except ZeroDivisionError:  # a count that no document has
            raise StorageError(f"{self.folder} is damaged: its counts are none; build the archive again") from None
        if damaged >= 0:
            raise self._damage(int(below[damaged]))
        return scores

    def idf(self) -> NDArray[np.float64]:
        """Return ln((N + 1) / (df + ½)) by rank: the weights of tf-idf and, nearly, of BM25."""
        return np.log((self.manifest.documents + 1) / (self.dictionary.documents + 0.5))

    def fetched(self) -> Ints:
        """Return when each document was fetched, in seconds since 1970; 0 where that is not known."""
        fetched = np.zeros(self.manifest.documents, np.int64)
        if "dates.bits" in self.manifest.sections:
            first, last = self.manifest.dates
            words = map_section(self.folder, "dates.bits", self.manifest.sections, verify=False).view(np.uint64)
            unpack(words, date_width((first, last)), fetched)
            fetched[fetched > 0] += first - 1
        return fetched[self.below(np.arange(len(self)))]

    def sub(self, documents: Ints, folder: str | os.PathLike[str]) -> Archive:
        """Write the sub-archive of ``documents`` (distinct) into ``folder`` without copying a summary; open it.

        Raises ``UserError`` where ``folder`` is neither new nor empty nor a sub-archive, which is then replaced.
        """
        chosen = np.unique(self.below(documents))
        path = Path(folder)
        members = EliasFano.of(chosen, self.manifest.documents + 1)
        with making(path, "sub-archive", lambda found: own_files(found, SUB_FORMAT), MANIFEST) as new:
            write_manifest(
                new,
                SubManifest(
                    base=os.path.relpath(self.folder.resolve(), path.resolve()),
                    base_xxh3=_digest(self.folder),
                    documents=len(chosen),
                    base_documents=self.manifest.documents,
                    sections={"members.ef": write_section(new, "members.ef", [members.low, members.high])},
                ),
            )
        return Archive.open(path, verify=False)

    def sample(self, share: float, seed: int = 0) -> Ints:
        """Return about ``share`` of the documents. Of one seed, a smaller sample lies within a larger one."""
        numbers = self.below(np.arange(len(self))).astype(np.uint64)
        drawn = mixed((numbers + np.uint64(seed % 2**64)) * GOLDEN)
        return np.flatnonzero(drawn.astype(np.float64) < share * 2.0**64)

    def _damage(self, document: int) -> StorageError:
        return StorageError(
            f"{self.folder}: document {document} does not decode; open the archive with verify=True to find "
            "the damaged file, and copy it again"
        )


def _digest(folder: Path) -> str:
    return xxhash.xxh3_64_hexdigest((folder / MANIFEST).read_bytes())


def _open_sub(folder: Path, manifest: SubManifest, verify: bool) -> Archive:
    below = folder / manifest.base
    if not (below / MANIFEST).exists() or _digest(below) != manifest.base_xxh3:
        raise StorageError(f"{folder} lies over {below}, which is not there or another archive; make it again")
    archive = Archive.open(below, verify)
    if archive.members is not None:
        raise StorageError(f"{folder} lies over a sub-archive; make it again over {below}'s own archive")
    data = map_section(folder, "members.ef", manifest.sections, verify)
    archive.members = _elias_fano(data, manifest.documents, manifest.base_documents + 1)
    chosen = archive.members.values()
    if (np.diff(chosen, prepend=-1) <= 0).any():
        raise ValueError("its documents are not in order")
    if len(chosen) and chosen[-1] >= archive.manifest.documents:
        raise ValueError("it has documents that the archive below has not")
    return archive


def _elias_fano(data: NDArray[np.uint8], size: int, universe: int) -> EliasFano:
    words = data.view(np.uint64)
    low = words_for(sizes(size, universe)[0])
    return EliasFano.over(size, universe, words[:low], words[low:])


def _open(folder: Path, manifest: Manifest, verify: bool) -> Archive:
    def section(name: str) -> NDArray[np.uint8]:
        return map_section(folder, name, manifest.sections, verify)

    if "dates.bits" in manifest.sections:  # read when asked for, but a damaged one is found now
        dates = section("dates.bits")
        if not 0 < date_width(manifest.dates) <= 40 or manifest.documents * date_width(manifest.dates) > 8 * dates.size:
            raise ValueError("its dates contradict their number")
    summaries = section("summaries.bits").view(np.uint64)
    _check(manifest, summaries.size * 64)
    return Archive(folder, manifest, _stream(manifest, summaries, section), _dictionary(manifest, section))


def _check(manifest: Manifest, bits: int) -> None:
    """Raise ValueError where the numbers of a manifest cannot be those of ``bits`` of summaries."""
    if set(manifest.codes) != set(_streams(manifest)):
        raise ValueError(f"mode {manifest.mode} has other streams")
    if (
        manifest.terms < 0
        or not 0 <= manifest.largest <= manifest.terms
        or not 0 <= manifest.missing <= manifest.documents
        or not 0 <= manifest.postings <= manifest.documents * manifest.largest
        or not 0 <= manifest.stream_bits <= bits
        or manifest.max_chain < 0
    ):
        raise ValueError("its numbers contradict one another")


def _streams(manifest: Manifest) -> tuple[str, ...]:
    return PAPER_STREAMS if manifest.mode == "paper" else FYKE_STREAMS


def _dictionary(manifest: Manifest, section: Section) -> Dictionary:
    numbers, width = section("permutation.bits").view(np.uint64), number_width(manifest.terms)
    if manifest.terms * width > numbers.size * 64:
        raise ValueError("its numbers contradict one another")
    permutation = np.empty(manifest.terms, np.int64)
    unpack(numbers, width, permutation)
    frequencies = decode_frequencies(section("frequencies.bits").view(np.uint64), manifest.terms)
    if (np.bincount(permutation, minlength=manifest.terms) != 1).any() or (frequencies < 0).any():
        raise ValueError("its terms have no order")
    strings = FrontCoded.over(manifest.terms, section("terms.bytes"), section("terms.starts").view(np.uint64))
    return Dictionary(strings, permutation, frequencies)


def _stream(manifest: Manifest, summaries: NDArray[np.uint64], section: Section) -> kernels.Stream:
    pointers = _elias_fano(section("pointers.ef"), manifest.documents - manifest.missing + 1, manifest.stream_bits + 1)
    missing = _elias_fano(section("missing.ef"), manifest.missing, manifest.documents + 1)
    return kernels.Stream(
        words=summaries,
        codes=Codes.of([Code.parse(manifest.codes[name]) for name in _streams(manifest)]),
        paper=manifest.mode == "paper",
        terms=manifest.terms,
        room=max(1, manifest.largest),
        max_chain=min(manifest.max_chain, manifest.documents) + 1,
        documents=manifest.documents,
        low=pointers.low,
        high=pointers.high,
        ones=pointers.ones,
        low_width=pointers.low_width,
        missing=manifest.missing,
        missing_low=missing.low,
        missing_high=missing.high,
        missing_ones=missing.ones,
        missing_zeros=missing.zeros,
        missing_low_width=missing.low_width,
    )
