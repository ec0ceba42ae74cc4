from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fyke.errors import StorageError
from fyke.graph import build
from fyke.graph.build import Lists, lists_of_edges, read_edge_list, write_graph
from fyke.graph.graph import Graph, read_urls, write_urls
from fyke.graph.properties import Parameters
from fyke.graph.rank import pagerank
from fyke.world.config import WorldConfig
from fyke.world.world import World
from tests.graph import bvmodel

PARAMETERS = [
    Parameters(),
    Parameters(window=0),
    Parameters(min_interval=0, zeta_k=2),
    Parameters(window=3, max_chain=-1),
    Parameters(flags="OUTDEGREES_DELTA | REFERENCES_GAMMA | BLOCKS_DELTA | RESIDUALS_DELTA | OFFSETS_DELTA"),
]


def lists(adjacency: list[list[int]]) -> Lists:
    successors = np.array([s for own in adjacency for s in sorted(set(own))], np.int64)
    return Lists(np.cumsum([0, *(len(set(own)) for own in adjacency)]), successors)


def web(nodes: int = 400, seed: int = 3) -> list[list[int]]:
    """Pages that copy links from the page before, link to near pages in runs, and to some far ones."""
    chance = np.random.default_rng(seed)
    out: list[list[int]] = []
    for x in range(nodes):
        own = {s for s in (out[x - 1] if x else []) if chance.random() < 0.7}
        start = int(chance.integers(max(0, x - 20), x + 1))
        own |= set(range(start, min(nodes, start + int(chance.integers(0, 8)))))
        own |= set(chance.integers(0, nodes, int(chance.integers(0, 4))).tolist())
        out.append([] if x % 11 == 3 else sorted(own))
    return out


def check(graph: Graph, adjacency: list[list[int]]) -> None:
    whole = lists(adjacency)
    got = graph.all_lists()
    assert got.starts.tolist() == whole.starts.tolist()
    assert got.successors.tolist() == whole.successors.tolist()
    order = np.random.default_rng(1).permutation(len(adjacency))
    at_random = graph.lists(order)
    assert at_random.successors.tolist() == [s for x in order for s in sorted(set(adjacency[x]))]


@pytest.mark.kernel
@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_written_graphs_come_back(tmp_path: Path, parameters: Parameters, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "CHUNK_ARCS", 500)
    adjacency = web(120)
    write_graph(tmp_path / "g", [lists(adjacency)], parameters)
    graph = Graph.open(tmp_path / "g")
    check(graph, adjacency)
    (tmp_path / "g.offsets").unlink()
    check(Graph.open(tmp_path / "g"), adjacency)
    assert graph.successors(5).tolist() == adjacency[5]


def test_chunks_do_not_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    adjacency = web()
    write_graph(tmp_path / "whole", [lists(adjacency)], Parameters())
    monkeypatch.setattr(build, "CHUNK_ARCS", 100)
    write_graph(tmp_path / "cut", [lists(adjacency)], Parameters())
    assert (tmp_path / "cut.graph").read_bytes() == (tmp_path / "whole.graph").read_bytes()


ADJACENCY = st.integers(1, 25).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, n - 1), max_size=15), min_size=n, max_size=n)
)


@settings(max_examples=60)
@given(ADJACENCY, st.sampled_from(PARAMETERS))
def test_any_graph_round_trips(
    tmp_path_factory: pytest.TempPathFactory, adjacency: list[list[int]], p: Parameters
) -> None:
    folder = tmp_path_factory.mktemp("g")
    write_graph(folder / "g", [lists(adjacency)], p)
    check(Graph.open(folder / "g"), adjacency)


@settings(max_examples=60)
@given(ADJACENCY, st.sampled_from(PARAMETERS))
def test_any_graph_is_written_as_the_model_writes_it(
    tmp_path_factory: pytest.TempPathFactory, adjacency: list[list[int]], p: Parameters
) -> None:
    base = tmp_path_factory.mktemp("g") / "g"
    write_graph(base, [lists(adjacency)], p)
    graph, offsets, bits = bvmodel.encode([sorted(set(own)) for own in adjacency], p)
    assert base.with_suffix(".graph").read_bytes() == graph
    assert base.with_suffix(".offsets").read_bytes() == offsets
    assert Graph.open(base).bits == bits


@pytest.fixture(scope="module")
def world_links() -> list[list[int]]:
    """The links of a synthetic web between its pages, in the order of their addresses."""
    world = World(WorldConfig(hosts=20, pages=900), 80)
    urls = sorted(url for host in world.hosts for url in world.pages(host.name))
    number = {url: place for place, url in enumerate(urls)}
    return [sorted({number[to] for to in world.links(url) if to in number}) for url in urls]


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_a_web_is_read_and_written_again_byte_for_byte(
    tmp_path: Path, world_links: list[list[int]], parameters: Parameters
) -> None:
    """As cnr-2000, on a graph of the suite's own: files of the model's are read, turned and written again."""
    assert sum(map(len, world_links)) > 10 * len(world_links)
    base = tmp_path / "web"
    graph, offsets, bits = bvmodel.encode(world_links, parameters)
    write_graph(base, [lists(world_links)], parameters)  # for its .properties
    (tmp_path / "web.graph").write_bytes(graph)
    (tmp_path / "web.offsets").write_bytes(offsets)
    given = Graph.open(base)
    check(given, world_links)
    assert given.bits == bits
    given.write(tmp_path / "again")
    given.transpose(tmp_path / "turned")
    backward: list[list[int]] = [[] for _ in world_links]
    for source, targets in enumerate(world_links):
        for target in targets:
            backward[target].append(source)
    assert (tmp_path / "turned.graph").read_bytes() == bvmodel.encode(backward, parameters)[0]
    for ending in (".graph", ".offsets"):
        assert (tmp_path / f"again{ending}").read_bytes() == (tmp_path / f"web{ending}").read_bytes()


def test_cnr_2000_is_written_again_byte_for_byte(shared_data: Path, tmp_path: Path) -> None:
    base = shared_data / "graph" / "cnr-2000" / "cnr-2000"
    graph = Graph.open(base)
    assert (graph.nodes, graph.arcs) == (325_557, 3_216_152)
    again = graph.write(tmp_path / "again")
    for ending in (".graph", ".offsets"):
        assert (tmp_path / f"again{ending}").read_bytes() == Path(f"{base}{ending}").read_bytes()
    assert f"{again.bits / again.arcs:.3f}" == "2.897"
    turned = graph.transpose(tmp_path / "turned")
    given = Graph.open(f"{base}-t")
    assert np.array_equal(turned.all_lists().successors, given.all_lists().successors)
    assert (tmp_path / "turned.graph").read_bytes() == Path(f"{base}-t.graph").read_bytes()


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=200), st.integers(1, 50))
def test_edges_in_any_order_are_sorted_out_of_core(edges: list[tuple[int, int]], run: int) -> None:
    rows = np.array(edges, np.int64).reshape(-1, 2)
    got = list(lists_of_edges([rows[:7], rows[7:]], nodes=40, run_edges=run))
    adjacency = [sorted({t for s, t in edges if s == x}) for x in range(40)]
    sizes = [d for part in got for d in np.diff(part.starts).tolist()]
    assert sizes == [len(own) for own in adjacency]
    assert [s for part in got for s in part.successors.tolist()] == [t for own in adjacency for t in own]


def test_runs_that_end_before_others_are_merged_to_their_end() -> None:
    """Two runs of 300 edges, all of the first before those of the second."""
    rows = np.array([[x, 0] for x in range(600)], np.int64)
    got = list(lists_of_edges([rows], run_edges=300))
    assert [d for part in got for d in np.diff(part.starts).tolist()] == [1] * 600


def test_no_edges_are_a_graph_of_no_nodes() -> None:
    assert sum(len(part.starts) - 1 for part in lists_of_edges([])) == 0
    assert sum(len(part.starts) - 1 for part in lists_of_edges([], nodes=2)) == 2


def test_edge_list_files(tmp_path: Path) -> None:
    file = tmp_path / "edges.txt"
    file.write_text("# a remark\n2 0\n0 1\n\n0 2\n0 1\n")
    write_graph(tmp_path / "g", lists_of_edges(read_edge_list(file)), Parameters())
    check(Graph.open(tmp_path / "g"), [[1, 2], [], [0]])
    for wrong in ("1 x", "1", "-1 2", f"1 {2**70}"):
        file.write_text(f"{wrong}\n")
        with pytest.raises(StorageError, match=r"line 1: not two node numbers"):
            list(read_edge_list(file))
    with pytest.raises(StorageError, match="node 9, but the graph has 3"):
        list(lists_of_edges([np.array([[0, 9]])], nodes=3))


def test_urls_both_ways(tmp_path: Path) -> None:
    urls = [f"http://site.test/{i:04}" for i in range(100)]
    write_urls(tmp_path / "g.urls", urls)
    listed = read_urls(tmp_path / "g.urls", 100)
    assert [u.decode() for u in listed] == urls
    assert listed.find(b"http://site.test/0042") == 42
    with pytest.raises(StorageError, match="100 URLs for a graph of 99"):
        read_urls(tmp_path / "g.urls", 99)
    good = (tmp_path / "g.urls").read_bytes()
    for bad in (
        good[:-3] + b"x" + good[-2:],
        good.replace(b" 100 7 ", b" 1x0 7 "),
        good.replace(b" 100 7 ", b" 100 99 "),
    ):
        (tmp_path / "g.urls").write_bytes(bad)
        with pytest.raises(StorageError, match="damaged"):
            read_urls(tmp_path / "g.urls", 100)


def test_foreign_truncated_and_stale_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"g\.properties is absent"):
        Graph.open(tmp_path / "g")
    write_graph(tmp_path / "g", [lists(web())], Parameters())
    write_graph(tmp_path / "other", [lists(web(300))], Parameters())
    properties, offsets = (tmp_path / "g.properties").read_text(), (tmp_path / "g.offsets").read_bytes()
    (tmp_path / "g.offsets").write_bytes((tmp_path / "other.offsets").read_bytes())
    with pytest.raises(StorageError, match=r"g\.offsets does not belong"):
        Graph.open(tmp_path / "g")
    (tmp_path / "g.offsets").write_bytes(offsets)
    for wrong, message in (
        ("nodes=400", "nodes=many"),
        ("graphclass=it.unimi.dsi.webgraph.BVGraph", "graphclass=it.unimi.dsi.webgraph.EFGraph"),
        ("endianness=big", "endianness=little"),
        ("compressionflags=", "compressionflags=RESIDUALS_NIBBLE"),
        ("nodes=400", "nodes=1000000000000000"),
        ("arcs=", "arcs=10000000000000"),
        ("windowsize=7", f"windowsize={10**30}"),
        ("maxrefcount=3", f"maxrefcount={10**30}"),
        ("minintervallength=4", f"minintervallength={2**63 - 1}"),
    ):
        (tmp_path / "g.properties").write_text(properties.replace(wrong, message))
        with pytest.raises(StorageError):
            Graph.open(tmp_path / "g")
    (tmp_path / "g.properties").write_text(properties.replace("windowsize=7", f"windowsize={2**31 - 1}"))
    assert Graph.open(tmp_path / "g").stream.window == 400, "what readers keep at hand is bounded by the graph"
    (tmp_path / "g.properties").write_text(properties)
    (tmp_path / "g.graph").write_bytes((tmp_path / "g.graph").read_bytes()[:-50])
    with pytest.raises(StorageError, match="does not belong"):
        Graph.open(tmp_path / "g")
    (tmp_path / "g.offsets").unlink()
    with pytest.raises(StorageError, match=r"g\.graph is damaged"):
        Graph.open(tmp_path / "g")


@pytest.mark.parametrize("wrong", [[[3], [], []], [[0], [], [0, 3]], [[-1], [], []]])
def test_a_successor_that_is_no_node_is_damage_to_whoever_reads_on(tmp_path: Path, wrong: list[list[int]]) -> None:
    """A graph of three nodes, written by somebody else, in which one names a node −1 or 3."""
    base = tmp_path / "g"
    write_graph(base, [lists([[0], [], [0, 1]])], Parameters())
    graph, offsets, _ = bvmodel.encode(wrong, Parameters())
    (tmp_path / "g.graph").write_bytes(graph)
    (tmp_path / "g.offsets").write_bytes(offsets)
    given = Graph.open(base)
    for read in (given.all_lists, lambda: pagerank(given), lambda: list(given.edges())):
        with pytest.raises(StorageError, match=r"g\.graph is damaged"):
            read()
    (tmp_path / "g.offsets").unlink()
    with pytest.raises(StorageError, match=r"g\.graph is damaged"):
        Graph.open(base)


def test_damaged_graphs_do_not_leave_memory(tmp_path: Path) -> None:
    write_graph(tmp_path / "g", [lists(web())], Parameters(max_chain=-1))
    good = (tmp_path / "g.graph").read_bytes()
    chance = np.random.default_rng(2)
    for _ in range(60):
        bad = bytearray(good)
        for at in chance.integers(0, len(good), 12):
            bad[at] = chance.integers(256)
        (tmp_path / "g.graph").write_bytes(bytes(bad))
        try:
            graph = Graph.open(tmp_path / "g")
            for x in range(graph.nodes):
                assert ((graph.successors(x) >= 0) & (graph.successors(x) < graph.nodes)).all()
        except StorageError as error:
            assert "g.graph is damaged" in str(error)  # noqa: PT017 - either outcome is right, a crash is not
