"""Cells: how rows, versions, pages, texts, links and anchors lie as keys and values in a tablet.

docs/store-format.md draws the bytes. The rules:

- A row key is ``Url.key``: it holds no 0x00 beyond its first two separators, so ``row ‖ 0x00`` begins the
  cells of that row alone, and a row sorts before the rows whose URL it begins.
- Cells of a row sort newest first: the stamp (µs since 1970) stands inverted at the end of the key.
- A cell never changes. What changes is the row's *version*, one record that names the cells it is made of;
  who has read a version reads exactly its cells, so a row is never torn.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from itertools import compress
from typing import Annotated, Any, TypeVar

import msgspec

from fyke.errors import UNREADABLE, StorageError
from fyke.url import Url
from fyke.values import BLOCK_END, Coded, Link, Links, Meta, Signals

META, PAST, PAGE, TEXT, LINKS, ANCHOR, COLUMN = "meta", "past", "page", "text", "links", "anchor", "column"
ROW_FAMILIES = (META, PAST, PAGE, TEXT, LINKS, ANCHOR, COLUMN)
"""``meta``: row → its current version; ``past``: older versions; then the cells that versions name; then anchor
texts and the sparse columns, which stand on their own."""

RAW_FAMILIES = ("queue", "host", "seen", "outbox")
SEEN_MARK = b"m"
"""In the family ``queue``: a crawl has noted every URL of the rows (queue.seen_chunks). Other writers delete it."""
"""The crawl's own: keys and values of its making, ordered by key."""

OWN = "default"
"""The tablet's own bookkeeping: dictionaries, host statistics, counters."""

FAMILIES = (*ROW_FAMILIES, *RAW_FAMILIES)

EXACT = "sha256"
"""``RowMeta.duplicate_by`` of an exact copy: the bodies have one SHA-256, so one of them is enough."""

T = TypeVar("T")

MAX_STAMP = (1 << 64) - 1
LAST_STAMP = 253_402_300_799_000_000
"""The end of the year 9999: no version is later."""
MAX_QUALIFIER = 1024
"""Longest name of a sparse column in bytes: it is repeated in every cell's key."""

BY_HAND = 0xFFFF
"""The source tablet of anchors that were put by a user and not by a crawl: no store has so many tablets."""

_STAMP = struct.Struct(">Q")
_GROUP = struct.Struct(">HQ")
_TEXTS, _IN_BLOCKS = struct.Struct("<cI"), b"\x94"  # no UTF-8 begins with this byte
_MAIN = 128
"""Weights from here on are of blocks that belong to the main content (fyke.clean.main)."""
_HEADS = struct.Struct("<II")


class RowMeta(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """What is known of one version of a document. Times are seconds since 1970, 0.0 where unknown."""

    status: int = 0
    type: str = ""
    """Media type in lower case, without parameters."""
    length: int = 0
    """Bytes of the decoded body."""
    fetched: float = 0.0
    title: str = ""
    language: str = ""
    depth: int = -1
    """Links from a seed; −1 where unknown."""
    duplicate_of: str = ""
    error: str = ""
    """The reason (``values.Reason``) why there is no document."""
    truncated: bool = False
    encoding: str = ""
    digest: bytes = b""
    """SHA-1 of the body, as WARC's payload digest; empty where there is no body."""
    etag: str = ""
    last_modified: str = ""
    address: str = ""
    """The IP address that answered."""
    docno: str = ""
    """The document's name in the TREC collection that it came from."""
    document: Meta | None = None
    """The fields that the document itself states."""
    similarity: float = 0.0
    """With ``duplicate_of``: the Jaccard coefficient of the main texts, 1 for an exact copy."""
    duplicate_by: str = ""
    """How it was found to be a duplicate: EXACT, ``text`` (the same words), ``jaccard`` or ``minhash`` (estimated)."""
    change: bytes = b""
    """How the page changes (``frontier.revisit.ChangeState``), of a continuous crawl."""
    relevance: float = -1.0
    """How probably it is about the crawl's topic; negative where nobody asked."""
    signals: Signals | None = None
    """What it and its response say of its use; None where nobody looked."""
    redirect: str = ""
    """Where it says that the document is now (3xx)."""
    private: bool = False
    """It was had with a user's credentials: others are not shown it unless the user says so."""
    tls: str = ""
    """What was wrong with the server's certificate, where the user accepted that."""
    requisite: bool = False
    """It is no document: a page needs it to be shown, an image or a style."""


Stamp = Annotated[int, msgspec.Meta(ge=0, le=LAST_STAMP)]


class Version(msgspec.Struct, frozen=True, array_like=True):
    """One version of a row: its stamp, the stamps of the cells that it is made of (0: none), and its meta."""

    stamp: Stamp
    page: Stamp
    text: Stamp
    links: Stamp
    size: int
    """Bytes of the page before compression (heads and body)."""
    stored: int
    """Bytes of the page's cell."""
    meta: RowMeta


@dataclass(frozen=True, slots=True)
class Page:
    """What came over the wire: the heads exactly, the body decoded."""

    request_head: bytes = b""
    response_head: bytes = b""
    body: bytes = b""
    coded: Coded | None = field(default=None, repr=False, compare=False)
    """The body as it was sent, for who puts it; nobody gets it back so."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """The text of one link that points at a row."""

    source: str
    text: str
    when: float = 0.0


@dataclass(frozen=True, slots=True)
class Cell:
    """A sparse column of a row at a time; ``column`` is ``family:qualifier`` or any other name."""

    column: str
    stamp: int
    value: bytes


class Change(msgspec.Struct, frozen=True, gc=False):
    """What one put does to a row; None leaves the part as it was.

    A new page does not inherit text and links of an older one: what is not given with it is absent until it is put.
    """

    meta: RowMeta
    page: Page | None = None
    text: str | None = None
    links: Sequence[Link] | None = None
    columns: tuple[tuple[str, bytes], ...] = ()
    weights: bytes = b""
    """Where the cleaner was asked: a byte for each block of ``text`` (fyke.clean.main), which BLOCK_END parts."""
    fresh: bool = False
    """Nothing is inherited, though there is no page: a text that came alone."""


def cell_key(row: bytes, stamp: int) -> bytes:
    """Return the key of the row's cell at ``stamp`` in ``page``, ``text``, ``links`` or ``past``."""
    return row + b"\0" + _STAMP.pack(MAX_STAMP - stamp)


def split_cell_key(key: bytes) -> tuple[bytes, int]:
    """Return row and stamp of a ``cell_key``."""
    return key[:-9], MAX_STAMP - _STAMP.unpack(key[-8:])[0]


def column_key(row: bytes, column: bytes, stamp: int) -> bytes:
    """Return the key of a sparse column's cell."""
    return b"%b\0%b\0%b" % (row, column, _STAMP.pack(MAX_STAMP - stamp))


def split_column_key(row: bytes, key: bytes) -> tuple[str, int]:
    """Return column and stamp of a ``column_key`` of ``row``."""
    return key[len(row) + 1 : -9].decode(), MAX_STAMP - _STAMP.unpack(key[-8:])[0]


def anchor_key(row: bytes, source_tablet: int, group: int) -> bytes:
    """Return the key of one group of anchors that one tablet sent to a row."""
    return row + b"\0" + _GROUP.pack(source_tablet, group)


def row_of(key: bytes) -> bytes:
    """Return the row of any key that begins with ``row ‖ 0x00``; of a row key, itself."""
    scheme = key.index(b"\0", 2)
    target = key.index(b"\0", scheme + 1)
    end = key.find(b"\0", target + 1)
    return key if end < 0 else key[:end]


def host_prefix(row: bytes) -> bytes:
    """Return what the keys of all rows of the row's host begin with: hash, host, 0x00."""
    return row[: row.index(b"\0", 2) + 1]


def after(prefix: bytes) -> bytes:
    """Return the smallest key greater than every key that begins with ``prefix``; empty for "no end"."""
    trimmed = prefix.rstrip(b"\xff")
    return trimmed[:-1] + bytes((trimmed[-1] + 1,)) if trimmed else b""


def row_range(prefix: str = "", host: str = "") -> tuple[bytes, bytes]:
    """Return the range of row keys below a URL prefix, or of a host; two empty keys for all rows."""
    if host:
        start = host_prefix(Url.parse(f"http://{host}/").key)
        return start, after(start)
    if prefix:
        start = Url.parse(prefix).key
        return start, after(start)
    return b"", b""


def host_prefix_known(start: bytes) -> bool:
    """Whether a range that begins so lies in one host."""
    return b"\0" in start[2:]


_encode = msgspec.msgpack.Encoder().encode
_decode_version = msgspec.msgpack.Decoder(Version).decode
_decode_links = msgspec.msgpack.Decoder(tuple[list[str], list[str], list[str]]).decode
_decode_anchors = msgspec.msgpack.Decoder(list[tuple[str, float, str]]).decode


def pack_version(version: Version) -> bytes:
    """Write a version record; lone surrogates, which UTF-8 cannot hold, become question marks."""
    try:
        return _encode(version)
    except UnicodeEncodeError:
        meta = version.meta
        fields: dict[str, Any] = {name: getattr(meta, name) for name in RowMeta.__struct_fields__}
        if meta.document is not None:
            said: dict[str, Any] = {name: _encodable_all(getattr(meta.document, name)) for name in Meta.__slots__}
            fields["document"] = Meta(**said)
        fields |= {name: encodable(value) for name, value in fields.items() if isinstance(value, str)}
        return _encode(msgspec.structs.replace(version, meta=RowMeta(**fields)))


def _encodable_all(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_encodable_all, value))
    return encodable(value) if isinstance(value, str) else value


def encodable(text: str) -> str:
    """Return ``text`` with question marks for lone surrogates, which UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode()


def _door(read: Callable[[bytes], T]) -> Callable[[bytes], T]:
    """Let a reader of cells raise ``StorageError`` for whatever was not written by its counterpart."""

    @wraps(read)
    def checked(data: bytes) -> T:
        try:
            return read(data)
        except (*UNREADABLE, struct.error) as error:
            raise StorageError(f"a cell is damaged ({error}); run `fyke store check`") from None

    return checked


@_door
def unpack_version(data: bytes) -> Version:
    """Read a version record. Raises ``StorageError`` for anything else."""
    return _decode_version(data)


def pack_heads(page: Page) -> bytes:
    """Write what stands before the body."""
    request, response = page.request_head, page.response_head
    return b"".join((_HEADS.pack(len(request), len(response)), request, response))


def pack_page(page: Page) -> bytes:
    """Write heads and body as one value, so that one dictionary serves them all."""
    return pack_heads(page) + page.body


@_door
def unpack_page(data: bytes) -> Page:
    """Read what ``pack_page`` wrote. Raises ``StorageError`` for anything else."""
    request, response = _HEADS.unpack_from(data)
    middle = 8 + request
    return Page(data[8:middle], data[middle : middle + response], data[middle + response :])


def pack_text(text: str, weights: bytes = b"") -> bytes:
    """Write text as UTF-8, lone surrogates included; with the weights of its blocks where there are any."""
    data = text.encode("utf-8", "surrogatepass")
    return b"".join((_TEXTS.pack(_IN_BLOCKS, len(data)), data, weights)) if weights else data


def main_blocks(text: str, weights: bytes) -> list[str]:
    """Return the blocks of the main content of what ``unpack_text`` read."""
    return list(compress(text.split(BLOCK_END), map(_MAIN.__le__, weights))) if weights else []


@_door
def unpack_text(data: bytes) -> tuple[str, bytes]:
    """Read what ``pack_text`` wrote: text, BLOCK_END between its blocks, and the weights of these, if it has any."""
    if data[:1] != _IN_BLOCKS:
        return data.decode("utf-8", "surrogatepass"), b""
    end = _TEXTS.size + _TEXTS.unpack_from(data)[1]
    return data[_TEXTS.size : end].decode("utf-8", "surrogatepass"), data[end:]


def pack_links(links: Sequence[Link]) -> bytes:
    """Write links in their order, by columns."""
    links = Links.of(links)
    if links.packed is None:
        columns = [links.hrefs, links.texts, links.rels]
        try:
            links.packed = _encode(columns)
        except UnicodeEncodeError:
            links.packed = _encode([[encodable(field) for field in column] for column in columns])
    return links.packed


@_door
def unpack_links(data: bytes) -> Links:
    """Read what ``pack_links`` wrote. Raises ``StorageError`` for anything else."""
    hrefs, texts, rels = _decode_links(data)
    if not len(hrefs) == len(texts) == len(rels):
        raise ValueError("columns of links that are not equally long")
    return Links(hrefs, texts, rels)


def pack_anchors(anchors: Iterable[Anchor]) -> bytes:
    """Write a group of anchors."""
    return pack_anchor_records([(anchor.source, anchor.when, anchor.text) for anchor in anchors])


def pack_anchor_records(anchors: list[tuple[str, float, str]]) -> bytes:
    """Write a group of anchors given as (source, when, text)."""
    try:
        return _encode(anchors)
    except UnicodeEncodeError:
        return _encode([(encodable(source), when, encodable(text)) for source, when, text in anchors])


@_door
def unpack_anchors(data: bytes) -> list[Anchor]:
    """Read what ``pack_anchors`` wrote. Raises ``StorageError`` for anything else."""
    return [Anchor(source, text, when) for source, when, text in _decode_anchors(data)]
