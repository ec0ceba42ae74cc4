from __future__ import annotations

import gzip
import io

from hypothesis import given, settings
from hypothesis import strategies as st

from fyke.formats.damage import Report
from fyke.formats.warc import read_records
from tests.formats.warc_samples import captures_of, records_of

FILEDESC_BLOCK = b"1 1 InternetArchive\nURL IP-address Archive-date Content-type Archive-length\n\n"
FILEDESC = b"filedesc://IAH-1.arc 0.0.0.0 20060622190110 text/plain %d\n" % len(FILEDESC_BLOCK) + FILEDESC_BLOCK


def document(n: int, length: int | None = None) -> bytes:
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>arc %d</p>\n" % n
    size = len(block) if length is None else length
    return b"http://arc.example/%d 192.0.2.%d 20060622190%03d text/html %d\n" % (n, n, 110 + n, size) + block + b"\n"


def old(n: int) -> bytes:
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>old %d</p>" % n
    rest = (
        b" response http://old.example/%d 20060101000000 urn:uuid:%d message/http\r\nIP-Address: 192.0.2.3\r\n\r\n"
        % (n, n)
    )
    size = len(b"warc/0.9 0000000000") + len(rest) + len(block)
    return b"warc/0.9 %010d" % size + rest + block + b"\r\n\r\n"


def test_an_arc_is_read() -> None:
    data = FILEDESC + b"\n" + b"".join(document(n) for n in range(3))
    for packed in (data, gzip.compress(FILEDESC + b"\n") + b"".join(gzip.compress(document(n)) for n in range(3))):
        report = Report()
        captures = captures_of(packed, report)
        assert [c.url.href for c in captures] == [f"http://arc.example/{n}" for n in range(3)]
        assert [c.exchange.body for c in captures] == [b"<p>arc %d</p>\n" % n for n in range(3)]
        assert [c.exchange.address for c in captures] == [f"192.0.2.{n}" for n in range(3)]
        assert captures[0].exchange.started == 1151002870.0
        assert report.records == 4
        assert not report.counts


def test_arc_version_2_has_more_fields() -> None:
    block = b"HTTP/1.0 404 Not Found\r\n\r\nno"
    line = b"http://arc.example/ 192.0.2.1 20060622190110 text/html 404 - - 1234 a.arc %d\n" % len(block)
    (capture,) = captures_of(line + block + b"\n")
    assert (capture.exchange.status, capture.exchange.body) == (404, b"no")


def test_warc_0_9_is_read() -> None:
    report = Report()
    captures = captures_of(old(1) + old(2), report)
    assert [(c.url.href, c.exchange.body) for c in captures] == [
        ("http://old.example/1", b"<p>old 1</p>"),
        ("http://old.example/2", b"<p>old 2</p>"),
    ]
    assert captures[0].exchange.address == "192.0.2.3"
    assert not report.counts


def test_a_wrong_length_costs_at_most_the_next_record() -> None:
    for length in (3, 100):
        report = Report()
        found = records_of(
            FILEDESC + b"\n" + document(0) + document(1, length) + b"".join(map(document, range(2, 6))), report
        )
        assert [r.uri[-1] for r in found][-3:] == ["3", "4", "5"]
        assert found[1].uri == "http://arc.example/0"
        assert report.counts["record"] == 1


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 255))
def test_damage_never_raises_nor_loses_earlier_records(at: int, flip: int) -> None:
    data = bytearray(FILEDESC + b"\n" + b"".join(document(n) for n in range(4)))
    whole = records_of(bytes(data))
    at = at % (len(data) - len(FILEDESC)) + len(FILEDESC)
    earlier = [r for r in whole if r.offset + 130 < at]
    data[at] ^= flip
    assert records_of(bytes(data))[: len(earlier)] == earlier
    assert records_of(bytes(data[:at]))[: len(earlier)] == earlier


def test_a_block_over_the_cap_is_truncated() -> None:
    report = Report()
    found = list(read_records(io.BytesIO(FILEDESC + b"\n" + document(1) + document(2)), report, max_record=20))
    assert [(len(r.block), r.truncated) for r in found] == [(20, "cap")] * 3
    assert report.counts == {"length": 3}
