"""Archives of summaries: bytes a page and summaries a second in both modes, beside varint and zstd per block.

On the pages that FYKE_REAL_PAGES names (``python -m bench.real_pages ROOTS FILE.jsonl`` makes them), or on a synthetic
collection of templated pages where there are none. FYKE_BENCH_PAGES bounds their number.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import zstandard

from bench.measure import best_cpu, figure, table
from bench.real_pages import default_file
from fyke.archive.archive import Archive, Summaries
from fyke.archive.combine import Catalogue, Coding, combine
from fyke.archive.facts import facts
from fyke.archive.preprocess import Preprocessing
from fyke.archive.run import Page, read_jsonl, runs_of, scan
from fyke.bits.coding import Code

PAGES = int(os.environ.get("FYKE_BENCH_PAGES", "100000"))
BLOCK = 64


def synthetic(count: int) -> Iterator[Page]:
    chance = np.random.default_rng(1)
    for i in range(count):
        site = i // 200
        frame = " ".join(f"m{site}x{j}" for j in range(60))
        words = " ".join(f"w{k}" for k in np.minimum(chance.zipf(1.3, 300), 40_000).tolist())
        yield Page(f"http://site{site}.test/{i}", f"{frame} {words}")


def varint_bytes(found: Summaries) -> int:
    """The same numbers (gaps, counts, sizes, lengths) as variable bytes."""
    first = np.zeros(len(found.ranks), bool)
    first[found.starts[:-1][np.diff(found.starts) > 0]] = True
    gaps = np.where(first, found.ranks, np.diff(found.ranks, prepend=0) - 1)
    numbers = np.concatenate([gaps, found.counts, found.lengths, np.diff(found.starts)])
    return int(np.maximum(1, (np.frexp(numbers.astype(float))[1] + 6) // 7).sum())


def zstd_bytes(archive: Archive) -> int:
    """Variable-byte-like arrays of 64 documents at a time under zstd -19: small, and 64 documents for each read."""
    compressor = zstandard.ZstdCompressor(level=19)
    total = 0
    for start in range(0, min(len(archive), 6400), BLOCK):
        found = archive.read(np.arange(start, min(start + BLOCK, len(archive))))
        first = np.zeros(len(found.ranks), bool)
        first[found.starts[:-1][np.diff(found.starts) > 0]] = True
        gaps = np.where(first, found.ranks, np.diff(found.ranks, prepend=0) - 1)
        streams = [gaps.astype("<u2"), np.minimum(found.counts, 65535).astype("<u2"), found.lengths.astype("<u4")]
        data = b"".join(s.tobytes() for s in streams)
        total += len(compressor.compress(data))
    return int(total * len(archive) / min(len(archive), 6400))


def decode_nanoseconds() -> list[list[object]]:
    """Nanoseconds a number for power-law numbers, code by code."""
    values = np.minimum(np.random.default_rng(1).zipf(2.0, 1_000_000), 10**6) - 1
    rows: list[list[object]] = []
    for name in ("gamma", "delta", "zeta2", "zeta3", "exp_golomb2", "rice4"):
        code = Code.parse(name)
        numbers = values % 256 if name == "rice4" else values
        words, _ = code.encode(numbers)
        rows.append([name, best_cpu(lambda c=code, w=words: c.decode(w, len(values)), 5) / len(values) * 1e9])  # type: ignore[misc]
    return rows


def main() -> None:
    print(table(["code", "ns per number"], decode_nanoseconds()), "\n")
    file = default_file()
    pages = itertools.islice(read_jsonl(file) if file.exists() else synthetic(10_000), PAGES)
    print("collection:", "real pages" if file.exists() else "synthetic pages (set FYKE_REAL_PAGES for real ones)")
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for _ in scan(pages, folder / "part", Preprocessing()):
            pass
        catalogue = Catalogue(runs_of([folder / "part"]))
        paper = 0.0
        for title, coding in (
            ("paper", Coding("paper")),
            ("fyke, chain 1 (default)", Coding()),
            ("fyke, chain 3", Coding(max_chain=3)),
        ):
            out = folder / title.replace(" ", "-")
            for _ in combine(catalogue, out, coding):
                pass
            archive = Archive.open(out)
            said = facts(archive)
            size = archive.manifest.stream_bits / 8 / len(archive)
            paper = paper or size
            weights = np.ones(archive.manifest.terms)
            documents = np.arange(len(archive))
            shuffled = np.random.default_rng(1).permutation(len(archive))
            in_order = best_cpu(lambda a=archive, d=documents, w=weights: a.score(d, w), 5)  # type: ignore[misc]
            at_random = best_cpu(lambda a=archive, d=shuffled, w=weights: a.score(d, w), 5)  # type: ignore[misc]
            rows.append(
                [
                    *(title, size, size / paper, len(archive) / in_order, len(archive) / at_random),
                    *(said["pointer_bits_per_summary"], said["pointer_index_bits_per_summary"]),
                    said["permutation_and_frequency_bits_per_term"],
                ]
            )
        varint = varint_bytes(archive.read(documents)) / len(archive)
        zstd = zstd_bytes(archive) / len(archive)
        rows += [["variable bytes", varint, varint / paper, *["–"] * 5]]
        rows += [[f"zstd -19 of {BLOCK} documents", zstd, zstd / paper, *["–"] * 5]]
        print(
            f"{len(archive):,} pages, {said['postings_per_summary']} postings and {archive.mean_length:.0f} words each"
        )
    sizes = {str(row[0]): row[1] for row in rows}
    own = float(str(sizes.pop("fyke, chain 1 (default)")))
    figure("a summary in the archive", "bytes", own, sizes, "real pages" if file.exists() else "synthetic pages")
    figure("summaries scored at random", "per CPU s", rows[1][4], {"paper": rows[0][4]})
    head = ["mode", "bytes/page", "of paper", "in order/s", "at random/s", "pointer bits", "index bits", "bits/term"]
    print(table(head, rows))


if __name__ == "__main__":
    main()
