from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fyke.formats.http import build_head, parse_head

tokens = st.from_regex(r"[A-Za-z][A-Za-z-]{0,10}", fullmatch=True)
values = st.from_regex(r"([!-~\xa1-\xff]([ -~\xa1-\xff]{0,10}[!-~\xa1-\xff])?)?", fullmatch=True)


def test_a_sloppy_head_is_read() -> None:
    head = parse_head(b"HTTP/1.0 200\nContent-type: Text/HTML; charset=x\nX: a\n  b\nnonsense\n: empty\nx: c\n\n")
    assert head.status == 200
    assert head.media_type == "text/html"
    assert head.get_all("X") == ["a b", "c"]
    assert head.get("absent") == ""


@given(st.integers(100, 599), st.lists(st.tuples(tokens, values)))
def test_what_is_written_is_read(status: int, headers: list[tuple[str, str]]) -> None:
    head = parse_head(build_head(status, "Reason", headers))
    assert (head.status, list(head.headers)) == (status, headers)


@given(st.binary())
def test_any_bytes_are_read(data: bytes) -> None:
    assert 0 <= parse_head(data).status <= 999
