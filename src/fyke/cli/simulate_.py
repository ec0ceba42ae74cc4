"""Crawl an archive's web virtually, by one or several policies, and compare them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fyke.cli.options import Json, flags, print_json
from fyke.errors import UserError
from fyke.simulate.settings import Settings

app = typer.Typer(rich_markup_mode=None, add_completion=False)


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
    classifier: Annotated[str, typer.Option(help="bayes or svm, for example URLs.")] = "svm",
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
    import numpy as np

    from fyke.archive.archive import Archive
    from fyke.simulate import measures
    from fyke.simulate.collection import graph_of
    from fyke.simulate.focused import Evidence, evidence_of_store
    from fyke.simulate.run import simulate as run
    from fyke.simulate.topic import Topic, from_examples, from_words
    from fyke.topic.model import PageModel

    archive = Archive.open(folder)
    graph = graph_of(archive)

    def document(url: str) -> int:
        node = graph.urls.find(url.encode())
        inside = node if archive.members is None or node is None else archive.members.rank(node)
        if node is None or (archive.members is not None and node not in archive.members):
            raise UserError(f"{url} is not in {folder}; `fyke graph rank {folder}/graph` shows URLs that are")
        assert inside is not None
        return inside

    chosen: Topic | None = None
    evidence: Evidence | None = None
    if topic is not None and store is not None:
        evidence = evidence_of_store(graph, store, PageModel.decode(_read(topic), str(topic)))
    elif topic is not None:
        text = _read(topic).decode("utf-8", "replace")
        lines = text.split()
        if lines and all(line.startswith(("http://", "https://", "file://")) for line in lines):
            examples = np.array([document(line) for line in lines])
            chosen = from_examples(archive, examples, classifier, np.random.default_rng(settings.seed))
        else:
            chosen = from_words(archive, text)
    seeds = [document(url) for url in start] if start else None
    results = run(
        archive, policy or ["bfs"], graph=graph, seeds=seeds, topic=chosen, settings=settings, evidence=evidence
    )
    if csv is not None:
        measures.write_csv(csv, results)
    if plot is not None:
        measures.plot(plot, results, chosen is not None or evidence is not None)
    for result in results:
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
        else:
            typer.echo(
                f"{result.policy:20} {len(result.order):>10,} pages   PageRank {said['pagerank']:.3f}   "
                f"τ {result.kendall_tau:+.3f}"
                + (f"   harvest {said['harvest']:.4f}   recall {said['recall']:.3f}" if chosen or evidence else "")
            )


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UserError(
            f"{file} cannot be read ({error.strerror}); give a text file, or a model with --store"
        ) from None
