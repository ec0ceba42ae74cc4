"""A range of an archive in: the captures that an index lists, read one by one from the WARC files of a local tree.

The index is CDXJ, plain or compressed (``cdx-00000.gz``), or a ``cluster.idx``, whose blocks are then read from the
index files beside it: so a host's captures are had from a tree as Common Crawl lays it out, without reading the rest.
"""

from __future__ import annotations

import gzip
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from fyke.errors import UrlError
from fyke.formats.cdxj import IndexLine, parse_line
from fyke.formats.damage import Report
from fyke.formats.streams import inflated
from fyke.formats.surt import surt
from fyke.formats.warc import read_record_at
from fyke.formats.warc_record import Record
from fyke.store.where import Where, is_status, is_type
from fyke.url import Url

CLUSTER = "cluster.idx"
_OPEN = 16
"""WARC files that are open at once."""


@dataclass(frozen=True, slots=True)
class Range:
    """Which captures of an index: ``where`` by host, prefix, time, status and type."""

    where: Where
    tree: Path
    """The folder that the names of WARC files are relative to."""

    def keys(self) -> list[bytes]:
        """Return what the keys of all wanted lines begin with; none for all lines."""
        hosts = [surt(f"http://{host}/").partition(")")[0] + ")" for host in self.where.host]
        return [key.encode() for key in [*hosts, *(surt(prefix).rstrip("/") for prefix in self.where.prefix)]]

    def takes(self, line: IndexLine) -> bool:
        """Whether a capture is wanted."""
        where = self.where
        if where.status and not any(is_status(_number(line.status), wanted) for wanted in where.status):
            return False
        if where.type and not any(is_type(line.mime.lower(), wanted) for wanted in where.type):
            return False
        when = datetime.strptime(line.timestamp.ljust(14, "0") + "+0000", "%Y%m%d%H%M%S%z").astimezone(UTC).timestamp()
        if (where.since is not None and when < where.since) or (where.until is not None and when >= where.until):
            return False
        if not where.host and not where.prefix:
            return True
        try:
            url = Url.parse(line.url)
        except UrlError:
            return False
        return url.host in where.host or any(url.href.startswith(Url.parse(each).href) for each in where.prefix)


def is_index(path: Path) -> bool:
    """Whether a file's name says that it is an index of captures."""
    name = path.name.removesuffix(".gz").removesuffix(".zst")
    return path.name == CLUSTER or name.endswith((".cdxj", ".cdx")) or name.startswith("cdx-")


def range_records(
    index: Path, wanted: Range, report: Report, progress: Callable[[int], None] | None = None
) -> Iterator[Record]:
    """Yield the records of the captures that are wanted, in the order of the index. What is not found is noted."""
    files: OrderedDict[Path, BinaryIO] = OrderedDict()
    try:
        for line in _lines(index, wanted, report, progress):
            record = _record(line, wanted.tree, files, report)
            if record is not None:
                report.records += 1
                yield record
    finally:
        for file in files.values():
            file.close()


def _record(line: IndexLine, tree: Path, files: OrderedDict[Path, BinaryIO], report: Report) -> Record | None:
    name = PurePosixPath(line.filename)
    if name.is_absolute() or ".." in name.parts:
        report.note(line.offset, "file", f"{line.filename} leads out of the tree")
        return None
    path = tree / name
    try:
        file = files.pop(path, None) or path.open("rb")
        files[path] = file
        if len(files) > _OPEN:
            files.popitem(last=False)[1].close()
        record = read_record_at(file, line.offset)
    except OSError as error:
        report.note(line.offset, "file", f"{path}: {error.strerror or error}")
        return None
    if record is None:
        report.note(line.offset, "record", f"{line.filename} has no record there")
    return record


def _lines(index: Path, wanted: Range, report: Report, progress: Callable[[int], None] | None) -> Iterator[IndexLine]:
    keys = wanted.keys()
    for data in _blocks(index, keys, report, progress):
        if not keys or any(data.startswith(key) for key in keys):
            line = parse_line(data)
            if line is None:
                if data[:1] not in (b"", b" ", b"!"):  # a heading, as " CDX N b a …" and "!meta" are
                    report.note(0, "line", data[:60].decode("utf-8", "replace"))
            elif wanted.takes(line):
                yield line


def _blocks(index: Path, keys: list[bytes], report: Report, progress: Callable[[int], None] | None) -> Iterator[bytes]:
    """Yield the lines of an index, or those of the blocks of a cluster that may hold a key."""
    with index.open("rb") as file:
        if index.name != CLUSTER:
            yield from _each(inflated(file), file, progress)
            return
        held: bytes | None = None
        for line in _each(file, file, progress):  # a block's keys lie between its own and the next one's
            if held is not None and _may_hold(held, line, keys):
                yield from _block(index.parent, held, report)
            held = line
        if held is not None and _may_hold(held, b"\xff", keys):
            yield from _block(index.parent, held, report)


def _may_hold(first: bytes, after: bytes, keys: list[bytes]) -> bool:
    return not keys or any(first[: len(key)] <= key and after >= key for key in keys)


def _block(folder: Path, line: bytes, report: Report) -> Iterator[bytes]:
    """The lines of one block: ``key timestamp TAB file TAB offset TAB length TAB number``."""
    fields = line.split(b"\t")
    try:
        name, offset, length = fields[1].decode(), int(fields[2]), int(fields[3])
        with (folder / PurePosixPath(name).name).open("rb") as file:
            file.seek(offset)
            yield from gzip.decompress(file.read(length)).split(b"\n")
    except (OSError, ValueError, IndexError, EOFError, zlib.error) as error:
        report.note(0, "block", f"{line[:60].decode('utf-8', 'replace')}: {error}")


def _each(stream: object, file: BinaryIO, progress: Callable[[int], None] | None) -> Iterator[bytes]:
    rest = b""
    while chunk := stream.read(1 << 20):  # type: ignore[attr-defined]
        if progress is not None:
            progress(file.tell())
        lines = (rest + chunk).split(b"\n")
        rest = lines.pop()
        yield from lines
    if rest:
        yield rest


def _number(status: str) -> int:
    return int(status) if status.isdigit() else 0
