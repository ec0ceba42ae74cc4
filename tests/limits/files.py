"""Trials of limits: files that somebody hands us."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

from fyke.convert import keynote
from fyke.dedupe import disk
from fyke.dedupe.sketch import Parameters
from fyke.errors import StorageError, UserError
from fyke.formats import arc, cdxj, http_body, trec, warc, warc_exchange, xml
from fyke.formats.damage import MAX_NAMED, Report
from fyke.formats.http import parse_head
from fyke.formats.streams import ZSTD_DICTIONARY
from fyke.graph import build
from fyke.store import Store
from fyke.store.cells import MAX_QUALIFIER
from fyke.store.imports import files, tables
from fyke.store.imports import warc as imports
from fyke.store.manifest import MAX_TABLETS, Settings, create
from fyke.topic import opic
from tests.limits.trial import HERE, trial


def _refused(work: Callable[[], object], sentence: str) -> object:
    with pytest.raises((StorageError, UserError), match=sentence):
        work()
    return True


@trial("body-files")
def _() -> object:
    import gzip

    head = parse_head(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n")
    found = http_body.decode_body(head, gzip.compress(bytes(http_body.MAX_BODY + 1), 1))
    return len(found.body) == http_body.MAX_BODY and found.truncated


@trial("xml-entities")
def _() -> object:
    data = b"<!DOCTYPE a [<!ENTITY b 'grows'><!ENTITY c '&b;&b;&b;'>]><a>&c; and &eacute;</a>"
    return "".join(each for each in xml.events(data) if isinstance(each, str)) == " and é"


@trial("warc-head")
def _() -> object:
    head, rest = warc_exchange.split_head(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 300_000)
    return len(head) == warc_exchange._MAX_HEAD and rest


@trial("warc-dictionary")
def _() -> object:
    first = ZSTD_DICTIONARY + (warc._MAX_DICTIONARY + 1).to_bytes(4, "little")
    return not list(warc.read_records(io.BytesIO(first + bytes(100)), Report()))


@trial("arc-fields")
def _() -> object:
    fields = b"".join(b"X-%d: y\r\n" % n for n in range(arc._MAX_FIELDS + 50))
    line = b"WARC/0.9 %8d response http://a.test/ 20080101000000 urn:uuid:1 text/html\r\n"
    data = line % 0 + fields + b"\r\nbody\r\n\r\n"
    data = line % len(data) + fields + b"\r\nbody\r\n\r\n"
    [found] = arc.read_legacy(io.BytesIO(data), Report(), 10_000)
    return len(found.headers) <= arc._MAX_FIELDS + 10


@trial("trec-markup")
def _() -> object:
    junk = b"x" * (trec._MAX_MARKUP + 10)
    data = b"<DOC>\n<DOCNO>1</DOCNO>\n<DOCHDR>\n" + junk + b"\n</DOCHDR>\nbody\n</DOC>\n"
    [found] = trec.read_trec(io.BytesIO(data), Report())
    return found.url == "" and b"body" in found.body


@trial("cdxj-line")
def _() -> object:
    good = b'test,a)/ 20200101000000 {"url": "http://a.test/"}\n'
    index = b"a" * (3 * cdxj._MAX_LINE) + b"\n" + good
    return [line.url for line in cdxj.lookup(io.BytesIO(index), "http://a.test/")] == ["http://a.test/"]


@trial("damages")
def _() -> object:
    report = Report()
    for offset in range(MAX_NAMED + 5):
        report.note(offset, "record")
    return len(report.damages) == MAX_NAMED and report.counts == {"record": MAX_NAMED + 5}


@trial("json-line")
def _() -> object:
    usual, tables.MAX_LINE = tables.MAX_LINE, 1 << 20
    report = Report()
    try:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "a.jsonl"
            file.write_bytes(
                b'{"url":"http://a.test/1","text":"x"}\n{"url":"http://a.test/","text":"' + b"x" * (3 << 20) + b'"}\n'
            )
            found = list(tables.table_items(file, tables.Mapped({}), report, None))
    finally:
        tables.MAX_LINE = usual
    return len(found) == 1 and report.counts["length"] == 1


@trial("import-file")
def _() -> object:
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        large = Path(folder) / "large"
        with large.open("wb") as file:
            file.truncate(files.MAX_FILE + 1)
        found = list(files.file_items(iter([large]), report))
    return not found and report.counts["length"] == 1


@trial("warc-metadata")
def _() -> object:
    return len(imports._cut(bytes(imports.MAX_KEPT + 1))) == imports.MAX_KEPT


@trial("column-name")
def _() -> object:
    with tempfile.TemporaryDirectory() as folder, Store.open(f"{folder}/s") as store:
        store.put(HERE, columns={"x" * MAX_QUALIFIER: b""})
        return _refused(lambda: store.put(HERE, columns={"x" * (MAX_QUALIFIER + 1): b""}), "column")


@trial("tablets")
def _() -> object:
    with tempfile.TemporaryDirectory() as folder:
        return _refused(lambda: create(Path(folder) / "s", Settings(tablets=MAX_TABLETS + 1)), "tablets")


@trial("opic-file")
def _() -> object:
    usual, opic.MAX_FILE = opic.MAX_FILE, 10
    try:
        return _refused(lambda: opic.Cash.decode(opic.Cash().encode()), "checkpoint")
    finally:
        opic.MAX_FILE = usual


def _sketches(**parameters: int) -> object:
    with tempfile.TemporaryDirectory() as folder:
        disk.SketchFolder.open(Path(folder) / "s", Parameters(), create=True).close()
        header = Path(folder) / "s" / "header.json"
        said = msgspec.json.decode(header.read_bytes())
        said["parameters"].update(parameters)
        header.write_bytes(msgspec.json.encode(said))
        return _refused(lambda: disk._read_header(Path(folder) / "s"), "cannot be true")


@trial("sketch-permutations")
def _() -> object:
    return _sketches(permutations=disk.MAX_PERMUTATIONS + 1)


@trial("sketch-words")
def _() -> object:
    return _sketches(n=disk.MAX_WORDS + 1)


@trial("graph-nodes")
def _() -> object:
    edges = [np.array([[0, build.MAX_NODES]], np.int64)]
    return _refused(lambda: list(build.lists_of_edges(edges)), "beyond")


@trial("keynote-archives")
def _() -> object:
    with pytest.raises(ValueError, match="too large"):
        keynote._expanded(b"\0\x0b\0\0" + b"\x88\x27\0x" + b"\xfe\1\0" * 3, 100)  # a letter, copied on and on
    return True
