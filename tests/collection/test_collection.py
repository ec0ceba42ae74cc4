"""Collections: archive and graph of one folder agree about documents, wherever the pages came from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fyke.archive.archive import Archive
from fyke.archive.preprocess import Preprocessing
from fyke.archive.run import Page
from fyke.collection import build as collection
from fyke.collection.pages import Source
from fyke.errors import StorageError
from fyke.store import Store

PLAIN = Preprocessing("none", "none", 1)
PAGES = [
    Page("http://b.test/", "some words of b", ("http://a.test/", "http://nobody.test/")),
    Page("http://a.test/", "some words of a", ("http://a.test/2", "http://b.test/")),
    Page("http://a.test/2", None, ()),
]


def told(folder: Path) -> dict[str, tuple[list[str] | None, list[str]]]:
    """By URL: the terms of its summary, and whom it links to."""
    archive = Archive.open(folder)
    graph = collection.graph_of(archive)
    urls = [url.decode() for url in graph.urls]
    return {
        url: (
            None if (summary := archive[n]) is None else sorted(summary.terms),
            [urls[m] for m in graph.successors(n)],
        )
        for n, url in enumerate(urls)
    }


RIGHT = {
    "http://a.test/": (["a", "of", "some", "words"], ["http://a.test/2", "http://b.test/"]),
    "http://a.test/2": (None, []),
    "http://b.test/": (["b", "of", "some", "words"], ["http://a.test/"]),
}


def test_document_d_is_node_d(tmp_path: Path) -> None:
    collection.build(PAGES, tmp_path / "c", PLAIN)
    assert told(tmp_path / "c") == RIGHT


def test_parts_make_the_same_collection(tmp_path: Path) -> None:
    for n in range(2):
        collection.scan_part(iter(PAGES[n::2]), tmp_path / f"part{n}", PLAIN, 1 << 20)
    collection.combine([tmp_path / "part0", tmp_path / "part1"], tmp_path / "c")
    assert told(tmp_path / "c") == RIGHT


def test_pages_come_from_json_lines_and_from_a_store(tmp_path: Path) -> None:
    lines = [{"url": p.url, "links": p.links} | ({} if p.text is None else {"text": p.text}) for p in PAGES]
    (tmp_path / "pages.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with Store.open(tmp_path / "store") as store:
        for page in PAGES:
            store.put(page.url, text=page.text or "", links=list(page.links))
    from_lines = list(Source((tmp_path / "pages.jsonl",), tmp_path).pages())
    from_store = list(Source((), tmp_path / "store").pages())
    assert (
        {p.url: p.links for p in from_lines} == {p.url: p.links for p in from_store} == {p.url: p.links for p in PAGES}
    )


def test_a_folder_without_a_graph_is_named(tmp_path: Path) -> None:
    collection.build(PAGES, tmp_path / "c", PLAIN)
    (tmp_path / "c" / "graph.graph").unlink()
    with pytest.raises(StorageError, match="graph"):
        collection.graph_of(Archive.open(tmp_path / "c"))
