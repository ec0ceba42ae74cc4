from __future__ import annotations

import gzip
import io
import shutil
import subprocess
from collections.abc import Iterator

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from fyke.formats.streams import Prefixed, Readable, inflated


def steps(stream: Readable, size: int) -> Iterator[bytes]:
    while part := stream.read(size):
        yield part


def lzw_encode(data: bytes, width: int = 16, clear_at: int = 0) -> bytes:
    """Unix compress, as an oracle: codes in groups of eight, a CLEAR after ``clear_at`` bytes where it is given."""
    out = bytearray([0x1F, 0x9D, 0x80 | width])
    codes: list[int] = []
    bits, table, free, limit, word = 9, {bytes([b]): b for b in range(256)}, 257, 511, b""

    def flush() -> None:
        number = sum(code << bits * n for n, code in enumerate(codes))
        out.extend(number.to_bytes((len(codes) * bits + 7) // 8, "little"))
        codes.clear()

    def emit(code: int, padded: bool = False) -> None:
        codes.append(code)
        if padded:
            codes.extend([0] * (-len(codes) % 8))
        if len(codes) == 8:
            flush()

    for n, byte in enumerate(data):
        longer = word + bytes([byte])
        if longer in table:
            word = longer
            continue
        grows = free > limit and bits < width
        emit(table[word], padded=grows)
        if grows:
            bits += 1
            limit = (1 << bits) - 1
        if free < 1 << width:
            table[longer] = free
            free += 1
        word = bytes([byte])
        if clear_at and n >= clear_at:
            clear_at = 0
            if free > limit and bits < width:
                codes.extend([0] * (-len(codes) % 8))
                if codes:
                    flush()
                bits += 1
            emit(256, padded=True)
            bits, table, free, limit = 9, {bytes([b]): b for b in range(256)}, 257, 511
    if word:
        emit(table[word])
    flush()
    return bytes(out)


@pytest.mark.kernel
@settings(max_examples=15)
@given(st.lists(st.sampled_from([b"fish", b"a", b"tropical ", b"\0\xff"]), max_size=120), st.integers(10, 16))
def test_lzw_is_undone(parts: list[bytes], width: int) -> None:
    data = b"".join(parts)
    assert inflated(io.BytesIO(lzw_encode(data, width))).read() == data
    assert inflated(io.BytesIO(lzw_encode(data, width, clear_at=50))).read() == data


@pytest.mark.skipif(shutil.which("compress") is None, reason="the program `compress` is not installed")
@pytest.mark.parametrize("width", [10, 12, 16])
def test_what_compress_writes_is_read(width: int) -> None:
    text = b"".join(b"%d bottles of %x\n" % (n * n, n) for n in range(20_000))
    for data in (text, bytes(300_000), text[:100_000] + zstandard.compress(text) + text, b"", b"x"):
        packed = subprocess.run(
            ["compress", "-f", "-c", "-b", str(width)], input=data, capture_output=True, check=False
        ).stdout
        assert b"".join(steps(inflated(io.BytesIO(packed)), 7777)) == data
        if data == text:
            assert (
                lzw_encode(data[:3000], width)
                == subprocess.run(
                    ["compress", "-f", "-c", "-b", str(width)], input=data[:3000], capture_output=True, check=False
                ).stdout
            )


@given(st.binary(max_size=200), st.integers(10, 16))
def test_damaged_lzw_ends_or_says_so(data: bytes, width: int) -> None:
    for start in (bytes([0x1F, 0x9D, 0x80 | width]), bytes([0x1F, 0x9D, width]), b"\x1f\x9d"):
        try:
            inflated(io.BytesIO(start + data)).read()
        except OSError as error:
            assert ".Z" in str(error)  # noqa: PT017


@given(st.binary(max_size=300), st.integers(1, 50))
def test_every_container_gives_the_bytes(data: bytes, step: int) -> None:
    for packed in (gzip.compress(data), zstandard.compress(data), gzip.compress(data[:9]) + gzip.compress(data[9:])):
        assert b"".join(steps(inflated(io.BytesIO(packed)), step)) == data


@given(st.binary(max_size=20), st.binary(max_size=20), st.integers(1, 8), st.integers(0, 25))
def test_bytes_put_in_front_are_read_first(front: bytes, data: bytes, step: int, end: int) -> None:
    stream = Prefixed(front, io.BytesIO(data), 100, 100 + end)
    assert stream.tell() == 100 - len(front)
    assert b"".join(steps(stream, step)) == front + data[:end]
    assert stream.tell() == 100 + len(data[:end])
    assert Prefixed(front, io.BytesIO(data), 5).read() == front + data
