"""Writing graphs: successors in node order to BV files, edge lists sorted out of core, transposes.

A graph is written in one pass over chunks of nodes: memory is a chunk and the offsets. Edges in any order are
sorted in runs of a given size on disk and merged; a transpose is the edges turned round.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fyke.bits import lists, stream
from fyke.bits.coding import Codes
from fyke.errors import StorageError
from fyke.graph import write_kernels
from fyke.graph.kernels import STREAMS
from fyke.graph.properties import Parameters, Properties, file_of, write_properties
from fyke.scratch import Scratch

Ints = NDArray[np.int64]
Write = Callable[[bytes], object]

PADDED = 8
"""Bytes of a word, to which some writers fill up."""
CHUNK_ARCS = 1 << 20
"""Arcs described at once: some 50 MB of working memory."""
MAX_NODES = 1 << 32
"""An edge is sorted as one word of 64 bits."""
RUN_EDGES = 1 << 24
"""Edges sorted at once in memory: 256 MB."""


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """Successors of consecutive nodes: node i of them has ``successors[starts[i]:starts[i+1]]``, increasing."""

    starts: Ints
    successors: Ints


def write_graph(
    basename: str | Path, chunks: Iterable[Lists], parameters: Parameters, padded: bool = False
) -> Properties:
    """Write ``basename``.graph, .offsets and .properties of the lists in ``chunks``, in node order.

    ``padded`` fills the bit streams up to whole words of 8 bytes, and the offsets by one word more: so does
    WebGraph in Rust; in Java it does not.
    """
    base = Path(basename)
    base.parent.mkdir(parents=True, exist_ok=True)
    writer = _Writer(parameters)
    with file_of(base, ".graph").open("wb") as out:
        for chunk in chunks:
            for piece in _pieces(chunk):
                writer.write(piece, out.write)
        writer.finish(out.write)
        if padded:
            out.write(bytes(-out.tell() % PADDED))
    codes = parameters.codes()
    offsets = np.concatenate(writer.offsets)
    words, bits = codes["offsets"].encode(offsets - np.r_[0, offsets[:-1]])
    data = stream.to_bytes(words, bits)
    file_of(base, ".offsets").write_bytes(data + bytes(-len(data) % PADDED + PADDED if padded else 0))
    properties = Properties(writer.nodes, writer.arcs, parameters)
    by_stream = dict(zip(STREAMS, writer.bits_of.tolist(), strict=True))
    write_properties(file_of(base, ".properties"), properties, by_stream, writer.references, writer.distance)
    return properties


def _pieces(chunk: Lists) -> Iterator[Lists]:
    """Cut a chunk into pieces of about CHUNK_ARCS arcs."""
    start = 0
    while start < len(chunk.starts) - 1:
        end = int(np.searchsorted(chunk.starts, chunk.starts[start] + CHUNK_ARCS, side="right")) - 1
        end = min(max(end, start + 1), start + CHUNK_ARCS)
        yield Lists(
            chunk.starts[start : end + 1] - chunk.starts[start],
            chunk.successors[chunk.starts[start] : chunk.starts[end]],
        )
        start = end


class _Writer:
    """Lists to bytes, with the last ``window`` lists kept as context and the bits of an unfinished word carried."""

    def __init__(self, parameters: Parameters) -> None:
        codes = parameters.codes()
        self._parameters = parameters
        self._codes = Codes.of([codes[name] for name in STREAMS])
        self._small = lists.len_table(self._codes)
        self._context = Lists(np.zeros(1, np.int64), np.empty(0, np.int64))
        self._chains = np.empty(0, np.int64)
        self._position = 0
        self._carry = np.uint64(0)
        self.bits_of = np.zeros(len(STREAMS), np.int64)
        self.offsets = [np.zeros(1, np.int64)]
        self.nodes = self.arcs = self.references = self.distance = 0

    def write(self, chunk: Lists, out: Write) -> None:
        context = len(self._context.starts) - 1
        starts = np.concatenate([self._context.starts, self._context.starts[-1] + chunk.starts[1:]])
        successors = np.concatenate([self._context.successors, chunk.successors])
        nodes = len(starts) - 1
        chains, references, ends = (np.zeros(nodes, np.int64) for _ in range(3))
        chains[:context] = self._chains
        room = 3 * len(successors) + 8 * nodes + 64
        streams, values = np.empty(room, np.int64), np.empty(room, np.int64)
        p = self._parameters
        form = write_kernels.Form(self._codes, self._small, p.window, p.max_chain, p.min_interval)
        size = write_kernels.describe_all(
            form, self.nodes - context, context, starts, successors, chains, references, streams, values, ends
        )
        self._emit(streams, values, size, ends[context:], out)
        self.nodes += nodes - context
        self.arcs += len(chunk.successors)
        self.distance += int(references.sum())
        self.references += int(chains[context:].sum())
        keep = min(p.window, nodes)
        begin = starts[nodes - keep]
        self._context = Lists(starts[nodes - keep :] - begin, successors[begin:])
        self._chains = chains[nodes - keep :]

    def _emit(self, streams: Ints, values: Ints, size: int, ends: Ints, out: Write) -> None:
        bits = lists.total_bits(streams, values, size, self._codes, self.bits_of)
        words = stream.room_for(bits + 64)
        words[0] = self._carry
        base = self._position & ~63
        positions = np.empty(len(ends), np.int64)
        at = lists.write_lists(words, self._position - base, streams, values, ends, self._codes, positions)
        self._position = base + at
        self._carry = words[at >> 6]
        self.offsets.append(positions + base)
        out(words[: at >> 6].astype(">u8").tobytes())

    def finish(self, out: Write) -> None:
        """Write the last, unfinished word up to its last byte in use."""
        used = self._position & 63
        out(np.array([self._carry], ">u8").tobytes()[: (used + 7) // 8])


def lists_of_edges(
    edges: Iterable[NDArray[np.int64]], nodes: int | None = None, run_edges: int = RUN_EDGES
) -> Iterator[Lists]:
    """Yield the lists of a graph from arrays of (source, target) rows in any order, repeated ones once.

    Out of core: ``run_edges`` edges at a time are sorted in memory, spilled to a temporary folder, and merged.
    Nodes without successors up to the greatest number (or ``nodes``) get empty lists.
    """
    with Scratch("edges") as folder:
        runs: list[NDArray[np.uint64]] = []
        greatest = -1
        for block in _blocks(edges, run_edges):
            if block.min(initial=0) < 0 or block.max(initial=0) >= MAX_NODES:
                raise StorageError("an edge list has a node below 0 or beyond 2³²−1; number the nodes from 0")
            greatest = max(greatest, int(block.max(initial=-1)))
            keys = _sorted_once(block[:, 0].astype(np.uint64) << np.uint64(32) | block[:, 1].astype(np.uint64))
            file = folder / f"{len(runs)}.npy"
            np.save(file, keys)
            runs.append(np.load(file, mmap_mode="r"))
        total = greatest + 1 if nodes is None else nodes
        if greatest >= total:
            raise StorageError(f"an edge names node {greatest}, but the graph has {total} nodes; give the right number")
        yield from _lists(_merged(runs), total)


def _blocks(edges: Iterable[NDArray[np.int64]], size: int) -> Iterator[NDArray[np.int64]]:
    waiting: list[NDArray[np.int64]] = []
    count = 0
    for some in edges:
        for start in range(0, len(some), size):
            waiting.append(some[start : start + size])
            count += len(waiting[-1])
            if count >= size:
                yield np.concatenate(waiting)
                waiting, count = [], 0
    if waiting:
        yield np.concatenate(waiting)


def _merged(runs: list[NDArray[np.uint64]]) -> Iterator[NDArray[np.uint64]]:
    """Yield all keys in order, once each, in blocks: cut every run at the same keys, sort the cuts together."""
    if not runs:
        return
    places = [0] * len(runs)
    step = max(1, CHUNK_ARCS // len(runs))
    while any(place < len(run) for place, run in zip(places, runs, strict=True)):
        # Keys up to the least of the runs' next step ends are complete in these cuts.
        heads = [
            run[min(place + step, len(run)) - 1] for place, run in zip(places, runs, strict=True) if place < len(run)
        ]
        limit = min(heads)
        cuts = []
        for i, run in enumerate(runs):
            end = places[i] + int(np.searchsorted(run[places[i] :], limit, side="right"))
            cuts.append(run[places[i] : end])
            places[i] = end
        yield _sorted_once(np.concatenate(cuts))


def _sorted_once(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Sort and drop repeats, as ``np.unique``, whose table of hashes takes fifty times as long for millions."""
    keys = np.sort(keys)
    first: NDArray[np.bool_] = np.concatenate([keys[:1] == keys[:1], keys[1:] != keys[:-1]])
    return keys[first]


def _lists(blocks: Iterable[NDArray[np.uint64]], nodes: int) -> Iterator[Lists]:
    """Turn sorted keys into lists; a list that a block cuts in two is put together again."""
    first = 0
    rest = np.empty(0, np.uint64)
    for block in itertools.chain(blocks, [None]):
        keys = rest if block is None else np.concatenate([rest, block])
        sources = (keys >> np.uint64(32)).astype(np.int64)
        # The last source of a block may go on in the next one.
        end = nodes if block is None else int(sources[-1]) if len(sources) else first
        cut = int(np.searchsorted(sources, end))
        starts = np.searchsorted(sources[:cut], np.arange(first, end + 1))
        yield Lists(starts.astype(np.int64), (keys[:cut] & np.uint64(0xFFFFFFFF)).astype(np.int64))
        rest, first = keys[cut:], end


def read_edge_list(file: Path) -> Iterator[NDArray[np.int64]]:
    """Yield the edges of a text file, ``source target`` a line, ``#`` for remarks, in arrays."""
    rows: list[tuple[int, int]] = []
    with file.open(encoding="ascii", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            try:
                a, b = int(words[0]), int(words[1])
            except (ValueError, IndexError):
                a = b = -1
            if not (0 <= a < MAX_NODES and 0 <= b < MAX_NODES):
                raise StorageError(
                    f"{file}, line {number}: not two node numbers from 0 to 2³²−1; write `source target`"
                )
            rows.append((a, b))
            if len(rows) == 1 << 16:
                yield np.array(rows, np.int64)
                rows = []
    if rows:
        yield np.array(rows, np.int64)
