"""Web graphs in WebGraph's BV form: convert, stats, rank."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fyke.cli.echo import echo
from fyke.cli.options import Json, print_json
from fyke.errors import StorageError, UserError
from fyke.outputs import replacing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True)

Name = Annotated[Path, typer.Argument(metavar="GRAPH", help="A graph's files without .graph.")]


@app.callback()
def _group() -> None:
    """Read, write and rank web graphs in WebGraph's BV form.

    Example: fyke graph stats collection/graph
    """


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="A graph, or a text file of `source target` lines.")],
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="A graph to write; ending in .txt, an edge list.")],
    transpose: Annotated[bool, typer.Option("--transpose", help="Turn every arc round.")] = False,
    nodes: Annotated[
        int, typer.Option(min=0, help="Nodes of an edge list, if more than the greatest number says.")
    ] = 0,
    window: Annotated[int, typer.Option(min=0, help="How far back references may lie; 0 for none.")] = 7,
    max_chain: Annotated[int, typer.Option(min=-1, help="Longest chain of references; -1 for no limit.")] = 3,
    min_interval: Annotated[int, typer.Option(min=0, help="Shortest interval; 0 for none.")] = 4,
    zeta_k: Annotated[int, typer.Option(min=1, help="k of the residuals' ζ code.")] = 3,
    json: Json = False,
) -> None:
    """Convert between BV graphs and edge lists, with other parameters or transposed.

    Example: fyke graph convert edges.txt web/graph --window 7
    """
    from fyke.graph.build import lists_of_edges, read_edge_list, write_graph
    from fyke.graph.graph import Graph
    from fyke.graph.properties import Parameters

    _refuse_overwriting(target, source)
    edges = read_edge_list(source) if source.is_file() else None
    graph = None if edges is not None else Graph.open(source)
    count = nodes or (graph.nodes if graph else None)
    rows = edges if edges is not None else graph.edges() if graph else iter(())
    if transpose:
        rows = (some[:, ::-1] for some in rows)
    said: dict[str, float]
    if target.suffix == ".txt":
        said = {"arcs": _write_edges(rows, target)}
    else:
        made = write_graph(target, lists_of_edges(rows, count), Parameters(window, max_chain, min_interval, zeta_k))
        said = {"nodes": made.nodes, "arcs": made.arcs, "bits_per_link": round(Graph.open(target).bits_per_link, 3)}
    print_json(said) if json else echo("  ".join(f"{key} {value:,}" for key, value in said.items()))


def _refuse_overwriting(target: Path, source: Path) -> None:
    """Raise ``UserError`` where the target is what is read, or is there and no graph by itself."""
    from fyke.graph.properties import file_of, read_properties
    from fyke.outputs import refuse_input

    if target.suffix == ".txt":
        refuse_input(target, source)
        return
    files = [file_of(target, ending) for ending in (".graph", ".offsets", ".properties")]
    for file in files:
        refuse_input(file, source, *(file_of(source, ending) for ending in (".graph", ".offsets", ".properties")))
    if (target.parent / "archive.json").exists():
        raise UserError(f"{target.parent} is an archive; name another place for the graph")
    if any(file.exists() for file in files):
        try:
            read_properties(files[2])
        except StorageError:
            taken = next(file for file in files if file.exists())
            raise UserError(f"{taken} is there and no part of a graph; name another target") from None


def _write_edges(rows: Iterable[NDArray[np.int64]], target: Path) -> int:
    """Write an edge list; return the number of arcs."""
    arcs = 0
    with replacing(target) as new, new.open("w", encoding="ascii") as out:
        for some in rows:
            out.writelines(f"{a} {b}\n" for a, b in some.tolist())
            arcs += len(some)
    return arcs


@app.command()
def stats(name: Name, json: Json = False) -> None:
    """Show a graph's size, compression, degrees and components.

    Example: fyke graph stats collection/graph
    """
    import numpy as np

    from fyke.graph import rank
    from fyke.graph.graph import Graph

    graph = Graph.open(name)
    degrees = rank.degrees(graph)
    strong = np.bincount(rank.strong_components(graph), minlength=1)
    weak = np.bincount(degrees.weak_component, minlength=1)
    said = {
        "nodes": graph.nodes,
        "arcs": graph.arcs,
        "bits_per_link": round(graph.bits_per_link, 3),
        "mean_degree": round(graph.arcs / max(1, graph.nodes), 2),
        "largest_outdegree": int(degrees.out_degrees.max(initial=0)),
        "largest_indegree": int(degrees.in_degrees.max(initial=0)),
        "without_successors": int((degrees.out_degrees == 0).sum()),
        "without_predecessors": int((degrees.in_degrees == 0).sum()),
        "weak_components": int((weak > 0).sum()),
        "largest_weak_component": int(weak.max()),
        "strong_components": int((strong > 0).sum()),
        "largest_strong_component": int(strong.max()),
    }
    if json:
        print_json(said)
        return
    for key, value in said.items():
        echo(f"{key:26} {value:,}")


class Rank(StrEnum):
    """What ``--by`` takes."""

    PAGERANK = "pagerank"
    AUTHORITIES = "authorities"
    HUBS = "hubs"
    OPIC = "opic"
    INDEGREE = "indegree"


@app.command()
def rank(
    name: Name,
    by: Annotated[Rank, typer.Option(help="What is important.")] = Rank.PAGERANK,
    top: Annotated[int, typer.Option(min=0, help="How many to show.")] = 20,
    damping: Annotated[float, typer.Option(min=0, max=0.999, help="PageRank's damping factor.")] = 0.85,
    seed: Annotated[int, typer.Option(min=0, help="Of OPIC's random order.")] = 0,
    json: Json = False,
) -> None:
    """Show the most important nodes.

    Example: fyke graph rank collection/graph --by pagerank --top 10
    """
    import numpy as np

    from fyke.graph import rank as ranks
    from fyke.graph.graph import Graph

    graph = Graph.open(name)
    makers: dict[str, Callable[[], Any]] = {
        "pagerank": lambda: ranks.pagerank(graph, damping),
        "authorities": lambda: ranks.hits(graph)[1],
        "hubs": lambda: ranks.hits(graph)[0],
        "opic": lambda: ranks.opic(graph, np.random.default_rng(seed)),
        "indegree": lambda: ranks.degrees(graph).in_degrees,
    }
    values = makers[by]()
    for node in np.argsort(-values, kind="stable")[:top].tolist():
        url = graph.urls[node].decode() if graph.has_urls else ""
        if json:
            print_json({"node": node, "url": url, by: float(values[node])})
        else:
            echo(f"{node:10}  {values[node]:<12.6g} {url}")
