"""A collection's near-duplicates by any method: what `fyke dedupe` asks for, with names instead of numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from fyke.dedupe import hamming
from fyke.dedupe.discover import (
    ClusterBy,
    Duplicates,
    Floats,
    Found,
    Ints,
    Measure,
    Representative,
    gather,
    preference,
)
from fyke.dedupe.disk import AnyPath, SketchFolder
from fyke.dedupe.fingerprints import Fingerprinting, fingerprints, overlaps
from fyke.dedupe.index import DuplicateIndex
from fyke.dedupe.similarity import Check
from fyke.dedupe.sketch import DEFAULTS, Parameters
from fyke.dedupe.spool import Progress, Spool
from fyke.errors import UserError
from fyke.scratch import Scratch

Method = Literal["minhash", "simhash", "fingerprint", "exact"]
Documents = Iterable[tuple[str, str | bytes]]


@dataclass(frozen=True, slots=True)
class Settings:
    """How to look for near-duplicates."""

    threshold: float = 0.8
    method: Method = "minhash"
    check: Check | None = None
    """What decides about a candidate. None: Jaccard's coefficient for minhash, the method's own likeness for others."""
    distance: int = 3
    """Bits in which simhashes may differ: 3 of 64 as Manku et al. found best for web pages."""
    cluster: ClusterBy = "linked"
    representative: Representative = "oldest"
    parameters: Parameters = DEFAULTS
    memory: int = 2 << 30
    scratch: str | None = None


class Removed(NamedTuple):
    """Why a document is not kept."""

    matched: str
    """The document that it is most like."""
    similarity: float


@dataclass(frozen=True, slots=True)
class Named:
    """What was found, with the documents' ids."""

    names: list[str]
    """Of the documents that are in a pair or cluster, by number; empty for the others."""
    method: str
    documents: int
    duplicates: Duplicates
    offset: int = 0
    """Documents of the other collection, which come first."""
    numbers: tuple[int, ...] = ()
    """Where the right documents of the pairs are known by name only: their places in the collection."""

    @property
    def left(self) -> Any:
        """Left documents of the pairs."""
        return self.duplicates.left

    @property
    def clusters(self) -> Any:
        """The clusters."""
        return self.duplicates.clusters

    @property
    def pairs_skipped(self) -> int:
        """Pairs of too large buckets that were not compared, or not listed."""
        return self.duplicates.pairs_skipped

    def removed(self) -> dict[int, Removed]:
        """Return the documents that are copies of one that is kept, by their place in the collection.

        Of a cluster the representative is kept; with another collection, all that is like nothing in it.
        """
        pairs = self.duplicates.pairs
        if self.numbers:
            return {number: Removed(self.names[i], s) for number, (i, _, s) in zip(self.numbers, pairs, strict=True)}
        best: dict[int, tuple[float, int]] = {}
        for left, right, similarity in pairs:
            for one, other in ((left, right), (right, left)):
                best[one] = max(best.get(one, (-1.0, -1)), (similarity, other))
        if self.offset:
            gone = {right for _, right, _ in pairs}
        else:
            gone = {m for cluster in self.clusters for m in cluster.members if m != cluster.representative}
        found = {d - self.offset: best[d] for d in gone if d >= self.offset}
        return {place: Removed(self.names[other], similarity) for place, (similarity, other) in found.items()}

    def kept_for(self) -> dict[int, list[int]]:
        """Return for each kept document the removed ones of its cluster, by their places in the collection."""
        if self.offset or self.numbers:
            return {}
        return {c.representative: [m for m in c.members if m != c.representative] for c in self.clusters}

    def pair_rows(self) -> Iterator[dict[str, Any]]:
        """Yield each pair as a row."""
        for left, right, similarity in self.duplicates.pairs:
            yield {
                "left": self.names[left],
                "right": self.names[right],
                "similarity": round(similarity, 6),
                "method": self.method,
            }

    def cluster_rows(self) -> Iterator[dict[str, Any]]:
        """Yield each cluster as a row."""
        for cluster in self.duplicates.clusters:
            yield {
                "id": cluster.id,
                "representative": self.names[cluster.representative],
                "members": [self.names[member] for member in cluster.members],
                "lowest": round(cluster.lowest, 6),
            }


def find(
    documents: Documents,
    settings: Settings,
    other: Documents | None = None,
    save: AnyPath | None = None,
    progress: Progress = lambda what, share: None,
) -> Named:
    """Return the near-duplicates of a collection; with ``other``, the pairs of one of its documents and one of those.

    Sketches are saved in, or appended to, folder ``save``.
    """
    if settings.method == "exact":
        return _exact(documents, settings, other, progress)
    folder = SketchFolder.open(save, settings.parameters, create=True) if save is not None else None
    with _spool(settings, progress) as spool:
        against = spool.add(other) if other is not None else 0
        spool.add(documents, folder)
        if folder is not None:
            folder.close()
        return _named(spool, settings, against)


def prepare(documents: Documents, settings: Settings, folder: AnyPath) -> int:
    """Make the first pass over one part of a collection, into ``folder``; return how many documents it has."""
    with Spool(settings.threshold, memory=settings.memory, parameters=settings.parameters, workers=1) as spool:
        return spool.prepare(documents, folder)


def find_prepared(parts: Iterable[AnyPath], settings: Settings, progress: Progress = lambda what, share: None) -> Named:
    """Return the near-duplicates of the parts together, as ``find`` does of the documents in that order."""
    with _spool(settings, progress) as spool:
        for part in parts:
            spool.take(part)
        return _named(spool, settings, 0)


def _spool(settings: Settings, progress: Progress) -> Spool:
    return Spool(
        settings.threshold,
        memory=settings.memory,
        parameters=settings.parameters,
        check=settings.check or "jaccard",
        folder=settings.scratch,
        progress=progress,
    )


def _named(spool: Spool, settings: Settings, against: int) -> Named:
    if settings.method == "minhash":
        found = spool.duplicates(cluster=settings.cluster, representative=settings.representative, against=against)
    else:
        found = _in_memory(spool, settings, against)
    used = {*found.left.tolist(), *found.right.tolist(), *(m for c in found.clusters for m in c.members)}
    names = [spool.name(d) if d in used else "" for d in range(len(spool))]
    return Named(names, settings.method, len(spool), found, against)


def _exact(documents: Documents, settings: Settings, other: Documents | None, progress: Progress) -> Named:
    """Return the groups of documents whose bytes have one SHA-256, each paired with its first."""
    names: list[str] = []
    digests: list[bytes] = []
    lengths: list[int] = []
    against = 0
    for part in (other, documents):
        for name, text in part or ():
            data = text.encode("utf-8", "replace") if isinstance(text, str) else text
            names.append(name)
            digests.append(hashlib.sha256(data).digest())
            lengths.append(len(data))
            if len(names) % 1000 == 0:
                progress("reading", float(len(names)))
        against = against if part is documents else len(names)
    first: dict[bytes, int] = {}
    pairs = [(i, d, 1.0) for d, digest in enumerate(digests) if (i := first.setdefault(digest, d)) != d]
    keys = np.frombuffer(b"".join(digest[:8] for digest in digests), np.uint64)
    found = _gathered(pairs, keys, np.array(lengths, np.int64), settings, against, lambda i, j: np.ones(len(i)))
    return Named(names, "exact", len(names), found, against)


def _in_memory(spool: Spool, settings: Settings, against: int) -> Duplicates:
    """Return the near-duplicates by simhash or fingerprints; with ``check`` those only propose them."""
    skipped = 0
    if settings.method == "simhash":
        worded = spool.worded
        index = hamming.HammingIndex(spool.simhashes[worded], settings.distance)
        close = hamming.similarity(np.arange(settings.distance + 1)).tolist()
        found, skipped = index.pairs()
        pairs = [(int(worded[i]), int(worded[j]), close[apart]) for i, j, apart in found]

        def measure(i: Ints, j: Ints) -> Floats:
            return hamming.similarity(np.bitwise_count(spool.simhashes[i] ^ spool.simhashes[j]))

    else:
        recipe = Fingerprinting(ngram=settings.parameters.ngram, folding=settings.parameters.folding, select="mod")
        prints = [fingerprints(spool.text(d).decode("utf-8", "replace"), recipe) for d in range(len(spool))]
        least = settings.threshold if settings.check is None else 0.0
        pairs = [(o.left, o.right, o.resemblance) for o in overlaps(prints, least)]

        def measure(i: Ints, j: Ints) -> Floats:
            both = zip(i.tolist(), j.tolist(), strict=True)
            return np.array([sum(o.resemblance for o in overlaps([prints[a], prints[b]])) for a, b in both])

    if settings.check is not None:
        left, right = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
        checked = zip(pairs, spool.measure(left, right).tolist(), strict=True)
        pairs = [(i, j, likeness) for (i, j, _), likeness in checked if likeness >= settings.threshold]
    by = measure if settings.check is None else spool.measure
    return _gathered(pairs, spool.keys, spool.lengths, settings, against, by, skipped)


def _gathered(
    pairs: list[tuple[int, int, float]], keys: Any, lengths: Ints, settings: Settings, against: int, measure: Measure,
    skipped: int = 0,
) -> Duplicates:  # fmt: skip
    """Return pairs with their clusters."""
    if against:
        pairs = [pair for pair in pairs if pair[0] < against <= pair[1]]
    table = np.array(sorted(pairs), np.float64).reshape(-1, 3)
    left, right = table[:, 0].astype(np.int64), table[:, 1].astype(np.int64)
    found = Found(np.arange(len(keys)), left, right, table[:, 2], skipped)
    prefer = preference(settings.representative, found, lengths)
    return gather(found, keys, measure, settings.threshold, settings.cluster, prefer)


def against_sketches(documents: Documents, sketches: AnyPath, settings: Settings, progress: Progress) -> Named:
    """Return for each document its nearest in a folder of sketches, whose texts are not at hand: estimates.

    The folder is only read; the index is over a copy of it. Raises UserError where settings ask for more than sketches
    can tell, or for other sketches.
    """
    usual = Settings(threshold=settings.threshold, memory=settings.memory, scratch=settings.scratch)
    if replace(settings, parameters=usual.parameters) != usual:
        raise UserError(
            f"{sketches} holds sketches for minhash, without texts: leave out --method, --check, --distance, --cluster"
            " and --representative"
        )
    given = None if settings.parameters == DEFAULTS else settings.parameters
    SketchFolder.open(sketches, given).close()
    names: list[str] = []
    rows: list[tuple[int, int, float]] = []
    numbers: list[int] = []
    count = 0
    with (
        Scratch("dedupe", settings.scratch, sketches) as copy,
        DuplicateIndex(copy, threshold=settings.threshold, memory=settings.memory // 2) as index,
    ):
        for name, text in documents:
            count += 1
            if count % 1000 == 0:
                progress("reading", float(count))
            match = index.similar(text, name)
            if match is not None:
                rows.append((len(names), len(names) + 1, match.similarity))
                numbers.append(count - 1)
                names += [match.id, name]
    table = np.array(rows, np.float64).reshape(-1, 3)
    found = Duplicates(table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2], ())
    return Named(names, "minhash-estimate", count, found, numbers=tuple(numbers))
