"""Tags across sources: one table of synonyms from what sources call things to canonical fields, and dates in UTC.

RSS says ``pubDate``, Atom ``published``, a newswire ``xn:publicationTime``, a page ``article:published_time``: all
are ``published``. Some tags are dummies whose content is the real tag, ``<xn:vendorData>MRKTWIRE:Source=InvestSource,
Inc.</xn:vendorData>``: for those the table is asked for what stands before the ``=``.

A table is data: ``SYNONYMS`` here, extended by a user's TOML (``published = ["x:released"]`` under ``[tags]``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Any

from fyke.values import Meta

SYNONYMS: dict[str, tuple[str, ...]] = {
    "published": (
        *("article:published_time", "datepublished", "og:published_time", "published", "pubdate", "dc:date", "dc.date"),
        *("xn:publicationtime", "dcterms.issued", "dcterms:issued", "dc.date.issued", "citation_publication_date"),
        *("citation_date", "parsely-pub-date", "sailthru.date", "publish-date", "publication_date", "publishdate"),
        *("date", "dcterms.created", "dcterms:created", "dc:created", "datecreated", "issued", "meta:creation-date"),
        "time",
    ),
    "updated": (
        *("article:modified_time", "datemodified", "og:updated_time", "updated", "lastbuilddate", "modified"),
        *("dcterms.modified", "dcterms:modified", "last-modified", "revised", "lastmod"),
    ),
    "received": ("xn:receivedtime", "received", "datereceived"),
    "author": (
        *("author", "dc:creator", "dc.creator", "article:author", "citation_author", "parsely-author", "creator"),
        *("byl", "sailthru.author", "managingeditor", "meta:initial-creator", "from"),
    ),
    "title": ("og:title", "dc:title", "dc.title", "citation_title", "headline", "title", "twitter:title", "subject"),
    "section": ("article:section", "articlesection", "section", "category", "parsely-section", "dc:subject"),
    "source": ("source", "og:site_name", "dc:publisher", "dc.publisher", "publisher", "application-name", "dc:source"),
    "place": ("geographic code", "geo.placename", "dateline", "contentlocation", "locationcreated", "dc:coverage"),
    "description": ("description", "og:description", "dc:description", "dc.description", "summary", "abstract"),
    "keywords": ("keywords", "news_keywords", "article:tag", "parsely-tags", "meta:keyword"),
}
"""Canonical field to what sources call it, in lower case, the most trustworthy first."""

DUMMIES = frozenset({"xn:vendordata", "vendordata"})
"""Tags whose content is ``VENDOR:tag=value``."""

_DATES = frozenset({"published", "updated", "received"})
_VENDOR = re.compile(r"\s*(?:\w{1,40}:)?\s*([^=:]{1,60}?)\s*=\s*(.*)", re.DOTALL)
_MAX_VALUE = 4_000
"""Characters of a field: a description at its longest."""

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            *("jan january", "feb february", "mar march", "apr april", "may", "jun june", "jul july", "aug august"),
            *("sep sept september", "oct october", "nov november", "dec december"),
        ),
        1,
    )
    for name in names.split()
}
_ZONES = {
    "z": 0, "ut": 0, "utc": 0, "gmt": 0, "wet": 0, "west": 1, "bst": 1, "cet": 1, "met": 1, "cest": 2, "mest": 2,
    "eet": 2, "eest": 3, "msk": 3, "ist": 5.5, "hkt": 8, "sgt": 8, "jst": 9, "kst": 9, "aest": 10, "aedt": 11,
    "nzst": 12, "nzdt": 13, "edt": -4, "est": -5, "cdt": -5, "cst": -6, "mdt": -6, "mst": -7, "pdt": -7, "pst": -8,
    "akst": -9, "hst": -10,
}  # fmt: skip
"""Hours east of Greenwich. What an abbreviation means twice is read as most newswires mean it (BST is London's)."""
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_MONTH = r"(?P<name>[A-Za-z]{3,9})\.?"
_YEAR = r"(?P<year>\d{4})"
_WEEKDAY = r"(?:[A-Za-z]{3,9}\.?,?\s+)?"
_ZONE = r"\s*(?P<zone>[+-]\d{2}:?\d{2}|[+-]\d{2}\b|[A-Za-z]{1,4}\b)?"
_TIME = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?\s*(?P<half>[ap]\.?m\b\.?)?" + _ZONE
_AT = rf"(?:,?\s+(?:at\s+)?{_TIME})?"
_ISO = re.compile(rf"{_YEAR}(?:[-/.](?P<month>\d{{1,2}})(?:[-/.](?P<day>\d{{1,2}})(?:[T\s]+{_TIME})?)?)?")
_COMPACT = re.compile(
    rf"{_YEAR}(?P<month>\d{{2}})(?P<day>\d{{2}})"
    rf"(?:T?(?P<hour>\d{{2}})(?P<minute>\d{{2}})(?P<second>\d{{2}})?{_ZONE})?"
)
_PATTERNS = (
    _COMPACT,
    _ISO,
    re.compile(rf"{_WEEKDAY}{_DAY}[\s-]+(?:of\s+)?{_MONTH},?[\s-]+{_YEAR}{_AT}"),  # Tue, 05 Jun 2008 09:50:11 GMT
    re.compile(rf"{_WEEKDAY}{_MONTH}\s+{_DAY},?\s+{_YEAR}{_AT}"),  # September 22, 2010 8:46 p.m. EDT
    re.compile(rf"{_WEEKDAY}{_MONTH}\s+(?P<day>\d{{1,2}})\s+{_TIME}\s+{_YEAR}"),  # Mon Sep 29 00:41:50 BST 2008
    re.compile(rf"{_MONTH},?\s+{_YEAR}"),
)


@dataclass(frozen=True, slots=True)
class Table:
    """What sources call things: synonym in lower case to canonical field and rank (0 is the most trustworthy)."""

    ranks: Mapping[str, tuple[str, int]]

    @classmethod
    def of(cls, synonyms: Mapping[str, Iterable[str]]) -> Table:
        """Make a table of canonical field → synonyms, best first."""
        return cls(
            {name.lower(): (field, rank) for field, names in synonyms.items() for rank, name in enumerate(names)}
        )

    def extended(self, synonyms: Mapping[str, Iterable[str]]) -> Table:
        """Return the table with a user's synonyms before its own."""
        added = Table.of(synonyms).ranks
        return Table({**self.ranks, **{name: (field, rank - len(added)) for name, (field, rank) in added.items()}})

    def field(self, tag: str) -> tuple[str, int] | None:
        """Return the canonical field and rank of a source's tag: with its prefix if that is known, else without."""
        tag = tag.lower()
        return self.ranks.get(tag) or (self.ranks.get(tag.rpartition(":")[2]) if ":" in tag else None)


TABLE = Table.of(SYNONYMS)


@dataclass(frozen=True, slots=True)
class Synonyms:
    """A user's file of synonyms: under ``[tags]``, canonical field to a list of source tags."""

    tags: dict[str, list[str]]

    def __post_init__(self) -> None:
        for name in self.tags:
            if name not in SYNONYMS:
                raise ValueError(f"unknown field {name!r}; write one of {', '.join(SYNONYMS)}")


NO_META = Meta()
"""Of who says nothing."""
_KNOWN = frozenset(field.name for field in fields(Meta))


def canonical(pairs: Iterable[tuple[str, str]], table: Table = TABLE) -> tuple[Meta, str]:
    """Return the canonical fields and the title of (source tag, content) pairs; unreadable dates are left out."""
    best: dict[str, tuple[int, str]] = {}
    for source_tag, content in pairs:
        tag, value = source_tag, content[:_MAX_VALUE]
        if tag.lower() in DUMMIES:
            match = _VENDOR.fullmatch(value)
            if match is None:
                continue
            tag, value = match[1], match[2]
        found = table.field(tag)
        if found is None:
            continue
        field, rank = found
        value = date(value) if field in _DATES else " ".join(value.split())
        if value and (field not in best or rank < best[field][0]) and not _is_address(field, value):
            best[field] = rank, value
    if not best:
        return NO_META, ""
    title = best.get("title", (0, ""))[1]
    known: dict[str, Any] = {name: value for name, (_, value) in best.items() if name in _KNOWN}
    return Meta(**known), title


def date(text: str) -> str:
    """Return a date in ISO 8601 with the precision of the source, in UTC where it names a zone; empty if it is none."""
    return _date(" ".join(text[:100].split()))


@lru_cache(maxsize=4096)
def _date(text: str) -> str:
    for pattern in _PATTERNS:
        match = pattern.fullmatch(text)
        if match and (found := _iso(match.groupdict())):
            return found
    return ""


def moment(text: str) -> float:
    """Return a date as seconds since 1970, in UTC where it names no zone and at its first moment; 0.0 if it is none."""
    found = date(text)
    if not found:
        return 0.0
    found += "0000-01-01"[len(found) :] if len(found) < 10 else ""
    when = datetime.fromisoformat(found)
    return max((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp(), 0.0)


def _iso(parts: dict[str, str | None]) -> str:
    year = int(parts["year"] or 0)
    month, day = parts.get("month"), parts.get("day")
    if parts.get("name"):
        month = str(_MONTHS.get((parts["name"] or "").lower(), 0))
    if month is None:
        return f"{year:04d}" if 1000 <= year < 3000 else ""
    hour, minute, second, zone = (parts.get(key) for key in ("hour", "minute", "second", "zone"))
    hours = int(hour or 0)
    if half := (parts.get("half") or "").lower():
        hours = hours % 12 + (12 if half.startswith("p") else 0)
    try:
        moment = datetime(year, int(month), int(day or 1), hours, int(minute or 0), int(second or 0))
        if zone and hour and (offset := _offset(zone)) is not None:
            moment = moment.replace(tzinfo=timezone(timedelta(hours=offset))).astimezone(UTC)
    except (ValueError, OverflowError):
        return ""
    if moment.year < 1000:  # three digits are no year; and strftime would write them without a zero
        return ""
    if day is None:
        return f"{moment:%Y-%m}"
    if hour is None:
        return f"{moment:%Y-%m-%d}"
    return f"{moment:%Y-%m-%dT%H:%M}" + (f":{moment:%S}" if second else "") + ("Z" if moment.tzinfo else "")


def _offset(zone: str) -> float | None:
    if zone[0] in "+-":
        hours, minutes = int(zone[1:3]), int(zone[-2:]) if len(zone) > 3 else 0
        return (hours + minutes / 60) * (-1 if zone[0] == "-" else 1)
    return _ZONES.get(zone.lower())


def _is_address(field: str, value: str) -> bool:
    """Whether an author is only a link to one, as Open Graph has it."""
    return field == "author" and value.startswith(("http://", "https://"))
