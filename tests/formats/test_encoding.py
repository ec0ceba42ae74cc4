"""Bytes to text: html5lib's cases, pages in 32 encodings, the UTF-8 table of the lecture, and labels that lie."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fyke
from fyke.formats import encoding
from fyke.formats.encoding import as_utf8, decoded, http_charset, lookup


def html5lib_cases(folder: Path) -> Iterator[tuple[bytes, str]]:
    for name in ("tests1.dat", "tests2.dat", "test-yahoo-jp.dat"):
        for case in (folder / name).read_bytes().split(b"#data\n")[1:]:
            data, _, rest = case.partition(b"\n#encoding\n")
            yield data, rest.split(b"\n")[0].decode()


def test_html5lib_encoding_cases(shared_data: Path) -> None:
    cases = list(html5lib_cases(shared_data / "encoding" / "html5lib"))
    assert len(cases) == 82
    wrong = [(data[:60], wanted) for data, wanted in cases if fyke.decode(data)[1] != lookup(wanted)]
    assert wrong == []


def test_generated_pages(shared_data: Path) -> None:
    folder = shared_data / "encoding" / "generated"
    pages = [json.loads(line) for line in (folder / "manifest.jsonl").read_text(encoding="utf-8").splitlines()]
    wrong = []
    for page in pages:
        text, label = fyke.decode((folder / page["file"]).read_bytes(), page["content_type"])
        if page["text"] not in text or (page["strict"] and label != page["encoding"]):
            wrong.append(page["file"])
    assert len(wrong) <= 0.02 * len(pages), wrong


@pytest.mark.parametrize(
    ("point", "encoded"),
    [
        (0x00, "00"), (0x7F, "7F"), (0x80, "C2 80"), (0x3C0, "CF 80"), (0x7FF, "DF BF"), (0x800, "E0 A0 80"),
        (0xD7FF, "ED 9F BF"), (0xE000, "EE 80 80"), (0xFFFF, "EF BF BF"), (0x10000, "F0 90 80 80"),
        (0x10FFFF, "F4 8F BF BF"),
    ],
)  # fmt: skip
def test_boundaries_of_the_utf8_table(point: int, encoded: str) -> None:
    data = bytes.fromhex(encoded)
    assert chr(point).encode() == data
    assert fyke.decode(b"x" + data, "text/plain; charset=utf-8") == ("x" + chr(point), "UTF-8")


@pytest.mark.parametrize("surrogate", ["ED A0 80", "ED BF BF", "C0 80", "F4 90 80 80"])
def test_what_the_table_leaves_undefined_is_replaced_and_counted(surrogate: str) -> None:
    found = decoded("ok ππππππππ".encode() + bytes.fromhex(surrogate), "text/plain; charset=utf-8")
    assert found.text.startswith("ok ")
    assert found.replaced == found.text.count("\ufffd") > 0


TEXTS = {
    "utf-16-le": "日本語のテキスト and Latin",
    "utf-16-be": "Ελληνικά text",
    "utf-32-le": "हिन्दी text",
    "utf-32-be": "ไทย text",
}


@pytest.mark.parametrize("codec", TEXTS)
def test_wide_encodings_with_and_without_mark(codec: str) -> None:
    text = "<p>plain words first, then " + TEXTS[codec]
    assert fyke.decode(("\ufeff" + text).encode(codec))[0] == text
    assert fyke.decode(text.encode(codec))[0] == text


def test_a_label_that_the_bytes_disprove() -> None:
    page = "Smörgåsbord — “déjà vu” naïve café"
    assert fyke.decode(page.encode(), "text/html; charset=iso-8859-1") == (page, "UTF-8")
    legacy = page.replace("—", "-").encode("windows-1252")
    assert fyke.decode(legacy, "text/html; charset=utf-8")[0] == page.replace("—", "-")


@pytest.mark.parametrize(
    ("codec", "words"),
    [
        ("iso-8859-2", "Zażółć gęślą jaźń, pójdź kińże tę chmurność w głąb flaszy. "),
        ("cp1250", "Árvíztűrő tükörfúrógép; a szőlő és a gyümölcs a piacon is kapható. "),
        ("koi8-r", "Съешь же ещё этих мягких французских булок, да выпей чаю. "),
        ("iso-8859-5", "Съешь же ещё этих мягких французских булок, да выпей чаю. "),
        ("cp1252", "Der Bäcker füllt Öl über größere Mengen süßer Äpfel. "),
        ("euc-kr", "키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다. "),
        ("gbk", "我能吞下玻璃而不伤身体，这是一个用来测试的句子。"),
        ("shift_jis", "いろはにほへと ちりぬるを わかよたれそ つねならむ "),
    ],
)
@pytest.mark.parametrize("kind", ["text/html", "text/plain"])
def test_what_nobody_declares_rightly_is_detected(codec: str, words: str, kind: str) -> None:
    start = '<html><meta charset="utf-8"><p>' if kind == "text/html" else ""
    assert fyke.decode((start + words * 2).encode(codec), kind)[0] == start + words * 2


def test_one_bad_byte_does_not_change_the_encoding() -> None:
    found = decoded("Füße und Bäume überall".encode() + b"\xff", "text/html; charset=utf-8")
    assert (found.encoding, found.how, found.replaced) == ("UTF-8", "http", 1)


@given(st.binary(max_size=300), st.sampled_from([None, "text/html", "text/plain; charset=utf-16", "x; charset=big5"]))
def test_any_bytes_have_a_text(data: bytes, content_type: str | None) -> None:
    text, label = fyke.decode(data, content_type)
    text.encode()  # no lone surrogates
    assert label


@given(st.text(min_size=1), st.sampled_from(["utf-8", "utf-16-le", "utf-16-be"]))
def test_marked_text_comes_back(text: str, codec: str) -> None:
    assert fyke.decode(b"".join(("\ufeff".encode(codec), text.encode(codec))))[0] == text


@given(
    st.sampled_from(
        [b"", b"<meta charset=utf-8>", b"<meta charset=latin1>", b"<meta charset=iso-2022-jp>\x1b$B", b"<p>"]
    ),
    st.text(max_size=20) | st.text("ab<>&~{}\x1b$B", max_size=20),
    st.sampled_from(["utf-8", "utf-8-sig", "latin-1", "utf-16", "utf-16-le", "shift_jis"]),
    st.sampled_from(["", "text/html", "text/html; charset=utf-8", "text/html; charset=koi8-r", "text/plain"]),
)
def test_utf8_is_what_is_decoded(start: bytes, text: str, codec: str, content_type: str) -> None:
    data = start + text.encode(codec, "replace")
    found, made = decoded(data, content_type), as_utf8(data, content_type)
    assert made == (found.text.encode(), found.encoding, found.how, found.replaced)
    assert made.data is data or found.encoding != "UTF-8" or made.data != data


def test_labels() -> None:
    assert http_charset('text/html; a=b; Charset="x-sjis"') == "x-sjis"
    assert [lookup(label) for label in ("latin1", "x-sjis", "utf8", "ks_c_5601-1987", "nonsense", "koi8")] == [
        *("windows-1252", "Shift_JIS", "UTF-8", "EUC-KR", None, "KOI8-R"),
    ]


def test_hostile_declarations_take_linear_time() -> None:
    for unit in (b"<meta charset=", b'<meta a="', b"<!-- ", b"<a ", b"<meta http-equiv=content-type content='charset "):
        text, _ = fyke.decode(unit * 20_000)
        assert text == unit.decode() * 20_000


PIECES = [
    b"<!doctype html>",
    b"<html lang=en>",
    b'<html a="b">',
    b"<head>",
    b"<head x>",
    b"<title>",
    b"</title>",
    b"a ",
    b"<",
]
PIECES += [
    b'<meta charset="utf-8">',
    b"<meta charset='greek' />",
    b"<meta charset=koi8-r>",
    b'<meta charset="nonsense">',
]
PIECES += [b"<!--", b"-->", b'"', b"=", b">", b'<p title="', b"<META\nCHARSET='utf-16'>", b"<html =", b"<titles>", b"/"]


@given(st.lists(st.sampled_from(PIECES), max_size=9).map(b"".join))
def test_the_short_way_to_a_declaration_is_the_prescan(start: bytes) -> None:
    assert encoding.meta_charset(start) == encoding._prescan(start)
