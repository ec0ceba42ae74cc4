"""What passes between a pool and its workers: frames of MessagePack, each behind its length in eight bytes.

A job is a ``Source`` without what cannot travel (how containers recurse is the worker's own); an answer is a
``Document``. Version 1; both ends are always of one installation, so there is no negotiation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from fyke import limits
from fyke.formats.tags import TABLE, Table
from fyke.reading.conversion import Limits, Source
from fyke.url import Url
from fyke.values import Document

HEAD = 8
"""Bytes of a frame's length, little-endian."""


@dataclass(frozen=True, slots=True)
class Job:
    """A source on its way to a worker."""

    data: bytes
    media_type: str
    content_type: str
    url: str
    name: str
    limits: Limits
    ranks: dict[str, tuple[str, int]] | None
    """The table of tags, where it is not the usual one."""


def encode_job(source: Source) -> bytes:
    """Return a source as a frame's content."""
    ranks = None if source.table is TABLE else dict(source.table.ranks)
    href = source.url.href if source.url else ""
    job = Job(source.data, source.media_type, source.content_type, href, source.name, source.limits, ranks)
    return msgspec.msgpack.encode(job)


def decode_job(frame: bytes) -> Source:
    """Return the source of a frame."""
    job = msgspec.msgpack.decode(frame, type=Job)
    url = Url(job.url) if job.url else None
    table = TABLE if job.ranks is None else Table(job.ranks)
    return Source(job.data, job.media_type, job.content_type, url, job.name, job.limits, table)


def encode_document(document: Document) -> bytearray:
    """Return a document as a frame's content, with the limits that were met since the last one."""
    texts = len(document.html) + len(document.text) + len(document.whole)
    content = bytearray(texts + len(document.tags.packed) + _ROOM)  # as much as it takes: growing would copy it
    _ENCODER.encode_into((document, limits.take()), content)
    return content


def decode_document(frame: bytes | bytearray) -> Document:
    """Return the document of a frame; the limits that its conversion met are counted here."""
    document, met = msgspec.msgpack.decode(frame, type=tuple[Document, dict[str, int]], dec_hook=_decode_url)
    limits.add(met)
    return document


def head(content: bytes | bytearray) -> bytes:
    """Return what stands before a frame's content."""
    return len(content).to_bytes(HEAD, "little")


def read_frame(read: Callable[[int], bytes]) -> bytes | None:
    """Return the next frame's content, None at the end. REQUIRES: ``read`` returns less only at the end."""
    head = read(HEAD)
    if len(head) < HEAD:
        return None
    size = int.from_bytes(head, "little")
    content = read(size)
    return content if len(content) == size else None


def _encode_url(value: Any) -> str:
    if isinstance(value, Url):
        return value.href
    raise NotImplementedError(type(value))


def _decode_url(kind: type[Any], value: Any) -> Any:
    return kind(value)


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_encode_url)
_ROOM = 4096
"""Bytes of what is no text of a document; more are found where they are needed."""
