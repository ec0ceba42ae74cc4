"""Any store → WARC or WACZ → an empty store: the same captures, bodies, heads and times; twice: no change."""

from __future__ import annotations

import tempfile
from itertools import permutations
from pathlib import Path

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import Phase, given, settings

from fyke.formats.warc_record import sha1_base32
from fyke.store import EXACT, Page, Settings, Store
from fyke.store.exporting import export, parts_needed
from fyke.store.exports.warc import captures
from fyke.store.importing import Importer
from fyke.store.maintenance import check

HOSTS = ("a.test", "b.test", "c.test")
BODIES = (b"", b"one", b"two " * 50, b"three", bytes(range(256)))
HEADS = (
    b"",
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"HTTP/2 200 \r\ncontent-length: 7\r\nx-crawler-content-length: 9\r\n\r\n",
    b"HTTP/1.0 404 Not Found\nServer: x\n\n",
    b'HTTP/1.1 304 Not Modified\r\nEtag: "x"\r\n\r\n',
)
REQUESTS = (b"", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
urls = st.builds(lambda host, path: f"http://{host}/{path}", st.sampled_from(HOSTS), st.sampled_from("xyz"))
times = st.integers(1, 40).map(lambda n: 1_500_000_000 + n / 8)
puts = st.tuples(
    st.just("put"), urls, times, st.sampled_from(BODIES), st.sampled_from(HEADS), st.sampled_from(REQUESTS)
)
steps = st.lists(
    st.one_of(
        puts,
        puts,
        st.tuples(st.just("note"), urls, times),
        st.tuples(st.just("strip"), st.integers(0, 20)),
        st.tuples(st.just("delete"), urls),
    ),
    max_size=14,
)


def build(store: Store, work: list[tuple[object, ...]]) -> None:
    for step in work:
        match step:
            case ("put", str(url), float(when), bytes(body), bytes(head), bytes(request)):
                known = store.get(url)
                if known is None or all(version.meta.fetched != when for version in known.history()):
                    store.put(url, raw=body, response_head=head, request_head=request, fetched=when)
            case ("note", str(url), float(when)):
                if store.get(url) is not None:
                    store.put(url, title="by hand", fetched=when)
            case ("strip", int(number)):
                strip(store, number)
            case ("delete", str(url)):
                store.delete(url)


def strip(store: Store, number: int) -> None:
    """Make one of the pages that have the same body a copy without it, as a crawl does."""
    pages = [row for each in store.scan() for row in each.history() if row.raw and row.stamp == row.version.page]  # type: ignore[union-attr]
    if pages:
        row = pages[number % len(pages)]
        others = [other for other in pages if other.raw == row.raw and other.key < row.key]
        if others and row.version is not None:
            tablet = store.tablet(store.tablet_of(row.key))
            batch = tablet.batch()
            meta = msgspec.structs.replace(row.meta, duplicate_of=others[0].url, duplicate_by=EXACT, similarity=1.0)
            batch.mark(row.key, row.version, meta)
            batch.strip(row.key, row.stamp)
            tablet.write(batch)


def captured(store: Store, host: str = "") -> list[tuple[str, float, Page]]:
    found = []
    for row in store.scan(host=host):
        for capture in captures(row):
            page = capture.row.page
            assert page is not None
            found.append((row.url, round(capture.date, 6), page))
    return found


@settings(max_examples=60, phases=[Phase.explicit, Phase.reuse, Phase.generate])  # each example opens two stores
@given(
    steps,
    st.sampled_from(["", *HOSTS]),
    st.sampled_from([".warc", ".warc.gz", ".warc.zst", ".wacz"]),
    st.sampled_from([0, 0, 2]),
)
def test_every_capture_comes_back(work: list[tuple[object, ...]], host: str, ending: str, keep: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        with Store.open(base / "s", settings=Settings(tablets=3, keep_versions=keep)) as store:
            build(store, work)
            assert check(store).named == []
            out = base / f"out{ending}"
            expected = captured(store, host)
            assert export(store.scan(host=host, parts=parts_needed(out)), out) == len(expected)
        with Store.open(base / "t", settings=Settings(tablets=2)) as copy:
            with Importer(copy) as importer:
                done = importer.file(out)
            assert importer.unresolved == 0
            assert sorted(captured(copy), key=repr) == sorted(expected, key=repr)
            assert check(copy).named == []
            versions = [row.version for each in copy.scan() for row in each.history()]
            with Importer(copy) as importer:
                again = importer.file(out)
            assert (again.rows, again.known) == (0, done.rows + done.known)
            assert [row.version for each in copy.scan() for row in each.history()] == versions
        left = {path.name for path in base.iterdir()} - {"s", "t", out.name, f"{out.name}.cdxj"}
        assert not left


def test_a_copy_without_its_original_is_exported_whole(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s", settings=Settings(tablets=3)) as store:
        for when, host in enumerate(HOSTS, 1):
            store.put(f"http://{host}/x", raw=BODIES[2], response_head=HEADS[1], fetched=when)
        for _ in range(3):
            strip(store, 2)
        export(store.scan(host="c.test"), tmp_path / "out.warc.gz")
    with Store.open(tmp_path / "t", settings=Settings(tablets=1)) as copy, Importer(copy) as importer:
        importer.file(tmp_path / "out.warc.gz")
        row = copy.get("http://c.test/x")
        assert row is not None
        assert row.raw == BODIES[2]


def _record(kind: str, when: int, body: bytes, of: bytes = b"") -> bytes:
    head = b"HTTP/1.1 200 OK\r\nX-At: %d\r\n\r\n" % when
    stated = sha1_base32(of or body)
    lines = [
        "WARC/1.0", f"WARC-Type: {kind}", f"WARC-Record-ID: <urn:uuid:{when}>", f"WARC-Date: 2020-01-01T00:00:0{when}Z",
        "WARC-Target-URI: http://a.test/x", f"WARC-Payload-Digest: {stated}",
        "Content-Type: application/http; msgtype=response", f"Content-Length: {len(head) + len(body)}",
    ]  # fmt: skip
    if kind == "revisit":
        lines.append("WARC-Profile: http://netpreserve.org/warc/1.0/revisit/identical-payload-digest")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + head + body + b"\r\n\r\n"


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_a_revisit_has_the_body_that_it_names_whatever_comes_first(tmp_path: Path, order: tuple[int, ...]) -> None:
    """A, B, and revisits of either; the same file again is no change."""
    records = [
        _record("response", 1, b"A"), _record("response", 2, b"B"), _record("revisit", 3, b"", b"A"),
        _record("revisit", 4, b"", b"B"),
    ]  # fmt: skip
    (tmp_path / "in.warc").write_bytes(b"".join(records[n] for n in order))
    with Store.open(tmp_path / "s", settings=Settings(tablets=1)) as store:
        for _ in range(2):
            with Importer(store) as importer:
                importer.file(tmp_path / "in.warc")
            assert importer.unresolved == 0
            row = store.get("http://a.test/x")
            assert row is not None
            found = sorted(
                (version.page.response_head[23:24], version.raw) for version in row.history() if version.page
            )
            assert found == [(b"1", b"A"), (b"2", b"B"), (b"3", b"A"), (b"4", b"B")]
