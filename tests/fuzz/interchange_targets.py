"""Formats of others: archives of the web, collections, indexes and tables, and all of them through import."""

from __future__ import annotations

import io
from pathlib import Path

from fyke.formats.damage import Report
from fyke.formats.streams import compressed
from fyke.formats.trec import read_trec
from fyke.formats.warc import read_record_at, read_records
from fyke.formats.warc_exchange import read_captures
from fyke.store import Store, manifest
from tests.formats.warc_samples import raw_record, warc_of
from tests.fuzz.mutate import Files
from tests.fuzz.store_targets import stores
from tests.fuzz.target import FORMAT, Target, bytes_target


def _warcs() -> list[bytes]:
    gzipped, _ = warc_of(4)
    plain, _ = warc_of(3, "")
    zstd, _ = warc_of(3, "zstd")
    return [gzipped, plain, zstd, raw_record(1) + raw_record(2, length=10) + raw_record(3)]


def _use_warc(data: bytes) -> None:
    report = Report()
    for capture in read_captures(read_records(io.BytesIO(data), report), report):
        _ = capture
    read_record_at(io.BytesIO(data), len(data) // 3)


_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>page\n"
_ARC = (
    b"filedesc://x.arc 0.0.0.0 20060101000000 text/plain 76\n1 0 Alexa Internet\n"
    b"URL IP-address Archive-date Content-type Archive-length\n\n"
    b"http://a.test/ 192.0.2.1 20060101000001 text/html 52\n" + _ANSWER + b"\n"
    b"http://a.test/b c 192.0.2.1 20060101000002 text/html 52\n" + _ANSWER
)
_OLD = (
    b"warc/0.9 180 response http://a.test/ 20060101000001 uuid:1 message/http\nip-address: 192.0.2.1\n\n"
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>page of an older kind</p>\n\n"
)


def _use_trec(data: bytes) -> None:
    for document in read_trec(io.BytesIO(data), Report()):
        _ = document.identity(), document.exchange()


_TREC = (
    b"<DOC>\n<DOCNO>WTX001-B01-10</DOCNO>\n<DOCHDR>\n"
    b"http://www.example.com/test.html 204.244.59.33 19970101013145 text/html 440\n"
    b"HTTP/1.0 200 OK\nContent-type: text/html\n</DOCHDR>\n<HTML><p>one</HTML>\n</DOC>\n"
    b"<DOC>\n<DOCNO>T-2</DOCNO>\n<TEXT>two</TEXT>\n</DOC>\n"
)


def _lzw() -> bytes:
    """compress(1)'s .Z, nine bits a code, as it begins."""
    codes = [*b"<DOC> <DOCNO>x</DOCNO> two two two </DOC>"]
    value = sum(code << 9 * i for i, code in enumerate(codes))
    return b"\x1f\x9d\x90" + bytes(value.to_bytes((9 * len(codes) + 7) // 8, "little"))


def _packed(data: bytes, compression: str) -> bytes:
    out = io.BytesIO()
    out.close = lambda: None  # type: ignore[method-assign]
    with compressed(out, compression) as file:
        file.write(data)
    return out.getvalue()


_CDXJ = b"".join(
    b'com,example)/%d 2020010100000%d {"url": "http://example.com/%d", "mime": "text/html", "status": "200", "digest": '
    b'"sha1:X", "length": "512", "offset": "%d", "filename": "a.warc.gz"}\n' % (i, i, i, 600 * i)
    for i in range(8)
)


def _use_cdxj(data: bytes) -> None:
    from fyke.formats import cdxj

    list(cdxj.lookup(io.BytesIO(data), "http://example.com/3"))
    for line in data.split(b"\n"):
        found = cdxj.parse_line(line)
        if found is not None:
            encoded = found.encode()
            assert encoded.count(b"\n") == 1


def _use_import(folder: Path, files: Files) -> None:
    """Any of them through ``fyke import``'s own door."""
    from fyke.store.importing import import_file

    with Store.open(folder / "store", settings=manifest.Settings(tablets=1)) as store:
        import_file(store, folder / next(iter(files)))


def _importable(made: Path) -> list[Files]:
    from fyke.store.exporting import export

    stores(made)
    found = []
    with Store.open(made / "store", "r") as store:
        for ending in (".warc.gz", ".warc.zst", ".wacz", ".wet.gz", ".trec.gz"):
            export(store.scan(), made / f"out{ending}")
            found.append({f"out{ending}": (made / f"out{ending}").read_bytes()})
    return found


def _use_table(folder: Path, files: Files) -> None:
    from fyke.store.imports.tables import Mapped, table_items

    for item in table_items(folder / "pages.jsonl", Mapped({}), Report(), None):
        _ = item.url, item.change


_JSONL = b"".join(
    b'{"url": "http://a.test/%d", "text": "words", "html": "<p>x", "date": "2020-01-01", "status": 200, "raw": null}\n'
    % i
    for i in range(4)
)  # fmt: skip

INTERCHANGE = [
    bytes_target("WARC", FORMAT, _warcs, _use_warc),
    bytes_target("ARC", FORMAT, lambda: [_ARC, _OLD, _packed(_ARC, "gzip")], _use_warc),
    bytes_target("TREC", FORMAT, lambda: [_TREC, _packed(_TREC, "gzip"), _packed(_TREC, "zstd"), _lzw()], _use_trec),
    bytes_target("CDXJ", FORMAT, lambda: [_CDXJ], _use_cdxj),
    Target("JSON lines", FORMAT, lambda _: [{"pages.jsonl": _JSONL}], _use_table, on_disk=True),
    Target("import", FORMAT, _importable, _use_import, on_disk=True),
]  # fmt: skip
