"""Every summary of a real collection, in both modes, compared with a plain count of the same pages.

``FYKE_REAL_PAGES=FILE.jsonl python -m bench.round_trip`` (``bench.real_pages`` makes the file). The plain count keeps a
Python dict for each page; terms in fewer than 20 documents are left out, as the archive leaves them. Fails at the first
difference.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

from bench.real_pages import default_file
from fyke.archive.archive import Archive
from fyke.archive.combine import Catalogue, Coding, combine
from fyke.archive.preprocess import Preprocessing, Vocabulary
from fyke.archive.run import read_jsonl, runs_of, scan


def main() -> None:
    file = default_file()
    if not file.exists():
        sys.exit(f"{file} is not there; make it with python -m bench.real_pages and name it in FYKE_REAL_PAGES")
    settings = Preprocessing()
    counted = plain_counts(file, settings)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for _ in scan(read_jsonl(file), folder / "part", settings):
            pass
        catalogue = Catalogue(runs_of([folder / "part"]))
        for mode in ("paper", "fyke"):
            for _ in combine(catalogue, folder / mode, Coding(mode)):
                pass
            archive = Archive.open(folder / mode)
            postings = compare(archive, counted)
            print(
                f"{mode}: {len(archive):,} summaries, {postings:,} postings: all equal to the plain count", flush=True
            )


def plain_counts(file: Path, settings: Preprocessing) -> list[tuple[int, dict[str, int]]]:
    """Length and counts of each page in the order of addresses; the rare terms are left out."""
    vocabulary = Vocabulary(settings)
    found: dict[str, tuple[int, dict[int, int]]] = {}
    frequency: Counter[int] = Counter()
    for page in read_jsonl(file):
        length, terms, counts = vocabulary.summarise(page.text or "")
        found[page.url] = length, dict(zip(terms.tolist(), counts.tolist(), strict=True))
    for _, counts_ in found.values():
        frequency.update(counts_.keys())
    names = list(vocabulary.numbers)
    return [
        (length, {names[t]: n for t, n in counts_.items() if frequency[t] >= settings.min_documents})
        for _, (length, counts_) in sorted(found.items())
    ]


def compare(archive: Archive, counted: list[tuple[int, dict[str, int]]]) -> int:
    """Return the number of postings, all of them right."""
    if len(archive) != len(counted):
        sys.exit(f"{len(archive)} summaries for {len(counted)} pages")
    postings = 0
    for document, (summary, (length, counts)) in enumerate(zip(archive, counted, strict=True)):
        got = {} if summary is None else dict(zip(summary.terms, summary.counts.tolist(), strict=True))
        if summary is None or summary.length != length or got != counts:
            sys.exit(f"summary {document} differs")
        postings += len(got)
    return postings


if __name__ == "__main__":
    main()
