"""Files in files: what is damaged or cut off costs itself alone, and is named."""

from __future__ import annotations

import bz2
import gzip
import io
import zipfile

import pytest

from fyke.formats import media_types as kinds
from fyke.formats.sniff import sniff
from fyke.values import Reason
from tests.convert.made import converted, zipped


def damaged_zip(bad: str) -> bytes:
    """An archive of three members, one with a wrong check sum."""
    data = bytearray(zipped(("a.txt", "first"), ("b.txt", "second"), ("c.txt", "third")))
    at = data.find(b"second")
    data[at : at + 3] = b"XXX"
    assert bad == "b.txt"
    return bytes(data)


def test_a_bad_member_loses_itself_and_is_named() -> None:
    found = converted(damaged_zip("b.txt"), "x.zip")
    assert "first" in found.text
    assert "third" in found.text
    assert found.failure is Reason.DAMAGED
    assert "b.txt" in found.detail
    assert [part.failure for part in found.parts] == [None, Reason.DAMAGED, None]


@pytest.mark.parametrize("stored", [True, False])
def test_an_archive_that_lost_its_end_gives_its_members(stored: bool) -> None:
    words = " ".join(f"word{n}" for n in range(400))
    whole = zipped(("a.txt", "first"), ("d/b.txt", words), ("c.txt", words), stored=stored)
    found = converted(whole[: whole.rindex(b"PK\1\2") - 200], "x.zip")
    assert [part.name for part in found.parts] == ["a.txt", "d/b.txt", "c.txt"]
    assert [part.text for part in found.parts[:2]] == ["first", words]
    assert found.failure is Reason.DAMAGED


def test_an_archive_that_was_written_to_a_pipe_and_lost_its_end() -> None:
    """Its members' sizes stand behind them."""

    class Pipe(io.RawIOBase):
        written = b""

        def writable(self) -> bool:
            return True

        def write(self, data: object) -> int:
            self.written += bytes(data)  # type: ignore[call-overload]
            return len(data)  # type: ignore[arg-type]

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("a.txt", "b.txt"):
            archive.writestr(name, f"{name} holds some words")
    found = converted(pipe.written[: pipe.written.index(b"PK\1\2")], "x.zip")
    assert [part.text for part in found.parts] == ["a.txt holds some words", "b.txt holds some words"]


def epub(chapters: list[tuple[str, str]]) -> bytes:
    items = "".join(f'<item id="i{n}" href="{name}"/>' for n, (name, _) in enumerate(chapters))
    spine = "".join(f'<itemref idref="i{n}"/>' for n in range(len(chapters)))
    package = (
        '<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>The Book</dc:title>'
        "<dc:language>fr</dc:language><dc:creator>Ann Author</dc:creator></metadata>"
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    return zipped(
        ("mimetype", "application/epub+zip"),
        ("META-INF/container.xml", '<container><rootfiles><rootfile full-path="p.opf"/></rootfiles></container>'),
        ("p.opf", package),
        *chapters,
    )


def test_a_bad_chapter_loses_itself_and_a_book_is_called_by_its_title() -> None:
    page = "<html><head><title>Cover Page</title></head><body><p>{}</p></body></html>"
    chapters = [(f"{n}.xhtml", page.format(word)) for n, word in enumerate(("one", "two", "three"))]
    data = epub(chapters).replace(b"<p>two</p>", b"<p>TWO</p>")
    found = converted(data)
    assert (found.title, found.language, found.meta.author) == ("The Book", "fr", "Ann Author")
    assert found.text.split() == ["one", "three"]
    assert "1.xhtml" in found.detail
    with zipfile.ZipFile(io.BytesIO(epub(chapters))) as book:
        lacking = zipped(*((name, book.read(name)) for name in book.namelist() if name != "2.xhtml"))
    assert "2.xhtml" in converted(lacking).detail
    assert converted(lacking).text.split() == ["one", "two"]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_of_a_cut_file_what_came_is_given(pack: object) -> None:
    lines = "".join(f"line {n} of a long text that goes on\n" for n in range(60_000))
    data = pack(lines.encode())  # type: ignore[operator]
    found = converted(data[: len(data) * 2 // 3])
    assert found.text.startswith("line 0 of")
    assert found.failure is Reason.DAMAGED
    assert "cut short" in found.detail


@pytest.mark.parametrize("stored", [True, False])
def test_an_open_document_is_known_wherever_its_type_stands(stored: bool) -> None:
    data = zipped(
        ("content.xml", "<x/>"), ("META-INF/manifest.xml", "<x/>"),
        ("mimetype", "application/vnd.oasis.opendocument.text"), stored=stored,
    )  # fmt: skip
    assert sniff(data) == kinds.ODT
