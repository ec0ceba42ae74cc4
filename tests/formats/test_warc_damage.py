"""Damaged files: what can be read is read, the rest is counted and named."""

from __future__ import annotations

import gzip
import io

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from fyke.formats.damage import Report
from fyke.formats.warc import read_records
from fyke.formats.warc_write import Compression
from tests.formats.warc_samples import HEAD, raw_record, records_of, warc_of

FILES = {compression: warc_of(6, compression) for compression in ("gzip", "zstd", "")}
WHOLE = {compression: records_of(data) for compression, (data, _) in FILES.items()}
kinds = st.sampled_from(["gzip", "zstd", ""])


@settings(max_examples=150)
@given(kinds, st.integers(0, 10**6))
def test_a_cut_loses_only_what_is_cut(kind: Compression, at: int) -> None:
    data = FILES[kind][0]
    at %= len(data)
    report = Report()
    found = records_of(data[:at], report)
    ends = [r.offset for r in WHOLE[kind][1:]] + [len(data)]
    whole = sum(end <= at for end in ends)
    assert found[:whole] == WHOLE[kind][:whole]
    assert len(found) <= whole + 1
    if len(found) > whole and found[-1].block != WHOLE[kind][whole].block:
        assert WHOLE[kind][whole].block.startswith(found[-1].block)
        assert found[-1].truncated == "cut"
        assert report.counts


@settings(max_examples=200)
@given(kinds, st.integers(0, 10**6), st.integers(1, 255))
def test_a_flipped_byte_costs_at_most_its_record(kind: Compression, at: int, flip: int) -> None:
    data = bytearray(FILES[kind][0])
    at %= len(data)
    data[at] ^= flip
    report = Report()
    found = {r.offset: r for r in records_of(bytes(data), report)}
    hit = max(r.offset for r in WHOLE[kind] if r.offset <= at)
    for record in WHOLE[kind]:
        if record.offset != hit and hit != 0:
            assert found.get(record.offset) == record


@settings(max_examples=100)
@given(kinds, st.binary(max_size=60), st.integers(0, 6))
def test_junk_between_records_is_passed_over(kind: Compression, junk: bytes, before: int) -> None:
    data = FILES[kind][0]
    at = WHOLE[kind][before].offset if before else len(data)
    found = [r.block for r in records_of(data[:at] + junk + data[at:])]
    assert found == [r.block for r in WHOLE[kind]]


@given(st.binary(max_size=300))
def test_any_bytes_are_read(data: bytes) -> None:
    for start in (b"", b"WARC/1.0\r\n", b"\x1f\x8b\x08\0", b"\x28\xb5\x2f\xfd", b"\x5d\x2a\x4d\x18", b"\x1f\x9d\x90"):
        found = records_of(start + data)
        assert all(0 <= record.offset < len(start + data) for record in found)
        assert [record.offset for record in found] == sorted({record.offset for record in found})
    list(read_records(io.BytesIO(b"filedesc://x 0.0.0.0 19970101000000 text/plain 5\n" + data)))


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress, bytes], ids=["gzip", "zstd", "plain"])
@pytest.mark.parametrize("length", [0, 7, 41, 100, 1000, 10**12, 10**30])
def test_a_lying_content_length_costs_no_record(pack: object, length: int) -> None:
    assert callable(pack)
    report = Report()
    found = records_of(b"".join(pack(raw_record(n, length if n == 2 else None)) for n in range(5)), report)
    assert [r.block for r in found] == [HEAD + b"<p>page %d</p>" % n for n in range(5)]
    assert report.counts == {"length": 1}
    assert "http://a.example/2" in report.damages[0].detail


def test_a_page_that_holds_a_warc_plants_no_records() -> None:
    planted = b"\r\n\r\n" + raw_record(666)
    data = raw_record(1, block=HEAD + planted) + raw_record(2)
    assert [r.uri for r in records_of(data)] == ["http://a.example/1", "http://a.example/2"]


def test_a_file_that_lies_in_every_record_is_given_up() -> None:
    lie = raw_record(1, 10**9)
    data = lie * 2000
    report = Report()
    found = records_of(data, report)
    assert found
    assert report.counts["length"] + report.counts["cut"] == len(found)


def test_damage_is_named_by_offset_and_reason() -> None:
    data = bytearray(FILES["gzip"][0])
    broken = WHOLE["gzip"][4]
    for at in range(broken.offset + 20, broken.offset + 60):
        data[at] ^= 0x55
    report = Report()
    found = records_of(bytes(data), report)
    assert len(found) == len(WHOLE["gzip"]) - 1
    assert report.records == len(found)
    assert [(d.offset, d.reason) for d in report.damages] == [(broken.offset, "record")]


def test_a_wrong_digest_is_counted_when_asked() -> None:
    data = FILES[""][0].replace(b"fish number 3", b"fish nomber 3")
    report = Report()
    list(read_records(io.BytesIO(data), report, verify=True))
    assert report.counts == {"digest": 1}


class Pipe:
    """A stream that cannot seek."""

    def __init__(self, data: bytes) -> None:
        self._inner = io.BytesIO(data)

    def read(self, size: int = -1, /) -> bytes:
        return self._inner.read(min(size, 1000) if size >= 0 else -1)

    def seek(self, offset: int, whence: int = 0, /) -> int:
        raise OSError("a pipe")

    def tell(self) -> int:
        raise OSError("a pipe")

    def seekable(self) -> bool:
        return False


@pytest.mark.parametrize("kind", ["gzip", "zstd", ""])
def test_a_pipe_is_read_up_to_the_damage(kind: str) -> None:
    data = FILES[kind][0]
    assert [r.block for r in read_records(Pipe(data))] == [r.block for r in WHOLE[kind]]
    at = WHOLE[kind][5].offset
    report = Report()
    found = list(read_records(Pipe(data[:at] + b"junk that is no record\r\n\r\n" + data[at:]), report))
    assert [r.block for r in found] == [r.block for r in WHOLE[kind][:5]]
    assert report.counts == {"record": 1}


def test_one_gzip_member_around_all_records_is_read() -> None:
    data = gzip.compress(b"".join(raw_record(n) for n in range(4)))
    assert [r.uri for r in records_of(data)] == [f"http://a.example/{n}" for n in range(4)]
