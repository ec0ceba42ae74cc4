"""Crawl an archive's web virtually, by one or several policies, and compare them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fyke.cli.echo import echo
from fyke.cli.options import Json, drawing, flags, needs_plot, print_json
from fyke.errors import UserError
from fyke.simulate.settings import Settings

if TYPE_CHECKING:
    from fyke.archive.archive import Archive
    from fyke.graph.graph import Graph
    from fyke.simulate.measures import Simulation
    from fyke.simulate.topic import SummaryModel

app = typer.Typer(rich_markup_mode=None, add_completion=False)


class Classifier(StrEnum):
    """What ``--classifier`` takes."""

    BAYES = "bayes"
    SVM = "svm"


@app.command()
@flags(Settings)
def simulate(
    folder: Annotated[Path, typer.Argument(metavar="ARCHIVE", help="A folder that `fyke archive build` made.")],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="bfs, dfs, random, backlinks, pagerank, opic, quality, larger-sites-first, best-first, "
            "online-best-first or omniscient."
        ),
    ] = None,
    topic: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="What the crawl is after: a text, example URLs one a line, or with --store a model."
        ),
    ] = None,
    store: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The store of the archive: pages for a model, anchor texts.")
    ] = None,
    classifier: Annotated[Classifier, typer.Option(help="For example URLs.")] = Classifier.SVM,
    start: Annotated[list[str] | None, typer.Option(metavar="URL", help="Where to start; repeatable.")] = None,
    plot: Annotated[Path | None, typer.Option(metavar="OUT.png", help="Draw the curves.")] = None,
    csv: Annotated[Path | None, typer.Option(metavar="OUT.csv", help="Write the curves.")] = None,
    json: Json = False,
    *,
    settings: Settings,
) -> None:
    """Crawl an archive's web virtually, by one or several policies, and compare them.

    Example: fyke simulate collection --policy bfs --policy opic --budget 10000 --plot curves.png
    """
    from fyke.archive.archive import Archive
    from fyke.collection.build import graph_of
    from fyke.simulate.focused import evidence_of_store
    from fyke.simulate.run import simulate as run
    from fyke.topic.model import PageModel

    needs_plot(plot)
    archive = Archive.open(folder)
    graph = graph_of(archive)
    chosen = evidence = None
    if topic is not None and store is not None:
        evidence = evidence_of_store(graph, store, PageModel.decode(_read(topic), str(topic)))
    elif topic is not None:
        chosen = _topic(archive, graph, topic, classifier, settings.seed)
    seeds = [_document(archive, graph, url) for url in start] if start else None
    results = run(
        archive, policy or ["bfs"], graph=graph, seeds=seeds, topic=chosen, settings=settings, evidence=evidence
    )
    focused = topic is not None
    _write(results, csv, plot, focused)
    for result in results:
        _show(result, json, focused)


def _write(results: list[Simulation], csv: Path | None, plot: Path | None, focused: bool) -> None:
    """Write the curves, and draw them, where that is wanted."""
    from fyke.simulate import measures

    if csv is not None:
        measures.write_csv(csv, results)
    if plot is not None:
        with drawing(plot):
            measures.plot(plot, results, focused)


def _document(archive: Archive, graph: Graph, url: str) -> int:
    """Return the number of a URL's document."""
    node = graph.urls.find(url.encode())
    if node is None or (archive.members is not None and node not in archive.members):
        place = archive.folder
        raise UserError(f"{url} is not in {place}; `fyke graph rank {place}/graph` shows URLs that are")
    return node if archive.members is None else archive.members.rank(node)


def _topic(archive: Archive, graph: Graph, file: Path, classifier: str, seed: int) -> SummaryModel:
    """Return the topic that a file gives, by example URLs or by words."""
    import numpy as np

    from fyke.simulate.topic import from_examples, from_words

    text = _read(file).decode("utf-8", "replace")
    lines = text.split()
    if lines and all(line.startswith(("http://", "https://", "file://")) for line in lines):
        examples = np.array([_document(archive, graph, line) for line in lines])
        return from_examples(archive, examples, classifier, np.random.default_rng(seed))
    return from_words(archive, text)


def _show(result: Simulation, json: bool, focused: bool) -> None:
    """Print what a crawl came to."""
    end = len(result.curve.pages) - 1
    said = {
        "policy": result.policy,
        "pages": len(result.order),
        "failed": result.failed,
        "waiting": result.waiting,
        "seconds": float(result.curve.seconds[end]) if end >= 0 else 0.0,
        "pagerank": float(result.curve.pagerank[end]) if end >= 0 else 0.0,
        "kendall_tau": result.kendall_tau,
        "harvest": float(result.curve.harvest[end]) if end >= 0 else 0.0,
        "recall": float(result.curve.recall[end]) if end >= 0 else 0.0,
        "run": result.settings,
    }
    if json:
        print_json(said)
        return
    echo(
        f"{result.policy:20} {len(result.order):>10,} pages   PageRank {said['pagerank']:.3f}   "
        f"τ {result.kendall_tau:+.3f}"
        + (f"   harvest {said['harvest']:.4f}   recall {said['recall']:.3f}" if focused else "")
    )


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UserError(f"{file} cannot be read ({error.strerror}); give a text, or a model with --store") from None
