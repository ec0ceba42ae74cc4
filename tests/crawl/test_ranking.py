"""The rank of what was crawled so far, live: edge files, crashes, agents that share, and the order that comes of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fyke.crawl.capture import Processed
from fyke.crawl.order.cash import Movement, visit_of
from fyke.crawl.order.quality import ByQuality
from fyke.crawl.order.ranking import EdgeFile, Ranking, Ranks, compute
from fyke.crawl.order.reserve import Reserve
from fyke.frontier.keys import Entry
from fyke.frontier.seen import url_keys
from fyke.store import Batch, Store
from fyke.topic.rank import Numbering
from fyke.world.config import WorldConfig
from fyke.world.world import World
from tests.crawl.test_order import crawl


class Stepping(ByQuality):
    """Virtual time stands still while pages come without a delay: pages are its beats."""

    read_so_far = 0

    def read(self, batch: Batch, entry: Entry, processed: Processed, anchors: str = "") -> Processed:
        self.read_so_far += 1
        if self.read_so_far % 25 == 0:
            self.ranking.step()
        return super().read(batch, entry, processed)


@pytest.fixture(scope="module")
def world() -> World:
    return World(
        WorldConfig(
            hosts=12, pages=420, formats=False, traps=False, flaky=False, slow=False, mirrors=False, errors=False
        )
    )


def visit(page: str, *links: str) -> Movement:
    host = page.split("/")[2]
    own = np.array([link.split("/")[2] == host for link in links], np.bool_)
    others = [link.split("/")[2] for link in links if link.split("/")[2] != host]
    return visit_of(
        int(url_keys([page])[0]), int(url_keys([host])[0]), url_keys(links), own, np.ones(len(links), np.bool_),
        url_keys(others),
    )  # fmt: skip


A, B, C, D = "http://a.test/", "http://a.test/b", "http://c.test/", "http://c.test/d"


def test_what_is_noted_twice_or_cut_off_counts_once(tmp_path: Path) -> None:
    edges = EdgeFile(tmp_path / "0000.edges")
    edges.append(1, visit(A, B, C))
    edges.append(2, visit(C, A, D))
    edges.close()
    size = (tmp_path / "0000.edges").stat().st_size
    with (tmp_path / "0000.edges").open("ab") as stream:
        stream.write(b"\3" + b"\0" * 20)  # the beginning of a third: the process was killed
    again = EdgeFile(tmp_path / "0000.edges")
    assert again.last == 2
    again.append(2, visit(C, A, D))
    again.close()
    assert (tmp_path / "0000.edges").stat().st_size == size


def test_agents_share_what_any_of_them_computed(tmp_path: Path) -> None:
    ours, theirs = Ranking(tmp_path, [0], beside=False), Ranking(tmp_path, [1], beside=False)
    ours.note(0, 1, visit(A, B, C))
    theirs.note(1, 1, visit(C, B, D, A))
    for ranking in (ours, theirs):
        ranking.flush()
    assert compute(tmp_path / "ranks")
    for ranking in (ours, theirs):
        ranking.step()
        ranks = ranking.ranks.rank(url_keys([A, B, C, D, "http://other.test/"]))
        assert ranks[:4].sum() == pytest.approx(1)
        assert ranks[1] == max(ranks)  # two pages link to it
        assert ranks[4] == ranking.ranks.mean == 0.25
        assert ranking.ranks.authority(url_keys(["a.test"]))[0] == pytest.approx(ranks[:2].mean())
        ranking.close()


def test_a_damaged_file_of_ranks_is_none(tmp_path: Path) -> None:
    ranking = Ranking(tmp_path, [0], beside=False)
    ranking.note(0, 1, visit(A, B, C))
    ranking.close()
    assert compute(tmp_path / "ranks")
    file = tmp_path / "ranks" / "ranks"
    assert Ranks.read(file).known == 3
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    for damaged in (bytes(data), bytes(data[:50]), bytes(data[:-8]), b""):
        file.write_bytes(damaged)
        assert Ranks.read(file).known == 0
    assert Ranks.read(tmp_path / "none").rank(url_keys([A])).tolist() == []


def test_only_one_process_computes(tmp_path: Path) -> None:
    ranking = Ranking(tmp_path, [0], beside=False)
    ranking.note(0, 1, visit(A, B, C))
    ranking.close()
    found = []

    def rest() -> bool:
        found.append(compute(tmp_path / "ranks"))
        return True

    assert not compute(tmp_path / "ranks", rest)
    assert found == [False]
    assert compute(tmp_path / "ranks")


def test_after_crashes_the_edges_are_those_of_the_rows(tmp_path: Path, world: World) -> None:
    """Each page's links once, as its row has them: what a crash cut off the file is in the movements of cash."""

    def order(store: Store, reserve: Reserve) -> ByQuality:
        quality = Stepping(store, reserve, beside=False)
        made.append(quality)

        def checkpoint(*, force: bool = False) -> None:
            if not force:
                ByQuality.checkpoint(quality)

        quality.checkpoint = checkpoint  # type: ignore[method-assign]
        return quality

    made: list[ByQuality] = []
    for pages in (100, 60, 40):
        crawl(tmp_path / "s", world, order, pages=pages)
        for file in (tmp_path / "s" / "ranks").glob("*.edges"):
            with file.open("r+b") as stream:
                stream.truncate(max(0, file.stat().st_size - 31))  # what a page ago was written is not on the disk
    with Store.open(tmp_path / "s") as store:
        last = ByQuality(store, made[-1].reserve)
        last.checkpoint(force=True)
        rows = {row.url: row for row in store.scan(parts=("links",)) if row.meta.status == 200}
    numbering = Numbering(np.empty(1_000_000, np.int32))
    for file in (tmp_path / "s" / "ranks").glob("*.edges"):
        found = np.fromfile(file, "<u8", offset=16)
        assert numbering.take(found) == len(found)
    known = numbering.known()
    assert not (known.edges == -1).any(), "no page twice"
    numbers = numbering.pages.columns["number"][numbering.pages.slots(url_keys(rows, store.secret))] - 1
    degrees = known.degrees[numbers]
    assert (degrees >= 0).all()
    links = [len({link.target.href for link in row.links}) for row in rows.values()]
    assert np.abs(degrees - np.array(links)).max() <= 1  # but for what the rules refuse
    assert made[1].ranking.ranks.known > 0


def test_important_pages_come_first_live_as_in_simulation(tmp_path: Path) -> None:
    from fyke.archive.archive import Archive
    from fyke.collection.build import build, graph_of, hosts_of
    from fyke.collection.pages import Source
    from fyke.graph.rank import pagerank
    from fyke.simulate.engine import VirtualCrawl
    from fyke.simulate.policies import named
    from fyke.simulate.web import Timing, Web

    def order(store: Store, reserve: Reserve) -> ByQuality:
        made.append(Stepping(store, reserve, beside=False))
        return made[-1]

    world = World(
        WorldConfig(
            hosts=24, pages=900, formats=False, traps=False, flaky=False, slow=False, mirrors=False, errors=False,
            redirects=False, robots=False, changes=False, copies=False,
        )
    )  # fmt: skip
    made: list[ByQuality] = []
    seeds = world.seeds[:2]
    everything = crawl(tmp_path / "all", world, None, seeds=seeds)
    build(Source(store=tmp_path / "all").pages(), tmp_path / "c")
    graph = graph_of(Archive.open(tmp_path / "c"))
    urls, ranks = [url.decode() for url in graph.urls], pagerank(graph)
    budget = graph.nodes // 4
    came = crawl(tmp_path / "s", world, order, pages=budget, seeds=seeds)
    start = np.array([urls.index(seed) for seed in seeds])
    web = Web(graph, start, ranks, None, hosts_of(graph)[1])
    virtual = VirtualCrawl(web, named("quality", np.random.default_rng(0)), 16, Timing())
    virtual.run(budget)
    live, breadth = (sum(ranks[urls.index(url)] for url in found) for found in (came, everything[:budget]))
    assert made[0].ranking.ranks.known > budget
    assert live > breadth  # which goes from host to host: good where sites are small
    assert live == pytest.approx(ranks[virtual.order].sum(), rel=0.1)
