from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from typing import Any

import pytest
from fastwarc.stream_io import GzipWriter, ZstdWriter, zstd_train_dictionary_from_samples
from fastwarc.warc import ArchiveIterator as FastIterator
from fastwarc.warc import WarcRecord, WarcRecordType
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter as WarcioWriter

from fyke.formats.damage import Report
from fyke.formats.http_body import MAX_BODY
from fyke.formats.warc import read_record_at, read_records
from fyke.formats.warc_exchange import (
    IDENTICAL_PAYLOAD,
    NOT_MODIFIED,
    Original,
    read_captures,
    received_head,
    split_head,
    stored_head,
)
from fyke.formats.warc_record import format_date, parse_date
from fyke.formats.warc_write import Compression, WarcWriter
from fyke.values import Exchange
from tests.formats.warc_samples import HEAD, WHEN, captures_of, ids, page, raw_record, records_of, warc_of

COMPRESSIONS: list[Compression] = ["gzip", "zstd", ""]

tokens = st.from_regex(r"[A-Za-z][A-Za-z-]{0,8}", fullmatch=True) | st.sampled_from(
    ["Content-Encoding", "content-length", "Transfer-Encoding", "X-Crawler-Content-Length", "X-Crawler-Thing", "Host"]
)
field_values = st.from_regex(r"[!-~]([ -~]{0,8}[!-~])?", fullmatch=True) | st.sampled_from(["gzip", "chunked", "7"])
heads = st.builds(
    lambda status, fields, end: (
        end.join([f"HTTP/1.1 {status} OK", *(f"{k}: {v}" for k, v in fields)]) + end + end
    ).encode(),
    st.integers(100, 599),
    st.lists(st.tuples(tokens, field_values), max_size=6),
    st.sampled_from(["\r\n", "\n"]),
)
exchanges = st.builds(
    lambda request, head, body, started, address, truncated: Exchange(
        request, head, body, int(head[9:12]), started, started, address, truncated
    ),
    st.sampled_from([b"", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"]),
    heads,
    st.binary(max_size=200),
    st.integers(0, 4 * 10**15).map(lambda micros: micros / 1e6),
    st.sampled_from(["", "192.0.2.1", "2001:db8::1"]),
    st.booleans(),
)


@settings(max_examples=60)
@given(st.lists(exchanges, max_size=4), st.sampled_from(COMPRESSIONS))
def test_what_is_written_is_read(pages: list[Exchange], compression: Compression) -> None:
    out = io.BytesIO()
    writer = WarcWriter(out, ids(), compression=compression)
    for n, exchange in enumerate(pages):
        writer.exchange(f"http://a.example/{n}", exchange, docno=f"WT-{n}")
    report = Report()
    found = captures_of(out.getvalue(), report)
    assert [c.exchange for c in found] == pages
    assert [(c.url.href, c.docno) for c in found] == [(f"http://a.example/{n}", f"WT-{n}") for n in range(len(pages))]
    assert not report.counts


@given(heads, st.integers(0, 10**6))
def test_a_stored_head_is_true_and_gives_the_received_one_back(head: bytes, length: int) -> None:
    stored = stored_head(head, length)
    assert received_head(stored) == head
    names = [line.partition(b":")[0].lower() for line in stored.split(b"\n")]
    assert b"content-encoding" not in names
    assert b"transfer-encoding" not in names
    if b"content-length" in names and stored != head:
        assert b"Content-Length: %d\r\n" % length in stored


def test_a_head_may_state_any_length() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n"
    assert received_head(stored_head(head, 3)) == head
    assert stored_head(b"HTTP/1.1 200 OK\nContent-Length: 3\n\n", 3) == b"HTTP/1.1 200 OK\nContent-Length: 3\n\n"


def test_header_bytes_that_are_no_text_are_read() -> None:
    (record,) = records_of(raw_record(1).replace(b"http://a.example/1", b"http://a.example/\xe9\xff"))
    assert record.uri.startswith("http://a.example/")
    assert record.block == HEAD + b"<p>page 1</p>"


@given(heads, st.binary(max_size=50))
def test_a_message_is_split_behind_its_head(head: bytes, body: bytes) -> None:
    assert split_head(head + body) == (head, body)


@pytest.mark.parametrize("compression", ["gzip", ""])  # warcio reads no zstd
def test_warcio_reads_all_records_with_their_digests(compression: Compression) -> None:
    out = io.BytesIO()
    writer = WarcWriter(out, ids(), compression=compression)
    writer.warcinfo(WHEN, [("software", "fyke"), ("format", "WARC File Format 1.1")], "a.warc.gz")
    coded = b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n"
    writer.exchange("http://a.example/1", page(1, coded), metadata=[("fetchTimeMs", "250")])
    writer.exchange("http://a.example/2", page(2), original=Original(IDENTICAL_PAYLOAD, "http://a.example/1", WHEN))
    gone = Exchange(b"", b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n", b"", 304, WHEN, WHEN)
    writer.exchange("http://a.example/3", gone, original=Original("", "http://a.example/1", WHEN))
    writer.resource("file:///tmp/a.txt", WHEN, "text/plain", b"a file")
    seen = []
    for record in ArchiveIterator(io.BytesIO(out.getvalue()), check_digests="raise"):
        record.content_stream().read()
        assert record.digest_checker.passed is not False
        seen.append((record.rec_type, record.rec_headers.get_header("WARC-Profile")))
    assert seen == [
        ("warcinfo", None), ("request", None), ("response", None), ("metadata", None), ("request", None),
        ("revisit", IDENTICAL_PAYLOAD), ("revisit", NOT_MODIFIED), ("resource", None),
    ]  # fmt: skip
    one, two, three, four = captures_of(out.getvalue())
    assert one.exchange.response_head == coded
    assert one.exchange.finished - one.exchange.started == 0.25
    assert (two.original, two.exchange.body) == (Original(IDENTICAL_PAYLOAD, "http://a.example/1", WHEN), b"")
    assert three.original is not None
    assert three.exchange.status == 304
    assert (four.url.href, four.media_type, four.exchange.body) == ("file:///tmp/a.txt", "text/plain", b"a file")


def test_fastwarc_verifies_the_digests_of_both_compressions() -> None:
    for compression in COMPRESSIONS:
        data, written = warc_of(5, compression)
        found = 0
        for record in FastIterator(io.BytesIO(data), parse_http=False):
            assert record.verify_block_digest()
            record.parse_http()
            if record.record_type == WarcRecordType.response:
                assert record.stream_pos == written[found].offset
                assert record.verify_payload_digest()
                found += 1
        assert found == 5


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # warcio leaves its spools open
def test_warcio_files_are_read() -> None:
    out = io.BytesIO()
    writer = WarcioWriter(out, gzip=True)
    headers = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.0")
    response = writer.create_warc_record(
        "http://example.com/", "response", payload=io.BytesIO(b"some text"), http_headers=headers
    )
    asked = StatusAndHeaders("GET / HTTP/1.0", [("Host", "example.com")], is_http_request=True)
    request = writer.create_warc_record("http://example.com/", "request", http_headers=asked)
    writer.write_request_response_pair(request, response)  # the response comes first
    revisit = writer.create_revisit_record(
        "http://example.com/2", "sha1:B6QJ6BNJ3R4B23XXMRKZKHLPGJY2VE4O", "http://example.com/", "2020-01-01T00:00:00Z"
    )
    writer.write_record(revisit)
    report = Report()
    first, second = captures_of(out.getvalue(), report)
    assert first.exchange.request_head == b"GET / HTTP/1.0\r\nHost: example.com\r\n\r\n"
    assert (first.exchange.body, first.media_type) == (b"some text", "text/html")
    assert second.original is not None
    assert second.original.uri == "http://example.com/"
    assert not report.counts


@pytest.mark.parametrize("kind", ["gzip", "zstd", "dictionary"])
def test_fastwarc_files_are_read(kind: str) -> None:
    out = io.BytesIO()
    samples = [raw_record(n) for n in range(300)]
    dictionary = zstd_train_dictionary_from_samples(samples, 1500)
    makers: dict[str, Callable[[], Any]] = {
        "gzip": lambda: GzipWriter(out),
        "zstd": lambda: ZstdWriter(out),
        "dictionary": lambda: ZstdWriter(out, dictionary=dictionary, compress_dictionary_frame=True),
    }
    writer = makers[kind]()
    for n in range(5):
        record = WarcRecord()
        record.init_headers(WarcRecordType.response)
        record.headers["WARC-Target-URI"] = f"http://a.example/{n}"
        record.is_http = True
        record.set_bytes_content(HEAD + b"body %d" % n)
        record.write(writer, checksum_data=True)
        writer.finish()
    writer.flush()
    report = Report()
    records = list(read_records(io.BytesIO(out.getvalue()), report, verify=True))
    assert [r.block for r in records] == [HEAD + b"body %d" % n for n in range(5)]
    assert not report.counts
    alone = read_record_at(io.BytesIO(out.getvalue()), records[3].offset)
    assert alone == records[3]
    damaged = bytearray(out.getvalue())
    for at in range(records[2].offset + 6, records[2].offset + 30):
        damaged[at] ^= 0x55
    assert list(read_records(io.BytesIO(damaged), report)) == records[:2] + records[3:]
    assert [(d.offset, d.reason) for d in report.damages] == [(records[2].offset, "record")]


def test_common_crawl_conventions() -> None:
    body = b"<html>decoded</html>"
    head = (
        b"HTTP/1.1 200 OK\r\nX-Crawler-Content-Encoding: gzip\r\nX-Crawler-Content-Length: 11\r\n"
        b"Content-Length: 20\r\nServer: x\r\n\r\n"
    )
    block = head + body
    fields = (
        b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Date: 2024-05-01T10:11:12Z\r\nWARC-Record-ID: <urn:uuid:2>\r\n"
        b"Content-Length: %d\r\nContent-Type: application/http; msgtype=response\r\n"
        b"WARC-Concurrent-To: <urn:uuid:1>\r\n"
        b"WARC-Warcinfo-ID: <urn:uuid:0>\r\nWARC-IP-Address: 192.0.2.9\r\nWARC-Target-URI: https://cc.example/\r\n"
        b"WARC-Protocol: h2\r\nWARC-Protocol: tls/1.3\r\nWARC-Cipher-Suite: TLS_AES_128_GCM_SHA256\r\n"
        b"WARC-Identified-Payload-Type: text/html\r\n\r\n" % len(block)
    )
    asked = b"GET / HTTP/1.1\r\nHost: cc.example\r\n\r\n"
    request = (
        b"WARC/1.0\r\nWARC-Type: request\r\nWARC-Date: 2024-05-01T10:11:12Z\r\nWARC-Record-ID: <urn:uuid:1>\r\n"
        b"Content-Length: %d\r\nContent-Type: application/http; msgtype=request\r\n"
        b"WARC-Target-URI: https://cc.example/\r\n\r\n" % len(asked)
    )
    noted = b"fetchTimeMs: 137\r\ncharset-detected: UTF-8\r\n"
    metadata = (
        b"WARC/1.0\r\nWARC-Type: metadata\r\nWARC-Date: 2024-05-01T10:11:12Z\r\nWARC-Record-ID: <urn:uuid:3>\r\n"
        b"Content-Length: %d\r\nContent-Type: application/warc-fields\r\nWARC-Concurrent-To: <urn:uuid:2>\r\n"
        b"WARC-Target-URI: https://cc.example/\r\n\r\n" % len(noted)
    )
    parts = (request + asked, fields + block, metadata + noted)
    report = Report()
    (capture,) = captures_of(b"".join(gzip.compress(part + b"\r\n\r\n") for part in parts), report)
    assert capture.exchange == Exchange(
        asked,
        b"HTTP/2 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 11\r\nServer: x\r\n\r\n",  # WARC-Protocol says so
        body, 200, 1714558272.0, 1714558272.137, "192.0.2.9",
    )  # fmt: skip
    assert capture.media_type == "text/html"
    assert capture.metadata == noted
    assert not report.counts


def test_bodies_are_decoded_and_bombs_stop_at_the_cap() -> None:
    bomb = gzip.compress(bytes(5_000_000))
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"
    data = gzip.compress(raw_record(1, block=head + bomb)) + gzip.compress(raw_record(2))
    found = list(read_captures(read_records(io.BytesIO(data)), max_body=10_000))
    assert [len(c.exchange.body) for c in found] == [10_000, 13]
    assert [c.exchange.truncated for c in found] == [True, False]
    assert found[0].exchange.response_head == head


def test_a_block_over_the_cap_is_truncated_and_counted() -> None:
    data = gzip.compress(raw_record(1, block=HEAD + bytes(300_000))) + gzip.compress(raw_record(2))
    report = Report()
    found = list(read_records(io.BytesIO(data), report, max_record=1000))
    assert [(len(r.block), r.truncated) for r in found] == [(1000, "cap"), (len(HEAD) + 13, "")]
    assert report.counts == {"length": 1}
    assert MAX_BODY == 100_000_000


def test_urls_that_cannot_be_named_are_counted() -> None:
    report = Report()
    dns = raw_record(1).replace(b"http://a.example/1", b"dns:a.example", 1)
    assert [c.url.href for c in captures_of(dns + raw_record(2), report)] == ["http://a.example/2"]
    assert report.counts == {"url": 1}


def test_no_header_value_can_begin_another_line() -> None:
    out = io.BytesIO()
    writer = WarcWriter(out, ids(), compression="")
    writer.exchange("http://a.example/\r\nWARC-Type: evil", page(1), media_type="text/html\r\nX: y", docno="a\nb: c")
    writer.metadata("http://a.example/", WHEN, [("via\r\nx", "y\r\nz: evil")])
    for record in records_of(out.getvalue()):
        names = {name.removeprefix("WARC-") for name, _ in record.headers}
        assert names <= {
            "Type", "Record-ID", "Date", "Target-URI", "IP-Address", "Concurrent-To", "TREC-ID", "Block-Digest",
            "Identified-Payload-Type", "Payload-Digest", "Content-Type", "Content-Length",
        }  # fmt: skip
    assert records_of(out.getvalue())[-1].block == b"via x: y z: evil\r\n"


@given(st.integers(0, 4 * 10**15))
def test_dates_keep_their_microseconds(micros: int) -> None:
    assert parse_date(format_date(micros / 1e6)) == micros / 1e6


def test_dates_of_other_archives() -> None:
    assert parse_date("19970101013145") == parse_date("1997-01-01T01:31:45Z") == 852082305.0
    assert parse_date("2020-01-01T00:00:00.123456789Z") == 1577836800.123456
    assert format_date(parse_date("0001-01-01T00:00:00+23:00")) == format_date(float("nan")) == "1970-01-01T00:00:00Z"
    assert parse_date("yesterday") == parse_date("") == parse_date("99999999999999") == 0.0


def test_memory_of_waiting_captures_is_bounded() -> None:
    def records() -> Any:
        data = b"".join(gzip.compress(raw_record(n, block=HEAD + bytes(9 << 20)), 1) for n in range(6))
        for n, record in enumerate(read_records(io.BytesIO(data))):
            taken.append(n)
            yield record

    taken: list[int] = []
    captures = read_captures(records())
    next(captures)
    assert len(taken) <= 3
