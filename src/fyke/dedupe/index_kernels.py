"""The inline index: sketch a text, look for its like, and remember it, in one call.

What is kept for document d: `signatures[d]` (16 bits of each minimum), `facts[d]` (where its name ends, simhash, key of
its word sequence, shingles and check sum), its name in `names`, and one slot for each band. A slot is 36 bits of the
band's key and 28 bits of d + 1. Young slots stand in an open-addressing table, old ones in one sorted run on disk,
behind a filter that says of most keys that they are not there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fyke.bits.hashing import GOLDEN, mix
from fyke.bits.jit import inlined, kernel, leaf, read_at
from fyke.dedupe.kernels import PLANES, U32, majority, minima, text_key
from fyke.dedupe.lsh_kernels import U16, band_key
from fyke.text.word_kernels import U0, U1, shingles, words

Array = NDArray[Any]
Integer = Any  # Python's or numpy's: to the compiler they are one

DOCUMENT_BITS = np.uint64(28)
DOCUMENT = np.uint64((1 << 28) - 1)
MAX_DOCUMENTS = (1 << 28) - 2

STRIDE = 512
"""Slots of a run for which one is kept in memory: a page of the disk."""

SAME_TAG = 4
"""Slots with one tag that are looked at and kept: a bucket of a million copies costs no more than one of four."""

# Columns of facts.
NAME_END, SIMHASH, TEXT_KEY, SHINGLES = 0, 1, 2, 3
# Entries of the settings.
N, ROWS, MINIMUM, BY_WORDS, SURE = 0, 1, 2, 3, 4

SEED = np.uint64(0x6679_6B65_0000_0001)
"""\"fyke\" and the version of the format: it starts every check sum."""


@kernel
def check_sum(signature: Array, fact: Array, names: Array, start: Integer) -> np.uint64:
    """Return the 32-bit check sum of a record: its signature, its facts and its name."""
    h = SEED
    word = U0
    for j in range(signature.shape[0]):
        word = (word << U16) | np.uint64(signature[j])
        if j & 3 == 3:
            h = mix(h ^ word)
            word = U0
    h = mix(h ^ word)
    h = mix(h ^ fact[NAME_END])
    h = mix(h ^ fact[SIMHASH])
    h = mix(h ^ fact[TEXT_KEY])
    h = mix(h ^ (fact[SHINGLES] & np.uint64(0xFFFFFFFF)))
    for i in range(start, np.int64(fact[NAME_END])):
        h = (h ^ np.uint64(names[i])) * GOLDEN
    return mix(h) >> U32


@kernel
def seal_records(signatures: Array, facts: Array, names: Array, start: Integer, end: Integer) -> None:
    """Write the check sums of records start..end."""
    for d in range(start, end):
        before = np.int64(facts[d - 1, NAME_END]) if d > 0 else 0
        facts[d, SHINGLES] &= np.uint64(0xFFFFFFFF)
        facts[d, SHINGLES] |= check_sum(signatures[d], facts[d], names, before) << U32


@kernel
def valid_records(signatures: Array, facts: Array, names: Array, start: Integer) -> Integer:
    """Return how many records from the beginning are whole; those before ``start`` are known to be."""
    for d in range(start, facts.shape[0]):
        before = np.int64(facts[d - 1, NAME_END]) if d > 0 else 0
        after = facts[d, NAME_END]
        if after > np.uint64(names.shape[0]) or np.int64(after) < before:
            return d
        if check_sum(signatures[d], facts[d], names, before) != facts[d, SHINGLES] >> U32:
            return d
    return facts.shape[0]


@kernel
def band_tag(signature: Array, band: Integer, rows: Integer) -> np.uint64:
    """Return the upper 36 bits of a band's key, as they stand in a slot."""
    return band_key(signature, band, rows) & ~DOCUMENT


@kernel
def filter_word(tag: np.uint64) -> np.uint64:
    """Return the four bits that stand for a tag in its word of the filter; its lower 28 bits say nothing."""
    h = tag * GOLDEN
    word = U0
    for _ in range(4):
        word |= U1 << (h >> np.uint64(58))
        h <<= np.uint64(6)
    return word


@kernel
def fill_filter(run: Array, bits: Array) -> None:
    """Enter the tags of a run of slots."""
    mask = np.uint64(bits.shape[0] - 1)
    for i in range(run.shape[0]):
        tag = run[i] & ~DOCUMENT
        at = mix(tag) & mask
        bits[at] |= filter_word(tag)


@leaf
def lower_bound(slots: Array, size: Integer, tag: np.uint64) -> Integer:
    """Return how many of the first ``size`` of sorted slots are before those of ``tag``."""
    low, high = np.int64(0), np.int64(size)
    while low < high:
        middle = (low + high) >> 1
        if slots[middle] < tag:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def insert(slots: Array, slot: np.uint64) -> bool:
    """Put a slot into the table; False where enough with its tag are there. REQUIRES: a free slot."""
    mask = np.uint64(slots.shape[0] - 1)
    at = mix(slot & ~DOCUMENT) & mask
    same = 0
    while slots[at] != U0:
        if (slots[at] ^ slot) & ~DOCUMENT == U0:
            same += 1
            if same >= SAME_TAG:
                return False
        at = (at + U1) & mask
    slots[at] = slot
    return True


@kernel
def insert_all(slots: Array, others: Array) -> Integer:
    """Put every slot of ``others`` that is not empty into the table; return how many."""
    count = 0
    for i in range(others.shape[0]):
        if others[i] != U0 and insert(slots, others[i]):
            count += 1
    return count


@kernel
def insert_documents(
    slots: Array, signatures: Array, bands: Integer, rows: Integer, start: Integer, end: Integer
) -> Integer:
    """Put the bands of documents start..end into the table; return how many slots were filled."""
    count = 0
    for d in range(start, end):
        for band in range(bands):
            if insert(slots, band_tag(signatures[d], band, rows) | np.uint64(d + 1)):
                count += 1
    return count


@kernel
def same_name(names: Array, facts: Array, d: Integer, name: Array) -> bool:
    """Whether document ``d`` is called ``name``."""
    start = np.int64(facts[d - 1, NAME_END]) if d > 0 else 0
    if np.int64(facts[d, NAME_END]) - start != name.shape[0]:
        return False
    for i in range(name.shape[0]):
        if names[start + i] != name[i]:
            return False
    return True


@kernel
def agreement(signatures: Array, d: Integer, signature: Array) -> Integer:
    """Return in how many places a kept signature agrees with a new one."""
    same = 0
    for j in range(signature.shape[0]):
        same += 1 if signatures[d, j] == np.uint16(signature[j]) else 0
    return same


@kernel
def agreements(signatures: Array, signature: Array, out: Array) -> None:
    """Write in how many places each kept signature agrees with one; ``out`` says how many are wanted."""
    for d in range(out.shape[0]):
        out[d] = agreement(signatures, d, signature)


# Plain tuples: with names they cost a microsecond each to hand over, of the eight that a text takes.
Sketcher = tuple[Array, Array, Array, Array, Array, Array, Array]
"""Settings, table of characters, a and b of the permutations, scratch (two rows, longer than a text), signature and
tags."""
Bands = tuple[Array, Array, Array, Array, Array, int]
"""Which documents have a band's key: slots of the table in memory; bits of the filter of the run on disk, its marks, a
page of it, found documents, its file."""
Documents = tuple[Array, Array, Array]
"""What is kept of documents: signatures, facts, names."""


@kernel
def better(
    d: Integer, best: Integer, most: Integer, signature: Array, name: Array, kept: Documents
) -> tuple[Integer, Integer]:
    """Return document ``d`` and its places where it is before the best so far with its own, else these."""
    signatures, facts, names = kept
    same = agreement(signatures, d, signature)
    if (same > most or (same == most and d < best)) and not same_name(names, facts, d, name):
        return d, same
    return best, most


@leaf
def old_candidates(tag: np.uint64, bands: Bands, count: Integer, most: Integer) -> Integer:
    """Write the documents of the run that have a tag behind the ``count`` that were found; return how many are there.

    A look at the disk is one page. Slots of one tag go on over pages where there are many.
    """
    _, _, marks, page, found, file = bands
    at = max(lower_bound(marks, marks.shape[0], tag) - 1, 0)
    while at < marks.shape[0] and marks[at] & ~DOCUMENT <= tag:
        size = read_at(file, page, at * STRIDE * 8) >> 3
        i = lower_bound(page, size, tag)
        while i < size and page[i] & ~DOCUMENT == tag and count < most:
            found[count] = np.int64(page[i] & DOCUMENT) - 1
            count += 1
            i += 1
        if i < size:
            break
        at += 1
    return count


@inlined
def candidates(tag: np.uint64, bands: Bands, count: Integer, each: Integer) -> Integer:
    """Write the documents that have a tag, ``each`` at most of the run, as `old_candidates` does."""
    slots, bits, _, _, found, _ = bands
    mask = np.uint64(slots.shape[0] - 1)
    at = mix(tag) & mask
    while slots[at] != U0 and count < found.shape[0]:
        if (slots[at] ^ tag) & ~DOCUMENT == U0:
            found[count] = np.int64(slots[at] & DOCUMENT) - 1
            count += 1
        at = (at + U1) & mask
    wanted = filter_word(tag)
    if bits[mix(tag) & np.uint64(bits.shape[0] - 1)] & wanted != wanted:
        return count
    return old_candidates(tag, bands, count, min(count + each, found.shape[0]))


@kernel
def nearest(
    signature: Array, name: Array, tags: Array, bands: Bands, kept: Documents, minimum: Integer
) -> tuple[Integer, Integer]:
    """Return (document, places) of the kept signature that agrees most, the earliest of equals; (−1, 0) if none does.

    Documents of the same name are versions of this one, and no copies of it. What agrees in all places has all bands:
    its first one is enough.
    """
    found = bands[4]
    best: Integer = -1
    most: Integer = minimum - 1
    last: Integer = -1
    for band in range(tags.shape[0]):
        for i in range(candidates(tags[band], bands, np.int64(0), np.int64(SAME_TAG))):
            d = found[i]
            if d != last and d != best:
                last = d
                best, most = better(d, best, most, signature, name, kept)
        if most == signature.shape[0]:
            break
    return best, most if best >= 0 else 0


@kernel
def seen(
    data: Array, size: int, sketcher: Sketcher, bands: Bands, kept: Documents, d: int
) -> tuple[Integer, Integer, Integer, bool]:
    """Return (document most like the text or −1, places that agree, slots filled, same words); remember it as ``d``.

    ``data`` is the text of ``size`` bytes and after it the name: one array costs less to hand over than two. With a
    negative size it is the name alone, and −1 − size hashes of the text's words stand in the scratch already.
    Nothing is remembered with d < 0, of a text without words, and of one that agrees in all places with an earlier
    (its original stands for it). One whose every band is crowded already fills no slot; the caller forgets it too.
    REQUIRES: room in every array for one document more.
    """
    settings, table, a, b, scratch, signature, tags = sketcher
    _, facts, _ = kept
    name = data[max(size, 0) :]
    found = words(data, 0, size, table, scratch[0]) if size >= 0 else -1 - size
    made = shingles(scratch[0], found, settings[N], scratch[1])
    if made == 0:
        return -1, 0, 0, False
    minima(scratch[1], made, a, b, signature)
    for band in range(tags.shape[0]):
        tags[band] = band_tag(signature, band, settings[ROWS])
    key = text_key(scratch[1], made, found)
    best, same = nearest(signature, name, tags, bands, kept, settings[MINIMUM])
    equal = best >= 0 and facts[best, TEXT_KEY] == key
    if d < 0 or same == signature.shape[0]:
        return best, same, 0, equal
    planes = np.empty(PLANES, np.uint64)
    simhash = majority(scratch[0], found, planes) if settings[BY_WORDS] else majority(scratch[1], made, planes)
    fact = facts[d]
    fact[SIMHASH], fact[TEXT_KEY], fact[SHINGLES] = simhash, key, np.uint64(made)
    return best, same, keep(d, name, signature, tags, bands[0], kept), equal


@kernel
def keep(d: int, name: Array, signature: Array, tags: Array, slots: Array, kept: Documents) -> Integer:
    """Remember a signature and its name as document ``d``, whose other facts are written; return the slots filled."""
    signatures, facts, names = kept
    for j in range(signature.shape[0]):
        signatures[d, j] = np.uint16(signature[j])
    before = np.int64(facts[d - 1, NAME_END]) if d > 0 else 0
    for i in range(name.shape[0]):
        names[before + i] = name[i]
    facts[d, NAME_END] = np.uint64(before + name.shape[0])
    facts[d, SHINGLES] |= check_sum(signatures[d], facts[d], names, before) << U32
    filled = 0
    for band in range(tags.shape[0]):
        if insert(slots, tags[band] | np.uint64(d + 1)):
            filled += 1
    return filled


@kernel
def seen_sketch(
    name: Array, fact: Array, settings: Array, sketch: tuple[Array, Array], bands: Bands, kept: Documents, d: int
) -> tuple[Integer, Integer, Integer, Integer, Integer]:
    """Look for the like of a text that was sketched elsewhere, and remember it as ``d``; ``fact`` is its row of facts.

    In the place of the simhash stands its rank (`fyke.dedupe.sketch.Sketch`), also of what is kept. Return (of those of
    a lesser rank the document most like it or −1, places that agree, of those like it the document of the least greater
    rank or −1, places, slots filled). It is remembered once, and not where one of a lesser rank agrees in all places.
    ``sketch``: signature and tags. REQUIRES: room for one document more.
    """
    signature, tags = sketch
    found = bands[4]
    signatures, facts, names = kept
    for band in range(tags.shape[0]):
        tags[band] = band_tag(signature, band, settings[ROWS])
    original: Integer = -1
    most: Integer = settings[MINIMUM] - 1
    copy: Integer = -1
    alike: Integer = 0
    known = False
    count = np.int64(0)
    for band in range(tags.shape[0]):
        count = candidates(tags[band], bands, count, np.int64(found.shape[0]))
    for i in range(count):
        other = found[i]
        same = agreement(signatures, other, signature)
        if same < settings[MINIMUM]:
            continue
        if same_name(names, facts, other, name):
            known = known or same == signature.shape[0]
        elif facts[other, SIMHASH] < fact[SIMHASH]:
            if same > most or (same == most and other < original):
                original, most = other, same
        elif facts[other, SIMHASH] > fact[SIMHASH]:
            # One that is surely like it goes before one that may be: the true similarity may refuse that.
            sure, was_sure = same >= settings[SURE], alike >= settings[SURE]
            lesser = copy < 0 or facts[other, SIMHASH] < facts[copy, SIMHASH]
            if (sure and not was_sure) or (sure == was_sure and lesser):
                copy, alike = other, same
    if original < 0:
        most = 0
    if known or most == signature.shape[0]:
        return original, most, copy, alike, 0
    for j in range(fact.shape[0]):
        facts[d, j] = fact[j]
    return original, most, copy, alike, keep(d, name, signature, tags, bands[0], kept)
