"""Summaries from bit streams: the inverses of archive/writer_kernels.py, by random access over chains of references.

Whatever the bits, reading stays within its arrays: a summary that does not fit them is reported as damaged
(size −1). ``Stream`` is what a reader needs to know of an archive.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fyke.archive.writer_kernels import (
    CHANGE,
    COPY,
    COUNT,
    EQUAL,
    EXTRA,
    EXTRA_GAP,
    GAP,
    LENGTH,
    REFERENCE,
    SIZE,
    SKIP,
)
from fyke.bits.codes import integer
from fyke.bits.coding import SLACK, Codes, read, read_values
from fyke.bits.eliasfano import rank, select
from fyke.bits.jit import kernel, leaf
from fyke.bits.stream import Words

MAX_GAP = 1 << 40
"""No gap of an archive is larger: sums of damaged ones stay far from the end of 64 bits."""


class Stream(NamedTuple):
    """An archive as kernels take it."""

    words: Words
    codes: Codes
    paper: bool
    terms: int
    """Terms in the dictionary: a greater rank is damage."""
    room: int
    """Postings of the largest summary."""
    max_chain: int
    documents: int
    """Summaries and missing documents."""
    low: Words
    high: Words
    ones: NDArray[np.int64]
    low_width: int
    missing: int
    """How many documents are missing, and their Elias–Fano sequence."""
    missing_low: Words
    missing_high: Words
    missing_ones: NDArray[np.int64]
    missing_zeros: NDArray[np.int64]
    missing_low_width: int


@leaf
def place_of(stream: Any, document: Any) -> Any:
    """Return the place of a document's summary among all summaries, or −1 where it is missing."""
    if stream.missing == 0:
        return document
    before = rank(
        stream.missing_low,
        stream.missing_high,
        stream.missing_zeros,
        stream.missing_low_width,
        stream.missing,
        document,
    )
    if before < stream.missing:
        found = select(stream.missing_low, stream.missing_high, stream.missing_ones, stream.missing_low_width, before)
        if found == document:
            return np.int64(-1)
    return np.int64(document - before)


@leaf
def _read_terms(words: Any, position: Any, codes: Any, number: Any, size: Any, terms: Any) -> Any:
    """Read ``size`` gaps and add them up; return the next position."""
    position = read_values(words, position, codes, number, size, terms)
    last = np.int64(-1)
    for i in range(size):
        last += min(terms[i], MAX_GAP) + 1
        terms[i] = last
    return position


@leaf
def read_paper(words: Any, position: Any, codes: Any, terms: Any, counts: Any, gaps: Any) -> Any:
    """Read a summary of the paper's form; return (ℓ, s, next position). ``gaps`` is room for those of the counts."""
    length, position = read(words, position, codes, LENGTH)
    size, position = read(words, position, codes, SIZE)
    if size > terms.size - SLACK:
        return length, np.int64(-1), position
    position = _read_terms(words, position, codes, GAP, size, terms)
    position = read_values(words, position, codes, COUNT, size, gaps)
    last = np.int64(1)
    for i in range(size):
        last += integer(gaps[i])
        counts[size - 1 - i] = last
    return length, size, position


@leaf
def read_alone(words: Any, position: Any, codes: Any, terms: Any, counts: Any) -> Any:
    """Read what follows a REFERENCE of 0; return (ℓ, s, next position)."""
    length, position = read(words, position, codes, LENGTH)
    size, position = read(words, position, codes, SIZE)
    if size > terms.size - SLACK:
        return length, np.int64(-1), position
    position = _read_terms(words, position, codes, GAP, size, terms)
    position = read_values(words, position, codes, COUNT, size, counts)
    for i in range(size):
        counts[i] += 1
        length += counts[i]
    return length, size, position


@leaf
def _read_copies(
    words: Any, position: Any, codes: Any, ref_terms: Any, ref_counts: Any, ref_size: Any, terms: Any, counts: Any
) -> Any:
    """Copy from the reference what the runs say, counts corrected; return (how many, next position)."""
    size = j = 0
    copying = True
    while j < ref_size:
        run, position = read(words, position, codes, COPY if copying else SKIP)
        run = min(run + (j > 0 or not copying), ref_size - j)
        if copying:
            for i in range(run):
                terms[size + i] = ref_terms[j + i]
                counts[size + i] = ref_counts[j + i]
            size += run
        j += run
        copying = not copying
    i = 0
    while i < size:
        run, position = read(words, position, codes, EQUAL)
        i += min(run, size - i)
        if i < size:
            change, position = read(words, position, codes, CHANGE)
            counts[i] += integer(change + 1)
            i += 1
    return size, position


@leaf
def read_against(
    words: Any, position: Any, codes: Any, ref_terms: Any, ref_counts: Any, ref_size: Any,
    terms: Any, counts: Any, extra: Any, values: Any,
) -> Any:  # fmt: skip
    """Read what follows a REFERENCE > 0; return (ℓ, s, next position).

    ``extra`` and ``values`` are room for the other terms and their counts.
    """
    length, position = read(words, position, codes, LENGTH)
    copied, position = _read_copies(words, position, codes, ref_terms, ref_counts, ref_size, terms, counts)
    others, position = read(words, position, codes, EXTRA)
    size = copied + others
    if size > terms.size - SLACK:
        return length, np.int64(-1), position
    position = _read_terms(words, position, codes, EXTRA_GAP, others, extra)
    # Merge from the end, in place: copied terms move up as the others come in. Counts of the others come
    # first to last, so a second walk fills the places that the merge has marked with 0.
    i = copied - 1
    j = others - 1
    while j >= 0:
        if i >= 0 and terms[i] > extra[j]:
            terms[i + j + 1] = terms[i]
            counts[i + j + 1] = counts[i]
            i -= 1
        else:
            terms[i + j + 1] = extra[j]
            extra[j] = i + j + 1
            j -= 1
    position = read_values(words, position, codes, COUNT, others, values)
    for j in range(others):
        counts[extra[j]] = values[j] + 1
    for i in range(size):
        length += counts[i]
    return length, size, position


@leaf
def read_summary(stream: Any, place: Any, terms: Any, counts: Any, extra: Any, chain: Any) -> Any:
    """Read the summary at ``place`` into a row of ``terms`` and ``counts``; return (ℓ, s or −1 for damage, row).

    ``terms`` and ``counts`` have two rows each, ``extra`` two more, ``chain`` room for a position a link.
    """
    position = select(stream.low, stream.high, stream.ones, stream.low_width, place)
    words, codes = stream.words, stream.codes
    if stream.paper:
        length, size, _ = read_paper(words, position, codes, terms[0], counts[0], extra[0])
        if size > 0 and terms[0, size - 1] >= stream.terms:
            size = np.int64(-1)
        return length, size, 0
    depth = 0
    reference, position = read(words, position, codes, REFERENCE)
    while reference > 0:
        chain[depth] = position
        depth += 1
        place -= reference
        if place < 0 or depth == chain.size:
            return np.int64(0), np.int64(-1), 0
        position = select(stream.low, stream.high, stream.ones, stream.low_width, place)
        reference, position = read(words, position, codes, REFERENCE)
    row = 0
    length, size, _ = read_alone(words, position, codes, terms[0], counts[0])
    while depth > 0 and size >= 0:
        depth -= 1
        length, size, _ = read_against(
            words,
            chain[depth],
            codes,
            terms[row],
            counts[row],
            size,
            terms[1 - row],
            counts[1 - row],
            extra[0],
            extra[1],
        )
        row = 1 - row
    if size > 0 and terms[row, size - 1] >= stream.terms:
        size = np.int64(-1)
    return length, size, row


@kernel
def read_many(stream: Any, documents: Any, first: Any, lengths: Any, starts: Any, terms: Any, counts: Any) -> Any:
    """Read the summaries of ``documents`` from number ``first`` on, one after another, while they fit.

    Return how many of ``documents`` are done, or −1 − the number of the damaged one. A missing document has
    length −1. REQUIRES: starts[first] is set; the largest summary fits.
    """
    buffer = np.empty((2, stream.room + SLACK), np.int64)
    numbers = np.empty((2, stream.room + SLACK), np.int64)
    extra = np.empty((2, stream.room + SLACK), np.int64)
    chain = np.empty(stream.max_chain + 1, np.int64)
    at = starts[first]
    for i in range(first, documents.size):
        place = place_of(stream, documents[i])
        if place < 0:
            lengths[i] = -1
            starts[i + 1] = at
            continue
        if at + stream.room > terms.size:
            return i
        length, size, row = read_summary(stream, place, buffer, numbers, extra, chain)
        if size < 0:
            return -1 - i
        for j in range(size):
            terms[at + j] = buffer[row, j]
            counts[at + j] = numbers[row, j]
        at += size
        lengths[i] = length
        starts[i + 1] = at
    return documents.size


@kernel
def score_many(stream: Any, documents: Any, weights: Any, saturation: Any, slope: Any, mean: Any, scores: Any) -> Any:
    """Score documents by Σ weight(t)·f(count); return −1, or the number of the first damaged one.

    f(c) = c where saturation < 0; else c(k+1)/(c + k(1 − b + bℓ/mean)) with k = saturation, b = slope (BM25).
    Missing documents score 0.
    """
    buffer = np.empty((2, stream.room + SLACK), np.int64)
    numbers = np.empty((2, stream.room + SLACK), np.int64)
    extra = np.empty((2, stream.room + SLACK), np.int64)
    chain = np.empty(stream.max_chain + 1, np.int64)
    for i in range(documents.size):
        place = place_of(stream, documents[i])
        score = 0.0
        if place >= 0:
            length, size, row = read_summary(stream, place, buffer, numbers, extra, chain)
            if size < 0:
                return i
            norm = saturation * (1 - slope + slope * length / mean)
            for j in range(size):
                count = float(numbers[row, j])
                if saturation >= 0:
                    count = count * (saturation + 1) / (count + norm)
                score += weights[buffer[row, j]] * count
        scores[i] = score
    return -1
