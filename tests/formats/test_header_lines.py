"""Lines of WARC headers and of CDXJ: no URL, type or name can end one and begin another."""

# ruff: noqa: E501 - vectors stand as they are

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from fyke.formats.cdxj import index_line, parse_line
from fyke.formats.warc_write import WarcWriter, Written
from tests.formats.warc_samples import HEAD, WHEN, ids, page

HOSTILE = st.text(
    alphabet=st.sampled_from("\r\n\t :/\x00\x0b\x0c\x1c\x85\u2028\u2029ab%20<>{}\"'\\WARC-Type"), max_size=60
)


@given(HOSTILE, HOSTILE, HOSTILE)
def test_a_record_has_the_headers_that_it_was_given(url: str, media_type: str, name: str) -> None:
    out = io.BytesIO()
    seen: list[Written] = []
    writer = WarcWriter(out, ids(), compression="", observe=seen.append)
    writer.warcinfo(WHEN, [("software", name), (name, "x")], name)
    writer.exchange(f"http://a.test/{url}", page(1, HEAD), media_type=media_type)
    writer.resource(f"http://b.test/{url}", WHEN, media_type, b"body")
    records = [(record.rec_type, record.rec_headers.headers) for record in ArchiveIterator(io.BytesIO(out.getvalue()))]
    assert [kind for kind, _ in records] == ["warcinfo", "request", "response", "resource"] or [
        kind for kind, _ in records
    ] == ["warcinfo", "response", "request", "resource"]
    for _, headers in records:
        names = [name for name, _ in headers]
        assert len(set(names)) == len(names)
        assert set(names) <= {
            "WARC-Type", "WARC-Record-ID", "WARC-Date", "WARC-Filename", "Content-Type", "Content-Length", "WARC-Target-URI",
            "WARC-IP-Address", "WARC-Payload-Digest", "WARC-Block-Digest", "WARC-Concurrent-To", "WARC-Protocol",
            "WARC-Identified-Payload-Type", "WARC-Warcinfo-ID",
        }  # fmt: skip
    for written in seen:
        line = index_line(written, "x.warc.gz").encode()
        assert line.count(b"\n") == 1
        assert len(line.split(b" ", 2)) == 3
        json.loads(line.split(b" ", 2)[2])
        assert parse_line(line.rstrip(b"\n")) is not None


@pytest.mark.parametrize("value", ["=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r=1"])
def test_no_cell_of_a_table_is_a_formula(value: str) -> None:
    from fyke.simulate.measures import plain_cell

    assert plain_cell(value) == f"'{value}"
    assert plain_cell("bfs") == "bfs"
