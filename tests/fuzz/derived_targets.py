"""What is computed from pages, and kept: archives of summaries, graphs, sketches, models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import xxhash

from fyke.archive.archive import Archive
from fyke.archive.combine import Catalogue, Coding, combine
from fyke.archive.preprocess import Preprocessing
from fyke.archive.run import Page, runs_of, scan
from fyke.dedupe.index import DuplicateIndex, candidates
from fyke.dedupe.sketch import Parameters
from fyke.errors import FykeError
from fyke.graph.build import Lists, write_graph
from fyke.graph.graph import Graph, write_urls
from fyke.graph.properties import Parameters as GraphParameters
from fyke.graph.rank import pagerank
from fyke.topic import links, model, opic, sealed
from fyke.topic.features import SIZE
from fyke.topic.topic import Topic
from tests.fuzz.mutate import Files
from tests.fuzz.samples import TEXTS, folder_of
from tests.fuzz.target import FORMAT, Target, bytes_target

# ---- archives of summaries, and the runs that they are made of


def _archives(made: Path) -> list[Files]:
    pages = [Page(f"http://site{i % 3}.test/{i:03}", None if i % 11 == 5 else text) for i, text in enumerate(TEXTS)]
    found = []
    for number, coding in enumerate((Coding("fyke", window=7, max_chain=4), Coding("paper"))):
        for _ in scan(pages, made / f"part{number}", Preprocessing("none", "none", min_documents=1), memory=60_000):
            pass
        for _ in combine(Catalogue(runs_of([made / f"part{number}"])), made / f"archive{number}", coding):
            pass
        found.append(folder_of(made / f"archive{number}"))
    Archive.open(made / "archive0").sub(np.arange(3, 20), made / "sub")
    (made / "sub" / "archive.json").rename(made / "sub" / "sub.json")
    return [{**found[0], **folder_of(made / "sub")}, found[1]]


def _sealed_archive(files: Files) -> Files:
    """The manifest's sizes and check sums put right, so that what it describes is looked at."""
    line = files.get("archive.json", b"").partition(b"\n")[0]
    try:
        said = json.loads(line)
        for name, section in said["sections"].items():
            if name in files:
                section.update(bytes=len(files[name]), xxh3=xxhash.xxh3_64_hexdigest(files[name]))
        line = json.dumps(said).encode()
    except (ValueError, TypeError, KeyError, AttributeError):
        pass
    whole = line + b"\n" + xxhash.xxh3_64_hexdigest(line).encode() + b"\n"
    if "sub.json" in files:
        files = {**files, "sub.json": _sealed_sub(files, xxhash.xxh3_64_hexdigest(whole))}
    return {**files, "archive.json": whole}


def _sealed_sub(files: Files, below: str) -> bytes:
    line = files["sub.json"].partition(b"\n")[0]
    try:
        said = json.loads(line)
        said.update(base="..", base_xxh3=below)
        members = files["members.ef"]
        said["sections"]["members.ef"].update(bytes=len(members), xxh3=xxhash.xxh3_64_hexdigest(members))
        line = json.dumps(said).encode()
    except (ValueError, TypeError, KeyError, AttributeError):
        pass
    return line + b"\n" + xxhash.xxh3_64_hexdigest(line).encode() + b"\n"


def _use_archive(folder: Path, files: Files) -> None:
    archive = Archive.open(folder, verify=False)
    some = np.arange(min(len(archive), 200))
    archive.read(some)
    archive.score(some, np.ones(archive.manifest.terms), (1.2, 0.75))
    for summary in archive:
        _ = summary and summary.terms
    archive.dictionary.rank("word5")
    _ = archive.idf(), archive.mean_length, archive.fetched()
    if (folder / "sub.json").exists():  # a sub-archive that lies over this one
        (folder / "sub").mkdir()
        for old, new in (("sub.json", "archive.json"), ("members.ef", "members.ef")):
            (folder / old).rename(folder / "sub" / new)
        for summary in Archive.open(folder / "sub", verify=False):
            _ = summary and summary.counts


def _use_run(folder: Path, files: Files) -> None:
    catalogue = Catalogue(runs_of([folder]))
    for _done in combine(catalogue, folder.parent / "combined", Coding("paper")):
        pass


def _runs(made: Path) -> list[Files]:
    pages = [Page(f"http://site{i % 3}.test/{i:03}", text, ("http://site0.test/000",)) for i, text in enumerate(TEXTS)]
    for _ in scan(pages, made / "part", Preprocessing("none", "none", min_documents=1), memory=60_000):
        pass
    return [folder_of(made / "part")]


# ---- graphs


def _graphs(made: Path) -> list[Files]:
    chance = np.random.default_rng(3)
    lists = [np.unique(chance.integers(0, 60, chance.integers(0, 15))) for _ in range(60)]
    starts = np.cumsum([0, *map(len, lists)])
    found = []
    for number, given in enumerate((GraphParameters(), GraphParameters(window=0))):
        base = made / f"graph{number}" / "g"
        base.parent.mkdir()
        write_graph(base, [Lists(starts, np.concatenate(lists).astype(np.int64))], given)
        write_urls(base.with_suffix(".urls"), [f"http://a.test/{i:03}" for i in range(60)])
        found.append(folder_of(base.parent))
    bare = {name: data for name, data in found[0].items() if not name.endswith(".offsets")}
    return [*found, bare]


def _sealed_urls(files: Files) -> Files:
    head, _, body = files["g.urls"].partition(b"\n")
    words = head.split(b" ")
    if len(words) == 5:
        words[4] = xxhash.xxh3_64_hexdigest(body).encode()
    return {**files, "g.urls": b" ".join(words) + b"\n" + body}


def _use_graph(folder: Path, files: Files) -> None:
    graph = Graph.open(folder / "g")
    graph.lists(np.arange(graph.nodes))
    graph.all_lists()
    for _edges in graph.edges():
        pass
    pagerank(graph)
    urls = graph.urls
    _ = list(urls), urls.find(b"http://a.test/007")


# ---- sketches


def _sketches(made: Path) -> list[Files]:
    with DuplicateIndex(made / "s", parameters=Parameters(num_perm=16)) as index:
        for i, text in enumerate(TEXTS):
            index.seen(text, f"name {i}")
            if i == 15 and index._folder is not None:
                index._spill(index._folder, 16)
    found = folder_of(made / "s")
    whole = json.loads(found["header.json"])["records"]
    for name, size in (("facts", 32), ("signatures", 32), ("names", 8)):  # room that nobody uses
        found[name] = found[name][: size * (whole + 8)]
    return [found]


def _use_sketches(folder: Path, files: Files) -> None:
    with DuplicateIndex(folder) as index:
        index.similar(TEXTS[2], "name 2")
        index.seen("another text of a few words that nobody has seen before", "new")
    candidates(folder, TEXTS[3], 0.8)


# ---- models and checkpoints


def _sealed(magic: bytes, version: int) -> Callable[[bytes], bytes]:
    import zstandard

    def pack(body: bytes) -> bytes:
        packed = zstandard.ZstdCompressor(level=1).compress(body)
        return magic + sealed._HEAD.pack(version, xxhash.xxh3_64_intdigest(packed)) + packed

    return pack


def _topic_models() -> list[bytes]:
    weights = np.zeros(SIZE, np.float32)
    weights[::5000] = 0.5
    topic = Topic(words=("fish net", "sea"), patterns=("fish(es)?",), languages=("en",), types=("text/html",))
    kept = model.PageModel(topic, weights, 0.1, 1.5, -0.2)
    places = np.flatnonzero(weights)
    return [
        msgspec.msgpack.encode(
            model.ModelFile(
                kept.topic, kept.measured, kept.bias, kept.slope, kept.shift,
                places.astype("<u4").tobytes(), weights[places].astype("<f4").tobytes(), 2,
            )
        )
    ]  # fmt: skip


def _use_topic_model(data: bytes) -> None:
    found = model.PageModel.decode(data, "x.topic")
    found.probability(model.PageText("fish and nets of the sea", "fishes", "http://a.test/", "en", "text/html"))
    found.looks(np.zeros(2))


def _cash() -> list[bytes]:
    keys = np.arange(1, 9, dtype="<u8").tobytes()
    doubles, counts = np.ones(8, "<f8").tobytes(), np.ones(8, "<u4").tobytes()
    return [msgspec.msgpack.encode(opic.Checkpoint(3, 8.0, 1.0, keys, doubles, doubles, counts))]


def _link_models() -> list[bytes]:
    places = np.arange(0, 500, 7).astype("<u4")
    return [msgspec.msgpack.encode(links.Checkpoint(3, 9, places.tobytes(), *[places.astype("<f4").tobytes()] * 2))]


OURS = (FykeError,)

DERIVED = [
    Target("archive", FORMAT, _archives, _use_archive, pack=_sealed_archive, on_disk=True),
    Target("archive run", FORMAT, _runs, _use_run, on_disk=True),
    Target("graph", FORMAT, _graphs, _use_graph, pack=_sealed_urls, on_disk=True),
    Target("sketches", FORMAT, _sketches, _use_sketches, on_disk=True),
    bytes_target("topic model", FORMAT, _topic_models, _use_topic_model, OURS, _sealed(model.MAGIC, model.VERSION)),
    bytes_target("OPIC checkpoint", FORMAT, _cash, opic.Cash.decode, OURS, _sealed(opic.MAGIC, opic.VERSION)),
    bytes_target("link model", FORMAT, _link_models, links.LinkModel.decode, OURS, _sealed(links.MAGIC, links.VERSION)),
]  # fmt: skip
