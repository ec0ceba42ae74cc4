"""The second pass: runs to an archive. Decides terms, ranks and document numbers, chooses codes, writes.

Documents are numbered in byte order of their URLs, so that pages of a site are neighbours: what makes references
near and gaps of the graph small. They are encoded in chunks that do not know one another, on all cores, and joined bit
by bit: the number of cores does not show. Memory: the URLs, one int32 for each term of each run, a chunk for each core.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fyke.archive import writer_kernels as kernels
from fyke.archive.dictionary import Dictionary, encode_frequencies, merge, number_width
from fyke.archive.files import Manifest, Section, SectionWriter, date_width, write_manifest, write_section
from fyke.archive.run import Run
from fyke.archive.writer_kernels import Chunk
from fyke.bits import lists, stream
from fyke.bits.coding import Code, Codes
from fyke.bits.eliasfano import EliasFano
from fyke.errors import UserError

Ints = NDArray[np.int64]

PAPER_CODES = {"length": "delta", "size": "zeta3", "gap": "zeta2", "count": "gamma"}
FYKE_CODES = {
    "length": "exp_golomb6", "size": "rice8", "gap": "zeta2", "count": "gamma", "reference": "rice3", "copy": "gamma",
    "skip": "gamma", "equal": "gamma", "change": "exp_golomb2", "extra": "exp_golomb4", "extra_gap": "exp_golomb4",
}  # fmt: skip
"""Where the search for the best codes begins."""

CANDIDATES = [Code.parse(name) for name in ("unary", "gamma", "delta")]
CANDIDATES += [Code("zeta", k) for k in range(2, 9)]
CANDIDATES += [Code(name, k) for name in ("rice", "exp_golomb") for k in range(1, 13)]

CHUNK = 1 << 13
"""Summaries encoded at once, some 10 MB of postings: no reference leaves its chunk, which costs 0.1 % of the size."""


@dataclass(frozen=True, slots=True)
class Coding:
    """How summaries are written."""

    mode: str = "fyke"
    """``paper`` or ``fyke``."""
    codes: tuple[tuple[str, str], ...] = ()
    """Streams with codes chosen by hand; the others are the paper's, or (``fyke``) chosen by measured cost."""
    window: int = 32
    """How far back a reference may lie. 128 gains nothing at this chain length and takes four times as long."""
    max_chain: int = 1
    """Longest chain of references: each link is one more summary to read. 3 saves 8 % of the size and costs 40 % of
    the speed."""

    def __post_init__(self) -> None:
        if self.mode not in ("paper", "fyke"):
            raise UserError(f"no mode is called {self.mode!r}; choose paper or fyke")
        if self.window < 0 or self.max_chain < 0:
            raise UserError("window and max_chain are 0 or more")
        streams = PAPER_CODES if self.mode == "paper" else FYKE_CODES
        for name, code in self.codes:
            if name not in streams:
                raise UserError(f"no stream of mode {self.mode} is called {name!r}; it has {', '.join(streams)}")
            try:
                Code.parse(code)
            except ValueError as error:
                raise UserError(f"{name}={code}: {error}; write a code as gap=zeta3") from None


class Catalogue:
    """All runs together: URLs in order, and where each document's page lies. The last page of a URL counts."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs = runs
        place: dict[str, tuple[int, int]] = {}
        for r, run in enumerate(runs):
            place.update((url, (r, i)) for i, url in enumerate(run.urls()))
        self.urls = sorted(place, key=str.encode)
        self.places = np.array([place[url] for url in self.urls], np.int64).reshape(-1, 2)

    def __len__(self) -> int:
        return len(self.urls)

    def frequencies(self) -> list[Ints]:
        """Return for each run in how many documents its terms are; pages that a later one replaced do not count."""
        found = []
        for r, run in enumerate(self.runs):
            owner = np.repeat(np.arange(len(run)), np.diff(run.starts))
            counts = np.zeros(len(run), np.bool_)
            counts[self.places[self.places[:, 0] == r, 1]] = True
            found.append(np.bincount(run.terms[counts[owner]], minlength=len(run.documents)))
        return found

    def links(self) -> Iterator[NDArray[np.uint64]]:
        """Yield the hashes of each document's targets."""
        for r, i in self.places:
            run = self.runs[r]
            yield run.links[run.link_starts[i] : run.link_starts[i + 1]]

    def lengths(self) -> Ints:
        """Return ℓ of each document, −1 where it is missing."""
        return self._of_each(lambda run: run.lengths)

    def fetched(self) -> Ints:
        """Return when each document was fetched, in seconds since 1970; 0 where that is not known."""
        return self._of_each(lambda run: run.fetched)

    def _of_each(self, column: Callable[[Run], Ints]) -> Ints:
        values = np.empty(len(self), np.int64)
        for r, run in enumerate(self.runs):
            own = self.places[:, 0] == r
            values[own] = column(run)[self.places[own, 1]]
        return values

    def chunk(self, documents: Ints, maps: Sequence[NDArray[np.int32]]) -> Chunk:
        """Return the summaries of ``documents``, none of them missing, over the whole collection's ranks."""
        lengths = np.empty(len(documents), np.int64)
        starts = np.zeros(len(documents) + 1, np.int64)
        terms, counts = [], []
        for at, document in enumerate(documents):
            r, i = self.places[document]
            run = self.runs[r]
            begin, end = run.starts[i], run.starts[i + 1]
            ranks = maps[r][run.terms[begin:end]]
            order = np.argsort(ranks)
            order = order[np.searchsorted(ranks[order], 0) :]
            terms.append(ranks[order])
            counts.append(run.counts[begin:end][order])
            lengths[at] = run.lengths[i]
            starts[at + 1] = starts[at] + len(order)
        none = np.empty(0, np.int64)
        return Chunk(
            lengths,
            starts,
            np.concatenate([*terms, none]).astype(np.int64),
            np.concatenate([*counts, none]).astype(np.int64),
        )


def combine(catalogue: Catalogue, folder: Path, coding: Coding, workers: int = 1) -> Iterator[int]:
    """Write the archive of a catalogue's documents; yield the number of documents after each chunk.

    ``workers`` threads encode: nearly all of it is kernels, which run side by side.
    """
    folder.mkdir(parents=True, exist_ok=True)
    preprocessing = catalogue.runs[0].preprocessing
    dictionary, maps = merge(catalogue.runs, catalogue.frequencies(), preprocessing)
    lengths = catalogue.lengths()
    present = np.flatnonzero(lengths >= 0)
    encoder = _Encoder(coding, _choose_codes(catalogue, maps, present, coding))
    joined = _Joined(folder, encoder)
    for encoded in _in_order(lambda some: encoder.encode(catalogue.chunk(some, maps)), _chunks(present), workers):
        joined.append(encoded)
        yield joined.documents
    starts, sections = joined.close()
    sections |= _write_tables(folder, starts, np.flatnonzero(lengths < 0), len(lengths), dictionary)
    dates, section = _write_dates(folder, catalogue.fetched())
    manifest = Manifest(
        mode=coding.mode,
        codes={name: str(code) for name, code in zip(encoder.streams, encoder.codes, strict=True)},
        bits=dict(zip(encoder.streams, joined.bits_of.tolist(), strict=True)),
        stream_bits=int(starts[-1]),
        documents=len(lengths),
        missing=int((lengths < 0).sum()),
        postings=joined.postings,
        words=int(lengths[present].sum()),
        terms=len(dictionary),
        largest=joined.largest,
        window=coding.window if coding.mode == "fyke" else 0,
        max_chain=coding.max_chain if coding.mode == "fyke" else 0,
        dates=dates,
        preprocessing=preprocessing,
        tokeniser=catalogue.runs[0].tokeniser,
        sections=sections | section,
    )
    write_manifest(folder, manifest)


def _chunks(documents: Ints) -> Iterator[Ints]:
    for start in range(0, len(documents), CHUNK):
        yield documents[start : start + CHUNK]


def _in_order(work: Callable[[Ints], Encoded], parts: Iterable[Ints], workers: int) -> Iterator[Encoded]:
    """Yield ``work`` of each part, in order, with at most one part more than ``workers`` in memory."""
    if workers <= 1:
        yield from map(work, parts)
        return
    with ThreadPoolExecutor(workers) as pool:
        pending: deque[Future[Encoded]] = deque()
        for part in parts:
            pending.append(pool.submit(work, part))
            if len(pending) > workers:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def _write_dates(folder: Path, fetched: Ints) -> tuple[tuple[int, int], dict[str, Section]]:
    """Write when each document was fetched, where that is known of any; return the first and the last time."""
    known = fetched[fetched > 0]
    if not len(known):
        return (0, 0), {}
    first, last = int(known.min()), int(known.max())
    width = date_width((first, last))
    words = stream.room_for(len(fetched) * width)
    lists.pack(words, np.where(fetched > 0, fetched - first + 1, 0), width)
    return (first, last), {"dates.bits": write_section(folder, "dates.bits", [words])}


def _write_tables(
    folder: Path, starts: Ints, missing: Ints, documents: int, dictionary: Dictionary
) -> dict[str, Section]:
    """Write pointers, missing documents and the dictionary."""
    pointers = EliasFano.of(starts)
    absent = EliasFano.of(missing, documents + 1)
    width = number_width(len(dictionary))
    permutation = stream.room_for(len(dictionary) * width)
    lists.pack(permutation, dictionary.permutation, width)
    return {
        "pointers.ef": write_section(folder, "pointers.ef", [pointers.low, pointers.high]),
        "missing.ef": write_section(folder, "missing.ef", [absent.low, absent.high]),
        "permutation.bits": write_section(folder, "permutation.bits", [permutation]),
        "frequencies.bits": write_section(folder, "frequencies.bits", [encode_frequencies(dictionary.documents)[0]]),
        "terms.starts": write_section(folder, "terms.starts", [dictionary.strings.starts]),
        "terms.bytes": write_section(folder, "terms.bytes", [dictionary.strings.data]),
    }


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """A chunk as bits from 0 on."""

    words: stream.Words
    ends: Ints
    """Where each summary's bits end."""
    bits_of: Ints
    """Of each stream."""
    postings: int
    largest: int


class _Encoder:
    """Chunks of summaries to bits; holds nothing that a chunk changes."""

    def __init__(self, coding: Coding, codes: Sequence[Code]) -> None:
        self._coding = coding
        self.paper = coding.mode == "paper"
        self.streams = kernels.PAPER_STREAMS if self.paper else kernels.FYKE_STREAMS
        self.codes = codes
        self._kernel_codes = Codes.of(codes)
        self._small = lists.len_table(self._kernel_codes)

    def describe(self, chunk: Chunk) -> tuple[Ints, Ints, Ints]:
        """Return streams, numbers, and where each summary's end."""
        count = len(chunk.lengths)
        references, chains, bits = (np.zeros(count, np.int64) for _ in range(3))
        if not self.paper:
            window, max_chain = self._coding.window, self._coding.max_chain
            kernels.choose_references(
                chunk, self._kernel_codes, self._small, window, max_chain, references, chains, bits
            )
        room = 4 * int(chunk.starts[-1]) + 16 * count
        streams, values, ends = np.empty(room, np.int64), np.empty(room, np.int64), np.zeros(count, np.int64)
        size = kernels.describe_all(chunk, references, self.paper, streams, values, ends)
        return streams[:size], values[:size], ends

    def encode(self, chunk: Chunk) -> Encoded:
        """Return the bits of a chunk."""
        streams, values, ends = self.describe(chunk)
        bits_of = np.zeros(len(self.codes), np.int64)
        bits = lists.total_bits(streams, values, len(values), self._kernel_codes, bits_of)
        words = stream.room_for(bits)
        positions = np.empty(len(ends), np.int64)
        lists.write_lists(words, 0, streams, values, ends, self._kernel_codes, positions)
        sizes = np.diff(chunk.starts)
        return Encoded(words, positions, bits_of, int(sizes.sum()), int(sizes.max(initial=0)))


class _Joined:
    """Chunks one after another in the file; the bits of a last, unfinished word are carried over."""

    def __init__(self, folder: Path, encoder: _Encoder) -> None:
        self._writer = SectionWriter(folder, "summaries.bits")
        self._ends = [np.zeros(1, np.int64)]
        self._position = 0
        self._carry = np.uint64(0)
        self.bits_of = np.zeros(len(encoder.codes), np.int64)
        self.documents = self.postings = self.largest = 0

    def append(self, chunk: Encoded) -> None:
        """Write a chunk behind the others."""
        bits = int(chunk.ends[-1]) if len(chunk.ends) else 0
        begun = self._position & 63
        words = stream.room_for(begun + bits)
        words[0] = self._carry
        at = stream.copy_bits(chunk.words, 0, bits, words, begun)
        self._writer.write(words[: at >> 6])
        self._carry = words[at >> 6]
        self._ends.append(chunk.ends + self._position)
        self._position += bits
        self.bits_of += chunk.bits_of
        self.documents += len(chunk.ends)
        self.postings += chunk.postings
        self.largest = max(self.largest, chunk.largest)

    def close(self) -> tuple[Ints, dict[str, Section]]:
        """Write the last word and the padding that readers want; return where summaries begin, and the section."""
        self._writer.write(np.array([self._carry, *[0] * stream.PADDING], np.uint64))
        return np.concatenate(self._ends), {"summaries.bits": self._writer.close()}


def _choose_codes(catalogue: Catalogue, maps: Sequence[NDArray[np.int32]], present: Ints, coding: Coding) -> list[Code]:
    """Return the code of each stream: as asked for, as in the paper, or the cheapest on a sample.

    The sample is of 16 stretches, so that references have neighbours and all sites a chance to be seen.
    """
    names = PAPER_CODES if coding.mode == "paper" else FYKE_CODES
    asked = dict(coding.codes)
    codes = [Code.parse(asked.get(name, names[name])) for name in names]
    if coding.mode == "paper" or not len(present):
        return codes
    stretch = 1024
    starts = np.unique(np.linspace(0, max(0, len(present) - stretch), 16).astype(np.int64))
    described = [
        _Encoder(coding, codes).describe(catalogue.chunk(present[start : start + stretch], maps))[:2]
        for start in starts
    ]
    for number, name in enumerate(names):
        values = np.concatenate([values[streams == number] for streams, values in described])
        if name not in asked and len(values):
            codes[number] = min(CANDIDATES, key=lambda code, values=values: code.cost(values))  # type: ignore[misc]
    return codes
