"""Trials of limits: documents that are converted, and files of archives."""

from __future__ import annotations

import io
import zipfile
from typing import Any

from fyke.convert import convert_here, engine, epub, html, prepare
from fyke.convert.registry import LIMITS, Limits
from fyke.formats import arc, trec, warc_odd
from fyke.formats.damage import Report
from fyke.formats.warc import read_records
from fyke.text import words
from fyke.values import Reason
from tests.limits.trial import HERE, trial


def _zip(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as pack:
        for name, data in members.items():
            pack.writestr(name, data)
    return out.getvalue()


def _convert(data: bytes, kind: str, given: Limits = LIMITS) -> Any:
    return convert_here(prepare(data, kind, HERE, limits=given))


# ---- documents


@trial("document-bytes")
def _() -> object:
    return _convert(b"x" * 1001, "text/plain", Limits(max_bytes=1000)).failure == Reason.TOO_LARGE


@trial("document-links")
def _() -> object:
    made = _convert(b"".join(b'<a href="/%d">x</a>' % i for i in range(50_010)), "text/html")
    return len(made.links) == 50_000


@trial("document-text")
def _() -> object:
    made = _convert(_zip({"a.txt": b"words " * 1000}), "application/zip", Limits(max_text=2000))
    return len(made.text) <= 2000 and made.failure == Reason.TOO_LARGE


@trial("archive-members")
def _() -> object:
    made = _convert(_zip({f"{n}.txt": b"x" for n in range(LIMITS.max_parts + 5)}), "application/zip")
    return len(made.parts) <= LIMITS.max_parts and made.failure == Reason.TOO_LARGE


@trial("archive-ratio")
def _() -> object:
    made = _convert(_zip({"a.txt": b"\0" * 30_000_000}), "application/zip", Limits(max_text=29_000_000))
    return made.failure == Reason.TOO_LARGE


@trial("archive-depth")
def _() -> object:
    data = _zip({"end.txt": b"the end of it"})
    for n in range(LIMITS.max_depth + 1):
        data = _zip({f"{n}.zip": data})
    return "the end" not in _convert(data, "application/zip").text


@trial("table-rows")
def _() -> object:
    return _convert(b"a,b\n" * 200_010, "text/csv").text.count("\n") <= 200_000


@trial("table-text")
def _() -> object:
    rows = b"one,two,three and some words\n" * 150_000
    made = _convert(rows, "text/csv")
    return made.text.count("three") == 150_000 and "<td>" not in made.html


@trial("chapters")
def _() -> object:
    names = [f"c{n}.xhtml" for n in range(epub._MAX_CHAPTERS + 3)]
    items = "".join(f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in names)
    spine = "".join(f'<itemref idref="{name}"/>' for name in names)
    container = '<container><rootfiles><rootfile full-path="p.opf"/></rootfiles></container>'
    package = f"<package><manifest>{items}</manifest><spine>{spine}</spine></package>"
    pages = dict.fromkeys(names, b"<p>chapter</p>")
    files = {
        "mimetype": b"application/epub+zip",
        "META-INF/container.xml": container.encode(),
        "p.opf": package.encode(),
    }
    return _convert(_zip({**files, **pages}), "application/epub+zip").text.count("chapter") == epub._MAX_CHAPTERS


@trial("pdf-pages")
def _() -> object:
    from bench.hostile_bodies import pdf

    usual, engine._MAX_PAGES = engine._MAX_PAGES, 2
    try:
        data = pdf([b"BT /F1 12 Tf 72 720 Td (page) Tj ET"] * 4)
        return engine._pdfium(prepare(data, "application/pdf", HERE)).text.count("page") == 2
    finally:
        engine._MAX_PAGES = usual


@trial("formulas")
def _() -> object:
    one = b"<math><mi>x</mi></math>"
    made = _convert(b"<p>" + one * (html.MAX_FORMULAS + 5), "text/html")
    return made.html.count("<code") <= html.MAX_FORMULAS


@trial("mail-header")
def _() -> object:
    made = _convert(b"Subject: " + b"x" * 100_000 + b"\n\nbody", "message/rfc822")
    return len(made.title) <= 2_000


@trial("words")
def _() -> object:
    return len(words.encode("word " * (words.MAX_BYTES // 4))) <= words.MAX_BYTES


# ---- files of archives


@trial("warc-header")
def _() -> object:
    report = Report()
    data = b"WARC/1.0\r\n" + b"X: y\r\n" * (warc_odd.MAX_HEADER // 4) + b"\r\n"
    return not list(read_records(io.BytesIO(data), report)) and report.damages


@trial("warc-record")
def _() -> object:
    head = b"WARC/1.0\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:a>\r\nWARC-Target-URI: http://a/\r\n"
    head += b"WARC-Date: 2020-01-01T00:00:00Z\r\nContent-Length: 5000\r\n\r\n"
    [record] = read_records(io.BytesIO(head + b"x" * 5000 + b"\r\n\r\n"), max_record=1000)
    return len(record.block) <= 1000


@trial("arc-line")
def _() -> object:
    report = Report()
    list(arc.read_legacy(io.BytesIO(b"filedesc://a 0.0.0.0 " + b"x" * (arc._MAX_LINE + 100)), report, 1000))
    return report.damages


@trial("trec-document")
def _() -> object:
    report = Report()
    data = b"<DOC>\n<DOCNO>1</DOCNO>\n" + b"x" * 5000 + b"\n</DOC>\n"
    [found] = trec.read_trec(io.BytesIO(data), report, max_document=1000)
    return len(found.body) <= 1000 and report.damages
