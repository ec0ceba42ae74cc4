"""The files of a store, its cells, and what a crawl keeps beside them."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import numpy as np
import xxhash

from fyke.crawl.order.ranking import Ranks
from fyke.crawl.run import history, plan, status, steering, steps
from fyke.crawl.run.settings import CrawlSettings
from fyke.desktop import plan as desktop_plan
from fyke.errors import FykeError
from fyke.store import Store, manifest
from tests.fuzz.mutate import Files
from tests.fuzz.samples import TEXTS, folder_of
from tests.fuzz.target import FORMAT, Target


def stores(made: Path) -> list[Files]:
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
        stores(made)
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


_cells = Cells()

STORE = [
    Target("ranks", FORMAT, _ranks, _use_ranks, pack=_sealed_ranks, on_disk=True),
    Target("kernel cache", FORMAT, _kernel_cache, _use_kernel_cache, on_disk=True),
    Target("store manifest", FORMAT, stores, _use_manifest, on_disk=True),
    Target("store cells", FORMAT, _cells.samples, _cells.use),
    Target("crawl files", FORMAT, _run_files, _use_run_files, on_disk=True),
]  # fmt: skip
