"""Near-duplicates beside datasketch, rensa, gaoya and simhash-pybind: sketches, inline, quality, discovery, growth.

``python -m bench.dedupe`` takes about a minute; ``--documents 100000`` judges quality and discovery at that size;
``--growth 10000 100000 1000000`` shows time and memory of the out-of-core discovery, one process for each size;
``--capacity 2500000`` what an inline index of so many documents takes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.measure import best_cpu, figure, table
from fyke.dedupe.discover import near_duplicates
from fyke.dedupe.disk import SketchFolder
from fyke.dedupe.index import DuplicateIndex
from fyke.dedupe.sketch import Parameters, Sketches, sketch
from fyke.dedupe.spool import Spool
from fyke.text.words import shingle_hashes

WORDS_PER_TEXT = 450
TEMPLATES = 40
KEPT = 20_000
REPEAT = 15


def generate(count: int, seed: int = 1) -> Iterator[tuple[str, str]]:
    """Yield texts of about 3 KB: 70 % fresh, 30 % copies of earlier ones with controlled changes.

    Every text stands in one of 40 templates of 40 words and has a date. A copy has another date, and one of: nothing
    else, up to 30 words replaced, up to 8 runs of words swapped, a passage of up to 60 words cut, another template.
    """
    chance = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    lengths = chance.integers(2, 10, 30_000)
    vocabulary = np.array(["".join(chance.choice(letters, n)) for n in lengths], object)
    weights = 1 / np.arange(10, len(vocabulary) + 10)
    steps = np.cumsum(weights / weights.sum())
    templates = chance.integers(0, len(vocabulary), (TEMPLATES, 40))
    kept: list[tuple[NDArray[np.int64], int]] = []
    for i in range(count):
        if kept and chance.random() < 0.3:
            body, template = kept[int(chance.integers(len(kept)))]
            body, template = changed(body.copy(), template, chance, len(vocabulary))
        else:
            size = int(chance.integers(WORDS_PER_TEXT - 150, WORDS_PER_TEXT + 150))
            body = np.searchsorted(steps, chance.random(size))
            template = int(chance.integers(TEMPLATES))
            if len(kept) < KEPT:
                kept.append((body, template))
            else:
                kept[int(chance.integers(KEPT))] = (body, template)
        frame = templates[template]
        date = f"{chance.integers(1, 29)} {chance.integers(1, 13)} {chance.integers(1990, 2027)}"
        yield f"doc{i}", " ".join([*vocabulary[frame[:20]], date, *vocabulary[body], *vocabulary[frame[20:]]])


def changed(body: Any, template: int, chance: np.random.Generator, words: int) -> tuple[Any, int]:
    kind = chance.integers(5)
    if kind == 1:
        places = chance.integers(0, len(body), int(chance.integers(1, 31)))
        body[places] = chance.integers(0, words, len(places))
    elif kind == 2:
        for _ in range(int(chance.integers(1, 9))):
            a, b = (int(place) for place in chance.integers(0, len(body) - 20, 2))
            size = int(chance.integers(3, 20))
            body[a : a + size], body[b : b + size] = body[b : b + size].copy(), body[a : a + size].copy()
    elif kind == 3:
        a = int(chance.integers(0, len(body) - 60))
        body = np.delete(body, slice(a, a + int(chance.integers(1, 61))))
    elif kind == 4:
        template = int(chance.integers(TEMPLATES))
    return body, template


def exact_join(texts: list[str], threshold: float) -> set[tuple[int, int]]:
    """All pairs at or above a Jaccard coefficient, by prefix filtering (Chaudhuri; Bayardo): exact, and slow."""
    sets = [np.unique(shingle_hashes(text)) for text in texts]
    _, back, counts = np.unique(np.concatenate(sets), return_inverse=True, return_counts=True)
    rank = np.empty(len(counts), np.int64)
    rank[np.argsort(counts, kind="stable")] = np.arange(len(counts))
    edges = np.cumsum([0, *map(len, sets)])
    ranked = [np.sort(rank[back[a:b]]) for a, b in itertools.pairwise(edges)]
    prefixes = [r[: len(r) - int(np.ceil(threshold * len(r))) + 1] for r in ranked]
    tokens = np.concatenate(prefixes)
    owners = np.repeat(np.arange(len(texts)), [len(p) for p in prefixes])
    order = np.argsort(tokens, kind="stable")
    bounds = np.flatnonzero(np.diff(tokens[order])) + 1
    candidates: set[tuple[int, int]] = set()
    for group in np.split(owners[order], bounds):
        if len(group) > 1:
            members = group.tolist()
            candidates.update((a, b) for i, a in enumerate(members) for b in members[i + 1 :])
    found = set()
    for a, b in candidates:
        common = len(np.intersect1d(ranked[a], ranked[b], assume_unique=True))
        if common >= threshold * (len(ranked[a]) + len(ranked[b]) - common):
            found.add((a, b))
    return found


def grams(text: str) -> list[str]:
    """Shingles in Python, as users of datasketch and rensa make them."""
    words = text.split()
    return [" ".join(words[i : i + 5]) for i in range(len(words) - 4)]


def sketches(texts: list[str]) -> str:
    import simhash
    from datasketch import MinHash
    from gaoya.minhash import MinHashStringIndex
    from rensa import RMinHash

    few = texts[:300]
    ready = [grams(text) for text in few]

    def with_rensa(shingles: list[str]) -> object:
        made = RMinHash(num_perm=128, seed=1)
        made.update(shingles)
        return made.digest()

    def with_datasketch(shingles: list[str]) -> object:
        made = MinHash(num_perm=128)
        made.update_batch([s.encode() for s in shingles])
        return made

    def with_gaoya() -> None:
        index = MinHashStringIndex(32, 0.8, 25, 5, 128, "word", True, (5, 5))
        for i, text in enumerate(few):
            index.insert_document(i, text)

    def with_simhash() -> None:
        for text in few:
            simhash.compute([simhash.unsigned_hash(s.encode()) for s in grams(text)])

    size = len(texts)
    rows = {
        "fyke, 128 permutations + simhash64": best_cpu(lambda: sketch(texts, Parameters(num_perm=128)), REPEAT) / size,
        "fyke, 192 permutations + simhash64": best_cpu(lambda: sketch(texts, Parameters()), REPEAT) / size,
        "gaoya, 128, with insert": best_cpu(with_gaoya, REPEAT) / 300,
        "rensa R-MinHash, 128, shingles in Python": best_cpu(lambda: [with_rensa(grams(t)) for t in few], REPEAT) / 300,
        "rensa R-MinHash, 128, shingles given": best_cpu(lambda: [with_rensa(s) for s in ready], REPEAT) / 300,
        "datasketch, 128, shingles in Python": best_cpu(lambda: [with_datasketch(grams(t)) for t in few], REPEAT) / 300,
        "simhash-pybind, shingles in Python": best_cpu(with_simhash, REPEAT) / 300,
    }
    own = next(iter(rows.values()))
    peers = {name: t * 1e6 for name, t in rows.items() if not name.startswith("fyke")}
    figure("text to sketch, 128 permutations and simhash", "µs", own * 1e6, peers)
    return table(["text to sketch", "µs per text", "× fyke"], [[n, t * 1e6, t / own] for n, t in rows.items()])


def inline(texts: list[str], documents: int) -> str:
    """CPU time of each call, the best of nine runs for each text: neighbours on the machine do not count.

    On disk: two thirds of the texts and ``documents`` others are in the index, all bands are in the run, and the last
    third of the texts, of which three in ten are copies of earlier ones, is asked for.
    """
    rows = []
    for permutations in (128, 192):
        best = np.min([timed(DuplicateIndex(parameters=Parameters(num_perm=permutations)), texts)
                       for _ in range(9)], axis=0)  # fmt: skip
        rows.append([f"DuplicateIndex.seen, {permutations}", *summary(best)])
    with tempfile.TemporaryDirectory() as folder:
        known, asked = texts[: 2 * len(texts) // 3], texts[2 * len(texts) // 3 :]
        fill(folder, documents, known)
        with DuplicateIndex(folder, memory=25 * documents) as index:  # of the bands an eighth would fit
            index._spill(index._folder, len(index))  # type: ignore[arg-type]
            best = np.min([timed(index, asked, keep=False) for _ in range(9)], axis=0)
            rows.append([f"the same, 128, all bands of {len(index):,} on disk", *summary(best)])
            best = np.min([timed(index, known, keep=False) for _ in range(9)], axis=0)
            rows.append(["the same, asked for exact copies only", *summary(best)])
    figure("has a text like this been seen? (128)", "µs", rows[0][3])
    return table(["inline", "p50 µs", "p99 µs", "mean µs"], rows)


def timed(index: DuplicateIndex, texts: list[str], keep: bool = True) -> list[int]:
    """CPU ns of each call."""
    ask = index.seen if keep else index.similar
    clock = min(-time.thread_time_ns() + time.thread_time_ns() for _ in range(1000))
    spent = []
    for i, text in enumerate(texts):
        name = f"http://example.org/{i if keep else -i}"
        started = time.thread_time_ns()
        ask(text, name)
        spent.append(time.thread_time_ns() - started - clock)
    return spent


def summary(spent: Any) -> list[float]:
    return [*map(float, np.percentile(spent, [50, 99]) / 1000), float(np.mean(spent)) / 1000]


def fill(folder: str, documents: int, texts: list[str]) -> None:
    """Put sketches straight into a folder: of ``texts``, and random ones of as many documents as wanted."""
    parameters = Parameters(num_perm=128)
    chance = np.random.default_rng(3)
    with closing(SketchFolder.open(folder, parameters, create=True)) as made:
        made.append([f"http://example.org/{i}" for i in range(len(texts))], sketch(texts, parameters))
        for start in range(0, documents, 1 << 14):
            count = min(1 << 14, documents - start)
            words = chance.integers(0, 2**64, (2, count), np.uint64)
            made.append(
                [f"http://www.example.org/articles/{start + i:08d}" for i in range(count)],
                Sketches(
                    parameters, chance.integers(0, 2**32, (count, 128), np.uint32), words[0],
                    np.full(count, 450, np.int64), words[1],
                ),
            )  # fmt: skip


def capacity(documents: int) -> str:
    """What an index of many documents takes, with the memory of 10 million in 2 GB in proportion."""
    import resource

    texts = [text for _, text in generate(3000)]
    with tempfile.TemporaryDirectory() as folder:
        fill(folder, documents, texts)
        started, peak = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with DuplicateIndex(folder, memory=200 * documents) as index:
            opened, memory = time.process_time() - started, index.memory
            spent = np.min([timed(index, texts, keep=False) for _ in range(5)], axis=0)
        disk = sum(path.stat().st_size for path in Path(folder).iterdir())
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
    rows = [[f"{documents:,}", memory / documents, disk / documents, opened, *summary(spent)[:2], grown // 1024]]
    head = ["documents", "bytes of memory each", "of disk each", "opens in CPU s", "p50 µs", "p99 µs", "peak MB more"]
    return table(head, rows)


def quality_and_discovery(texts: list[str]) -> str:
    from gaoya.minhash import MinHashStringIndex

    near_duplicates(texts[:100])
    started = time.process_time()
    found = near_duplicates(texts)
    own = time.process_time() - started
    started = time.process_time()
    index = MinHashStringIndex(32, 0.8, 32, 6, 192, "word", True, (5, 5))
    index.par_bulk_insert_docs(list(range(len(texts))), texts)
    theirs = index.par_bulk_query(texts)
    gaoya = time.process_time() - started
    truth = exact_join(texts, 0.8)
    rows = []
    for name, cpu, pairs in (
        ("fyke.near_duplicates, true Jaccard", own, {(p.left, p.right) for p in found.pairs}),
        ("gaoya, estimates", gaoya, {(min(i, j), max(i, j)) for i, row in enumerate(theirs) for j in row if i != j}),
    ):
        right = len(pairs & truth)
        rows.append([name, cpu, cpu / own, len(pairs), right / max(1, len(pairs)), right / max(1, len(truth))])
    size = f"{len(texts):,} texts"
    figure("all near-duplicate pairs", "CPU s", own, {"gaoya": gaoya}, size)
    figure("their recall, by an exact join", "share", rows[0][5], {"gaoya": rows[1][5]}, size)
    rows.append(["exact join", "", "", len(truth), "", ""])
    head = [f"{len(texts):,} texts, Jaccard ≥ 0.8", "CPU s", "× fyke", "pairs", "precision", "recall"]
    return table(head, [[f"{c:.5f}" if k > 3 and c != "" else c for k, c in enumerate(row)] for row in rows])


def growth(sizes: list[int]) -> str:
    rows = []
    for size in sizes:
        out = subprocess.run(
            [sys.executable, "-m", "bench.dedupe", "--one", str(size)], check=True, capture_output=True, text=True
        )
        facts = json.loads(out.stdout)
        rows.append([f"{size:,}", facts["cpu"], facts["cpu"] / size * 1e6, facts["pairs"], facts["megabytes"]])
    return table(["documents", "CPU s", "µs per document", "pairs", "peak memory MB"], rows)


def one(size: int) -> None:
    """Out of core, from a generator whose own time is taken off."""
    import resource

    making = 0.0

    def source() -> Iterator[tuple[str, str]]:
        nonlocal making
        it = generate(size)
        while True:
            started = time.thread_time()
            item = next(it, None)
            making += time.thread_time() - started
            if item is None:
                return
            yield item

    near_duplicates(["a b c d e f", "a b c d e f g"], 0.3)
    started = time.process_time()
    with Spool(memory=1 << 30) as spool:
        spool.add(source())
        found = spool.duplicates()
    cpu = time.process_time() - started - making
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1 << 20)
    print(json.dumps({"cpu": cpu, "pairs": len(found.left), "megabytes": round(peak)}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--growth", type=int, nargs="*")
    parser.add_argument("--capacity", type=int)
    parser.add_argument("--one", type=int)
    chosen = parser.parse_args()
    if chosen.one:
        one(chosen.one)
        return
    if chosen.capacity:
        print(capacity(chosen.capacity))
        return
    if chosen.growth:
        print(growth(chosen.growth))
        return
    texts = [text for _, text in generate(chosen.documents)]
    print(f"texts of {sum(map(len, texts)) / len(texts):,.0f} bytes on average\n")
    print(sketches(texts[:3000]), inline(texts[:3000], 200_000), quality_and_discovery(texts), sep="\n\n")


if __name__ == "__main__":
    main()
