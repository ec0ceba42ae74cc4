"""Reading graphs: the successors of a node at random, of many, of all; the URLs of the nodes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import numpy as np
import xxhash
from numpy.typing import NDArray

from fyke.bits import stream
from fyke.bits.coding import Codes
from fyke.bits.eliasfano import EliasFano
from fyke.bits.frontcoded import BLOCK, FrontCoded
from fyke.errors import UNREADABLE, StorageError
from fyke.graph import kernels
from fyke.graph.build import PADDED, Lists, lists_of_edges, write_graph
from fyke.graph.properties import Parameters, Properties, file_of, read_properties

Ints = NDArray[np.int64]

URLS_FORMAT = "fyke-urls 1"
_UNLIMITED_CHAIN = 1 << 16
"""Links that a reader has room for where the graph sets no limit: 1.5 MB."""

read_successors = kernels.read_successors
"""The list of a node, for kernels of other rooms that walk a ``Graph.stream``; its contract is in graph/kernels.py."""


class Graph:
    """A web graph in WebGraph's BV form, in memory as it is on disk."""

    def __init__(self, basename: Path, properties: Properties, kernel_stream: kernels.Stream) -> None:
        """Use ``Graph.open``."""
        self.basename = basename
        self.properties = properties
        self.stream = kernel_stream
        self.bits = 0
        """Bits of the .graph file in use."""

    @classmethod
    def open(cls, basename: str | os.PathLike[str]) -> Graph:
        """Open ``basename``.graph with its .properties and, where it is there, .offsets.

        Without offsets the graph is read once from the start. Raises ``StorageError`` for files that are
        foreign, truncated, or do not belong together.
        """
        base = Path(basename)
        properties = read_properties(file_of(base, ".properties"))
        parameters = properties.parameters
        codes = parameters.codes()
        try:
            data = file_of(base, ".graph").read_bytes()
        except OSError:
            raise StorageError(f"{file_of(base, '.graph')} is absent; copy it beside its .properties") from None
        words = stream.from_bytes(data)
        empty = EliasFano.of(np.zeros(1, np.int64))
        # No reference and no chain of them is longer than the graph, whatever the file says.
        window = min(parameters.window, properties.nodes)
        chain = min(parameters.max_chain if parameters.max_chain >= 0 else _UNLIMITED_CHAIN, properties.nodes)
        unindexed = kernels.Stream(
            words=words,
            codes=Codes.of([codes[name] for name in kernels.STREAMS]),
            nodes=properties.nodes,
            window=window,
            min_interval=parameters.min_interval,
            room=max(1, properties.arcs),
            max_chain=chain,
            low=empty.low,
            high=empty.high,
            ones=empty.ones,
            low_width=empty.low_width,
        )
        graph = cls(base, properties, unindexed)
        if properties.nodes > 8 * len(data) or properties.arcs > properties.nodes**2:
            raise graph._damage("it is too small for its nodes, or these for its arcs")
        offsets = graph._offsets(len(data))
        graph.bits = int(offsets[-1])
        pointers = EliasFano.of(offsets)
        indexed = unindexed._replace(
            low=pointers.low, high=pointers.high, ones=pointers.ones, low_width=pointers.low_width
        )
        largest = int(kernels.largest_outdegree(indexed))
        if largest > properties.arcs:
            raise graph._damage("a node has more successors than the graph has arcs")
        graph.stream = indexed._replace(room=max(1, largest))
        return graph

    def _offsets(self, graph_bytes: int) -> Ints:
        file = file_of(self.basename, ".offsets")
        nodes = self.properties.nodes
        if not file.exists():
            _, offsets, _ = self._read_all()
            return offsets
        words = stream.from_bytes(file.read_bytes())
        offsets = np.cumsum(self.properties.parameters.codes()["offsets"].decode(words, nodes + 1))
        unused = graph_bytes - (offsets[-1] + 7) // 8
        if offsets[0] != 0 or (np.diff(offsets) < 0).any() or not 0 <= unused < PADDED:
            raise StorageError(
                f"{file} does not belong to {file_of(self.basename, '.graph')}; delete it to have it made anew"
            )
        return offsets

    def _read_all(self) -> tuple[Ints, Ints, Ints]:
        """Return starts, offsets and successors of the whole graph."""
        nodes, arcs = self.properties.nodes, self.properties.arcs
        starts, offsets = np.zeros(nodes + 1, np.int64), np.zeros(nodes + 1, np.int64)
        successors, extra = np.empty(arcs, np.int64), np.empty(self.stream.room, np.int64)
        damaged = kernels.read_all(self.stream, starts, successors, offsets, extra)
        if damaged >= 0:
            raise self._damage(f"the list of node {damaged} does not decode")
        if starts[-1] != arcs:
            raise self._damage(f"it has {starts[-1]} arcs instead of {arcs}")
        return starts, offsets, successors

    def __len__(self) -> int:
        return self.properties.nodes

    @property
    def nodes(self) -> int:
        """How many nodes there are; they are 0 … nodes − 1."""
        return self.properties.nodes

    @property
    def arcs(self) -> int:
        """How many arcs there are."""
        return self.properties.arcs

    @property
    def bits_per_link(self) -> float:
        """Bits of the .graph file for each arc."""
        return file_of(self.basename, ".graph").stat().st_size * 8 / max(1, self.arcs)

    @property
    def padded(self) -> bool:
        """Whether the .graph file is filled up to whole words of 8 bytes, as WebGraph in Rust does and in Java not."""
        return file_of(self.basename, ".graph").stat().st_size > (self.bits + 7) // 8

    def successors(self, node: int) -> Ints:
        """Return the successors of a node, increasing."""
        return self.lists(np.array([node])).successors

    def lists(self, nodes: Ints) -> Lists:
        """Return the successors of many nodes, at random."""
        nodes = np.asarray(nodes, np.int64)
        if nodes.size and not 0 <= nodes.min() <= nodes.max() < self.nodes:
            raise IndexError(f"the graph has nodes 0 … {self.nodes - 1}")
        starts = np.zeros(nodes.size + 1, np.int64)
        successors = np.empty(int(1.5 * nodes.size * self.arcs / max(1, self.nodes)) + self.stream.room, np.int64)
        done = 0
        while True:
            done = kernels.read_nodes(self.stream, nodes, done, starts, successors)
            if done < 0:
                raise self._damage(f"the list of node {nodes[-1 - done]} does not decode")
            if done == nodes.size:
                return Lists(starts, successors[: starts[-1]])
            successors = np.concatenate([successors, np.empty(len(successors), np.int64)])

    def all_lists(self) -> Lists:
        """Return the whole graph, decompressed: 8 bytes an arc."""
        starts, _, successors = self._read_all()
        return Lists(starts, successors)

    def edges(self) -> Iterator[Ints]:
        """Yield all arcs as arrays of (source, target) rows, a stretch of nodes at a time."""
        step = 1 << 16
        for first in range(0, self.nodes, step):
            nodes = np.arange(first, min(first + step, self.nodes))
            found = self.lists(nodes)
            yield np.column_stack([np.repeat(nodes, np.diff(found.starts)), found.successors])

    def write(self, basename: str | os.PathLike[str], parameters: Parameters | None = None) -> Graph:
        """Write the graph anew, with other parameters if given; open what was written."""
        write_graph(Path(basename), [self.all_lists()], parameters or self.properties.parameters, self.padded)
        return Graph.open(basename)

    def transpose(self, basename: str | os.PathLike[str], parameters: Parameters | None = None) -> Graph:
        """Write the graph with every arc turned round, out of core; open it."""
        turned = (edges[:, ::-1] for edges in self.edges())
        write_graph(Path(basename), lists_of_edges(turned, self.nodes), parameters or self.properties.parameters)
        return Graph.open(basename)

    @property
    def has_urls(self) -> bool:
        """Whether the graph knows the URLs of its nodes."""
        return file_of(self.basename, ".urls").exists()

    @cached_property
    def urls(self) -> FrontCoded:
        """The URLs of the nodes, from ``basename``.urls: number to URL and back. Raises ``StorageError``."""
        return read_urls(file_of(self.basename, ".urls"), self.nodes)

    def _damage(self, what: str) -> StorageError:
        return StorageError(
            f"{file_of(self.basename, '.graph')} is damaged or not of its .properties: {what}; copy it again"
        )


def write_urls(file: Path, urls: list[str]) -> FrontCoded:
    """Write the URLs of a graph's nodes. REQUIRES: strictly increasing by bytes."""
    listed = FrontCoded.of([url.encode() for url in urls])
    body = listed.starts.astype("<u8").tobytes() + listed.data.tobytes()
    head = f"{URLS_FORMAT} {len(listed)} {len(listed.starts)} {xxhash.xxh3_64_hexdigest(body)}\n"
    file.write_bytes(head.encode() + body)
    return listed


def read_urls(file: Path, nodes: int) -> FrontCoded:
    """Return the URLs of a graph's nodes. Raises ``StorageError`` where they are damaged or of another graph."""
    try:
        head, _, body = file.read_bytes().partition(b"\n")
    except OSError:
        raise StorageError(
            f"{file} is absent: this graph does not know its URLs; build it with `fyke archive build`"
        ) from None
    words = head.decode("ascii", "replace").split(" ")
    if " ".join(words[:2]) != URLS_FORMAT or len(words) != 5:
        raise StorageError(f"{file} is not a {URLS_FORMAT} file; build the collection again")
    size, blocks = (int(word) if word.isdecimal() else -1 for word in words[2:4])
    if xxhash.xxh3_64_hexdigest(body) != words[4] or blocks != -(-size // BLOCK) or len(body) < 8 * blocks:
        raise StorageError(f"{file} is damaged (its checksum differs); copy it again")
    if size != nodes:
        raise StorageError(f"{file} has {size} URLs for a graph of {nodes} nodes; use the files of one collection")
    starts = np.frombuffer(body, "<u8", blocks).astype(np.uint64)
    try:
        return FrontCoded.over(size, np.frombuffer(body, np.uint8, offset=8 * blocks), starts)
    except UNREADABLE as error:
        raise StorageError(f"{file} is damaged ({error}); copy it again") from None
