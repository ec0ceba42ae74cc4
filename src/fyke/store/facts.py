"""What is known of a row, by the names that users type: `fyke list`, `fyke get --show meta`, the dashboard."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType

from fyke.store.row import Row


def facts(row: Row, more: Mapping[str, object] = MappingProxyType({})) -> dict[str, object]:
    """What is known of a row, by the names of the contract, and ``more``; what does not apply is left out."""
    meta = row.meta
    named: dict[str, object] = {
        "url": row.url,
        "status": meta.status,
        "type": meta.type,
        "length": meta.length if row.version is not None and (row.version.page or row.url.startswith("file:")) else 0,
        "fetched": iso(row.fetched) if row.stamp else "",
        "title": meta.title,
        "language": meta.language,
        "depth": meta.depth if meta.depth >= 0 else None,
        "duplicate_of": meta.duplicate_of,
        "relevance": meta.relevance if meta.relevance >= 0 else None,
        "similarity": round(meta.similarity, 4) if meta.duplicate_of else "",
        "duplicate_by": meta.duplicate_by,
        "error": meta.error,
        "truncated": meta.truncated,
        "encoding": meta.encoding,
        "digest": meta.digest.hex(),
        "etag": meta.etag,
        "last_modified": meta.last_modified,
        "address": meta.address,
        "docno": meta.docno,
    }
    named |= {"redirect": meta.redirect, "private": meta.private, "requisite": meta.requisite}
    if meta.signals is not None:
        named |= {"robots": meta.signals.robots, "tdm_policy": meta.signals.policy}
        named["usage"] = [use._asdict() for use in meta.signals.usage]
    named |= more
    document = meta.document
    if document is not None:
        named |= {name: getattr(document, name) for name in document.__slots__ if getattr(document, name)}
    always = ("url", "status", "type", "length", "fetched")
    return {name: value for name, value in named.items() if name in always or not _says_nothing(value)}


def _says_nothing(value: object) -> bool:
    return value is None or value is False or value in ("", (), [])


def iso(when: datetime) -> str:
    """A time in UTC as ISO 8601."""
    return when.isoformat().replace("+00:00", "Z")
