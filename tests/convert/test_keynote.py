"""Slides of Keynote, from presentations packed by hand."""

from __future__ import annotations

import io
import zipfile

from hypothesis import given
from hypothesis import strategies as st

from fyke.convert import convert_here, prepare
from fyke.formats.markdown import markdown
from tests.convert.made import zipped


def number(value: int) -> bytes:
    """A number of protocol buffers."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def said(key: int, value: int | bytes) -> bytes:
    """A field of protocol buffers."""
    if isinstance(value, int):
        return number(key << 3) + number(value)
    return number(key << 3 | 2) + number(len(value)) + value


def archive(*objects: tuple[int, int, bytes]) -> bytes:
    """Objects (number, type, message) as Keynote keeps them; what repeats the byte before it is packed."""
    data = b"".join(
        number(len(info)) + info + body
        for at, kind, body in objects
        if (info := said(1, at) + said(2, said(1, kind) + said(3, len(body))))
    )
    packed = bytearray(number(len(data)))
    at = 0
    while at < len(data):
        run = 1
        while run < 60 and at + run < len(data) and data[at + run] == data[at]:
            run += 1
        packed += bytes([0, data[at]]) + (bytes([run - 2 << 2 | 2, 1, 0]) if run > 1 else b"")
        at += run
    return b"\0" + len(packed).to_bytes(3, "little") + bytes(packed)


def presentation() -> bytes:
    """Two slides, the second in the archive that comes first; a title behind the text; a master's text."""
    tree = said(2, said(1, 12)) + said(2, said(1, 11))
    show = archive((1, 2, said(3, tree)), (11, 4, said(2, said(1, 21))), (12, 4, said(2, said(1, 22))))
    title = said(1, said(4, said(1, 32))) + said(2, 2)
    return zipped(
        ("Index/Document.iwa", show),
        ("Index/Slide.iwa", archive((21, 5, b""), (31, 2001, said(3, b"Last words, zzzzzzzzzz")))),
        ("Index/MasterSlide.iwa", archive((51, 5, b""), (52, 2001, said(3, b"Title Text")))),
        ("Index/Slide-2.iwa", archive(
            (22, 5, b""), (30, 2001, said(3, "First line\nSecond line \ufffc".encode())), (33, 7, title),
            (32, 2001, said(3, b"All about fish")),
        )),
    )  # fmt: skip


def test_slides_of_keynote_in_their_order_with_their_titles() -> None:
    found = convert_here(prepare(presentation(), None, name="x.key"))
    assert markdown(found.html) == "## All about fish\n\nFirst line\n\nSecond line\n\nLast words, zzzzzzzzzz\n"
    assert found.title == "All about fish"


@given(st.integers(0, 3), st.integers(0, 200), st.binary(min_size=1, max_size=8))
def test_a_damaged_slide_harms_no_other(which: int, at: int, junk: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(presentation())) as package:
        members = [(name, bytearray(package.read(name))) for name in package.namelist()]
    members[which][1][at : at + len(junk)] = junk
    found = convert_here(prepare(zipped(*((name, bytes(data)) for name, data in members)), None, name="x.key"))
    assert which == 1 or "Last words" in found.text
    if found.failure is not None:
        assert members[which][0] in found.detail
    assert "Title Text" not in found.text
