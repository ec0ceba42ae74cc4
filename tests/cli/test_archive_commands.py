from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest

from fyke.archive.archive import Archive
from fyke.archive.figures import gaps_of
from fyke.cli import run
from fyke.graph.graph import Graph
from fyke.store import Store
from fyke.url import Url
from fyke.values import Link
from tests.simulate.test_simulate import COOKING, pages, url


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection built from the command line, and the pages that it was built from."""
    folder = tmp_path_factory.mktemp("cli")
    with (folder / "pages.jsonl").open("w") as out:
        for page in pages(90):
            record = {"url": page.url, "links": page.links} | ({"text": page.text} if page.text is not None else {})
            out.write(json.dumps(record) + "\n")
    assert (
        run(["archive", "build", str(folder / "c"), "--from", str(folder / "pages.jsonl"), "--min-documents", "2"]) == 0
    )
    return folder


def said(capfd: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def test_show_tells_costs(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["archive", "show", str(folder / "c"), "--json"]) == 0
    facts = said(capfd)[0]
    assert (facts["documents"], facts["missing"], facts["mode"]) == (90, 1, "fyke")
    assert set(facts["streams"]) >= {"gap", "count", "reference"}  # type: ignore[call-overload]
    assert run(["archive", "show", str(folder / "c")]) == 0
    told = [line for line in capfd.readouterr().out.splitlines() if not line.endswith(":")]
    assert any(line.startswith("pointer_bits_per_summary ") for line in told)
    assert len({line.index(line.split(maxsplit=1)[1]) for line in told}) == 1, "values stand below one another"


def test_parts_on_the_command_line_are_the_whole(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = ["--from", str(folder / "pages.jsonl"), "--min-documents", "2"]
    for i in (1, 2):
        assert run(["archive", "build", str(folder / f"p{i}"), *source, "--part", f"{i}/2"]) == 0
    assert run(["archive", "combine", str(folder / "d"), str(folder / "p1"), str(folder / "p2")]) == 0
    for name in ("summaries.bits", "graph.graph", "graph.urls", "terms.bytes"):
        assert (folder / "d" / name).read_bytes() == (folder / "c" / name).read_bytes()
    capfd.readouterr()
    assert run(["archive", "build", str(folder / "p3"), *source, "--part", "3/2"]) == 2
    assert "not a part" in capfd.readouterr().err


def test_filters_and_codes_of_choice(folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Stopwords of a file, an upper bound of frequency, and codes also where parts are combined."""
    (tmp_path / "stop.txt").write_text("Cake, oven\n")
    choice = ["--stopwords", str(tmp_path / "stop.txt"), "--min-documents", "2", "--max-documents", "40"]
    source = ["--from", str(folder / "pages.jsonl"), *choice]
    assert run(["archive", "build", str(tmp_path / "p1"), *source, "--part", "1/1"]) == 0
    capfd.readouterr()
    words = ["archive", "combine", str(tmp_path / "c"), str(tmp_path / "p1"), "--code", "gap=zeta3", "--json"]
    assert run(words) == 0
    facts = said(capfd)[0]
    assert (facts["stopwords"], facts["max_documents"]) == ("2 of a file", 40)
    archive = Archive.open(tmp_path / "c")
    assert archive.manifest.codes["gap"] == "zeta3"
    assert archive.manifest.preprocessing.stopwords == ("cake", "oven")
    assert archive.dictionary.documents.max() <= 40
    assert run(["archive", "build", str(tmp_path / "d"), *source[:2], "--stopwords", str(tmp_path / "none.txt")]) == 2
    assert "none.txt" in capfd.readouterr().err


def test_a_store_gives_the_same_collection(folder: Path, tmp_path: Path) -> None:
    with Store.open(tmp_path / "store") as store:
        for page in pages(90):
            links = [Link(Url.parse(target)) for target in page.links]
            store.put(page.url, text=page.text or "", links=links)
    words = ["--store", str(tmp_path / "store"), "--min-documents", "2"]
    assert run(["archive", "build", str(tmp_path / "c"), *words]) == 0
    for name in ("summaries.bits", "missing.ef", "graph.graph", "graph.urls", "terms.bytes"):
        assert (tmp_path / "c" / name).read_bytes() == (folder / "c" / name).read_bytes()


def test_warc_files_give_summaries_links_and_dates(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Two days of a site through a WARC: what was fetched when is known, and chosen by date."""
    with Store.open(tmp_path / "store") as store:
        for i in range(20):
            body = f"<html><body><p>bread and butter number {i}</p><a href='/{(i + 1) % 20}'>next</a></body></html>"
            store.put(
                f"http://site.test/{i}",
                raw=b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + body.encode(),
                fetched=datetime(2026, 11, 14 + i // 10, tzinfo=UTC),
            )
    assert run(["export", str(tmp_path / "site.warc.gz"), "--store", str(tmp_path / "store")]) == 0
    for workers in ("1", "2"):
        words = ["--from", str(tmp_path / "site.warc.gz"), "--min-documents", "2", "--workers", workers]
        assert run(["archive", "build", str(tmp_path / f"c{workers}"), *words]) == 0
    for name in ("summaries.bits", "dates.bits", "graph.graph", "graph.urls", "terms.bytes"):
        assert (tmp_path / "c1" / name).read_bytes() == (tmp_path / "c2" / name).read_bytes()
    archive, graph = Archive.open(tmp_path / "c1"), Graph.open(tmp_path / "c1" / "graph")
    assert len(archive) == graph.arcs == 20
    summary = archive[3]
    assert summary is not None
    assert set(summary.terms) >= {"bread", "butter"}
    capfd.readouterr()
    sub = ["archive", "sub", str(tmp_path / "c1")]
    assert run([*sub, str(tmp_path / "second"), "--since", "2026-11-15", "--json"]) == 0
    assert run([*sub, str(tmp_path / "none"), "--since", "2026-11-15", "--before", "2026-11-15", "--json"]) == 0
    assert [each["documents"] for each in said(capfd)] == [10, 0]
    assert run([*sub, str(tmp_path / "x"), "--since", "yesterday"]) == 2
    assert "is no date or time" in capfd.readouterr().err


def test_sub_archives_and_simulation(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["archive", "sub", str(folder / "c"), str(folder / "h"), "--host", "host1.test", "--json"]) == 0
    assert said(capfd)[0]["documents"] == 18
    topic = folder / "topic.txt"
    topic.write_text(COOKING)
    words = ["simulate", str(folder / "c"), "--policy", "bfs", "--policy", "best-first", "--topic", str(topic)]
    assert run([*words, "--budget", "30", "--csv", str(folder / "o.csv"), "--json"]) == 0
    broad, focused = said(capfd)
    assert (broad["policy"], broad["pages"]) == ("bfs", 30)
    assert focused["harvest"] > broad["harvest"]  # type: ignore[operator]
    assert (folder / "o.csv").exists()
    topic.write_text("\n".join(url(i) for i in (0, 3, 6)))
    assert run([*words, "--budget", "20", "--classifier", "bayes", "--start", url(3)]) == 0
    assert run(["simulate", str(folder / "c"), "--start", "http://nowhere.test/"]) == 2
    assert "is not in" in capfd.readouterr().err


def test_graphs_on_the_command_line(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    graph = str(folder / "c" / "graph")
    assert run(["graph", "stats", graph, "--json"]) == 0
    facts = said(capfd)[0]
    assert facts["nodes"] == 90
    assert run(["graph", "convert", graph, str(folder / "edges.txt")]) == 0
    assert run(["graph", "convert", str(folder / "edges.txt"), str(folder / "g2"), "--nodes", "90"]) == 0
    assert (folder / "g2.graph").read_bytes() == (folder / "c" / "graph.graph").read_bytes()
    assert run(["graph", "convert", graph, str(folder / "t"), "--transpose"]) == 0
    assert run(["graph", "convert", str(folder / "t"), str(folder / "tt"), "--transpose"]) == 0
    assert (folder / "tt.graph").read_bytes() == (folder / "c" / "graph.graph").read_bytes()
    capfd.readouterr()
    for by in ("pagerank", "authorities", "hubs", "opic", "indegree"):
        assert run(["graph", "rank", graph, "--by", by, "--top", "3", "--json"]) == 0
        top = said(capfd)
        assert len(top) == 3
        assert str(top[0]["url"]).startswith("http://host")
    assert run(["graph", "rank", graph, "--by", "beauty"]) == 2
    assert run(["graph", "stats", str(folder / "absent")]) == 1
    assert "absent.properties is absent" in capfd.readouterr().err


def test_show_draws_terms_and_gaps(folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["archive", "show", str(folder / "c"), "--plot", str(tmp_path / "two.png"), "--json"]) == 0
    assert (tmp_path / "two.png").read_bytes().startswith(b"\x89PNG")
    archive = Archive.open(folder / "c")
    gaps: Counter[int] = Counter()
    for summary in archive:
        ranks = [] if summary is None else sorted(archive.dictionary.rank(term) or 0 for term in summary.terms)
        gaps.update(after - before for before, after in pairwise([-1, *ranks]))
    counted = gaps_of(archive)
    assert {gap: count for gap, count in enumerate(counted.tolist()) if count} == dict(gaps)
