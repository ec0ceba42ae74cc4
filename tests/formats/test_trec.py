from __future__ import annotations

import gzip
import io

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from fyke.formats.damage import Report
from fyke.formats.trec import TrecDocument, read_trec, text_document, web_document, write_trec
from fyke.lecture.texts import TREC as TEXTBOOK
from fyke.values import Exchange
from tests.formats.test_streams import lzw_encode


def read(data: bytes, report: Report | None = None, cap: int = 10**8) -> list[TrecDocument]:
    return list(read_trec(io.BytesIO(data), report, max_document=cap))


def written(documents: list[TrecDocument]) -> bytes:
    out = io.BytesIO()
    for document in documents:
        write_trec(document, out)
    return out.getvalue()


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress, lzw_encode])
def test_the_textbooks_example_round_trips_byte_for_byte(pack: object) -> None:
    assert callable(pack)
    report = Report()
    documents = read(pack(TEXTBOOK), report)
    assert written(documents) == TEXTBOOK
    assert not report.counts
    first, second = documents
    assert (first.docno, first.url, first.address) == (
        "WTX001-B01-10", "http://www.example.com/test.html", "204.244.59.33",
    )  # fmt: skip
    assert (first.date, first.media_type, first.length) == (852082305.0, "text/html", 440)
    assert (len(first.body), len(second.body)) == (63, 120)  # whatever the headers say
    assert first.head.startswith(b"HTTP/1.0 200 OK\nDate: ")


def test_docno_address_and_headers_survive_an_exchange() -> None:
    for document in read(TEXTBOOK):
        exchange = document.exchange()
        assert exchange.status == 200
        again = web_document(document.docno, document.url, exchange, length=440)
        assert written([again]) == TEXTBOOK[document.offset : document.offset + len(written([document]))]


def test_trectext_and_other_collections() -> None:
    text = b"<DOC>\n<DOCNO> AP880212-0001 </DOCNO>\n<FILEID>AP-NR</FILEID>\n<TEXT>\nFish.\n</TEXT>\n</DOC>\n\n"
    gov2 = (
        b"<DOC>\r\n<DOCNO>GX000-00</DOCNO>\r\n<DOCHDR>\r\nhttp://www.example.gov/\r\n"
        b"HTTP/1.1 200 OK\r\n</DOCHDR>\r\nx</DOC>\r\n"
    )
    wt10g = (
        b"<DOC>\n<DOCNO>WTX1</DOCNO>\n<DOCOLDNO>IA09</DOCOLDNO>\n<DOCHDR>\n"
        b"http://a.example:80/ 192.0.2.1 1 t 5\n</DOCHDR>\n</DOC>\n"
    )
    report = Report()
    documents = read(text + gov2 + wt10g, report)
    assert written(documents) == text + gov2 + wt10g
    assert not report.counts
    assert [d.docno for d in documents] == ["AP880212-0001", "GX000-00", "WTX1"]
    assert [str(d.identity()) for d in documents] == [
        "file:///trec/AP880212-0001", "http://www.example.gov/", "http://a.example/",
    ]  # fmt: skip
    assert documents[1].exchange().status == 200
    assert read(written([text_document("T-1", b"Fish.")]))[0].body == b"<TEXT>\nFish.\n</TEXT>\n"


def test_a_body_that_holds_the_end_tag_cannot_break_the_file() -> None:
    hostile = web_document("A-1", "http://a.example/", Exchange(b"", b"", b"x</doc><DOC>y", 200, 0.0, 0.0))
    after = web_document("A-2", "http://a.example/2", Exchange(b"", b"", b"z", 200, 0.0, 0.0))
    first, second = read(written([hostile, after]))
    assert (first.docno, first.body, second.docno) == ("A-1", b"x</DOC ><DOC>y", "A-2")


def test_a_head_that_holds_the_end_tag_cannot_break_the_document() -> None:
    head = b"HTTP/1.0 200 OK\nX: </dochdr>\n\n"
    (found,) = read(written([web_document("A-1", "http://a.example/", Exchange(b"", head, b"body", 200, 0.0, 0.0))]))
    assert (found.head, found.body) == (b"HTTP/1.0 200 OK\nX: </DOCHDR >\n", b"body")


def test_a_document_over_the_cap_is_truncated_and_counted() -> None:
    big = b"<DOC>\n<DOCNO>B</DOCNO>\n" + b"x" * 500_000 + b"</DOC>\n"
    report = Report()
    documents = read(big + TEXTBOOK, report, cap=1000)
    assert [(d.docno, d.truncated) for d in documents] == [
        ("B", True), ("WTX001-B01-10", False), ("WTX001-B01-109", False),
    ]  # fmt: skip
    assert len(documents[0].markup + documents[0].body) == 1000
    assert report.counts == {"length": 1}


def test_what_is_no_trec_is_said_so() -> None:
    report = Report()
    assert read(b"just text " * 30_000, report) == []
    assert report.counts["foreign"] == 2
    assert report.damages[-1].detail == "no <DOC> in the whole stream"


def test_a_number_of_blanks_takes_no_time() -> None:
    (document,) = read(b"<DOC><DOCNO>" + b" " * 900_000 + b"</DOC>")
    assert document.docno == ""


docnos = st.from_regex(r"[A-Z0-9]{1,4}(-[A-Z0-9]{1,3}){0,2}", fullmatch=True)
bodies = st.binary(max_size=80).filter(lambda b: b"</doc>" not in b.lower() and b"<doc" not in b.lower())
collection = st.lists(
    st.builds(
        lambda docno, body, head, web: (
            web_document(docno, "http://a.example/x", Exchange(b"", head, body, 0, 852082305.0, 0.0, "192.0.2.1"))
            if web
            else text_document(docno, body)
        ),
        docnos,
        bodies,
        st.sampled_from([b"", b"HTTP/1.0 200 OK\r\nA: b\r\n\r\n"]),
        st.booleans(),
    ),
    max_size=4,
)


@given(collection)
def test_what_is_written_is_read(documents: list[TrecDocument]) -> None:
    found = read(written(documents))
    assert [(d.docno, d.url, d.address, d.date, d.head, d.body) for d in found] == [
        (d.docno, d.url, d.address, d.date, d.head, d.body) for d in documents
    ]
    assert written(found) == written(documents)


@settings(max_examples=80)
@given(st.integers(0, 10**6), st.integers(1, 255), st.sampled_from([bytes, gzip.compress]))
def test_a_cut_or_flip_never_raises_nor_loses_earlier_documents(at: int, flip: int, pack: object) -> None:
    assert callable(pack)
    whole = read(TEXTBOOK * 3)
    plain = bytearray(TEXTBOOK * 3)
    at %= len(plain)
    plain[at] ^= flip
    earlier = [d for d in whole if d.offset + len(written([d])) <= at]
    assert read(pack(bytes(plain)))[: len(earlier)] == earlier
    assert read(pack(bytes(plain[:at])))[: len(earlier)] == earlier
    packed = bytearray(pack(TEXTBOOK))
    packed[at % len(packed)] ^= flip
    read(bytes(packed))
    read(bytes(packed[: at % len(packed)]))


@given(st.binary(max_size=200))
def test_any_bytes_are_read(data: bytes) -> None:
    for whole in (data, b"<DOC><DOCNO>" + data, b"<DOC>\n<DOCNO>1</DOCNO>\n<DOCHDR>\n" + data + b"</DOCHDR></DOC>"):
        assert sum(len(document.body) for document in read(whole)) <= len(whole)
