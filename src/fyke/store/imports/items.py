"""What a file is made of once it is read: the items that an import puts, in the file's order."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass

from fyke.formats.http import outcome, parse_head
from fyke.store.cells import LAST_STAMP, Change, RowMeta
from fyke.store.codec import sha1
from fyke.url import Url
from fyke.values import Exchange, Moved

_ETAG = re.compile(rb"(?im)^etag[ \t]*:[ \t]*([^\r\n]*)")
_LAST_MODIFIED = re.compile(rb"(?im)^last-modified[ \t]*:[ \t]*([^\r\n]*)")


@dataclass(frozen=True, slots=True)
class Item:
    """A version to put."""

    url: Url
    change: Change
    reference: bytes = b""
    """Of a revisit: what it refers to (``columns.pack_reference``)."""
    aside: bool = False
    """It belongs to the version of the same time, if there is one: a text, or columns alone."""

    @property
    def stamp(self) -> int:
        """Its time; a file may not say when: the version then stands at the beginning of time."""
        return min(max(1, round(self.change.meta.fetched * 1e6)), LAST_STAMP)


def meta_of(exchange: Exchange, media_type: str, docno: str, url: Url | None = None) -> RowMeta:
    """What an exchange says of a document before anybody has read it."""
    head = exchange.response_head
    return RowMeta(
        status=exchange.status,
        type=media_type or parse_head(head).media_type,
        length=len(exchange.body),
        fetched=exchange.started,
        truncated=exchange.truncated,
        digest=sha1(exchange.body) if exchange.body else b"",
        etag=_first(_ETAG, head),
        last_modified=_first(_LAST_MODIFIED, head),
        address=exchange.address,
        docno=docno,
        redirect=_redirect(url, exchange),
    )


def _redirect(url: Url | None, exchange: Exchange) -> str:
    if url is None or not 300 <= exchange.status < 400:
        return ""
    came = outcome(url, exchange)
    return came.target.href if isinstance(came, Moved) else ""


def _first(line: re.Pattern[bytes], head: bytes) -> str:
    found = line.search(head)
    return found[1].decode("latin-1") if found else ""


def sha1_of(stated: str) -> bytes:
    """Return the SHA-1 that a digest field states, in base 32 or hexadecimal; empty where it states none."""
    name, _, value = stated.partition(":")
    if name.strip().lower() != "sha1":
        return b""
    try:
        digest = bytes.fromhex(value) if len(value) == 40 else base64.b32decode(value.strip().upper())
    except (ValueError, binascii.Error):
        return b""
    return digest if len(digest) == 20 else b""
