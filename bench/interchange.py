"""WARC import and export in MB of bodies per CPU second, beside loops of warcio, fastwarc and datatrove; peak memory.

``python -m bench.interchange`` measures rates on real pages; with ``--records N`` memory at so many small records.
"""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator as WarcioIterator

import fyke
from bench.measure import table
from bench.warc import HEAD, pages
from fyke.crawl.imported import Settled
from fyke.reading.importing import Enricher
from fyke.store import Batch, Change, Page, RowMeta, Store
from fyke.store.codec import sha1
from fyke.store.exporting import export, parts_needed
from fyke.store.exports.dataset import Dataset, rows_of, write_dataset
from fyke.store.importing import Importer
from fyke.url import Url

PAGES, TURNS = 800, 4
"""Real pages, each several times with a comment of its own: a store costs a tenth of a second to open and close."""


def warcio_loop(path: Path) -> None:
    with path.open("rb") as file:
        for record in WarcioIterator(file):
            record.content_stream().read()


def fastwarc_loop(path: Path) -> None:
    with path.open("rb") as file:
        for record in FastIterator(file, parse_http=True):
            record.reader.read()


def datatrove_loop(path: Path) -> None:
    """Its reader alone, which makes text of bytes and guesses types; no extractor behind it."""
    from datatrove.pipeline.readers import WarcReader

    logging.disable(logging.INFO)
    for _ in WarcReader(str(path.parent), glob_pattern=path.name, doc_progress=False).run():
        pass


def fyke_import(path: Path, folder: Path, *, read: bool, settle: bool = False) -> None:
    with Store.open(folder) as store:
        settled = Settled(store) if settle else None
        with Importer(store, Enricher() if read else None, settled) as importer:
            importer.file(path)
        if settled is not None:
            settled.__exit__(None, None, None)
    shutil.rmtree(folder)


def rate(size: int, work: Callable[[], object], rounds: int = 3) -> float:
    """MB per CPU second, the best of some rounds; helper threads count."""
    best = float("inf")
    for _ in range(rounds):
        before = time.process_time()
        work()
        best = min(best, time.process_time() - before)
    return size / 1e6 / best


def rates(folder: Path) -> None:
    bodies = [body + b"<!-- %d -->" % turn for turn in range(TURNS) for body in pages(PAGES)]
    size = sum(map(len, bodies))
    with Store.open(folder / "s") as store:
        for n, body in enumerate(bodies):
            store.put(f"http://h{n % 20}.example/{n}", raw=body, response_head=HEAD, fetched=1.7e9 + n)
    path = folder / "in.warc.gz"
    with Store.open(folder / "s", "r") as store:
        out = rate(size, lambda: export(store.scan(parts=parts_needed(path)), path))
    found = [
        ("export: fyke, with CDXJ", out),
        ("loop: warcio", rate(size, lambda: warcio_loop(path))),
        ("loop: fastwarc", rate(size, lambda: fastwarc_loop(path))),
        ("loop: datatrove's reader", rate(size, lambda: datatrove_loop(path))),
        ("import: fyke --no-read", rate(size, lambda: fyke_import(path, folder / "t", read=False))),
        ("import: fyke, reading", rate(size, lambda: fyke_import(path, folder / "t", read=True))),
        ("import: fyke, reading, anchors and copies",
         rate(size, lambda: fyke_import(path, folder / "t", read=True, settle=True), 1)),
    ]  # fmt: skip
    warcio = found[1][1]
    rows = [[name, round(value, 1), round(value / warcio, 2)] for name, value in found]
    print(table(["what", "MB per CPU second", "× warcio"], rows))


def fill(folder: Path, records: int) -> None:
    """Many small records, each second one a copy of the one before."""
    with Store.open(folder / "s") as store:
        for start in range(0, records, 500):
            batches: dict[int, Batch] = {}
            for n in range(start, min(start + 500, records)):
                key = Url(f"http://h{n % 997}.example/some/path/page-{n}.html").key
                body = b"<p>page %d" % (n // 2)
                batch = batches.setdefault(store.tablet_of(key), store.tablet(store.tablet_of(key)).batch())
                meta = RowMeta(200, "text/html", len(body), 1.7e9 + n, digest=sha1(body))
                change = Change(meta, Page(b"", HEAD, body), text=f"page {n // 2}")
                batch.put_row(key, change, int((1.7e9 + n) * 1e6))
            for number, batch in batches.items():
                store.tablet(number).write(batch)


def write_out(folder: Path) -> None:
    path = folder / "out.warc.gz"
    with Store.open(folder / "s", "r") as store:
        export(store.scan(parts=parts_needed(path)), path)


def write_table(folder: Path) -> None:
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # as the command does
    dataset = Dataset.of()
    with fyke.Store.open(folder / "s", "r") as store:
        rows = rows_of(dataset, store, store.derived())
        count, size = write_dataset(rows, list(dataset.columns), folder / "out.parquet", "parquet")
    print(f"{count:,} documents, {size:,} bytes")


def read_in(folder: Path) -> None:
    with Store.open(folder / "t") as store, Importer(store) as importer:
        done = importer.file(folder / "out.warc.gz")
    print(f"{done.rows:,} rows, {done.revisits:,} revisits, {importer.unresolved} unresolved")


def memory(folder: Path, records: int) -> None:
    """Peak memory of an export and an import, each in a process of its own."""
    steps: list[tuple[str, Callable[[], object]]] = [
        ("nothing", int),
        ("filled", lambda: fill(folder, records)),
        ("exported", lambda: write_out(folder)),
        ("as Parquet", lambda: write_table(folder)),
        ("imported", lambda: read_in(folder)),
    ]
    for name, work in steps:
        child = os.fork()
        if not child:
            work()
            sys.stdout.flush()
            os._exit(0)
        _, status, usage = os.wait4(child, 0)
        print(f"{records:,} records {name}: {usage.ru_maxrss // 1024} MB, status {status}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=0)
    records = parser.parse_args().records
    with tempfile.TemporaryDirectory(prefix="fyke-bench-") as name:
        if records:
            memory(Path(name), records)
        else:
            rates(Path(name))


if __name__ == "__main__":
    main()
