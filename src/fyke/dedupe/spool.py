"""Discovery over a collection that does not fit in memory: texts, names and sorted runs of band keys in one folder.

    texts, names    one document after the other
    run-I           for each band: its keys in order (8 bytes each), then their documents (4 bytes each)

Each batch of documents becomes a run. A band is then read back by ranges of keys small enough for the memory: of each
run one slice, which a binary search finds. Candidates are checked on their texts, read from the file in turn.
The folder is scratch: it is removed with the spool.
"""

from __future__ import annotations

import itertools
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from fyke.bits.hashing import GOLDEN
from fyke.dedupe.discover import (
    Band,
    ClusterBy,
    Duplicates,
    Floats,
    Ints,
    Representative,
    band_keys,
    discover,
    first_of_each,
    gather,
    jaccard,
    preference,
)
from fyke.dedupe.disk import AnyPath, SketchFolder
from fyke.dedupe.plan import bands as plan_bands
from fyke.dedupe.similarity import Check, check
from fyke.dedupe.sketch import DEFAULTS, Parameters, Sketches, sketch
from fyke.errors import UNREADABLE, StorageError
from fyke.scratch import Scratch
from fyke.text.words import encode

S = TypeVar("S", bound=np.generic)

BATCH_SHARE = 16
"""A batch of texts takes a sixteenth of the memory: some are in work at once, each with its sketches and buffers."""
LEAST_MEMORY = 1 << 15
"""With less, a collection would be read in more parts than it has documents."""
PAIR_BYTES = 64
"""Bytes in memory for an entry of a band while it is sorted and paired."""

Progress = Callable[[str, float], None]
"""Called with what is being done and how much is done: documents while reading, then a share from 0 to 1."""


class _Batch(NamedTuple):
    names: list[str]
    texts: list[bytes]


class _Made(NamedTuple):
    batch: _Batch
    sketches: Sketches
    keys: NDArray[np.uint64]
    order: NDArray[np.uint32]


def _bytes(parts: list[bytes]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(parts), np.uint8)


def _sizes(parts: list[bytes]) -> Ints:
    return np.array([len(part) for part in parts], np.int64)


def _cut(data: NDArray[np.uint8], sizes: Ints) -> list[bytes]:
    whole, ends = data.tobytes(), np.cumsum(sizes).tolist()
    return [whole[end - size : end] for end, size in zip(ends, sizes.tolist(), strict=True)]


def _prepared(file: Mapping[str, NDArray[Any]], parameters: Parameters) -> _Made:
    names = [name.decode("utf-8", "replace") for name in _cut(file["names"], file["name_sizes"])]
    unknown = np.empty((len(names), 0), np.uint32)  # the bands are made of the signatures already
    sketches = Sketches(parameters, unknown, file["simhashes"], file["counts"], file["keys"])
    return _Made(_Batch(names, _cut(file["texts"], file["sizes"])), sketches, file["bands"], file["order"])


class Spool:
    """A collection on disk, to find the near-duplicates of. A context manager."""

    def __init__(
        self,
        threshold: float = 0.8,
        *,
        memory: int = 2 << 30,
        parameters: Parameters = DEFAULTS,
        check: Check = "jaccard",
        folder: AnyPath | None = None,
        workers: int | None = None,
        progress: Progress = lambda what, share: None,
    ) -> None:
        """Make the scratch folder, inside ``folder`` if it is given; ``workers`` threads, one for each core."""
        self.threshold = threshold
        self.parameters = parameters
        self._check = check
        self._memory = max(memory, LEAST_MEMORY)
        self._progress = progress
        self._workers = workers or os.cpu_count() or 1
        self._scratch = Scratch("dedupe", folder)
        self._path = self._scratch.path
        self._texts = (self._path / "texts").open("w+b", buffering=1 << 20)
        self._names = (self._path / "names").open("w+b", buffering=1 << 20)
        self._ends: list[Ints] = [np.zeros(1, np.int64)]
        self._name_ends: list[Ints] = [np.zeros(1, np.int64)]
        self._keys: list[NDArray[np.uint64]] = []
        self._counts: list[NDArray[np.int32]] = []
        self._simhashes: list[NDArray[np.uint64]] = []
        self._runs: list[int] = []
        self._bands = plan_bands(threshold, parameters.num_perm)[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __len__(self) -> int:
        return sum(self._runs)

    def close(self) -> None:
        """Remove everything from the disk."""
        self._texts.close()
        self._names.close()
        self._scratch.close()

    def add(self, documents: Iterable[tuple[str, str | bytes]], save: SketchFolder | None = None) -> int:
        """Take in (id, text) pairs; sketches go to ``save`` as well. Return how many came."""
        before = len(self)
        with ThreadPoolExecutor(self._workers) as pool:
            waiting: deque[Future[_Made]] = deque()
            try:
                for batch in self._batches(documents):
                    waiting.append(pool.submit(self._make, batch))
                    if len(waiting) > self._workers:
                        self._keep(waiting.popleft().result(), save)
                while waiting:
                    self._keep(waiting.popleft().result(), save)
            except OSError as error:
                raise StorageError(f"cannot write to {self._path}: {error.strerror}; give --scratch a folder") from None
        self._texts.flush()
        self._names.flush()
        return len(self) - before

    def prepare(self, documents: Iterable[tuple[str, str | bytes]], folder: AnyPath) -> int:
        """Do with (id, text) pairs what needs no others, into files that any spool of these settings can ``take``."""
        count = 0
        for number, batch in enumerate(self._batches(documents)):
            made = self._make(batch)
            names, sketches = [name.encode("utf-8", "replace") for name in batch.names], made.sketches
            np.savez(
                Path(folder, f"batch-{number:05}.npz"), names=_bytes(names), name_sizes=_sizes(names),
                texts=_bytes(batch.texts), sizes=_sizes(batch.texts), simhashes=sketches.simhashes,
                counts=sketches.counts, keys=sketches.keys, bands=made.keys, order=made.order,
            )  # fmt: skip
            count += len(names)
        return count

    def take(self, folder: AnyPath) -> int:
        """Take in what was prepared in ``folder``; return how many documents that is. Raises ``StorageError``."""
        before = len(self)
        for path in sorted(Path(folder).glob("batch-*.npz")):
            try:
                with np.load(path, allow_pickle=False) as file:
                    self._keep(_prepared(file, self.parameters), None)
            except (OSError, *UNREADABLE, KeyError) as error:
                raise StorageError(f"{path} holds no prepared documents ({error}); run the job again") from None
        self._texts.flush()
        self._names.flush()
        return len(self) - before

    def name(self, document: int) -> str:
        """Return the id of a document."""
        ends = self._joined(self._name_ends)
        return self._read(self._names.fileno(), ends, document).decode("utf-8", "replace")

    def text(self, document: int) -> bytes:
        """Return the text of a document, in UTF-8."""
        return self._read(self._texts.fileno(), self._joined(self._ends), document)

    @property
    def simhashes(self) -> NDArray[np.uint64]:
        """The simhash of each document."""
        return self._joined(self._simhashes) if self._simhashes else np.empty(0, np.uint64)

    @property
    def keys(self) -> NDArray[np.uint64]:
        """The key of each document's word sequence."""
        return self._joined(self._keys) if self._keys else np.empty(0, np.uint64)

    @property
    def worded(self) -> Ints:
        """The documents that have words."""
        return np.flatnonzero(self._joined(self._counts)) if self._counts else np.empty(0, np.int64)

    @property
    def lengths(self) -> Ints:
        """The bytes of each text."""
        return np.diff(self._joined(self._ends))

    def duplicates(
        self, *, cluster: ClusterBy = "linked", representative: Representative = "oldest", against: int = 0
    ) -> Duplicates:
        """Return the near-duplicates; with ``against``, only pairs of one of that many first documents and another."""
        if not len(self):
            empty = np.empty(0, np.int64)
            return Duplicates(empty, empty, np.empty(0), ())
        keys = self.keys.copy()
        keys[:against] ^= GOLDEN  # a copy in the other collection is a pair like any other, and stands for none here
        counts = self._joined(self._counts).astype(np.int64)

        def crossing(left: Ints, right: Ints) -> NDArray[np.bool_]:
            return (left < against) & (right >= against)

        bands = self._read_bands(keys, counts)
        wanted = crossing if against else None
        found = discover(keys, counts, bands, self.measure, self.threshold, wanted)
        prefer = preference(representative, found, self.lengths)
        made = gather(found, self.keys, self.measure, self.threshold, cluster, prefer)
        if not against:
            return made
        kept = crossing(made.left, made.right)
        clusters = tuple(c for c in made.clusters if c.members[0] < against <= c.members[-1])
        return Duplicates(made.left[kept], made.right[kept], made.similarity[kept], clusters, made.pairs_skipped)

    def measure(self, left: Ints, right: Ints) -> Floats:
        """Return the true similarity of each pair, reading the texts; ``left`` in order is quickest."""
        out = np.zeros(len(left), np.float64)
        ends = self._joined(self._ends)
        sizes = np.diff(ends)
        budget = self._memory // BATCH_SHARE // 2
        cost = np.cumsum(sizes[left] + sizes[right])
        starts = [0, *(np.flatnonzero(np.diff(cost // budget)) + 1).tolist(), len(left)]
        parts = [slice(a, b) for a, b in itertools.pairwise(starts) if b > a]
        with ThreadPoolExecutor(self._workers) as pool:
            for part, values in zip(
                parts, pool.map(lambda p: self._measure(left[p], right[p], ends), parts), strict=True
            ):
                out[part] = values
        return out

    def _measure(self, left: Ints, right: Ints, ends: Ints) -> Floats:
        documents, back = np.unique(np.concatenate([left, right]), return_inverse=True)
        texts = [self._read(self._texts.fileno(), ends, d) for d in documents.tolist()]
        i, j = back[: len(left)], back[len(left) :]
        if self._check != "jaccard":
            similar = check(self._check, self.parameters.ngram, self.parameters.folding)
            return np.array([similar(texts[a], texts[b]) for a, b in zip(i.tolist(), j.tolist(), strict=True)])
        return jaccard(texts, i, j, self.parameters)

    def _batches(self, documents: Iterable[tuple[str, str | bytes]]) -> Iterator[_Batch]:
        limit = max(1 << 16, self._memory // BATCH_SHARE // (self._workers + 1))
        batch, size, taken = _Batch([], []), 0, len(self)
        for name, text in documents:
            data = encode(text)
            batch.names.append(name)
            batch.texts.append(data)
            size += len(data) + 4 * self.parameters.num_perm
            if size >= limit:
                taken += len(batch.names)
                self._progress("reading", float(taken))
                yield batch
                batch, size = _Batch([], []), 0
        if batch.names:
            yield batch

    def _make(self, batch: _Batch) -> _Made:
        sketches = sketch(batch.texts, self.parameters)
        keys = band_keys(sketches.signatures, self.threshold)
        order = np.argsort(keys, axis=1, kind="stable")
        return _Made(batch, sketches, np.take_along_axis(keys, order, 1), order.astype(np.uint32))

    def _keep(self, made: _Made, save: SketchFolder | None) -> None:
        batch, sketches = made.batch, made.sketches
        names = [name.encode("utf-8", "replace") for name in batch.names]
        for file, parts, ends in ((self._texts, batch.texts, self._ends), (self._names, names, self._name_ends)):
            file.write(b"".join(parts))
            ends.append(ends[-1][-1] + np.cumsum([len(part) for part in parts], dtype=np.int64))
        with (self._path / f"run-{len(self._runs)}").open("wb") as run:
            for band in range(self._bands):
                run.write(made.keys[band].data)
                run.write((made.order[band] + np.uint32(len(self))).data)
        self._runs.append(len(names))
        self._keys.append(sketches.keys)
        self._counts.append(sketches.counts.astype(np.int32))
        self._simhashes.append(sketches.simhashes)
        if save is not None:
            save.append(batch.names, sketches)

    def _read_bands(self, keys: NDArray[np.uint64], counts: Ints) -> Iterator[Band]:
        count = len(keys)
        member = (first_of_each(keys) == np.arange(count)) & (counts > 0)
        parts = -(-count * PAIR_BYTES // max(1, self._memory // 4))
        edges = [round(i * 2**64 / parts) for i in range(parts)]
        for band in range(self._bands):
            for part, low in enumerate(edges):
                self._progress("comparing", (band * parts + part) / (self._bands * parts))
                high = edges[part + 1] if part + 1 < parts else None
                slices = [self._slice(run, band, low, high) for run in range(len(self._runs))]
                found = np.concatenate([s.keys for s in slices])
                documents = np.concatenate([s.documents for s in slices])
                kept = member[documents]
                found, documents = found[kept], documents[kept]
                order = np.argsort(found, kind="stable")
                yield Band(found[order], documents[order])
        self._progress("comparing", 1.0)

    def _slice(self, run: int, band: int, low: int, high: int | None) -> Band:
        """Return the entries of a band in one run with low ≤ key < high."""
        size = self._runs[run]
        start = band * size * 12
        path = self._path / f"run-{run}"
        if low == 0 and high is None:
            first, last = 0, size
        else:
            mapped = np.memmap(path, np.uint64, "r", start, (size,))
            first = int(np.searchsorted(mapped, np.uint64(low)))
            last = size if high is None else int(np.searchsorted(mapped, np.uint64(high)))
        keys = np.fromfile(path, np.uint64, last - first, offset=start + 8 * first)
        documents = np.fromfile(path, np.uint32, last - first, offset=start + 8 * size + 4 * first)
        return Band(keys, documents.astype(np.int64))

    @staticmethod
    def _joined(parts: list[NDArray[S]]) -> NDArray[S]:
        """Return the parts as one array, and keep it in their place."""
        if len(parts) > 1:
            parts[:] = [np.concatenate(parts)]
        return parts[0]

    @staticmethod
    def _read(file: int, ends: Ints, document: int) -> bytes:
        start = int(ends[document])
        return os.pread(file, int(ends[document + 1]) - start, start)
