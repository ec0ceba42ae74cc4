"""Every command that reads a store, run on one with ``--json``: ``python -m tests.contract STORE``.

For stores that are larger than the tour's (docs/tour.md shows every command on a small one). Nothing is written into
the store; what commands make goes to a temporary folder.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from fyke.lecture.texts import FILES
from fyke.store import Store

COMMANDS = """
status --store {store}
list --store {store} --limit 5
list {url} --store {store}
get {url} --store {store} --show text
get {url} --store {store} --show html
get {url} --store {store} --show links
get {url} --store {store} --show anchors
get {url} --store {store} --show meta
get {url} --store {store} --show versions
freshness --store {store}
similar {url} --store {store}
store stats --store {store}
store check --store {store}
export {made}/out.warc.gz --store {store}
export {made}/out.warc.zst --store {store}
export {made}/out.trec.gz --store {store}
export {made}/out.jsonl.zst --store {store}
export {made}/out.parquet --store {store}
export {made}/shards.parquet --store {store} --schema fineweb --shard-size 100MB
export {made}/changes.jsonl --store {store} --changes-since 0
import {made}/out.parquet --store {made}/table
import {made}/out.warc.gz --store {made}/again
dedupe {store}
dedupe {store} --method exact
dedupe {made}/out.jsonl.zst --method simhash
dedupe {made}/out.jsonl.zst --write {made}/kept.parquet --paragraphs
archive build {made}/collection --store {store}
archive show {made}/collection
archive sub {made}/collection {made}/tenth --sample 0.1
graph stats {made}/collection/graph
graph rank {made}/collection/graph --top 5
graph convert {made}/collection/graph {made}/edges.txt
simulate {made}/collection --policy bfs --policy opic --budget 1000
convert {made}/page.html
extract {made}/page.html --method all
robots {made}/robots.txt /private/x
sitemap {made}/sitemap.xml
feed {made}/feed.xml
url {url}
lecture adler
""".split("\n")[1:-1]


LISTINGS = ("list", "similar", "get")
"""Commands that may have nothing to say: no copies, no links."""


def page_of(store: Path) -> tuple[str, bytes]:
    """The first HTML page of a store."""
    with Store.open(store, "r") as reader:
        for row in reader.scan(parts=()):
            if row.meta.status == 200 and "html" in row.meta.type:
                return row.url, row.raw or b""
    raise SystemExit(f"{store} has no HTML page")


def run_all(store: Path, made: Path) -> Iterator[tuple[str, int, float, str]]:
    """Run every command; yield it with its status, its seconds, and what is wrong with its output."""
    url, raw = page_of(store)
    for name, data in {**FILES, "page.html": raw}.items():
        (made / name).write_bytes(data)
    for line in COMMANDS:
        words = [word.format(store=store, url=url, made=made) for word in shlex.split(line)]
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "fyke", *words, "--json"], capture_output=True, text=True, check=False
        )
        wrong = done.stderr.strip().split("\n")[-1] if done.returncode else ""
        try:
            values = [json.loads(text) for text in done.stdout.splitlines()]
            wrong = wrong or ("" if values or words[0] in LISTINGS else "says nothing")
        except ValueError as error:
            wrong = f"no JSON: {error}"
        yield line, done.returncode, time.monotonic() - began, wrong


def main() -> int:
    """Print a line for each command; status 1 where one failed."""
    failed = 0
    with tempfile.TemporaryDirectory(prefix="fyke-contract-") as made:
        for line, status, seconds, wrong in run_all(Path(sys.argv[1]), Path(made)):
            failed += bool(status or wrong)
            print(f"{status}  {seconds:7.1f} s  fyke {line}  {wrong}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
