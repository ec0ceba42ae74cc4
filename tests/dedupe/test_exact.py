"""Check sums and digests: the textbooks' examples."""

from __future__ import annotations

import zlib

from hypothesis import given
from hypothesis import strategies as st

from fyke.dedupe.exact import SUMS, byte_sum, lecture_adler32, text_digest


def test_tropical_fish() -> None:
    fish, fihs = b"Tropical fish", b"Tropical fihs"
    assert byte_sum(fish) == byte_sum(fihs) == 0x508, "a sum does not see the order of bytes"
    assert (SUMS["crc32"](fish), SUMS["crc32"](fihs)) == ("18f14f94", "3ba24de2")
    assert all(SUMS[name](fish) != SUMS[name](fihs) for name in SUMS if name != "sum")


def test_adler_of_a_cab() -> None:
    data = b"a cab"
    running = [lecture_adler32(data[: i + 1], 1 << 16) for i in range(5)]
    assert [v & 0xFFFF for v in running] == [97, 129, 228, 325, 423]
    assert [v >> 16 for v in running] == [97, 226, 454, 779, 1202]
    value = lecture_adler32(data, 13)
    assert f"{value >> 16:04b} {value & 0xFFFF:04b}" == "0110 0111"
    assert zlib.adler32(data) == 0x04B701A8


@given(st.binary(max_size=200))
def test_lecture_adler_and_zlibs_differ_by_the_start(data: bytes) -> None:
    """zlib's B starts at 1, which adds 1 to B and one for each byte to A."""
    value = zlib.adler32(data)
    a, b = (value >> 16) - len(data), (value & 0xFFFF) - 1
    assert lecture_adler32(data) == (a % 65521) << 16 | b % 65521


def test_the_digest_of_a_text_is_of_its_words() -> None:
    assert text_digest("Fish!") == text_digest("fish") != text_digest("fowl")
    assert text_digest("...") == b""
