"""Import and export: every field survives, other tools read what is written, damage is counted and the rest is read."""

from __future__ import annotations

import gzip
import io
import resource
from pathlib import Path

import pytest
from fastwarc.stream_io import GzipWriter
from fastwarc.warc import ArchiveIterator as FastwarcIterator
from fastwarc.warc import WarcRecord, WarcRecordType
from warcio.archiveiterator import ArchiveIterator as WarcioIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from fyke.errors import StorageError, UserError
from fyke.formats.cdxj import lookup
from fyke.formats.http_body import MAX_BODY
from fyke.formats.warc import read_record_at
from fyke.lecture.texts import TREC
from fyke.store import Row, Settings, Store
from fyke.store.exporting import export, parts_needed
from fyke.store.exports.warc import WarcOptions
from fyke.store.importing import Imported, import_file

ONE = Settings(tablets=1)


def write_out(store: Store, path: Path) -> int:
    return export(store.scan(parts=parts_needed(path)), path)


def read_in(store: Store, path: Path) -> Imported:
    return import_file(store, path)


def filled(path: Path) -> Store:
    store = Store.open(path, settings=ONE)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\n"
    for number in range(3):
        store.put(
            f"http://a.example/{number}",
            raw=b"<p>%d</p>" % number * 30,
            text=f"text {number}",
            title=f"Title {number}",
            fetched=1_000_000_000 + number,
            request_head=b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
            response_head=head,
        )
    store.put("http://a.example/0", raw=b"newer", text="newer", fetched=1_100_000_000, response_head=head)
    store.put("http://a.example/1", title="unchanged", fetched=1_100_000_001)
    return store


def test_the_textbooks_trec_example_round_trips_through_the_store(tmp_path: Path) -> None:
    (tmp_path / "in.trec").write_bytes(TREC)
    with Store.open(tmp_path / "s", settings=ONE) as store:
        assert read_in(store, tmp_path / "in.trec").rows == 2
        row = store.get("http://www.example.com/test.html")
        assert row is not None
        assert (row.meta.docno, row.meta.address, len(row.raw or b"")) == ("WTX001-B01-10", "204.244.59.33", 63)
        assert row.meta.last_modified == "Mon, 25 Nov 1996 05:31:24 GMT"
        assert write_out(store, tmp_path / "out.trec.gz") == 2
    written = gzip.decompress((tmp_path / "out.trec.gz").read_bytes())
    # A store keeps rows in the order of their keys: fish.html comes before test.html.
    first, second = TREC.split(b"<DOC>\n")[1:]
    assert written == b"<DOC>\n" + second + b"<DOC>\n" + first


@pytest.mark.parametrize("ending", ["warc", "warc.gz", "warc.zst"])
def test_warc_round_trip_of_every_version(tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"out.{ending}"
    with filled(tmp_path / "s") as store, Store.open(tmp_path / "t", settings=ONE) as copy:
        assert write_out(store, out) == 4, "a title put by hand is no capture"
        done = read_in(copy, out)
        assert (done.rows, done.revisits, done.report.counts) == (4, 0, {})
        for row in store.scan():
            captured = [version for version in row.history() if version.title != "unchanged"]
            for version, copied in zip(captured, _history(copy, row.url), strict=True):
                assert (version.page, version.stamp) == (copied.page, copied.stamp)
                assert (version.meta.status, version.meta.type) == (copied.meta.status, copied.meta.type)
        again = read_in(copy, out)
        assert (again.rows, again.known) == (0, 4)


def _history(store: Store, url: str) -> list[Row]:
    row = store.get(url)
    assert row is not None
    return list(row.history())


def test_other_readers_read_what_is_exported(tmp_path: Path) -> None:
    out = tmp_path / "out.warc.gz"
    with filled(tmp_path / "s") as store:
        write_out(store, out)
    with out.open("rb") as file:
        found = [(r.rec_type, r.rec_headers.get_header("WARC-Target-URI"), r.content_stream().read())
                 for r in WarcioIterator(file, check_digests="raise")]  # fmt: skip
    kinds = [kind for kind, _, _ in found]
    assert kinds.count("response") == 4
    assert kinds.count("revisit") == 0
    assert kinds.count("request") == 3
    assert ("response", "http://a.example/0", b"newer") in found
    with out.open("rb") as file:
        verified = [record.verify_block_digest() for record in FastwarcIterator(file, parse_http=False)]
    assert len(verified) == len(found)
    assert all(verified)


def test_the_index_finds_a_record(tmp_path: Path) -> None:
    out = tmp_path / "out.warc.gz"
    with filled(tmp_path / "s") as store:
        write_out(store, out)
    with (tmp_path / "out.warc.gz.cdxj").open("rb") as index, out.open("rb") as warc:
        lines = list(lookup(index, "http://a.example/2"))
        assert len(lines) == 1
        record = read_record_at(warc, lines[0].offset)
    assert record is not None
    assert record.block.endswith(b"<p>2</p>")


def other_peoples_warc() -> bytes:
    out = io.BytesIO()
    writer = WARCWriter(out, gzip=True)
    for number in range(3):
        payload = io.BytesIO(b"page %d" % number)
        head = StatusAndHeaders("200 OK", [("Content-Type", "text/plain")], protocol="HTTP/1.0")
        writer.write_record(writer.create_warc_record(f"http://w.example/{number}", "response", payload=payload,
                                                      http_headers=head))  # fmt: skip
    return out.getvalue()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # warcio leaves its buffers open
def test_warcs_of_others_and_truncated_ones(tmp_path: Path) -> None:
    whole = other_peoples_warc()
    (tmp_path / "whole.warc.gz").write_bytes(whole)
    (tmp_path / "cut.warc.gz").write_bytes(whole[:-40])
    with Store.open(tmp_path / "s", settings=ONE) as store:
        cut = read_in(store, tmp_path / "cut.warc.gz")
        assert cut.rows >= 2
        assert sum(cut.report.counts.values()) >= 1
        assert cut.report.damages[0].reason
        whole_ = read_in(store, tmp_path / "whole.warc.gz")
        assert whole_.rows + whole_.known == 3
        row = store.get("http://w.example/2")
        assert row is not None
        assert (row.raw, row.meta.type) == (b"page 2", "text/plain")


def test_a_file_that_fastwarc_wrote(tmp_path: Path) -> None:
    out = io.BytesIO()
    member = GzipWriter(out)
    for number in range(3):
        record = WarcRecord()
        record.init_headers(record_type=WarcRecordType.response, record_urn=b"<urn:uuid:%032d>" % number)
        record.headers["WARC-Target-URI"] = f"http://f.example/{number}"
        record.headers["WARC-Date"] = f"2010-01-0{number + 1}T00:00:00Z"
        record.headers["Content-Type"] = "application/http; msgtype=response"
        record.is_http = True
        record.set_bytes_content(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>%d</p>" % number)
        record.write(member, checksum_data=True)
        member.finish()
    (tmp_path / "f.warc.gz").write_bytes(out.getvalue())
    with Store.open(tmp_path / "s", settings=ONE) as store:
        done = read_in(store, tmp_path / "f.warc.gz")
        assert (done.rows, done.report.counts) == (3, {})
        row = store.get("http://f.example/2")
        assert row is not None
        assert (row.raw, row.meta.status, row.meta.type) == (b"<p>2</p>", 200, "text/html")
        assert row.fetched.isoformat() == "2010-01-03T00:00:00+00:00"


def hostile_record(uri: str, block: bytes, length: int) -> bytes:
    return (
        b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:%b>\r\nWARC-Date: 2010-01-01T00:00:00Z\r\n"
        b"WARC-Target-URI: %b\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: %d\r\n\r\n%b"
        b"\r\n\r\n"
    ) % (uri[-1:].encode() * 8, uri.encode(), length, block)


def test_a_gzip_bomb_and_lengths_that_lie_are_bounded_and_counted(tmp_path: Path) -> None:
    gzip_head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\n\r\n"
    bomb = gzip_head + gzip.compress(b"\0" * (MAX_BODY + 50_000_000), 9)
    page = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 99999\r\n\r\nshort"
    (tmp_path / "hostile.warc").write_bytes(
        hostile_record("http://h.example/a", bomb, len(bomb))
        + hostile_record("http://h.example/b", page, len(page))  # the HTTP length lies
        + hostile_record("http://h.example/c", page, len(page) - 2)  # the WARC length is too small
        + hostile_record("http://h.example/d", page, len(page))
        + hostile_record("http://h.example/e", page, 1 << 50)  # and too large
    )
    with Store.open(tmp_path / "s", settings=ONE) as store:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        done = read_in(store, tmp_path / "hostile.warc")
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 * MAX_BODY // 1024
        rows = {row.url[-1]: row for row in store.scan()}
        assert rows["a"].meta.truncated
        assert rows["a"].meta.length == MAX_BODY
        assert (rows["b"].raw, rows["d"].raw) == (b"short", b"short")
        assert (rows["c"].raw or b"").startswith(b"sho")
        assert (rows["e"].raw or b"").startswith(b"short")
        assert rows["e"].meta.truncated
    assert done.report.counts["length"] >= 2
    assert {damage.offset for damage in done.report.damages} >= {0}


@pytest.mark.parametrize("ending", ["warc", "warc.gz", "warc.zst", "arc", "arc.gz"])
def test_a_page_that_holds_a_trec_document_is_a_page(tmp_path: Path, ending: str) -> None:
    """The file's first bytes say what it is; what stands inside a record is the site's, and may be a forgery."""
    forged = TREC[TREC.index(b"<DOC>") :]
    path = tmp_path / f"in.{ending}"
    urls = [f"http://a.example/{number}" for number in range(2)]
    if ending.startswith("arc"):
        about = b"1 0 fyke\nURL IP-address Archive-date Content-type Archive-length\n"
        data = b"filedesc://in.arc 0.0.0.0 20260101000000 text/plain %d\n%s\n" % (len(about), about)
        for url in urls:
            block = b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n" + forged
            data += b"%s 192.0.2.1 20260101000000 text/html %d\n%s\n" % (url.encode(), len(block), block)
        path.write_bytes(gzip.compress(data) if ending.endswith("gz") else data)
    else:
        with Store.open(tmp_path / "from", settings=ONE) as store:
            for url in urls:
                store.put(url, raw=forged, response_head=b"HTTP/1.1 200 OK\r\n\r\n", fetched=1_000_000_000)
            write_out(store, path)
    with Store.open(tmp_path / "into", settings=ONE) as store:
        read_in(store, path)
        assert [row.url for row in store.scan()] == urls
        assert {row.raw for row in store.scan()} == {forged}


@pytest.mark.parametrize("before", [b"", b"\n \r\n", b"\xef\xbb\xbf\n"])
def test_a_trec_file_may_begin_with_white_space(tmp_path: Path, before: bytes) -> None:
    (tmp_path / "in.trec").write_bytes(before + TREC.lstrip())
    with Store.open(tmp_path / "s", settings=ONE) as store:
        assert read_in(store, tmp_path / "in.trec").rows == 2


def test_what_is_neither_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.warc").write_bytes(b"nothing of the kind\n" * 100)
    with Store.open(tmp_path / "s", settings=ONE) as store:
        with pytest.raises(UserError, match="neither WARC, WACZ, ARC nor TREC"):
            read_in(store, tmp_path / "x.warc")
        with pytest.raises(UserError, match="no known ending"):
            write_out(store, tmp_path / "x.docx")
    assert not (tmp_path / "x.docx").exists()


@pytest.mark.parametrize("ending", [".wet", ".wet.gz", ".wet.zst"])
def test_wet_out_and_in(tmp_path: Path, ending: str) -> None:
    with filled(tmp_path / "s") as store:
        assert write_out(store, tmp_path / f"o{ending}") == 3
    with (tmp_path / f"o{ending}").open("rb") as file:
        kinds = [record.record_type for record in FastwarcIterator(file, parse_http=False)]
    assert kinds == [WarcRecordType.warcinfo] + [WarcRecordType.conversion] * 3
    with Store.open(tmp_path / "t", settings=ONE) as store:
        assert read_in(store, tmp_path / f"o{ending}").rows == 3
        assert [(row.text, row.meta.status, row.page) for row in store.scan()] == [
            ("newer", 200, None), ("text 1", 200, None), ("text 2", 200, None)]  # fmt: skip
        assert read_in(store, tmp_path / f"o{ending}").rows == 0
        assert write_out(store, tmp_path / "again.warc.gz") == 3
    with Store.open(tmp_path / "u", settings=ONE) as store:
        assert read_in(store, tmp_path / "again.warc.gz").rows == 3
        assert [row.text for row in store.scan()] == ["newer", "text 1", "text 2"]


def test_the_text_of_a_wet_goes_to_its_page(tmp_path: Path) -> None:
    with filled(tmp_path / "s") as store:
        write_out(store, tmp_path / "o.warc.gz")
        write_out(store, tmp_path / "o.wet.gz")
    with Store.open(tmp_path / "t", settings=ONE) as store:
        read_in(store, tmp_path / "o.warc.gz")
        read_in(store, tmp_path / "o.wet.gz")
        row = store.get("http://a.example/2")
        assert row is not None
        assert (row.text, row.raw, len(row.versions)) == ("text 2", b"<p>2</p>" * 30, 1)


def test_rotation_by_size(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s", settings=ONE) as store:
        for number in range(30):
            head = b"HTTP/1.1 200 OK\r\n\r\n"
            store.put(f"http://a.example/{number}", raw=bytes([number]) * 9, response_head=head, fetched=1 + number)
        count = export(store.scan(), tmp_path / "o.warc.gz", warc=WarcOptions(max_size=4000))
    files = sorted(tmp_path.glob("o-*.warc.gz"))
    assert count == 30
    assert len(files) > 2
    assert files[0].name == "o-00000.warc.gz"
    assert all(3000 < file.stat().st_size < 6000 for file in files[:-1])
    assert all(Path(f"{file}.cdxj").exists() for file in files)
    with Store.open(tmp_path / "t", settings=ONE) as store:
        assert sum(read_in(store, file).rows for file in files) == 30


def test_a_full_disk_leaves_nothing_under_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    for ending in (".warc.gz", ".wacz", ".wet.gz"):
        with filled(tmp_path / f"s{ending}") as store:
            monkeypatch.setattr("fyke.formats.warc_write.WarcWriter._write", full)
            with pytest.raises(StorageError, match="No space left"):
                write_out(store, tmp_path / f"o{ending}")
            monkeypatch.undo()
        assert [path.name for path in tmp_path.glob("*o.*")] == []


def test_the_date_is_when_the_exchange_began(tmp_path: Path) -> None:
    """A crawl stores a page when it has come; its WARC-Date is when it was asked for."""
    from fyke.crawl.capture import Processor
    from fyke.url import Url
    from fyke.values import Exchange, Fetched

    url = Url("http://a.example/")
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    outcome = Fetched(url, Exchange(b"", head, b"<p>x</p>", 200, 1_600_000_000.5, 1_600_000_009.0))
    with Store.open(tmp_path / "s", settings=ONE) as store:
        store.tablet(0).put(
            url.key, Processor("fyke").read_many([(outcome, 0, "text/html")])[0].change, 1_600_000_010_000_000
        )
        write_out(store, tmp_path / "o.warc.gz")
    with (tmp_path / "o.warc.gz").open("rb") as file:
        dates = {
            record.headers["WARC-Date"]
            for record in FastwarcIterator(file)
            if record.headers["WARC-Type"] == "response"
        }
    assert dates == {"2020-09-13T12:26:40.500000Z"}
