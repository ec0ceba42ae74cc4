"""The second pass: runs to an archive. Decides terms, ranks and document numbers, chooses codes, writes.

Documents are numbered in byte order of their URLs, so that pages of a site are neighbours: what makes references
near and gaps of the graph small. Memory: the URLs, one int32 for each term of each run, and one chunk of summaries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fyke.archive import writer_kernels as kernels
from fyke.archive.dictionary import Dictionary, encode_frequencies, merge, number_width
from fyke.archive.files import Manifest, Section, SectionWriter, write_manifest, write_section
from fyke.archive.run import Run
from fyke.bits import lists, stream
from fyke.bits.coding import Code, Codes
from fyke.bits.eliasfano import EliasFano

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

CHUNK = 1 << 15
"""Summaries encoded at once: some 30 MB of postings."""


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


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Summaries in a row, terms by rank."""

    lengths: Ints
    starts: Ints
    terms: Ints
    counts: Ints


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

    def links(self) -> Iterator[NDArray[np.uint64]]:
        """Yield the hashes of each document's targets."""
        for r, i in self.places:
            run = self.runs[r]
            yield run.links[run.link_starts[i] : run.link_starts[i + 1]]

    def lengths(self) -> Ints:
        """Return ℓ of each document, −1 where it is missing."""
        lengths = np.empty(len(self), np.int64)
        for r, run in enumerate(self.runs):
            own = self.places[:, 0] == r
            lengths[own] = run.lengths[self.places[own, 1]]
        return lengths

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


def combine(catalogue: Catalogue, folder: Path, coding: Coding) -> Iterator[int]:
    """Write the archive of a catalogue's documents; yield the number of documents after each chunk."""
    folder.mkdir(parents=True, exist_ok=True)
    preprocessing = catalogue.runs[0].preprocessing
    dictionary, maps = merge(catalogue.runs, preprocessing.min_documents)
    lengths = catalogue.lengths()
    present = np.flatnonzero(lengths >= 0)
    encoder = _Encoder(coding, _choose_codes(catalogue, maps, present, coding))
    writer = SectionWriter(folder, "summaries.bits")
    pointers = []
    for start in range(0, len(present), CHUNK):
        context = min(start, coding.window if coding.mode == "fyke" else 0)
        chunk = catalogue.chunk(present[start - context : start + CHUNK], maps)
        words, ends = encoder.encode(chunk, context)
        writer.write(words)
        pointers.append(ends)
        yield int(min(start + CHUNK, len(present)))
    writer.write(encoder.rest())
    sections = {"summaries.bits": writer.close()}
    starts = np.concatenate([np.zeros(1, np.int64), *pointers])
    sections |= _write_tables(folder, starts, np.flatnonzero(lengths < 0), len(lengths), dictionary)
    manifest = Manifest(
        mode=coding.mode,
        codes={name: str(code) for name, code in zip(encoder.streams, encoder.codes, strict=True)},
        bits=dict(zip(encoder.streams, encoder.bits_of.tolist(), strict=True)),
        stream_bits=int(starts[-1]),
        documents=len(lengths),
        missing=int((lengths < 0).sum()),
        postings=encoder.postings,
        words=int(lengths[present].sum()),
        terms=len(dictionary),
        largest=encoder.largest,
        window=coding.window if coding.mode == "fyke" else 0,
        max_chain=coding.max_chain if coding.mode == "fyke" else 0,
        preprocessing=preprocessing,
        sections=sections,
    )
    write_manifest(folder, manifest)


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


class _Encoder:
    """Summaries to words, chunk after chunk; the bits of a last, unfinished word are carried over."""

    def __init__(self, coding: Coding, codes: Sequence[Code]) -> None:
        self._coding = coding
        self.paper = coding.mode == "paper"
        self.streams = kernels.PAPER_STREAMS if self.paper else kernels.FYKE_STREAMS
        self.codes = codes
        self._kernel_codes = Codes.of(codes)
        self._small = lists.len_table(self._kernel_codes)
        self.bits_of = np.zeros(len(codes), np.int64)
        self.postings = 0
        self.largest = 0
        self._position = 0
        self._carry = np.uint64(0)
        self._chains = np.zeros(0, np.int64)

    def describe(self, chunk: Chunk, context: int) -> tuple[Ints, Ints, Ints]:
        """Return streams, numbers, and where each summary's end, of the summaries after ``context``."""
        count = len(chunk.lengths)
        references, bits = np.zeros(count, np.int64), np.zeros(count, np.int64)
        chains = np.zeros(count, np.int64)
        chains[:context] = self._chains[len(self._chains) - context :]
        if not self.paper:
            kernels.choose_references(
                chunk.lengths, chunk.starts, chunk.terms, chunk.counts, self._kernel_codes, self._small,
                self._coding.window, self._coding.max_chain, context, references, chains, bits,
            )  # fmt: skip
        self._chains = chains
        room = 4 * int(chunk.starts[-1]) + 16 * count
        streams, values, ends = np.empty(room, np.int64), np.empty(room, np.int64), np.zeros(count, np.int64)
        size = kernels.describe_all(
            chunk.lengths, chunk.starts, chunk.terms, chunk.counts, references, context, self.paper,
            streams, values, ends,
        )  # fmt: skip
        return streams[:size], values[:size], ends[context:]

    def encode(self, chunk: Chunk, context: int) -> tuple[stream.Words, Ints]:
        """Return the finished words and the bit positions after each summary."""
        streams, values, ends = self.describe(chunk, context)
        bits = lists.total_bits(streams, values, len(values), self._kernel_codes, self.bits_of)
        words = stream.room_for(bits + 64)
        words[0] = self._carry
        base = self._position & ~63
        positions = np.empty(len(ends), np.int64)
        at = lists.write_lists(words, self._position - base, streams, values, ends, self._kernel_codes, positions)
        self._position = base + at
        self._carry = words[at >> 6]
        own = np.diff(chunk.starts)[context:]
        self.postings += int(own.sum())
        self.largest = max(self.largest, int(own.max(initial=0)))
        return words[: at >> 6], positions + base

    def rest(self) -> stream.Words:
        """Return the last word and the padding that readers want."""
        return np.array([self._carry, *[0] * stream.PADDING], np.uint64)


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
        _Encoder(coding, codes).describe(catalogue.chunk(present[start : start + stretch], maps), 0)[:2]
        for start in starts
    ]
    for number, name in enumerate(names):
        values = np.concatenate([values[streams == number] for streams, values in described])
        if name not in asked and len(values):
            codes[number] = min(CANDIDATES, key=lambda code, values=values: code.cost(values))  # type: ignore[misc]
    return codes
