from __future__ import annotations

import gzip
import zlib

import brotli
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from fyke.fetch.encoding import decode

PACK = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress, "zstd": zstandard.compress}
codings = st.lists(st.sampled_from(sorted(PACK)), max_size=3)


@given(st.binary(max_size=2000), codings)
def test_what_was_packed_is_unpacked(body: bytes, names: list[str]) -> None:
    packed = body
    for name in names:
        packed = PACK[name](packed)
    result = decode(packed, ", ".join(names), 10_000)
    assert (result.body, result.truncated, result.damaged) == (body, False, False)


@given(st.binary(max_size=300), codings, st.integers(0, 100))
def test_any_bytes_give_an_answer_within_the_cap(data: bytes, names: list[str], cap: int) -> None:
    assert len(decode(data, ",".join(names), cap).body) <= cap


@given(st.binary(min_size=200, max_size=2000), st.sampled_from(sorted(PACK)), st.data())
def test_damage_is_said(body: bytes, name: str, data: st.DataObject) -> None:
    packed = PACK[name](body)
    cut = data.draw(st.integers(1, len(packed) - 1))
    result = decode(packed[:cut], name, 10_000)
    assert result.body != body or result.truncated or name in {"gzip", "zstd"}
    assert body.startswith(result.body) or result.damaged or name == "gzip"
