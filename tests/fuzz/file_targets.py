"""Files that others may hand us, each read as users read it: the formats of mutation tests."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import xxhash

from fyke.archive.archive import Archive
from fyke.archive.combine import Catalogue, Coding, combine
from fyke.archive.preprocess import Preprocessing
from fyke.archive.run import Page, runs_of, scan
from fyke.crawl.order.ranking import Ranks
from fyke.crawl.run import history, plan, status, steering, steps
from fyke.crawl.run.settings import CrawlSettings
from fyke.dedupe.index import DuplicateIndex, candidates
from fyke.dedupe.sketch import Parameters
from fyke.desktop import plan as desktop_plan
from fyke.errors import FykeError
from fyke.formats.damage import Report
from fyke.formats.streams import compressed
from fyke.formats.trec import read_trec
from fyke.formats.warc import read_record_at, read_records
from fyke.formats.warc_exchange import read_captures
from fyke.graph.build import Lists, write_graph
from fyke.graph.graph import Graph, write_urls
from fyke.graph.properties import Parameters as GraphParameters
from fyke.graph.rank import pagerank
from fyke.store import Store, manifest
from fyke.topic import links, model, opic, sealed
from fyke.topic.features import SIZE
from fyke.topic.topic import Topic
from tests.formats.warc_samples import raw_record, warc_of
from tests.fuzz.mutate import Files
from tests.fuzz.target import FORMAT, Target, bytes_target

TEXTS = [" ".join(f"word{min(j * i % 97, 60)}" for j in range(30 + i)) for i in range(24)]


def folder_of(path: Path) -> Files:
    """The files of a folder, whatever lies deeper."""
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


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


# ---- files of a store


def _stores(made: Path) -> list[Files]:
    with Store.open(made / "store", settings=manifest.Settings(tablets=1)) as store:
        for i, text in enumerate(TEXTS[:4]):
            store.put(
                f"http://a.test/{i}", raw=f"<p>{text}".encode(), text=text, title=f"Title {i}",
                links=[("http://b.test/", "anchor")], anchors={"http://c.test/": "here"},
            )  # fmt: skip
        store.put("http://a.test/0", raw=b"<p>newer", text="newer")
        store.put("http://a.test/1", meta=msgspec.structs.replace(store.get("http://a.test/1").meta))  # type: ignore[union-attr]
    return [{"store/fyke-store.json": (made / "store" / "fyke-store.json").read_bytes()}]


def _use_manifest(folder: Path, files: Files) -> None:
    found = manifest.read(folder / "store")
    for tablet in range(min(1, found.settings.tablets)):
        manifest.tablet_path(folder / "store", tablet).mkdir()
    Store.open(folder / "store", "r").close()
    Store.open(folder / "store").close()


class Cells:
    """The cells of a store, each of which may be anything: an honest database of dishonest values."""

    def __init__(self) -> None:
        self._store: Store | None = None
        self._whole: dict[str, tuple[str, bytes, bytes]] = {}

    def samples(self, made: Path) -> list[Files]:
        """Every key and value of the store's one tablet."""
        _stores(made)
        self._store = Store.open(made / "store")
        tablet = self._store.tablet(0)
        for family in ("meta", "past", "page", "text", "links", "anchor", "column", "default"):
            for number, (key, value) in enumerate(tablet.items(family)):
                self._whole[f"{family}-{number:02}"] = family, key, value
        return [{name: value for name, (_, _, value) in self._whole.items()}]

    def use(self, folder: Path, files: Files) -> None:
        """Put what differs, read and check everything, and put it right again."""
        from fyke.store.exporting import stream
        from fyke.store.facts import facts
        from fyke.store.maintenance import check

        assert self._store is not None
        tablet = self._store.tablet(0)
        changed = [name for name, data in files.items() if data != self._whole[name][2]]
        self._write(tablet, {name: files[name] for name in changed})
        try:
            check(self._store)
            for url in ("http://a.test/0", "http://a.test/2"):
                row = self._store.get(url)
                _ = row and (row.text, row.raw, row.links, row.anchors, row.versions, [r.text for r in row.history()])
            for row in self._store.scan():
                _ = row.meta, row.title, row.columns, row.page, row.whole
                facts(row)
            list(self._store.hosts())
            with Path(os.devnull).open("wb") as nowhere:
                stream(self._store.scan(), nowhere, "x.warc")
        finally:
            self._write(tablet, {name: self._whole[name][2] for name in changed})

    def _write(self, tablet: object, values: Files) -> None:
        batch = tablet.batch()  # type: ignore[attr-defined]
        for name, value in values.items():
            family, key, _ = self._whole[name]
            batch.put(family, key, value)
        tablet.write(batch)  # type: ignore[attr-defined]
        tablet.ledger.forget()  # type: ignore[attr-defined]


def _run_files(made: Path) -> list[Files]:
    """What a crawl keeps beside the tablets."""
    store = made / "store"
    store.mkdir()
    plan.write(store, plan.Plan(("http://a.test/",), CrawlSettings()))
    steering.change(
        store,
        lambda known: steering.merged(
            known, add=("http://a.test/",), exclude=("x+",), slow={"a.test": 3.0}, paused=True
        ),
    )
    report = status.AgentStatus(
        1, 0, 1, 2.0, 1.0, counters={"errors:dns": 3, "dropped:trap": 1, "pages": 3}, waiting="delay",
        waiting_host="a.test", demoted={"http://a.test/": "spam"},
    )  # fmt: skip
    status.write(store, report)
    kept = history.History(store, 0)
    for second in range(4):
        kept.note(msgspec.structs.replace(report, when=10.0 * second + 5))
    (store / "trace.jsonl").write_bytes(
        b"".join(msgspec.json.encode(steps.Step(float(i), "http://a.test/", "fetch", "x")) + b"\n" for i in range(3))
    )
    desktop_plan.write(store, desktop_plan.Plan(roots=(desktop_plan.Root(str(made)),)))
    return [{name: data for name, data in folder_of(store).items() if not name.endswith(".lock")}]


def _use_run_files(folder: Path, files: Files) -> None:
    """Each reader by itself: one that refuses hides none behind it."""
    from fyke.cli.display import table

    def all_of() -> None:
        found = status.total(status.read(folder), 100.0)
        table(found)

    def steer() -> None:
        steering.excluding(steering.read(folder).exclude)

    refused = None
    for read in (
        all_of,
        steer,
        lambda: plan.read(folder),
        lambda: history.together(history.read(folder)),
        lambda: steps.read(folder),
        lambda: desktop_plan.read(folder),
    ):
        try:
            read()
        except FykeError as error:
            refused = error
    if refused is not None:
        raise refused


def _ranks(made: Path) -> list[Files]:
    from fyke.crawl.order.ranking import _HEAD, _RANKS

    keys = np.array([0, 1, 2, 0, 0, 7], "<u8").tobytes()
    body = _HEAD.pack(0, 5, 3, 4, 2)[8:] + keys + np.ones(6, "<f4").tobytes()
    return [{"ranks": _RANKS + bytes(8) + body}]


def _sealed_ranks(files: Files) -> Files:
    from fyke.crawl.order.ranking import _RANKS

    data = files["ranks"]
    digest = xxhash.xxh3_64_intdigest(data[len(_RANKS) + 8 :]).to_bytes(8, "little")
    return {"ranks": data[: len(_RANKS)] + digest + data[len(_RANKS) + 8 :]}


def _use_ranks(folder: Path, files: Files) -> None:
    found = Ranks.read(folder / "ranks")
    keys = np.arange(9, dtype=np.uint64)
    found.rank(keys), found.authority(keys), found.mean


def _kernel_cache(made: Path) -> list[Files]:
    import hashlib

    data = b"compiled" * 20
    return [{"kernels/a-kernel": hashlib.sha256(data).digest() + data}]


def _use_kernel_cache(folder: Path, files: Files) -> None:
    import os

    from fyke.bits import kernelcache

    (folder / "kernels").chmod(0o700)
    before = os.environ.get("FYKE_CACHE_DIR")
    os.environ["FYKE_CACHE_DIR"] = str(folder)
    try:
        found = kernelcache.load("a-kernel", None)
        assert found in (None, b"compiled" * 20), "what is damaged is as if it were absent"
    finally:
        del os.environ["FYKE_CACHE_DIR"]
        if before is not None:
            os.environ["FYKE_CACHE_DIR"] = before


# ---- interchange


def _warcs() -> list[bytes]:
    gzipped, _ = warc_of(4)
    plain, _ = warc_of(3, "")
    zstd, _ = warc_of(3, "zstd")
    return [gzipped, plain, zstd, raw_record(1) + raw_record(2, length=10) + raw_record(3)]


def _use_warc(data: bytes) -> None:
    report = Report()
    for capture in read_captures(read_records(io.BytesIO(data), report), report):
        _ = capture
    read_record_at(io.BytesIO(data), len(data) // 3)


_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>page\n"
_ARC = (
    b"filedesc://x.arc 0.0.0.0 20060101000000 text/plain 76\n1 0 Alexa Internet\n"
    b"URL IP-address Archive-date Content-type Archive-length\n\n"
    b"http://a.test/ 192.0.2.1 20060101000001 text/html 52\n" + _ANSWER + b"\n"
    b"http://a.test/b c 192.0.2.1 20060101000002 text/html 52\n" + _ANSWER
)
_OLD = (
    b"warc/0.9 180 response http://a.test/ 20060101000001 uuid:1 message/http\nip-address: 192.0.2.1\n\n"
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>page of an older kind</p>\n\n"
)


def _use_trec(data: bytes) -> None:
    for document in read_trec(io.BytesIO(data), Report()):
        _ = document.identity(), document.exchange()


_TREC = (
    b"<DOC>\n<DOCNO>WTX001-B01-10</DOCNO>\n<DOCHDR>\n"
    b"http://www.example.com/test.html 204.244.59.33 19970101013145 text/html 440\n"
    b"HTTP/1.0 200 OK\nContent-type: text/html\n</DOCHDR>\n<HTML><p>one</HTML>\n</DOC>\n"
    b"<DOC>\n<DOCNO>T-2</DOCNO>\n<TEXT>two</TEXT>\n</DOC>\n"
)


def _lzw() -> bytes:
    """compress(1)'s .Z, nine bits a code, as it begins."""
    codes = [*b"<DOC> <DOCNO>x</DOCNO> two two two </DOC>"]
    value = sum(code << 9 * i for i, code in enumerate(codes))
    return b"\x1f\x9d\x90" + bytes(value.to_bytes((9 * len(codes) + 7) // 8, "little"))


def _packed(data: bytes, compression: str) -> bytes:
    out = io.BytesIO()
    out.close = lambda: None  # type: ignore[method-assign]
    with compressed(out, compression) as file:
        file.write(data)
    return out.getvalue()


_CDXJ = b"".join(
    b'com,example)/%d 2020010100000%d {"url": "http://example.com/%d", "mime": "text/html", "status": "200", "digest": '
    b'"sha1:X", "length": "512", "offset": "%d", "filename": "a.warc.gz"}\n' % (i, i, i, 600 * i)
    for i in range(8)
)


def _use_cdxj(data: bytes) -> None:
    from fyke.formats import cdxj

    list(cdxj.lookup(io.BytesIO(data), "http://example.com/3"))
    for line in data.split(b"\n"):
        found = cdxj.parse_line(line)
        if found is not None:
            encoded = found.encode()
            assert encoded.count(b"\n") == 1


def _use_import(folder: Path, files: Files) -> None:
    """Any of them through ``fyke import``'s own door."""
    from fyke.store.importing import import_file

    with Store.open(folder / "store", settings=manifest.Settings(tablets=1)) as store:
        import_file(store, folder / next(iter(files)))


def _importable(made: Path) -> list[Files]:
    from fyke.store.exporting import export

    _stores(made)
    found = []
    with Store.open(made / "store", "r") as store:
        for ending in (".warc.gz", ".warc.zst", ".wacz", ".wet.gz", ".trec.gz"):
            export(store.scan(), made / f"out{ending}")
            found.append({f"out{ending}": (made / f"out{ending}").read_bytes()})
    return found


def _use_table(folder: Path, files: Files) -> None:
    from fyke.store.imports.tables import Mapped, table_items

    for item in table_items(folder / "pages.jsonl", Mapped({}), Report(), None):
        _ = item.url, item.change


_JSONL = b"".join(
    b'{"url": "http://a.test/%d", "text": "words", "html": "<p>x", "date": "2020-01-01", "status": 200, "raw": null}\n'
    % i
    for i in range(4)
)  # fmt: skip

_cells = Cells()
OURS = (FykeError,)

FILES = [
    Target("archive", FORMAT, _archives, _use_archive, pack=_sealed_archive, on_disk=True),
    Target("archive run", FORMAT, _runs, _use_run, on_disk=True),
    Target("graph", FORMAT, _graphs, _use_graph, pack=_sealed_urls, on_disk=True),
    Target("sketches", FORMAT, _sketches, _use_sketches, on_disk=True),
    bytes_target("topic model", FORMAT, _topic_models, _use_topic_model, OURS, _sealed(model.MAGIC, model.VERSION)),
    bytes_target("OPIC checkpoint", FORMAT, _cash, opic.Cash.decode, OURS, _sealed(opic.MAGIC, opic.VERSION)),
    bytes_target("link model", FORMAT, _link_models, links.LinkModel.decode, OURS, _sealed(links.MAGIC, links.VERSION)),
    Target("ranks", FORMAT, _ranks, _use_ranks, pack=_sealed_ranks, on_disk=True),
    Target("kernel cache", FORMAT, _kernel_cache, _use_kernel_cache, on_disk=True),
    Target("store manifest", FORMAT, _stores, _use_manifest, on_disk=True),
    Target("store cells", FORMAT, _cells.samples, _cells.use),
    Target("crawl files", FORMAT, _run_files, _use_run_files, on_disk=True),
    bytes_target("WARC", FORMAT, _warcs, _use_warc),
    bytes_target("ARC", FORMAT, lambda: [_ARC, _OLD, _packed(_ARC, "gzip")], _use_warc),
    bytes_target("TREC", FORMAT, lambda: [_TREC, _packed(_TREC, "gzip"), _packed(_TREC, "zstd"), _lzw()], _use_trec),
    bytes_target("CDXJ", FORMAT, lambda: [_CDXJ], _use_cdxj),
    Target("JSON lines", FORMAT, lambda _: [{"pages.jsonl": _JSONL}], _use_table, on_disk=True),
    Target("import", FORMAT, _importable, _use_import, on_disk=True),
]  # fmt: skip
