"""Collections: an archive and its graph in one folder, built from pages in two passes.

::

    DIR/archive.json …          the archive of summaries (fyke.archive)
    DIR/graph.graph .offsets .properties .urls       the web graph: document d is node d (fyke.graph)

``scan`` is the first pass and may run on parts of the pages, on any number of cores and machines; ``combine`` is the
second. collection/pages.py says where pages come from.
"""

from __future__ import annotations

import multiprocessing
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fyke.archive.archive import Archive
from fyke.archive.combine import Catalogue, Coding
from fyke.archive.combine import combine as combine_archive
from fyke.archive.files import FORMAT, MANIFEST, own_files
from fyke.archive.preprocess import Preprocessing
from fyke.archive.run import DEFAULT_MEMORY, Page, own_runs, runs_of, scan, url_hash
from fyke.collection.pages import Source
from fyke.errors import StorageError
from fyke.graph.build import Lists, write_graph
from fyke.graph.graph import Graph, write_urls
from fyke.graph.properties import Parameters
from fyke.outputs import making
from fyke.spawning import safe_path
from fyke.url import Url

GRAPH = "graph"
_PARTS = "parts"
_GRAPH_CHUNK = 1 << 14

Progress = Callable[[str, int], None]
"""Called with the name of a pass and the pages done."""


def quiet(what: str, pages: int) -> None:
    """Show no progress."""


def build(
    pages: Iterable[Page],
    folder: Path,
    preprocessing: Preprocessing | None = None,
    coding: Coding | None = None,
    memory: int = DEFAULT_MEMORY,
    progress: Progress = quiet,
) -> None:
    """Build the collection of ``pages`` in ``folder``, in this process; see ``making`` for what it may hold before."""
    with _making(folder) as new:
        part = new / _PARTS
        for done in scan(pages, part, preprocessing or Preprocessing(), memory):
            progress("scan", done)
        _combine([part], new, coding, progress)
        shutil.rmtree(part)


def build_from(
    source: Source,
    folder: Path,
    preprocessing: Preprocessing,
    coding: Coding,
    memory: int,
    workers: int,
    progress: Progress = quiet,
) -> None:
    """Build the collection of a source, on ``workers`` cores."""
    if workers <= 1:
        build(source.pages(), folder, preprocessing, coding, memory, progress)
        return
    with _making(folder) as new:
        parts = [new / _PARTS / f"part-{i}" for i in range(workers)]
        with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
            with safe_path():  # each job starts its process
                jobs = [
                    pool.submit(_scan_source, source, part, preprocessing, memory // workers, (i, workers))
                    for i, part in enumerate(parts)
                ]
            progress("scan", sum(job.result() for job in jobs))
        _combine(parts, new, coding, progress, workers)
        shutil.rmtree(new / _PARTS)


def scan_part(pages: Iterable[Page], folder: Path, preprocessing: Preprocessing, memory: int) -> int:
    """Make the first pass over one part of the pages; return how many they are. Runs of an earlier pass go."""
    with making(folder, "part", own_runs) as new:
        return max(scan(pages, new, preprocessing, memory), default=0)


def _scan_source(source: Source, folder: Path, preprocessing: Preprocessing, memory: int, part: tuple[int, int]) -> int:
    return max(scan(source.pages(part), folder, preprocessing, memory), default=0)


def combine(
    parts: Sequence[Path], folder: Path, coding: Coding | None = None, progress: Progress = quiet, workers: int = 1
) -> None:
    """Make a collection of the parts that ``scan`` wrote, summaries encoded on ``workers`` cores."""
    with _making(folder) as new:
        _combine(parts, new, coding, progress, workers)


def links_of(parts: Sequence[Path], folder: Path) -> Graph:
    """Make in ``folder`` the graph alone of the parts that ``scan`` wrote."""
    _write_links(Catalogue(runs_of(parts)), folder, quiet)
    return Graph.open(folder / GRAPH)


def _making(folder: Path) -> AbstractContextManager[Path]:
    return making(folder, "collection", _own, MANIFEST)


def _own(folder: Path) -> frozenset[str]:
    """An archive without its graph is none of ours."""
    names = own_files(folder, FORMAT)
    return names | {f"{GRAPH}.{part}" for part in ("graph", "offsets", "properties", "urls")} if names else names


def _combine(parts: Sequence[Path], folder: Path, coding: Coding | None, progress: Progress, workers: int = 1) -> None:
    catalogue = Catalogue(runs_of(parts))
    _write_links(catalogue, folder, progress)
    for done in combine_archive(catalogue, folder, coding or Coding(), workers):
        progress("summaries", done)


def _write_links(catalogue: Catalogue, folder: Path, progress: Progress) -> None:
    write_graph(folder / GRAPH, _lists(catalogue, progress), Parameters())
    write_urls(folder / f"{GRAPH}.urls", catalogue.urls)


def _lists(catalogue: Catalogue, progress: Progress) -> Iterator[Lists]:
    """Yield the links between documents, in node order; links that leave the collection are dropped."""
    hashes = np.fromiter(map(url_hash, catalogue.urls), np.uint64, len(catalogue))
    order = np.argsort(hashes)
    ordered = hashes[order]
    chunk: list[NDArray[np.int64]] = []
    for document, links in enumerate(catalogue.links()):
        places = np.minimum(np.searchsorted(ordered, links), max(0, len(ordered) - 1))
        targets = np.sort(order[places[ordered[places] == links]]) if len(links) else np.empty(0, np.int64)
        chunk.append(targets[targets != document])
        if len(chunk) == _GRAPH_CHUNK:
            yield _chunk(chunk)
            chunk = []
            progress("graph", document + 1)
    yield _chunk(chunk)


def _chunk(lists: list[NDArray[np.int64]]) -> Lists:
    return Lists(
        np.cumsum([0, *map(len, lists)]).astype(np.int64),
        np.concatenate([*lists, np.empty(0, np.int64)]).astype(np.int64),
    )


def graph_of(archive: Archive) -> Graph:
    """Open the graph of an archive. Raises ``StorageError`` where there is none, or one of another size."""
    graph = Graph.open(archive.folder / GRAPH)
    if graph.nodes != archive.manifest.documents:
        raise StorageError(
            f"{archive.folder} has {archive.manifest.documents} documents but a graph of {graph.nodes} nodes; "
            "build both from the same pages"
        )
    return graph


def hosts_of(graph: Graph) -> tuple[list[str], NDArray[np.int32]]:
    """Return the hosts of a graph's URLs, and the number of each node's."""
    numbers: dict[str, int] = {}
    of_node = np.fromiter(
        (numbers.setdefault(Url(url.decode()).authority, len(numbers)) for url in graph.urls), np.int32, graph.nodes
    )
    return list(numbers), of_node
