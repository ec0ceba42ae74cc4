"""WACZ out: a WARC, its index and a list of its pages in one ZIP file, with the digest of each (WACZ 1.1.1).

::

    archive/data.warc.gz     every capture, stored as it is, so that one seek reads one record
    indexes/index.cdx        CDXJ, sorted
    pages/pages.jsonl        the documents: URL, time, title
    datapackage.json         names, sizes and SHA-256 of these; its own is in datapackage-digest.json
"""

from __future__ import annotations

import hashlib
import tempfile
import time
import uuid
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

import msgspec

import fyke
from fyke.formats.cdxj import index_line
from fyke.formats.warc_record import format_date
from fyke.formats.warc_write import Written
from fyke.store.exports.warc import PLAIN, WarcOptions, captured_at, stream_warc
from fyke.store.row import Row
from fyke.store.spool import SortedLines

VERSION = "1.1.1"
DATA, INDEX, PAGES = "archive/data.warc.gz", "indexes/index.cdx", "pages/pages.jsonl"
_PAGE_TYPES = ("text/html", "application/xhtml+xml", "application/pdf")


def stream_wacz(rows: Iterator[Row], out: IO[bytes], options: WarcOptions = PLAIN, folder: Path | None = None) -> int:
    """Write every capture of ``rows`` to a WACZ; return how many. ``folder`` has room for the index and the pages."""
    lines = SortedLines(folder)
    try:
        with zipfile.ZipFile(out, "w", allowZip64=True) as archive, tempfile.TemporaryFile(dir=folder) as pages:
            said = msgspec.json.encode({"format": "json-pages-1.0", "id": "pages", "title": "All Pages"})
            pages.write(said + b"\n")

            def observe(written: Written) -> None:
                lines.add(index_line(written, "data.warc.gz").encode())

            data = _Member(archive, DATA)
            with data:
                count = stream_warc(_noting(rows, pages), data, "data.warc.gz", options, observe, folder)
            resources = [data.resource(), _write(archive, INDEX, lines)]
            pages.seek(0)
            resources.append(_write(archive, PAGES, pages, zipfile.ZIP_DEFLATED))
            _describe(archive, resources, options)
        return count
    finally:
        lines.close()


def _noting(rows: Iterator[Row], pages: IO[bytes]) -> Iterator[Row]:
    """The rows, each document of which is noted in the list of pages."""
    for row in rows:
        meta, version = row.meta, row.version
        if version is not None and version.page and meta.status == 200 and meta.type in _PAGE_TYPES:
            page = {"id": str(uuid.uuid4()), "url": row.url, "ts": format_date(captured_at(version)),
                    "title": (meta.title or row.url).encode("utf-8", "replace").decode()}  # fmt: skip
            pages.write(msgspec.json.encode(page) + b"\n")
        yield row


class _Member:
    """A member of an archive that is being written: counted and hashed as it goes."""

    def __init__(self, archive: zipfile.ZipFile, name: str, compression: int = zipfile.ZIP_STORED) -> None:
        info = zipfile.ZipInfo(name, time.gmtime()[:6])
        info.compress_type = compression
        info.external_attr = 0o644 << 16
        self._name = name
        self._out = archive.open(info, "w", force_zip64=True)
        self._digest = hashlib.sha256()
        self._size = 0

    def write(self, data: bytes, /) -> int:
        self._digest.update(data)
        self._size += len(data)
        return self._out.write(data)

    def resource(self) -> dict[str, object]:
        return {
            "name": self._name.rpartition("/")[2],
            "path": self._name,
            "hash": f"sha256:{self._digest.hexdigest()}",
            "bytes": self._size,
        }

    def __enter__(self) -> _Member:
        return self

    def __exit__(self, *reason: object) -> None:
        self._out.close()


def _write(
    archive: zipfile.ZipFile, name: str, lines: Iterable[bytes], compression: int = zipfile.ZIP_STORED
) -> dict[str, object]:
    member = _Member(archive, name, compression)
    with member:
        for line in lines:
            member.write(line)
    return member.resource()


def _describe(archive: zipfile.ZipFile, resources: list[dict[str, object]], options: WarcOptions) -> None:
    fields = dict(options.fields)
    package: dict[str, object] = {
        "profile": "data-package",
        "wacz_version": VERSION,
        "title": fields.get("isPartOf", ""),
        "created": format_date(int(time.time())),
        "software": f"fyke {fyke.__version__}",
        "resources": resources,
    }
    described = _write(archive, "datapackage.json", [msgspec.json.format(msgspec.json.encode(package))])
    digest = {"path": "datapackage.json", "hash": described["hash"]}
    _write(archive, "datapackage-digest.json", [msgspec.json.encode(digest)])
