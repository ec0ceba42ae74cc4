"""Discovery: all near-duplicate pairs of a collection and its clusters.

Texts with the same words are one from the start; the others become candidates where a band of their signatures
agrees, and pairs where the check says so. The same loop serves texts in memory (`near_duplicates`) and collections on
disk (`disk`): it is given the bands one after the other, and a function that measures pairs.

Rules: a text without words is like nothing, not even another such text; a text of fewer words than a shingle is like
those that have the same words in the same order. Where more than MAX_BUCKET texts share a bucket, and where more than
EXPAND are identical, clusters are complete but not every pair inside them is listed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fyke.bits import unionfind
from fyke.dedupe import lsh_kernels, similarity_kernels
from fyke.dedupe.plan import bands as plan_bands
from fyke.dedupe.sketch import DEFAULTS, Parameters, Sketches, sketch
from fyke.text.characters import character_table
from fyke.text.words import pack

MAX_BUCKET = 32
"""Beyond this many texts in a bucket, pairs are sampled: a million alike must not become 10^12 pairs."""
WINDOW = 8
"""How many of a crowded bucket each text is compared with, besides the first, in each band."""
EXPAND = 32
"""Groups of up to this many identical texts have all their pairs listed; of larger ones, each pair with the first."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Measure = Callable[[Ints, Ints], Floats]
"""Pairs of documents to their similarities."""
ClusterBy = Literal["linked", "star"]
Representative = Literal["oldest", "longest", "best-linked"]


class Pair(NamedTuple):
    """Two near-duplicates, the earlier first."""

    left: int
    right: int
    similarity: float


@dataclass(frozen=True, slots=True)
class Cluster:
    """Documents that are copies of one another, more or less."""

    id: str
    """The same for the same texts, whatever their order."""
    representative: int
    members: tuple[int, ...]
    lowest: float
    """The least similarity of a member to the representative; below the threshold where copies of copies differ."""


@dataclass(frozen=True, slots=True)
class Duplicates:
    """What discovery found."""

    left: Ints
    right: Ints
    similarity: Floats
    clusters: tuple[Cluster, ...]
    pairs_skipped: int = 0
    """Pairs of too large buckets that were not compared, or not listed."""

    @property
    def pairs(self) -> list[Pair]:
        """The pairs, by left and right."""
        return [
            Pair(*row) for row in zip(self.left.tolist(), self.right.tolist(), self.similarity.tolist(), strict=True)
        ]


def near_duplicates(
    texts: Sequence[str | bytes],
    threshold: float = 0.8,
    *,
    cluster: ClusterBy = "linked",
    representative: Representative = "oldest",
    parameters: Parameters = DEFAULTS,
) -> Duplicates:
    """Return all pairs of texts whose sets of word n-grams have a Jaccard coefficient of at least ``threshold``.

    Similarities are true, not estimated. ``cluster="linked"`` joins whatever a chain of pairs joins; ``"star"`` admits
    only texts at or above the threshold with the representative. Texts are taken as oldest first.
    """
    sketches = sketch(texts, parameters)

    def measure(left: Ints, right: Ints) -> Floats:
        documents, back = np.unique(np.concatenate([left, right]), return_inverse=True)
        return jaccard([texts[d] for d in documents.tolist()], back[: len(left)], back[len(left) :], parameters)

    def measure_likely(left: Ints, right: Ints) -> Floats:
        similarity = estimate(sketches.signatures, left, right)
        likely = similarity >= least
        similarity[likely] = measure(left[likely], right[likely])
        return similarity

    # Five standard errors below the threshold an estimate is as good as the truth: 3 in 10 million are above it.
    least = threshold - 5 * (threshold * (1 - threshold) / parameters.num_perm) ** 0.5
    found = discover(sketches.keys, sketches.counts, bands_of(sketches, threshold), measure_likely, threshold)
    lengths = np.array([len(text) for text in texts], np.int64)
    return gather(found, sketches.keys, measure, threshold, cluster, preference(representative, found, lengths))


def jaccard(texts: Sequence[str | bytes], left: Ints, right: Ints, parameters: Parameters) -> Floats:
    """Return the true Jaccard coefficient of each pair of texts; ``left`` in order is quickest."""
    buffer, offsets = pack(texts)
    sizes = np.zeros((len(left), 3), np.int64)
    table = character_table(parameters.folding)
    similarity_kernels.common_shingles(buffer, offsets, left, right, parameters.ngram, table, sizes)
    union = sizes[:, 0] + sizes[:, 1] - sizes[:, 2]
    common: Floats = sizes[:, 2].astype(np.float64)
    common /= np.maximum(union, 1)
    return common


def estimate(signatures: NDArray[Any], left: Ints, right: Ints) -> Floats:
    """Return the share of equal places of each pair of signatures, which estimates Jaccard."""
    same = np.zeros(len(left), np.int64)
    lsh_kernels.equal_places(signatures, left, right, same)
    return np.divide(same, signatures.shape[1], dtype=np.float64)


class Band(NamedTuple):
    """One band's keys and the documents they belong to; keys sorted."""

    keys: NDArray[np.uint64]
    documents: Ints


def band_keys(signatures: NDArray[Any], threshold: float) -> NDArray[np.uint64]:
    """Return the keys [band, document] of signatures."""
    count, rows = plan_bands(threshold, signatures.shape[1])
    keys = np.empty((count, len(signatures)), np.uint64)
    lsh_kernels.band_keys(signatures, rows, keys)
    return keys


def bands_of(sketches: Sketches, threshold: float) -> Iterator[Band]:
    """Yield the bands of sketches in memory, without the texts that have no words or are copies of earlier ones."""
    kept = np.flatnonzero((sketches.counts > 0) & (first_of_each(sketches.keys) == np.arange(len(sketches))))
    for keys in band_keys(sketches.signatures[kept], threshold):
        order = np.argsort(keys, kind="stable")
        yield Band(keys[order], kept[order])


def first_of_each(keys: NDArray[np.uint64]) -> Ints:
    """Return for each document the first one with the same key."""
    _, first, back = np.unique(keys, return_index=True, return_inverse=True)
    return np.asarray(first[back], np.int64)


@dataclass(frozen=True, slots=True)
class Found:
    """Pairs at or above the threshold between different texts, and which texts are identical."""

    first: Ints
    """For each document the first with the same words; −1 for one without words."""
    left: Ints
    right: Ints
    similarity: Floats
    pairs_skipped: int


def discover(
    keys: NDArray[np.uint64],
    counts: Ints,
    bands: Iterable[Band],
    measure: Measure,
    threshold: float,
    wanted: Callable[[Ints, Ints], NDArray[np.bool_]] | None = None,
) -> Found:
    """Return the pairs at or above ``threshold`` among candidates that agree in a band and are ``wanted``.

    REQUIRES: ``bands`` yields only documents that are the first with their key and have words.
    """
    first = np.where(counts > 0, first_of_each(keys), -1)
    parent = np.arange(len(keys), dtype=np.int64)
    seen = np.empty(0, np.uint64)
    found: list[tuple[Ints, Ints, Floats]] = []
    passed = 0
    for band in bands:
        bound, _ = lsh_kernels.candidates(band.keys, band.documents, parent, MAX_BUCKET, WINDOW, seen[:0])
        if not bound:
            continue
        out = np.empty(bound, np.uint64)
        made, over = lsh_kernels.candidates(band.keys, band.documents, parent, MAX_BUCKET, WINDOW, out)
        passed += over
        fresh = _without(out[:made], seen)
        seen = np.concatenate([seen, fresh])
        seen.sort(kind="stable")
        left = (fresh >> np.uint64(32)).astype(np.int64)
        right = (fresh & np.uint64(0xFFFFFFFF)).astype(np.int64)
        if wanted is not None:
            chosen = wanted(left, right)
            left, right = left[chosen], right[chosen]
        similarity = measure(left, right)
        near = similarity >= threshold
        found.append((left[near], right[near], similarity[near]))
        unionfind.join_pairs(parent, left[near], right[near])
    if not found:
        return Found(first, np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), passed)
    left, right, similarity = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.lexsort((right, left))
    return Found(first, left[order], right[order], similarity[order], passed)


def _without(pairs: NDArray[np.uint64], seen: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the pairs that are not in ``seen``, sorted, each once. REQUIRES: ``seen`` is sorted."""
    pairs.sort()
    fresh = np.ones(len(pairs), np.bool_)
    fresh[1:] = pairs[1:] != pairs[:-1]
    if len(seen):
        fresh &= seen[np.minimum(np.searchsorted(seen, pairs), len(seen) - 1)] != pairs
    return pairs[fresh]


def _known(found: Found, left: Ints, right: Ints, measure: Measure) -> Floats:
    """Return the similarity of each pair: from what was found, else measured."""
    similarity = np.ones(len(left))
    packed = found.left << 32 | found.right  # in order, as the pairs are
    wanted = np.minimum(left, right) << 32 | np.maximum(left, right)
    at = np.minimum(np.searchsorted(packed, wanted), max(0, len(packed) - 1))
    known = packed[at] == wanted if len(packed) else np.zeros(len(left), np.bool_)
    similarity[known] = found.similarity[at[known]]
    rest = ~known & (left != right)
    similarity[rest] = measure(left[rest], right[rest])
    return similarity


def preference(representative: Representative, found: Found, lengths: Ints) -> Floats:
    """Return what orders the members of a cluster, the representative first; ties go to the earlier document.

    Best-linked is what is in most pairs.
    """
    count = len(found.first)
    if representative == "longest":
        return -np.asarray(lengths, np.float64)
    if representative == "best-linked":
        return -np.bincount(np.concatenate([found.left, found.right]), minlength=count).astype(np.float64)
    return np.zeros(count)


def gather(
    found: Found,
    keys: NDArray[np.uint64],
    measure: Measure,
    threshold: float,
    cluster: ClusterBy,
    prefer: Floats,
) -> Duplicates:
    """Return pairs and clusters: identical texts join their first, and each cluster gets its representative."""
    count = len(found.first)
    root = _star_roots(found, prefer) if cluster == "star" else _linked_roots(found, count)
    root = np.where(found.first >= 0, root[found.first], np.arange(count))
    by_preference = np.lexsort((np.arange(count), prefer))
    ordered = by_preference[np.argsort(root[by_preference], kind="stable")]
    bounds = np.flatnonzero(np.diff(root[ordered], prepend=-1, append=-1))
    groups = [ordered[a:b] for a, b in itertools.pairwise(bounds) if b - a > 1]
    left = np.concatenate([np.repeat(found.first[g[0]], len(g) - 1) for g in groups] or [np.empty(0, np.int64)])
    right = np.concatenate([found.first[g[1:]] for g in groups] or [np.empty(0, np.int64)])
    similarity = _known(found, left, right, measure)
    clusters, at = [], 0
    for group in groups:
        lowest = float(similarity[at : at + len(group) - 1].min())
        at += len(group) - 1
        members = tuple(np.sort(group).tolist())
        clusters.append(Cluster(f"{int(keys[group].min()):016x}", int(group[0]), members, lowest))
    clusters.sort(key=lambda c: c.members)
    return Duplicates(*_expand(found), tuple(clusters), found.pairs_skipped)


def _linked_roots(found: Found, count: int) -> Ints:
    parent = np.arange(count, dtype=np.int64)
    unionfind.join_pairs(parent, found.left, found.right)
    unionfind.flatten(parent)
    return parent


def _star_roots(found: Found, prefer: Floats) -> Ints:
    count = len(found.first)
    ends = np.concatenate([found.left, found.right])
    others = np.concatenate([found.right, found.left])
    order = np.argsort(ends, kind="stable")
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(ends, minlength=count), out=starts[1:])
    centre = np.full(count, -1, np.int64)
    lsh_kernels.stars(np.lexsort((np.arange(count), prefer)), starts, others[order], centre)
    return centre


def _expand(found: Found) -> tuple[Ints, Ints, Floats]:
    """Return the pairs of all documents, not only of the first of each text."""
    ordered = np.argsort(found.first, kind="stable")
    bounds = np.flatnonzero(np.diff(found.first[ordered], prepend=-2, append=-2))
    copies = {
        int(found.first[ordered[a]]): ordered[a:b]
        for a, b in itertools.pairwise(bounds)
        if b - a > 1 and found.first[ordered[a]] >= 0
    }
    rows: list[tuple[int, int, float]] = []
    for group in copies.values():
        members = group.tolist()
        heads = members if len(members) <= EXPAND else members[:1]
        rows += [(x, y, 1.0) for i, x in enumerate(heads) for y in members[i + 1 :]]
    for x, y, similarity in zip(found.left.tolist(), found.right.tolist(), found.similarity.tolist(), strict=True):
        if x in copies or y in copies:
            some, others = (copies.get(d, np.array([d])).tolist() for d in (x, y))
            if len(some) <= EXPAND and len(others) <= EXPAND:
                pairs = ((min(i, j), max(i, j)) for i in some for j in others)
                rows += [(i, j, similarity) for i, j in pairs if (i, j) != (x, y)]
    if not rows:
        return found.left, found.right, found.similarity
    i, j, s = zip(*rows, strict=True)
    left = np.concatenate([found.left, np.array(i, np.int64)])
    right = np.concatenate([found.right, np.array(j, np.int64)])
    similarity = np.concatenate([found.similarity, np.array(s)])
    order = np.lexsort((right, left))
    return left[order], right[order], similarity[order]
