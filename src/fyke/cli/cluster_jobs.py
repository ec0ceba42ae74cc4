"""What is made of a depot on all machines of a cluster: export, archive, dedupe, rank."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fyke.cli.echo import echo
from fyke.cli.export_ import Rows, Table, several
from fyke.cli.options import Json, grouped, needs_parquet, print_json
from fyke.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

Folder = Annotated[Path, typer.Option(metavar="DIR", help="This machine's folder, as `fyke cluster up` made it.")]
Url = Annotated[str, typer.Option("--depot", help="The depot: a directory, s3://bucket/prefix …")]
_HERE = Path("fyke-node")


@contextmanager
def _machines(folder: Path, depot: str) -> Iterator[tuple[Any, Callable[[int], None]]]:
    """What runs tasks on the cluster, and shows how many tablets are done."""
    from fyke.cli.progress import bar
    from fyke.cluster import machine as machines
    from fyke.store.depot import Depot

    if not depot:
        raise UserError("name the depot that the crawl was made into: --depot URL")
    machines.need_ray()
    machine, tablets = machines.read(folder), Depot.open(depot).about.tablets
    with machines.connected(machine) as actors, bar("cluster", tablets, "tablets") as progress:
        yield actors.run_tasks, progress


@grouped
def export(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A folder to make; a file of each tablet goes there.")],
    *,
    depot: Url = "",
    kind: Annotated[str, typer.Option("--format", help="jsonl.zst, parquet, warc.gz, wet.gz, trec.gz …")] = "jsonl.zst",
    rows: Rows,
    table: Table,
    folder: Folder = _HERE,
    json: Json = False,
) -> None:
    """Write a depot's rows to files, a tablet on each core of the cluster; the rows are those of `fyke export`.

    Example: fyke cluster export pages --depot s3://corp/crawl --format parquet
    """
    from fyke.cluster import jobs
    from fyke.store.exporting import ending_of
    from fyke.store.exports.dataset import FORMATS, Dataset

    kind = kind.lstrip(".")
    archive = kind not in FORMATS and ending_of(f".{kind}").startswith(".warc")
    if kind.endswith("wacz"):
        raise UserError("a WACZ is one file; write warc.gz, or `fyke store fetch` the depot and export that")
    if kind == "parquet":
        needs_parquet(Path("part.parquet"))
    where = rows.where(rows.private)
    where = replace(where, everything=where.everything or archive, needs_text=kind in FORMATS)
    columns = several(table.columns)
    Dataset.of(columns, where, schema=table.schema, text=table.text, raw=table.raw)  # what is wrong is said here
    work = jobs.Export(kind, where, tuple(columns), table.schema, table.text, table.raw)
    with _machines(folder, depot) as (run, progress):
        count = jobs.export_to(out, depot, work, run, progress)
    print_json({"folder": str(out), "documents": count}) if json else echo(f"{out}: {count:,} documents")


def archive(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to make.")],
    depot: Url = "",
    min_documents: Annotated[int, typer.Option(min=1, help="Drop terms in fewer documents.")] = 20,
    stemmer: Annotated[str, typer.Option(help="A Snowball stemmer, or none.")] = "porter",
    stopwords: Annotated[str, typer.Option(help="english or none.")] = "english",
    folder: Folder = _HERE,
    json: Json = False,
) -> None:
    """Build the archive of a depot and its web graph; machines scan the tablets, this one puts them together.

    Example: fyke cluster archive collection --depot s3://corp/crawl
    """
    from fyke.archive.combine import Coding
    from fyke.archive.preprocess import Preprocessing
    from fyke.cluster import jobs

    work = jobs.Scan(Preprocessing(stemmer, stopwords, min_documents))
    with _machines(folder, depot) as (run, progress):
        count = jobs.archive(out, depot, work, Coding(), run, progress)
    print_json({"folder": str(out), "pages": count}) if json else echo(f"{out}: {count:,} pages")


def rank(
    depot: Url = "",
    top: Annotated[int, typer.Option(min=0, help="How many to show.")] = 20,
    damping: Annotated[float, typer.Option(min=0, max=0.999, help="PageRank's damping factor.")] = 0.85,
    folder: Folder = _HERE,
    json: Json = False,
) -> None:
    """Show the pages of a depot with the greatest PageRank; machines read the links, this one ranks.

    Example: fyke cluster rank --depot s3://corp/crawl --top 10
    """
    from itertools import islice

    from fyke.cluster import jobs

    with _machines(folder, depot) as (run, progress):
        for url, value in islice(jobs.ranks(depot, run, damping, progress), top):
            print_json({"url": url, "pagerank": value}) if json else echo(f"{value:<12.6g} {url}")


def dedupe(
    depot: Url = "",
    threshold: Annotated[float, typer.Option(help="Least similarity of a pair.", min=0.05, max=1.0)] = 0.8,
    output: Annotated[Path | None, typer.Option(help="Write pairs to this .jsonl or .parquet file.")] = None,
    clusters: Annotated[Path | None, typer.Option(help="Write clusters to this .jsonl or .parquet file.")] = None,
    folder: Folder = _HERE,
    json: Json = False,
) -> None:
    """Find the near-duplicates of a depot; machines make the sketches, this one compares.

    Example: fyke cluster dedupe --depot s3://corp/crawl --clusters copies.jsonl
    """
    from collections import Counter

    from fyke.cli.dedupe_ import check_outputs, report
    from fyke.cluster import jobs
    from fyke.dedupe.methods import Settings

    check_outputs(output, clusters)
    with _machines(folder, depot) as (run, progress):
        found = jobs.duplicates(depot, Settings(threshold=threshold), run, progress)
    report(found, output, clusters, Counter(), json, {})
