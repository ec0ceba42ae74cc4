"""Detecting duplicates: check sums, fingerprints, simhash, shingles, MinHash, errors of LSH."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from fyke.dedupe.exact import SUMS, byte_sum, lecture_adler32
from fyke.dedupe.families import Jaccard
from fyke.dedupe.fingerprints import n_grams, zero_modulo
from fyke.dedupe.hamming import HammingIndex, distance
from fyke.dedupe.plan import false_negative, false_positive
from fyke.dedupe.similarity import jaccard
from fyke.dedupe.sketch import minhash, simhash, weighted_simhash, weighted_vector
from fyke.lecture import texts
from fyke.lecture.example import Said, example
from fyke.text.words import shingle_hashes, word_hashes


@example("IR:IX, Detecting Duplicates", "fyke.dedupe.exact")
def checksum() -> Iterator[Said]:
    """The sum of the bytes of “Tropical fish”."""
    fish, anagram = b"Tropical fish", b"Tropical fihs"
    yield "sum, hexadecimal", "508", f"{byte_sum(fish):X}"
    yield "other text may have the same sum", True, byte_sum(fish) == byte_sum(anagram)
    yield "a cyclic redundancy check sees the order", True, SUMS["crc32"](fish) != SUMS["crc32"](anagram)


@example("Web Search 1, Fingerprinting: Adler32", "fyke.dedupe.exact")
def adler() -> Iterator[Said]:
    """Adler-32 of “a cab”, modulo 13."""
    data = b"a cab"
    running = [lecture_adler32(data[: i + 1], 1 << 16) for i in range(5)]
    yield "sum B", [97, 129, 228, 325, 423], [value & 0xFFFF for value in running]
    yield "sum A", [97, 226, 454, 779, 1202], [value >> 16 for value in running]
    small = lecture_adler32(data, 13)
    yield "fingerprint", "0110 0111", f"{small >> 16:04b} {small & 0xFFFF:04b}"


@example("IR:IX, Fingerprinting example", "fyke.dedupe.fingerprints")
def fingerprint() -> Iterator[Said]:
    """3-grams of a sentence, hashed, those that are 0 mod 4."""
    grams = n_grams(re.findall(r"\w+", texts.SENTENCE.lower()), 3)
    yield "3-grams", 16, len(grams)
    yield "3-grams that fyke hashes", 16, len(shingle_hashes(texts.SENTENCE, 3))
    chosen = zero_modulo(np.array(texts.SENTENCE_HASHES), 4).tolist()
    yield "selected using 0 mod 4", [664, 492, 236, 908], chosen
    represented = [gram for gram, value in zip(grams, texts.SENTENCE_HASHES, strict=True) if value in chosen]
    told = "fish include fish, found in tropical, the world including, including both freshwater"
    yield "representing", told, ", ".join(represented)


@example("IR:IX, Simhash example", "fyke.dedupe.sketch")
def simhash_example() -> Iterator[Said]:
    """The 8-bit simhash of a sentence."""
    counted = Counter(re.findall(r"\w+", texts.SENTENCE.lower()))
    weights = [float(counted[word]) for word in texts.WORD_HASHES]
    hashes = [int(bits, 2) for bits in texts.WORD_HASHES.values()]
    yield "weights", [2, 2] + [1] * 11, weights
    yield "vector", [1, -5, 9, -9, 3, 1, 3, 3], weighted_vector(hashes, weights, bits=8).tolist()
    yield "fingerprint", "10101111", f"{weighted_simhash(hashes, weights, bits=8):08b}"


@example("Web Search 1, Detection: comparing fingerprints", "fyke.dedupe.hamming", by="the notes' rule")
def groups() -> Iterator[Said]:
    """Fingerprints that differ in three bits agree on one of four groups at least."""
    left = simhash(texts.SENTENCE)
    right = left ^ (1 << 3 | 1 << 20 | 1 << 40)
    yield "bits that differ", 3, distance(left, right)
    found = HammingIndex(np.array([left, ~left & (2**64 - 1)], np.uint64), k=3).near(right)
    yield "found by groups of bits: which, and how far", "0 3", found[0]


@example("Web Search 1, LSH Detection Errors", "fyke.dedupe.plan", by="their formulas")
def errors() -> Iterator[Said]:
    """L groups of K bits: chance to miss a near-duplicate, and to take a different document for one."""
    p, q, k, groups = 0.9, 0.5, 8, 8
    yield "(1 − p^K)^L for p = .9, K = L = 8", f"{(1 - p**k) ** groups:.5f}", f"{false_negative(p, k, groups):.5f}"
    yield "1 − (1 − q^K)^L for q = .5", f"{1 - (1 - q**k) ** groups:.5f}", f"{false_positive(q, k, groups):.5f}"


@example("CS276 §19.6, Computing Similarity", "fyke.text.words")
def rose() -> Iterator[Said]:
    """The 4-grams of “a rose is a rose is a rose”."""
    grams = shingle_hashes(texts.ROSE, 4).tolist()
    yield "words", 8, len(word_hashes(texts.ROSE))
    yield "4-grams", 5, len(grams)
    yield "different ones (a_rose_is_a, rose_is_a_rose, is_a_rose_is)", 3, len(set(grams))


@example("CS276 §19.6, Set Similarity", "fyke.dedupe.families")
def minima() -> Iterator[Said]:
    """Two columns of six rows: Jaccard 2/5, and so often do their minima agree."""
    left, right = texts.COLUMNS
    one, other = (" ".join(f"w{row}" for row, has in enumerate(column) if has) for column in (left, right))
    yield "Jaccard coefficient", 0.4, jaccard(one, other, ngram=1)

    def first(column: list[int], order: tuple[int, ...]) -> int:
        return next(row for row in order if column[row])

    agree = sum(first(left, order) == first(right, order) for order in itertools.permutations(range(6)))
    yield "of 720 orders of the rows, those with one minimum", 720 * 2 // 5, agree
    hashes = Jaccard().hashes(np.array([left, right], np.float64), 4000)
    near = abs(float((hashes[0] == hashes[1]).mean()) - 0.4) < 3 * math.sqrt(0.4 * 0.6 / 4000)
    yield "of 4,000 permutations, within three standard errors of it", True, near


@example("CS276 §19.6, Sketch of a document; Random permutations", "fyke.dedupe.sketch", by="the notes' claim")
def sketch() -> Iterator[Said]:
    """Sketches of 200 linear permutations ax + b mod p estimate the Jaccard coefficient."""
    left, right = (" ".join(f"w{i}" for i in range(start, start + 1000)) for start in (0, 250))
    truth = jaccard(left, right)
    a, b = (minhash(text, num_perm=200, kind="linear") for text in (left, right))
    yield "places of a sketch", 200, len(a)
    yield "shingles in both of all (746 of 1,246)", f"{746 / 1246:.3f}", f"{truth:.3f}"
    near = abs(float((a == b).mean()) - truth) < 3 * math.sqrt(truth * (1 - truth) / 200)
    yield "share of equal places within three standard errors of it", True, near


EXAMPLES = (checksum, adler, fingerprint, simhash_example, groups, errors, rose, minima, sketch)
