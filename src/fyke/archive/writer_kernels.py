"""Summaries to bit streams and back: the paper's form and fyke's, described once as lists of (stream, number).

A summary is ⟨ℓ, s, terms, counts⟩, terms being ranks in increasing order. ``describe_*`` lists what is to be
written, each number with the stream (hence the code) that it belongs to; cost, choice of codes and writing
are then the same for both forms. archive/reader_kernels.py has the inverses.

Paper::

    LENGTH ℓ   SIZE s   GAP t₀, t₁−t₀−1, …   COUNT ν(c₋₁ − 1), ν(c₋₂ − c₋₁), …       (counts from the last term)

Fyke, alone (REFERENCE 0) or against the summary r places earlier (REFERENCE r)::

    REFERENCE r   LENGTH ℓ − Σc
      r = 0:  SIZE s   GAP as above   COUNT c − 1
      r > 0:  COPY, SKIP, COPY, … runs over the reference's terms, until they are used up
              EQUAL, CHANGE, EQUAL, … over the copied terms: so many counts as in the reference, then one of
              difference d ≠ 0 as ν(d) − 1, until they are used up
              EXTRA number of other terms   EXTRA_GAP their gaps   COUNT c − 1
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fyke.bits.codes import nat
from fyke.bits.jit import kernel, leaf
from fyke.bits.lists import cost_of, put

PAPER_STREAMS = ("length", "size", "gap", "count")
FYKE_STREAMS = ("length", "size", "gap", "count", "reference", "copy", "skip", "equal", "change", "extra", "extra_gap")
LENGTH, SIZE, GAP, COUNT, REFERENCE, COPY, SKIP, EQUAL, CHANGE, EXTRA, EXTRA_GAP = range(11)


@leaf
def describe_paper(length: Any, terms: Any, counts: Any, streams: Any, values: Any) -> Any:
    """List the numbers of a summary in the paper's form; return how many."""
    at = put(streams, values, 0, LENGTH, length)
    at = put(streams, values, at, SIZE, terms.size)
    last = -1
    for i in range(terms.size):
        at = put(streams, values, at, GAP, terms[i] - last - 1)
        last = terms[i]
    last = 1
    for i in range(terms.size - 1, -1, -1):
        at = put(streams, values, at, COUNT, nat(counts[i] - last))
        last = counts[i]
    return at


@leaf
def describe_alone(length: Any, terms: Any, counts: Any, streams: Any, values: Any) -> Any:
    """List the numbers of a summary in fyke's form without a reference; return how many."""
    at = put(streams, values, 0, REFERENCE, 0)
    at = put(streams, values, at, LENGTH, length - counts.sum())
    at = put(streams, values, at, SIZE, terms.size)
    last = -1
    for i in range(terms.size):
        at = put(streams, values, at, GAP, terms[i] - last - 1)
        last = terms[i]
    for i in range(terms.size):
        at = put(streams, values, at, COUNT, counts[i] - 1)
    return at


@leaf
def describe_against(
    r: Any, length: Any, terms: Any, counts: Any, ref_terms: Any, ref_counts: Any, streams: Any, values: Any
) -> Any:
    """List the numbers of a summary against the one r places earlier; return how many."""
    at = put(streams, values, 0, REFERENCE, r)
    at = put(streams, values, at, LENGTH, length - counts.sum())
    # Runs: copied and skipped by turns, the first of them may be empty.
    i = j = run = 0
    copying = True
    first = True
    while j < ref_terms.size:
        while i < terms.size and terms[i] < ref_terms[j]:
            i += 1
        here = i < terms.size and terms[i] == ref_terms[j]
        if here != copying:
            at = put(streams, values, at, COPY if copying else SKIP, run if first else run - 1)
            first = False
            copying = here
            run = 0
        run += 1
        j += 1
    if ref_terms.size > 0:
        at = put(streams, values, at, COPY if copying else SKIP, run if first else run - 1)
    # Counts of the copied terms.
    i = j = run = 0
    while i < terms.size and j < ref_terms.size:
        if terms[i] < ref_terms[j]:
            i += 1
        elif terms[i] > ref_terms[j]:
            j += 1
        else:
            if counts[i] == ref_counts[j]:
                run += 1
            else:
                at = put(streams, values, at, EQUAL, run)
                at = put(streams, values, at, CHANGE, nat(counts[i] - ref_counts[j]) - 1)
                run = 0
            i += 1
            j += 1
    if run > 0:
        at = put(streams, values, at, EQUAL, run)
    return _describe_extras(terms, counts, ref_terms, streams, values, at)


@leaf
def _describe_extras(terms: Any, counts: Any, ref_terms: Any, streams: Any, values: Any, at: Any) -> Any:
    """List the terms that the reference has not, and their counts."""
    number = at
    at = put(streams, values, at, EXTRA, 0)
    last = -1
    j = 0
    for i in range(terms.size):
        while j < ref_terms.size and ref_terms[j] < terms[i]:
            j += 1
        if j == ref_terms.size or ref_terms[j] != terms[i]:
            at = put(streams, values, at, EXTRA_GAP, terms[i] - last - 1)
            last = terms[i]
            values[number] += 1
    j = 0
    for i in range(terms.size):
        while j < ref_terms.size and ref_terms[j] < terms[i]:
            j += 1
        if j == ref_terms.size or ref_terms[j] != terms[i]:
            at = put(streams, values, at, COUNT, counts[i] - 1)
    return at


class Chunk(NamedTuple):
    """Summaries in a row, terms by rank: those of summary x are ``terms[starts[x]:starts[x + 1]]``."""

    lengths: NDArray[np.int64]
    starts: NDArray[np.int64]
    terms: NDArray[np.int64]
    counts: NDArray[np.int64]


@kernel
def choose_references(
    chunk: Any, codes: Any, small: Any, window: Any, max_chain: Any, references: Any, chains: Any, bits: Any
) -> None:
    """Choose for each summary the earlier one that makes it smallest, or 0; note its bits. O(window · postings).

    ``chains`` gets the links to the end of a summary's chain.
    """
    lengths, starts, terms, counts = chunk
    room = 0
    for x in range(lengths.size):
        room = max(room, starts[x + 1] - starts[x])
    streams = np.empty(4 * room + 16, np.int64)
    values = np.empty(4 * room + 16, np.int64)
    for x in range(lengths.size):
        own_terms, own_counts = terms[starts[x] : starts[x + 1]], counts[starts[x] : starts[x + 1]]
        size = describe_alone(lengths[x], own_terms, own_counts, streams, values)
        best = cost_of(streams, values, size, codes, small, 1 << 60)
        references[x] = chains[x] = 0
        for r in range(1, min(window, x) + 1):
            y = x - r
            if chains[y] < max_chain and own_terms.size > 0 and starts[y] < starts[y + 1]:
                ref_terms, ref_counts = terms[starts[y] : starts[y + 1]], counts[starts[y] : starts[y + 1]]
                size = describe_against(r, lengths[x], own_terms, own_counts, ref_terms, ref_counts, streams, values)
                cost = cost_of(streams, values, size, codes, small, best)
                if cost < best:
                    best = cost
                    references[x] = r
                    chains[x] = chains[y] + 1
        bits[x] = best


@kernel
def describe_all(chunk: Any, references: Any, paper: Any, streams: Any, values: Any, ends: Any) -> Any:
    """List the numbers of all summaries; ``ends`` says where each one's stop. Return how many."""
    lengths, starts, terms, counts = chunk
    at = 0
    for x in range(lengths.size):
        own_terms, own_counts = terms[starts[x] : starts[x + 1]], counts[starts[x] : starts[x + 1]]
        r = references[x]
        if paper:
            at += describe_paper(lengths[x], own_terms, own_counts, streams[at:], values[at:])
        elif r == 0:
            at += describe_alone(lengths[x], own_terms, own_counts, streams[at:], values[at:])
        else:
            y = x - r
            ref_terms, ref_counts = terms[starts[y] : starts[y + 1]], counts[starts[y] : starts[y + 1]]
            at += describe_against(
                r, lengths[x], own_terms, own_counts, ref_terms, ref_counts, streams[at:], values[at:]
            )
        ends[x] = at
    return at
