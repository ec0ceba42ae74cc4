"""The columns of a dataset: name, type and where the value is from; three schemas of them.

``fyke`` is all that is known of a document; ``fineweb`` are the columns of the FineWeb corpora, ``cc-index`` those of
Common Crawl's columnar index. Unknown is null, in JSON lines too; times are timestamps in UTC (ISO 8601 in JSON lines).
docs/datasets.md tells what each column is.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any, NamedTuple, Protocol

from fyke.errors import UserError
from fyke.formats.lazy import lazy
from fyke.formats.surt import surt
from fyke.formats.warc_record import sha1_text
from fyke.store.cells import LINKS, PAGE, TEXT
from fyke.store.row import Row
from fyke.url import Url, registered_domain
from fyke.values import BLOCK_END, NO_SIGNALS, Meta, Signals

TEXTS = ("main", "whole", "markdown")
_MAIN, _TOP = 128, 127
"""Of a block's weight: fyke.clean.main."""
_NO_META = Meta()
_MAX_HOPS = 8
"""Copies of copies that are followed to the original."""


class Derived(Protocol):
    """What the rooms above the store make of a row."""

    def as_markdown(self, row: Row) -> str:
        """The main content as Markdown."""
        ...

    def kinds(self, row: Row) -> list[str]:
        """The kind of each block of the text; none where the page does not tell."""
        ...

    def signals(self, row: Row) -> Signals:
        """What the page and its site say of its use, whether or not somebody looked before."""
        ...


class Stored:
    """What the store alone knows."""

    def as_markdown(self, row: Row) -> str:
        """Raises ``UserError``: Markdown is made of pages, which the store does not read."""
        raise UserError("Markdown is made by `fyke export --text markdown` and by fyke.Store; open the store with that")

    def kinds(self, row: Row) -> list[str]:
        """None."""
        return []

    def signals(self, row: Row) -> Signals:
        """What was found when the row was put."""
        return row.meta.signals or NO_SIGNALS


@dataclass(frozen=True, slots=True)
class Source:
    """What columns are made from beside the row."""

    name: str
    """Of the store."""
    derived: Derived
    original_of: Callable[[str], str]
    """What a URL is a copy of; empty where of nothing."""
    text: str = "main"


class Record:
    """A row on its way into a dataset; what several columns need is made once."""

    def __init__(self, row: Row, source: Source) -> None:
        self.row, self.source, self.meta = row, source, row.meta
        self.said = row.meta.document or _NO_META
        self.url = row.url

    @lazy
    def parsed(self) -> Url:
        """The URL in parts."""
        return Url(self.url)

    @lazy
    def text(self) -> str:
        """The text that was asked for."""
        row = self.row
        if self.source.text == "markdown":
            return self.source.derived.as_markdown(row)
        return (row.whole if self.source.text == "whole" else row.text) or ""

    @lazy
    def words(self) -> tuple[int, int]:
        """How many words the text has, and how many different ones."""
        from fyke.text.words import vocabulary  # its kernels are no reader's

        return vocabulary(self.text)

    @property
    def quality(self) -> float | None:
        """1 for prose, less where few words are repeated: d different ones of n are d / √(8 n), as in fyke.topic."""
        count, distinct = self.words
        return round(min(1.0, distinct / math.sqrt(8.0 * count)), 4) if count else None

    @lazy
    def signals(self) -> Signals:
        """What is said of its use."""
        return self.source.derived.signals(self.row)

    @lazy
    def cluster(self) -> str:
        """The document at the end of what it is a copy of."""
        href, seen = self.url, {self.url}
        original = self.meta.duplicate_of
        while original and original not in seen and len(seen) <= _MAX_HOPS:
            href = original
            seen.add(href)
            original = self.source.original_of(href)
        return href

    @property
    def blocks(self) -> list[dict[str, Any]] | None:
        """Of each block of the text its kind and weight, and where it begins and ends in the text, in characters."""
        stored = self.row.blocks
        if self.source.text == "markdown" or stored is None or not stored[1]:
            return None
        texts, weights = stored[0].split(BLOCK_END), stored[1]
        kinds = self.source.derived.kinds(self.row)
        if len(kinds) != len(weights):
            kinds = [""] * len(weights)
        whole = self.source.text == "whole" or not any(weight >= _MAIN for weight in weights)
        kept = [(t, k, w) for t, k, w in zip(texts, kinds, weights, strict=False) if whole or w >= _MAIN]
        starts = accumulate((len(text) + 1 for text, _, _ in kept), initial=0)
        return [
            {"kind": kind, "weight": round((weight & _TOP) / _TOP, 4), "start": start, "end": start + len(text)}
            for (text, kind, weight), start in zip(kept, starts, strict=False)
        ]


class Column(NamedTuple):
    """A column. ``type`` is a key of ``arrow_type``."""

    name: str
    type: str
    value: Callable[[Record], Any]
    parts: tuple[str, ...] = ()
    """What is read of the store for it."""


def document_id(url: str) -> str:
    """Return the id of the document at ``url``: the UUID of its address (RFC 9562, version 5)."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, url))


def _time(stamp: int) -> datetime | None:
    return datetime.fromtimestamp(stamp / 1e6, UTC) if stamp else None


def _moment(written: str) -> datetime | None:
    """A date as a page gives it, with its precision: 2008, 2008-09, 2008-09-28T23:41:50+02:00."""
    try:
        if len(written) == 4:
            written += "-01-01"
        elif len(written) == 7:
            written += "-01"
        when = datetime.fromisoformat(written)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _usage(record: Record) -> list[dict[str, Any]]:
    return [use._asdict() for use in record.signals.usage]


def _links(record: Record) -> list[dict[str, str]]:
    links = record.row.links
    rows = zip(links.hrefs, links.texts, links.rels, strict=True)
    return [{"url": href, "text": text, "rel": rel} for href, text, rel in rows]


FYKE: tuple[Column, ...] = (
    Column("id", "string", lambda r: document_id(r.url)),
    Column("url", "string", lambda r: r.url),
    Column("host", "string", lambda r: r.parsed.host),
    Column("status", "int32", lambda r: r.meta.status or None),
    Column("type", "string", lambda r: r.meta.type or None),
    Column("fetched", "timestamp", lambda r: _time(r.row.stamp)),
    Column("title", "string", lambda r: r.meta.title or None),
    Column("author", "string", lambda r: r.said.author or None),
    Column("published", "timestamp", lambda r: _moment(r.said.published)),
    Column("updated", "timestamp", lambda r: _moment(r.said.updated)),
    Column("site", "string", lambda r: r.said.site or None),
    Column("description", "string", lambda r: r.said.description or None),
    Column("keywords", "string", lambda r: r.said.keywords or None),
    Column("language", "string", lambda r: r.meta.language or None),
    Column("language_score", "double", lambda r: r.said.language_score or None),
    Column("text", "string", lambda r: r.text, (TEXT,)),
    Column("length", "int64", lambda r: r.meta.length),
    Column("token_count", "int64", lambda r: r.words[0], (TEXT,)),
    Column("links", "links", _links, (LINKS,)),
    Column("anchors", "anchors", lambda r: [{"url": a.source, "text": a.text} for a in r.row.anchors]),
    Column("duplicate_of", "string", lambda r: r.meta.duplicate_of or None),
    Column("similarity", "double", lambda r: round(r.meta.similarity, 4) if r.meta.duplicate_of else None),
    Column("duplicate_by", "string", lambda r: r.meta.duplicate_by or None),
    Column("cluster", "string", lambda r: document_id(r.cluster)),
    Column("relevance", "double", lambda r: r.meta.relevance if r.meta.relevance >= 0 else None),
    Column("quality", "double", lambda r: r.quality, (TEXT,)),
    Column("blocks", "blocks", lambda r: r.blocks, (TEXT, PAGE)),
    Column("robots", "strings", lambda r: list(r.signals.robots)),
    Column("usage", "usage", _usage),
    Column("tdm_policy", "string", lambda r: r.signals.policy or None),
    Column("licence", "string", lambda r: r.said.licence or None),
    Column("canonical", "string", lambda r: r.said.canonical or None),
    Column("redirect", "string", lambda r: r.meta.redirect or None),
    Column("alternates", "alternates", lambda r: [{"language": lang, "url": url} for lang, url in r.said.alternates]),
    Column("depth", "int32", lambda r: r.meta.depth if r.meta.depth >= 0 else None),
    Column("error", "string", lambda r: r.meta.error or None),
    Column("truncated", "bool", lambda r: r.meta.truncated),
    Column("encoding", "string", lambda r: r.meta.encoding or None),
    Column("digest", "string", lambda r: sha1_text(r.meta.digest) if len(r.meta.digest) == 20 else None),
)
RAW = Column("raw", "binary", lambda r: r.row.raw, (PAGE,))
"""Of the schema ``fyke``, where it is asked for."""

FINEWEB: tuple[Column, ...] = (
    Column("text", "string", lambda r: r.text, (TEXT,)),
    Column("id", "string", lambda r: f"<urn:uuid:{document_id(r.url)}>"),
    Column("dump", "string", lambda r: r.source.name),
    Column("url", "string", lambda r: r.url),
    Column("date", "string", lambda r: iso(_time(r.row.stamp)) or ""),
    Column("file_path", "string", lambda r: r.source.name),
    Column("language", "string", lambda r: r.meta.language),
    Column("language_score", "double", lambda r: r.said.language_score),
    Column("token_count", "int64", lambda r: r.words[0], (TEXT,)),
)


def _label(place: int) -> Callable[[Record], str | None]:
    def value(record: Record) -> str | None:
        labels = record.parsed.host.split(".")
        return labels[-place] if len(labels) >= place else None

    return value


def _subset(record: Record) -> str:
    if record.parsed.path == "/robots.txt":
        return "robotstxt"
    return "warc" if record.meta.status == 200 else "crawldiagnostics"


CC_INDEX: tuple[Column, ...] = (
    Column("url_surtkey", "string", lambda r: surt(r.url)),
    Column("url", "string", lambda r: r.url),
    Column("url_host_name", "string", lambda r: r.parsed.host),
    Column("url_host_tld", "string", _label(1)),
    Column("url_host_2nd_last_part", "string", _label(2)),
    Column("url_host_3rd_last_part", "string", _label(3)),
    Column("url_host_4th_last_part", "string", _label(4)),
    Column("url_host_5th_last_part", "string", _label(5)),
    Column("url_host_registry_suffix", "string", lambda r: registered_domain(r.parsed.host).partition(".")[2] or None),
    Column("url_host_registered_domain", "string", lambda r: registered_domain(r.parsed.host) or None),
    Column("url_host_name_reversed", "string", lambda r: ".".join(reversed(r.parsed.host.split(".")))),
    Column("url_protocol", "string", lambda r: r.parsed.scheme),
    Column("url_port", "int32", lambda r: r.parsed.port if ":" in r.parsed.authority.rpartition("]")[2] else None),
    Column("url_path", "string", lambda r: r.parsed.path),
    Column("url_query", "string", lambda r: r.parsed.query or None),
    Column("fetch_time", "timestamp", lambda r: _time(r.row.stamp)),
    Column("fetch_status", "int16", lambda r: r.meta.status),
    Column("fetch_redirect", "string", lambda r: r.meta.redirect or None),
    Column("content_digest", "string", lambda r: sha1_text(r.meta.digest)[5:] if len(r.meta.digest) == 20 else None),
    Column("content_mime_type", "string", lambda r: r.meta.type or None),
    Column("content_mime_detected", "string", lambda r: r.meta.type or None),
    Column("content_charset", "string", lambda r: r.meta.encoding or None),
    Column("content_languages", "string", lambda r: r.meta.language or None),
    Column("content_truncated", "string", lambda r: "length" if r.meta.truncated else None),
    Column("warc_filename", "string", lambda r: None),
    Column("warc_record_offset", "int64", lambda r: None),
    Column("warc_record_length", "int64", lambda r: None),
    Column("warc_segment", "string", lambda r: None),
    Column("crawl", "string", lambda r: r.source.name),
    Column("subset", "string", _subset),
)

SCHEMAS = {"fyke": FYKE, "fineweb": FINEWEB, "cc-index": CC_INDEX}


def choose(schema: str = "fyke", names: tuple[str, ...] | list[str] | None = None, raw: bool = False) -> list[Column]:
    """Return the columns of a schema, or those of them that are named. Raises ``UserError`` for an unknown name."""
    if schema not in SCHEMAS:
        raise UserError(f"{schema!r} is no schema; use {', '.join(SCHEMAS)}")
    known = {column.name: column for column in (*SCHEMAS[schema], *((RAW,) if schema == "fyke" else ()))}
    if names:
        if unknown := next((name for name in names if name not in known), None):
            raise UserError(f"{unknown!r} is no column of {schema}; it has {', '.join(known)}")
        return [known[name] for name in dict.fromkeys(names)]
    if raw and schema != "fyke":
        raise UserError(f"the schema {schema} has no column for bodies; leave --raw out, or use the schema fyke")
    return [column for column in known.values() if raw or column.name != RAW.name]


def iso(when: datetime | None) -> str | None:
    """Return a time in UTC as ISO 8601."""
    return when.isoformat().replace("+00:00", "Z") if when is not None else None


def arrow_type(name: str) -> Any:
    """Return the Arrow type that a column's ``type`` names. REQUIRES: pyarrow."""
    import pyarrow as pa

    text, lists = pa.string(), pa.list_
    structs = {
        "links": {"url": text, "text": text, "rel": text},
        "anchors": {"url": text, "text": text},
        "alternates": {"language": text, "url": text},
        "usage": {"purpose": text, "allowed": pa.bool_(), "source": text},
        "copies": {"id": text, "matched": text, "similarity": pa.float64(), "method": text},
        "repeated": {"start": pa.int32(), "end": pa.int32(), "first": text},
        "blocks": {"kind": text, "weight": pa.float32(), "start": pa.int32(), "end": pa.int32()},
    }
    if name in structs:
        return lists(pa.struct(list(structs[name].items())))
    plain = {"string": text, "double": pa.float64(), "bool": pa.bool_(), "binary": pa.binary(), "strings": lists(text)}
    plain |= {"timestamp": pa.timestamp("us", "UTC"), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64()}
    return plain[name]
