"""Folders in: each file is a document at its ``file:`` address, as old as the file, whatever its format.

Hidden files and what symbolic links point at are left out; what cannot be read, or is too large, is counted.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from fyke.formats.damage import Report
from fyke.formats.sniff import sniff
from fyke.store.cells import Change, Page, RowMeta
from fyke.store.codec import sha1
from fyke.store.imports.items import Item
from fyke.url import Url

MAX_FILE = 256 << 20
"""Bytes of a file: what a converter takes at most."""


def files_of(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder and of those below it, by path; hidden ones left out."""
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if not hidden and path.is_file() and not path.is_symlink():
            yield path


def file_url(path: Path) -> Url:
    """Return the address of a file; bytes of its name that are no UTF-8 stay what they are."""
    return Url.parse("file://" + quote(os.fsencode(path.absolute())))


def path_of(url: Url) -> Path:
    """Return the file at an address. REQUIRES: ``file_url`` made it."""
    return Path(os.fsdecode(unquote_to_bytes(url.path)))


def file_items(paths: Iterator[Path], report: Report) -> Iterator[Item]:
    """Yield files as documents; ``report`` counts them by place in the order, and what could not be read."""
    for number, path in enumerate(paths):
        try:
            facts = path.stat()
            if not stat.S_ISREG(facts.st_mode):
                continue
            if facts.st_size > MAX_FILE:
                report.note(number, "length", f"{path} has {facts.st_size:,} bytes; at most {MAX_FILE:,} are taken")
                continue
            body = path.read_bytes()
        except OSError as error:
            report.note(number, "file", f"{path}: {error.strerror or error}")
            continue
        report.records += 1
        meta = RowMeta(
            type=sniff(body, "", path.name),
            length=len(body),
            fetched=facts.st_mtime,
            digest=sha1(body) if body else b"",
        )
        yield Item(file_url(path), Change(meta, Page(b"", b"", body)))
