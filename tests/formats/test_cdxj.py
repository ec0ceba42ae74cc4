from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.formats.cdxj import IndexLine, index_line, index_records, lookup, parse_line, sorted_lines
from fyke.formats.surt import surt
from fyke.formats.warc import read_record_at
from fyke.formats.warc_exchange import Original
from fyke.formats.warc_write import Compression, WarcWriter
from tests.formats.warc_samples import WHEN, ids, page, records_of, warc_of


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://www.example.com/test.html", "com,example)/test.html"),
        ("https://Example.COM", "com,example)/"),
        ("http://www2.a.example.co.uk:8080/Dir/?b=2&a=1", "uk,co,example,a:8080)/dir?a=1&b=2"),
        ("http://192.0.2.1/x", "1,2,0,192)/x"),
        ("http://www.com/a//b/", "com)/a/b"),
        ("http://[2001:db8::1]:81/", "2001:db8::1:81)/"),
        ("dns:a.example", "dns:a.example"),
    ],
)
def test_keys_sort_hosts_by_domain(url: str, key: str) -> None:
    assert surt(url) == key


@pytest.mark.parametrize("compression", ["gzip", "zstd", ""])
def test_an_index_written_beside_is_the_index_built_afterwards(compression: Compression) -> None:
    data, written = warc_of(30, compression)
    beside = [index_line(w, "a.warc") for w in written]
    assert list(index_records(records_of(data), "a.warc", len(data), compressed=bool(compression))) == beside


def test_one_record_is_found_and_read_by_its_line() -> None:
    data, written = warc_of(300)
    index = io.BytesIO(b"".join(sorted_lines(index_line(w, "a.warc.gz") for w in written)))
    for n in (0, 1, 7, 99, 123, 299):
        (line,) = lookup(index, f"http://A.example/{n}#part")
        assert line.status == "200"
        assert line.mime == "text/html"
        record = read_record_at(io.BytesIO(data), line.offset)
        assert record is not None
        assert record.block.endswith(page(n).body)
        # The member alone is enough: what a range request would fetch.
        member = data[line.offset : line.offset + line.length]
        alone = read_record_at(io.BytesIO(member), 0)
        assert alone is not None
        assert alone.block == record.block
    assert list(lookup(index, "http://a.example/300")) == []
    assert list(lookup(index, "http://zzz.example/")) == []
    assert list(lookup(io.BytesIO(b""), "http://a.example/")) == []
    assert read_record_at(io.BytesIO(data), 5) is None


def test_versions_come_oldest_first_and_revisits_are_told_apart() -> None:
    out = io.BytesIO()
    lines: list[IndexLine] = []
    writer = WarcWriter(out, ids(), observe=lambda w: lines.append(index_line(w, "f")))
    writer.exchange("http://a.example/", page(5), original=Original("", "http://a.example/", WHEN))
    writer.exchange("http://a.example/", page(1), media_type="text/html")
    found = list(lookup(io.BytesIO(b"".join(sorted_lines(lines))), "http://www.a.example/"))
    assert [line.mime for line in found] == ["text/html", "warc/revisit"]
    assert found[0].timestamp == "19970101011146"


@given(st.lists(st.from_regex(r"[a-z0-9/?=&.-]{0,30}", fullmatch=True), max_size=60), st.integers(0, 100))
def test_lookup_finds_what_a_scan_finds(paths: list[str], pick: int) -> None:
    lines = [
        IndexLine(surt(f"http://h.example/{p}"), f"{n:014d}", p * 40, "m", "200", "-", n, n, "f")
        for n, p in enumerate(paths)
    ]
    index = io.BytesIO(b"".join(sorted_lines(lines)))
    path = paths[pick % len(paths)] if paths else ""
    key = surt(f"http://h.example/{path}")
    assert list(lookup(index, f"http://h.example/{path}")) == [line for line in lines if line.key == key]


@given(st.binary(max_size=60))
def test_any_line_is_parsed_or_refused(data: bytes) -> None:
    parse_line(data)
    parse_line(b"a 20200101000000 " + data)
    assert parse_line(b'com,x)/ 20200101000000 {"url": "http://x.com/", "offset": 5}') == IndexLine(
        "com,x)/", "20200101000000", "http://x.com/", "-", "-", "-", 0, 5, "-"
    )


def test_keys_are_those_that_others_look_up(shared_data: Path) -> None:
    facts = [json.loads(line) for line in (shared_data / "surt" / "cdx-keys.jsonl").read_text().splitlines()]
    assert [fact for fact in facts if surt(fact["url"]) != fact["key"]] == []
