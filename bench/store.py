"""The store beside bare RocksDB, SQLite, files and WARC + CDXJ on the same pages: CPU µs per page, size, scan.

``python -m bench.store [FOLDER] [--pages N] [--memory]``: FOLDER holds one folder of HTML files per host; without it
the pages are made up. The first half of each host's pages is put before the clock starts, so that its dictionary is
there and the second half was not used to make it.
"""

from __future__ import annotations

import argparse
import functools
import io
import random
import re
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import zstandard
from fastwarc.warc import ArchiveIterator, WarcRecordType

from bench.measure import figure, table
from bench.store_peers import HEAD, REQUEST, Bare, Files, Sqlite, warc_bytes
from fyke.store import Change, Page, RowMeta, Settings, Store
from fyke.store.cells import pack_page
from fyke.store.codec import LEVEL, sha1
from fyke.store.exporting import export
from fyke.store.importing import import_file
from fyke.store.maintenance import compact, stats
from fyke.store.rocks import disk_bytes
from fyke.url import Url

_TAGS = re.compile(rb"(?s)<(script|style).*?</\1>|<[^>]*>")


def real_pages(folder: Path, count: int) -> dict[str, list[tuple[Url, bytes]]]:
    hosts: dict[str, list[tuple[Url, bytes]]] = {}
    roots = sorted(path for path in folder.iterdir() if path.is_dir())
    if [root.name for root in roots] == ["roots"]:
        roots = sorted((folder / "roots").iterdir())
    files = {
        root.name: [f for f in sorted(root.rglob("*.htm*")) if f.is_file() and not f.is_symlink()] for root in roots
    }
    whole = sum(map(len, files.values()))
    for host, paths in files.items():
        random.Random(1).shuffle(paths)
        share = paths[: max(1, count * len(paths) // whole)]
        hosts[host] = [
            (Url.parse(f"http://{host}.example/{path.relative_to(folder).as_posix()}"), path.read_bytes())
            for path in share
        ]
    return hosts


def made_up_pages(count: int) -> dict[str, list[tuple[Url, bytes]]]:
    words = [f"w{n}" for n in random.Random(1).sample(range(10**6), 5000)]
    hosts = {}
    for host in range(10):
        chance = random.Random(host)
        furniture = "".join(f'<li><a href="/{w}.html">{w}</a></li>' for w in chance.choices(words, k=150))
        hosts[f"h{host}"] = [
            (
                Url.parse(f"http://h{host}.example/{n}"),
                f"<html><ul>{furniture}</ul><p>{' '.join(chance.choices(words, k=800))}</p></html>".encode(),
            )
            for n in range(count // 10)
        ]
    return hosts


def cpu(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def put(store: Store, url: Url, body: bytes, text: str | None = None) -> None:
    key = url.key
    tablet = store.tablet(store.tablet_of(key))
    batch = tablet.batch()
    meta = RowMeta(status=200, type="text/html", length=len(body), fetched=1e9, digest=sha1(body))
    batch.put_row(key, Change(meta, Page(REQUEST, HEAD, body), text), time.time_ns() // 1000)
    tablet.write(batch)


def wait_for_dictionaries(store: Store) -> None:
    for tablet in store.tablets():
        if tablet.trainer is not None:
            tablet.trainer.finish()


def training(store: Store) -> float:
    """CPU seconds spent on dictionaries so far."""
    return sum(tablet.trainer.seconds for tablet in store.tablets() if tablet.trainer is not None)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--pages", type=int, default=8000)
    parser.add_argument("--memory", action="store_true", help="only: memory at 10,000 and at 200,000 pages")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fyke-bench-") as folder:
        if options.memory:
            measure_memory(Path(folder))
            return
        real = options.folder is not None and options.folder.is_dir()
        hosts = real_pages(options.folder, options.pages) if real else made_up_pages(options.pages)
        compare(Path(folder), hosts, "real" if real else "made-up")


def compare(folder: Path, hosts: dict[str, list[tuple[Url, bytes]]], kind: str) -> None:
    early = [page for pages in hosts.values() for page in pages[: len(pages) // 2]]
    late = [page for pages in hosts.values() for page in pages[len(pages) // 2 :]]
    random.Random(2).shuffle(early)
    random.Random(3).shuffle(late)
    size = sum(len(body) for _, body in late)
    print(f"{len(early) + len(late):,} {kind} pages of {len(hosts)} hosts, {size / len(late):,.0f} bytes on average\n")
    store = Store.open(folder / "store", settings=Settings(tablets=1))
    began = time.process_time()
    for page in early:
        put(store, *page)
    wait_for_dictionaries(store)
    first = time.process_time() - began
    bare = Bare(folder / "bare", store)
    sqlite, files = Sqlite(folder / "sqlite", bare), Files(folder / "files")
    for page in early:
        bare.put(*page)
        sqlite.put(*page)
    before = stats(store)
    puts, trained, places = timed_puts(store, bare, sqlite, files, late)
    after = stats(store)
    gets = random_gets(store, sqlite, files, places, late)
    rows: list[list[object]] = []
    for name, seconds in puts.items():
        got: list[object] = [gets[name], gets[name] / gets["fyke"]] if name in gets else ["", ""]
        rows.append([name, seconds / len(late) * 1e6, seconds / puts["fyke"], *got])
    pages = f"{len(late):,} pages"
    figure("put a page, training of dictionaries apart", "µs", rows[0][1], {str(r[0]): r[1] for r in rows[1:]}, pages)
    figure("get a page by URL", "µs", rows[0][3], {str(r[0]): r[3] for r in rows[1:]}, pages)
    print(table(["store", "put µs/page", "× fyke", "get µs/page", "× fyke"], rows))
    plain, beside = puts["fyke"] / puts["bare rocksdict"], (puts["fyke"] + trained) / puts["bare rocksdict"]
    print(f"\nput ÷ bare rocksdict: {plain:.2f} (bar 1.3); {beside:.2f} with the training of dictionaries meanwhile")
    spent = training(store) / (len(early) + len(late)) * 1e6
    print(f"training of dictionaries, beside the writer: {spent:.0f} µs/page")
    print(f"the first half, with training: {first / len(early) * 1e6:.0f} µs/page")
    sizes(late, before.stored_bytes, after.stored_bytes, store)
    for connection in (sqlite.db, bare.db):
        connection.close()
    compact(store)
    store.close()
    own, peer = disk_bytes(folder / "store"), (folder / "sqlite").stat().st_size
    print(f"on disk, compacted: fyke {own:,} bytes, SQLite {peer:,}")
    scan(folder, late)
    warc(folder, late)


def timed_puts(
    store: Store, bare: Bare, sqlite: Sqlite, files: Files, late: list[tuple[Url, bytes]]
) -> tuple[dict[str, float], float, dict[str, tuple[bytes, int]]]:
    """CPU seconds by store, those of training meanwhile, and in which WARC and where each page stands."""
    ways: dict[str, Callable[[Url, bytes], None]] = {
        "fyke": functools.partial(put, store),
        "bare rocksdict": bare.put,
        "SQLite WAL": sqlite.put,
        "file per document": files.put,
    }
    puts = dict.fromkeys([*ways, "WARC (gzip) + CDXJ"], 0.0)
    step, trained = max(1, len(late) // 10), 0.0
    places: dict[str, tuple[bytes, int]] = {}
    for start in range(0, len(late), step):  # in turns, since the machine is noisy
        some = late[start : start + step]
        before_training = training(store)
        for name, way in ways.items():
            began = time.process_time()
            for page in some:
                way(*page)
            puts[name] += time.process_time() - began
        puts["fyke"] -= training(store) - before_training  # told beside it
        trained += training(store) - before_training
        began = time.process_time()
        data, found = warc_bytes(some)
        puts["WARC (gzip) + CDXJ"] += time.process_time() - began
        places |= {url: (data, offset) for url, offset in found.items()}
    return puts, trained, places


def random_gets(
    store: Store, sqlite: Sqlite, files: Files, places: dict[str, tuple[bytes, int]], late: list[tuple[Url, bytes]]
) -> dict[str, float]:
    def by_fyke(url: Url) -> bytes | None:
        row = store.get(url)
        return row.raw if row is not None else None

    def by_warc(url: Url) -> bytes:
        data, offset = places[url.href]
        stream = io.BytesIO(data)
        stream.seek(offset)
        record = next(iter(ArchiveIterator(stream, record_types=WarcRecordType.response)))
        return bytes(record.reader.read())

    ways: dict[str, Callable[[Url], bytes | None]] = {
        "fyke": by_fyke,
        "SQLite WAL": sqlite.get,
        "file per document": files.get,
        "WARC (gzip) + CDXJ": by_warc,
    }
    chosen = random.Random(4).sample(late, min(2000, len(late)))
    times: dict[str, list[float]] = {name: [] for name in ways}
    wait_for_dictionaries(store)
    for _ in range(5):  # in turns: what RocksDB still compacts after the puts is not one way's alone
        for name, way in ways.items():
            assert (way(chosen[0][0]) or b"").endswith(chosen[0][1])
            times[name].append(cpu(lambda way=way: [way(url) for url, _ in chosen]))  # type: ignore[misc]
    return {name: min(seconds) / len(chosen) * 1e6 for name, seconds in times.items()}


def sizes(late: list[tuple[Url, bytes]], before: int, after: int, store: Store) -> None:
    raw = sum(len(body) + len(HEAD) + len(REQUEST) for _, body in late)
    each = zstandard.ZstdCompressor(level=LEVEL)
    packed = [pack_page(Page(REQUEST, HEAD, body)) for _, body in late]
    zstd = sum(len(each.compress(data)) for data in packed)
    deflate = sum(len(zlib.compress(data, 6)) for data in packed)
    own = after - before
    rows = [
        ["fyke, host dictionaries", raw / own, 1 - own / raw],
        [f"zstd {LEVEL} per document", raw / zstd, 1 - zstd / raw],
        ["DEFLATE 6 per document (the lecture: 80 %)", raw / deflate, 1 - deflate / raw],
    ]
    figure("how much smaller pages are in the store", "ratio", raw / own, {str(r[0]): r[1] for r in rows[1:]})
    print("\n" + table(["pages not used for training", "ratio", "reduction"], rows))
    print(f"\nsize: {zstd / own:.2f} times smaller than per-document zstd (bar 1.6)")
    print(f"dictionaries: {stats(store).dictionary_bytes:,} bytes; by host:")
    for host in sorted(store.hosts(), key=lambda h: -h.size)[:20]:
        print(f"  {host.ratio:6.2f}x {host.pages:6,} pages  {host.name}")


def scan(folder: Path, late: list[tuple[Url, bytes]]) -> None:
    with Store.open(folder / "text", settings=Settings(tablets=1)) as store:
        for url, body in late:
            put(store, url, body, _TAGS.sub(b" ", body).decode("utf-8", "replace"))
        wait_for_dictionaries(store)
        compact(store)  # what RocksDB would else do meanwhile, in this process

        def read(parts: tuple[str, ...]) -> int:
            if "text" in parts:
                return sum(len(row.text or "") for row in store.scan(parts=parts))
            return sum(len(row.raw or b"") for row in store.scan(parts=parts))

        bare = zstandard.ZstdDecompressor()
        for part in ("text", "page"):
            rows = list(store.scan(parts=(part,)))
            whole = [row.text.encode() if part == "text" and row.text else row.raw or b"" for row in rows]
            frames = [zstandard.compress(data, LEVEL) for data in whole]
            size = sum(map(len, whole))
            best = min(cpu(functools.partial(read, (part,))) for _ in range(5))
            alone = min(cpu(lambda frames=frames: [bare.decompress(f) for f in frames]) for _ in range(5))  # type: ignore[misc]
            print(f"scan of {part}: {size / best / 1e6:,.0f} MB/s per core (bar 500); "
                  f"zstd alone, no dictionary, no store: {size / alone / 1e6:,.0f}")  # fmt: skip


def warc(folder: Path, late: list[tuple[Url, bytes]]) -> None:
    """Import and export beside fastwarc reading or writing the same records and the table putting or scanning them."""
    late = late[:1500]
    path = folder / "in.warc.gz"
    path.write_bytes(warc_bytes(late)[0])

    def by_hand(store: Store) -> None:
        with path.open("rb") as file:
            for record in ArchiveIterator(file, record_types=WarcRecordType.response):
                put(store, Url.parse(record.headers["WARC-Target-URI"]), record.reader.read())

    def fast_write(store: Store) -> None:
        from fastwarc.stream_io import GzipWriter
        from fastwarc.warc import WarcRecord

        with (folder / "out.fast").open("wb") as file:
            packed = GzipWriter(file, 1)
            for row in store.scan(parts=("page",)):
                assert row.page is not None
                for kind, block in ((WarcRecordType.request, row.page.request_head),
                                    (WarcRecordType.response, row.page.response_head + row.page.body)):  # fmt: skip
                    record = WarcRecord()
                    record.init_headers(kind)
                    record.headers["WARC-Target-URI"] = row.url
                    record.set_bytes_content(block)
                    record.write(packed, checksum_data=True)
                    packed.finish()

    times: dict[str, list[float]] = {"import": [], "by hand": [], "export": [], "fast": []}
    for turn in range(5):
        for name, work in (("import", lambda s: import_file(s, path)), ("by hand", by_hand)):
            with Store.open(folder / f"{name}{turn}", settings=Settings(tablets=1)) as store:
                times[name].append(cpu(lambda work=work, store=store: work(store)))  # type: ignore[misc]
        with Store.open(folder / "import0", settings=Settings(tablets=1)) as store:
            times["export"].append(cpu(lambda store=store: export(store.scan(parts=("page",)), folder / "out.warc.gz")))  # type: ignore[misc]
            times["fast"].append(cpu(lambda store=store: fast_write(store)))  # type: ignore[misc]
    best = {name: min(values) / len(late) * 1e6 for name, values in times.items()}
    rows = [
        ["import", best["import"], best["by hand"], best["import"] / best["by hand"]],
        ["export", best["export"], best["fast"], best["export"] / best["fast"]],
    ]
    for way, own, peer, _ in rows:
        figure(f"WARC {way} of a store, a page", "µs", own, {"fastwarc and the table": peer})
    print("\n" + table(["WARC", "fyke µs/page", "fastwarc + table", "ratio (bar 1.3)"], rows))


def anonymous() -> int:
    """Anonymous memory of this process in bytes (Linux)."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
    return int(fields["RssAnon"].split()[0]) * 1024


def measure_memory(folder: Path) -> None:
    hosts = made_up_pages(2000)
    bodies = [body for pages in hosts.values() for _, body in pages]
    sizes: dict[int, int] = {}
    with Store.open(folder / "store", settings=Settings(tablets=4)) as store:
        for number in range(200_000):
            body = bodies[number % len(bodies)] + b"%d" % number
            put(store, Url.parse(f"http://h{number % 40}.example/{number}"), body)
            if number % 1000 == 999:
                store.sync()  # about once a second, as a crawl does
            if number + 1 in (10_000, 50_000, 100_000, 200_000):
                sizes[number + 1] = anonymous()
                print(f"{number + 1:,} pages: {sizes[number + 1] / 1e6:.1f} MB anonymous", flush=True)
    print(f"grows by {sizes[200_000] / sizes[10_000] - 1:.1%} from 10,000 to 200,000 pages (bar 10 %)")


if __name__ == "__main__":
    main()
