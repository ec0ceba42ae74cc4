from __future__ import annotations

import gzip
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from fyke.formats.http import Head
from fyke.formats.http_body import Decoded, dechunk, decode_body


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def chunked(data: bytes, size: int = 7) -> bytes:
    parts = [data[at : at + size] for at in range(0, len(data), size)]
    return b"".join(b"%x;ext=1\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


ENCODERS = {
    "gzip": gzip.compress,
    "X-Gzip": gzip.compress,
    "deflate": zlib.compress,
    "DEFLATE": raw_deflate,
    "br": brotli.compress,
    "zstd": zstandard.compress,
}


def head(encoding: str = "", transfer: str = "") -> Head:
    fields = [("Content-Encoding", encoding), ("Transfer-Encoding", transfer)]
    return Head(200, tuple((name, value) for name, value in fields if value))


@given(st.sampled_from(list(ENCODERS)), st.binary(max_size=3000), st.booleans())
def test_every_coding_is_undone(coding: str, data: bytes, in_chunks: bool) -> None:
    wire = ENCODERS[coding](data)
    if in_chunks:
        wire = chunked(wire)
    assert decode_body(head(coding, "chunked" if in_chunks else ""), wire) == Decoded(data)


def test_stacked_codings_are_undone_from_the_last() -> None:
    wire = chunked(gzip.compress(brotli.compress(b"fish")))
    assert decode_body(head("br, gzip", "chunked"), wire).body == b"fish"


@pytest.mark.parametrize("coding", ENCODERS)
def test_a_bomb_stops_at_the_cap(coding: str) -> None:
    bomb = ENCODERS[coding](bytes(3_000_000))
    assert decode_body(head(coding), bomb, 1000) == Decoded(bytes(1000), truncated=True)


@pytest.mark.parametrize("coding", ENCODERS)
def test_a_cut_body_keeps_what_came(coding: str) -> None:
    data = b"".join(b"%d fish " % (n * n * 7919) for n in range(30_000))
    wire = ENCODERS[coding](data)
    found = decode_body(head(coding), wire[: len(wire) * 2 // 3])
    assert found.truncated
    assert data.startswith(found.body)
    if coding != "zstd":  # whose blocks of 128 KB come whole
        assert len(found.body) > len(data) // 2


def test_already_decoded_bodies_are_left_alone() -> None:
    page = b"<html>already decoded</html>"
    for coding in ("gzip", "zstd", "br", "deflate", "nonsense"):
        assert decode_body(head(coding, "chunked"), page).body == page


@given(st.binary(max_size=100), st.integers(0, 60))
def test_cut_chunks_keep_what_came(data: bytes, cut: int) -> None:
    wire = chunked(data)
    found = dechunk(wire[:cut])
    assert data.startswith(found.body) or found.body == wire[:cut]
    assert dechunk(wire, 5) == (Decoded(data) if len(data) <= 5 else Decoded(data[:5], True))


@given(st.binary(max_size=100), st.sampled_from([*ENCODERS, "chunked"]))
def test_any_bytes_are_decoded(data: bytes, coding: str) -> None:
    assert len(decode_body(head(coding, "chunked"), data, 50).body) <= 50


def test_what_stands_before_a_break_is_kept() -> None:
    data = b"".join(b"%d fish " % (n * n * 7919) for n in range(3_000))
    wire = bytearray(gzip.compress(data))
    wire[len(wire) // 2 :] = b"\xff" * (len(wire) - len(wire) // 2)
    found = decode_body(head("gzip"), bytes(wire))
    assert found.truncated
    assert data.startswith(found.body[:5_000])
    assert len(found.body) > 5_000
