"""From files to rows: what is opened, how much of it is read, and what is made of it by room ``reading``.

A file is opened without following links and without waiting, and is the one that the walk saw, or it is left for the
next time. What is in a container is a row of its own: ``file:///a.zip!/member``, ``file:///inbox!/message-id`` (a real
``!`` is %21). The file itself is the raw; the row has its text and what is known of it.
"""

from __future__ import annotations

import os
import pwd
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

import msgspec

from fyke.desktop.ignore import by_name, holds_private_key
from fyke.desktop.state import identity, is_racy, size_and_time, unsure
from fyke.errors import UrlError
from fyke.formats.http import NO_HEAD
from fyke.formats.mbox import stream
from fyke.formats.media_types import EMAIL, MBOX, TAR, ZIP
from fyke.formats.sniff import sniff
from fyke.reading.importing import with_reading
from fyke.reading.reading import Reader, Reading
from fyke.store.cells import Change, Page, RowMeta
from fyke.store.codec import sha1
from fyke.store.imports.files import file_url
from fyke.url import Url
from fyke.values import Document, Reason

COLUMN = "desktop:file"
"""The sparse column of a file's row that tells what the file system says of it (``Facts``)."""
CHUNK = 4 << 20
_HEAD = 1 << 16
"""Bytes by which a file that is not read tells its type."""
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NO_ATIME = getattr(os, "O_NOATIME", 0)
_MESSAGE_ID = re.compile(rb"^message-id:\s*<([^<>\s]{1,200})>", re.IGNORECASE | re.MULTILINE)
_CONTAINERS = (ZIP, TAR)


class Facts(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the file system says of a file: for a search that shows everyone only his own."""

    owner: str
    uid: int
    gid: int
    mode: str
    """As ``chmod`` takes it: 0640."""
    modified: str


class RefusedFile(Exception):  # noqa: N818 - it is no error of ours
    """A file has no row, for a reason that is counted."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(detail or reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class File:
    """A file that was opened and read."""

    path: str
    found: bytes
    """Its identity when it was read, by which it is known from now on."""
    facts: Facts
    size: int
    modified: float
    body: bytes | None
    """None of what is too large to be read."""
    media_type: str
    truncated: bool = False

    @property
    def url(self) -> Url:
        """Its address."""
        return file_url(Path(self.path))


@dataclass(frozen=True, slots=True)
class Row:
    """A row to put."""

    url: Url
    change: Change


def read(path: str, expected: bytes, limit: int) -> File:
    """Read a file that the walk saw, up to ``limit`` bytes. Raises ``RefusedFile``."""
    try:
        handle = _open(path)
    except PermissionError:
        raise RefusedFile("denied") from None
    except (OSError, ValueError) as error:
        raise RefusedFile("vanished", str(error)) from None
    try:
        return _read(path, handle, expected, limit)
    except OSError as error:
        raise RefusedFile("unreadable", error.strerror or str(error)) from None
    finally:
        os.close(handle)


def _read(path: str, handle: int, expected: bytes, limit: int) -> File:
    """Read an open file; one that is written meanwhile once more, then as it is."""
    for _ in range(2):
        before, now = os.fstat(handle), time.time()
        if not stat.S_ISREG(before.st_mode) or identity(before)[:16] != expected[:16]:
            raise RefusedFile("vanished", "another file is there now")
        os.lseek(handle, 0, os.SEEK_SET)
        body = _whole(handle, limit) if before.st_size <= limit else None
        start = body if body is not None else os.pread(handle, _HEAD, 0)
        found = identity(os.fstat(handle))
        restless = found != identity(before)
        if not restless:
            break
    size, modified = size_and_time(found)
    known = unsure(found) if restless or is_racy(found, now) else found
    return File(path, known, facts_of(before), size, modified, body, sniff(start, "", path), restless)


def _open(path: str) -> int:
    try:
        return os.open(path, _FLAGS | _NO_ATIME)
    except PermissionError:  # only its owner may read without leaving a trace
        return os.open(path, _FLAGS)


def _whole(handle: int, limit: int) -> bytes:
    parts, left = [], limit
    while left > 0 and (part := os.read(handle, min(left, CHUNK))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def facts_of(found: os.stat_result) -> Facts:
    """Return what the file system says, in words."""
    return Facts(
        owner=_owner(found.st_uid),
        uid=found.st_uid,
        gid=found.st_gid,
        mode=f"{stat.S_IMODE(found.st_mode):04o}",
        modified=iso(found.st_mtime),
    )


def iso(when: float) -> str:
    """A time in UTC as ISO 8601, in whole seconds."""
    with suppress(OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return ""


@lru_cache(1024)
def _owner(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


class Documents:
    """Makes rows of files. ``convert`` reads what is no page and no plain text, where it may be killed."""

    def __init__(self, convert: Callable[..., Document], keep_raw: bool, include_hidden: bool) -> None:
        self._reader = Reader(convert=convert)
        self._keep_raw, self._include_hidden = keep_raw, include_hidden

    def rows(self, files: list[File]) -> list[list[Row] | str]:
        """Return the rows of each file, its own first; the reason where it has none. No mailboxes: see ``messages``."""
        read = [file for file in files if file.body is not None]
        readings = iter(self._reader.read_many([(file.body or b"", NO_HEAD, file.url) for file in read]))
        return [
            self._rows(file, next(readings)) if file.body is not None else [self.named(file, Reason.TOO_LARGE)]
            for file in files
        ]

    def named(self, file: File, error: str = "") -> Row:
        """Return a row of a file's name and facts alone: of a mailbox itself, or of what is too large."""
        meta = msgspec.structs.replace(self._meta(file, file.media_type, b""), error=str(error))
        return Row(file.url, Change(meta, columns=_columns(file.facts), fresh=True))

    def messages(self, file: File, limit: int, known: Callable[[Url, bytes], bool]) -> Iterator[Row | Url]:
        """Yield the messages of a mailbox: rows of those that are new, and the addresses of those that are ``known``.

        ``known`` is asked with the digest; a mailbox that has grown has only its new messages converted.
        """
        used: dict[str, int] = {}
        with open(os.open(file.path, _FLAGS), "rb", buffering=0) as opened:
            for message in stream(iter(lambda: opened.read(CHUNK), b""), limit):
                head = message.partition(b"\n\n")[0][:_HEAD]
                named = _MESSAGE_ID.search(head)
                digest = sha1(message)
                name = named[1].decode("latin-1") if named else f"message-{digest.hex()[:16]}"
                used[name] = used.get(name, 0) + 1
                url = member_url(file.url, name if used[name] == 1 else f"{name}-{used[name]}")
                if known(url, digest):
                    yield url
                elif not holds_private_key(message):
                    inner = replace(file, body=message, size=len(message), media_type=EMAIL)
                    reading = self._reader.read(message, NO_HEAD, url)
                    yield Row(url, self._change(inner, reading, digest))

    def _rows(self, file: File, reading: Reading) -> list[Row] | str:
        body = file.body or b""
        if holds_private_key(body):
            return "private-key"
        made = reading.document
        if made.parts and made.media_type in _CONTAINERS:
            return self._container(file, reading)
        change = self._change(file, reading, sha1(body) if body else b"")
        if change.text and holds_private_key(change.text.encode("utf-8", "replace")):
            return "private-key"
        return [Row(file.url, change)]

    def _change(self, file: File, reading: Reading, digest: bytes) -> Change:
        made = reading.document
        page = Page(b"", b"", file.body or b"") if self._keep_raw else None
        meta = self._meta(file, made.media_type or file.media_type, digest)
        found = with_reading(Change(meta, page, columns=_columns(file.facts), fresh=True), reading)
        if made.failure is None:
            return found
        if made.whole.strip():  # damaged, but not empty
            meta = msgspec.structs.replace(found.meta, title=made.title, language=made.language, truncated=True)
            return msgspec.structs.replace(found, meta=meta, text=reading.blocks)
        meta = msgspec.structs.replace(found.meta, error=str(made.failure))
        return msgspec.structs.replace(found, meta=meta)

    def _container(self, file: File, reading: Reading) -> list[Row] | str:
        """The members of an archive as rows, and its own with their names."""
        rows: list[Row] = []
        names: list[str] = []
        dropped = self._members(file, file.url, reading.document, rows, names)
        own = self._change(file, reading, sha1(file.body or b""))
        page = None if dropped else own.page
        own = msgspec.structs.replace(own, text="\n".join(names), weights=b"", links=None, page=page)
        return [Row(file.url, own), *rows]

    def _members(self, file: File, container: Url, made: Document, rows: list[Row], names: list[str]) -> bool:
        """Add the rows and names of a container's members; return whether one of them is left out."""
        dropped = False
        for part in made.parts:
            if self._is_secret(part):
                dropped = True
                continue
            url = member_url(container, part.name)
            names.append(part.name)
            meta = self._meta(file, part.media_type, b"")
            meta = msgspec.structs.replace(
                meta, length=0, title=part.title, language=part.language, encoding=part.encoding, document=part.meta,
                error=str(part.failure) if part.failure and not part.whole.strip() else "",
            )  # fmt: skip
            inner: list[str] = []
            if part.parts and part.media_type in _CONTAINERS:
                dropped |= self._members(file, url, part, rows, inner)
            text = "\n".join(inner) if inner else part.whole
            rows.append(Row(url, Change(meta, None, text or None, part.links, _columns(file.facts), fresh=True)))
        return dropped

    def _is_secret(self, part: Document) -> bool:
        *folders, name = part.name.replace("\\", "/").rstrip("/").split("/")
        return (
            any(by_name(folder, True, self._include_hidden) for folder in folders if folder not in (".", ".."))
            or by_name(name, False, self._include_hidden) is not None
            or holds_private_key(part.whole.encode("utf-8", "replace"))
        )

    def _meta(self, file: File, media_type: str, digest: bytes) -> RowMeta:
        return RowMeta(
            type=media_type,
            length=file.size,
            fetched=time.time(),
            digest=digest,
            truncated=file.truncated,
            last_modified=file.facts.modified,
            private=True,
        )


def is_mailbox(file: File) -> bool:
    """Whether a file is a mailbox, whose messages are rows of their own."""
    return file.media_type == MBOX


def _columns(facts: Facts) -> tuple[tuple[str, bytes], ...]:
    return ((COLUMN, msgspec.msgpack.encode(facts)),)


def member_url(container: Url, name: str) -> Url:
    """Return the address of what a container calls ``name``: below the container's, whatever that is."""
    parts = [part if part not in (".", "..") else "_" for part in name.replace("\\", "/").split("/") if part]
    prefix = container.href + "!/"
    try:
        url = Url.parse(prefix + quote("/".join(parts).encode("utf-8", "surrogateescape"), safe="/@"))
    except (UrlError, UnicodeEncodeError):
        url = container
    if not url.href.startswith(prefix) or url.href == prefix:
        return Url(prefix + sha1(name.encode("utf-8", "replace")).hex())
    return url
