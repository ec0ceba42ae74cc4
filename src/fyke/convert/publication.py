"""When a page was published and changed: the places that say so, the most trustworthy first.

    JSON-LD of the article → <meta> → microdata, RDFa → <time> → the URL → elements named after dates → text behind a
    word like "published" → the first date of the text → what says only when the page changed

Each step is taken only where those before found nothing. A date is read by ``dates``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

import numpy as np

from fyke.convert.dates import date_in_url, dates_in, read_date
from fyke.convert.facts import ARTICLE_WORDS, DATE_WORDS, Facts
from fyke.convert.mark_kernels import find_names
from fyke.convert.structured import Thing, strings, types

PUBLISHED = (
    "article:published_time", "og:article:published_time", "og:published_time", "datepublished", "dc:date:issued",
    "dcterms:issued", "dc:issued", "citation_publication_date", "citation_online_date", "parsely-pub-date",
    "sailthru:date", "publish-date", "publishdate", "publish_date", "publication_date", "published_time",
    "published", "pubdate", "pub_date", "article_date_original", "article:published", "article:post_date",
    "bt:pubdate", "cxenseparse:recs:publishtime", "cxenseparse:publishtime", "rnews:datepublished",
    "originalpublicationdate", "ptime", "shareaholic:article_published_time", "dc:date:created", "dcterms:created",
    "dc:created", "datecreated", "dc:date", "dcterms:date", "date", "og:regdate", "citation_date", "article:create",
    "creation_date", "created", "release_date", "timestamp", "datum", "dat", "video:release_date", "live_date",
    "displaydate", "blogger:published", "pdate", "article:publicationdate", "article:date", "last-publish-date",
    "vr:published_time", "eomportal-lastupdate",
)  # fmt: skip
"""Names of ``<meta>`` that tell when a page was published, best first; a dot is written as a colon."""
MODIFIED = (
    "article:modified_time", "og:article:modified_time", "og:updated_time", "datemodified", "dcterms:modified",
    "dc:modified", "dc:date:modified", "last-modified", "lastmod", "modified", "modificationdate", "revised",
    "updated", "last_updated", "lastupdate", "article:updated", "og:modified_time",
)  # fmt: skip
_PUBLISHED, _MODIFIED = ({name: rank for rank, name in enumerate(names)} for names in (PUBLISHED, MODIFIED))
DAY = 10
"""Characters of a date that names a day."""
MAX_TEXT = 20_000
"""Characters of a text in which a date is looked for."""
MAX_DATES = 64
"""Dates of a text that are looked at: with more of them it is a list, and the first ones say as much as all."""
NEAR = (300, 700)
"""Characters before and after the page's heading in which a date is the page's own."""

_PARTS = frozenset(
    {"VideoObject", "ImageObject", "AudioObject", "Comment", "Review", "Event", "Person", "Organization"}
)
"""Things on a page whose dates are not the page's."""
_OTHER = re.compile(
    r"comment|kommentar|sidebar|related|footer|copyright|widget|calendar|today|current|event|update|modif|clock|archive"
    r"|navbar|expir|runtime|duration|reading|timeline|metabox|popup",
    re.IGNORECASE,
)
_CUES = re.compile(
    r"(?:published|publish date|posted|first posted|erstellt|veröffentlicht|publié|mis en ligne|publicado|publicada"
    r"|pubblicato|geplaatst|gepubliceerd|opublikowano|опубликовано|datum|date|stand)\b",
    re.IGNORECASE,
)
_CHANGED = re.compile(
    r"(?:updated|modified|aktualisiert|geändert|mis à jour|actualizado|bearbeitet|änderung|zuletzt)", re.IGNORECASE
)
_OTHERWISE = {
    "changed": _CHANGED,
    "right": re.compile(r"(?:©|copyright|\(c\))[^\n]{0,40}$", re.IGNORECASE),
    "elsewhen": re.compile(
        r"(?:joined|registered|registriert|mitglied seit|member since|born|geboren|aktuelle zeit|since|seit|until|bis)"
        r"[^\n]{0,15}$",
        re.IGNORECASE,
    ),
}
"""Dates that are not the publication's: what stands before them."""


class Dated(NamedTuple):
    """A date and what it is from."""

    iso: str = ""
    source: str = ""


UNDATED = Dated()


def is_american(language: str) -> bool:
    """Whether 3/4/2020 is in March where that is the language."""
    return not language or language.lower().replace("_", "-") in ("en-us", "en")


def published(facts: Facts, things: list[Thing], items: list[Thing], text: str, changed: Dated) -> tuple[Dated, Dated]:
    """Return when a page was published, and when its text says it was changed, if the text was asked.

    ``things`` are JSON-LD's about the page, ``items`` microdata's and RDFa's; ``changed`` is what ``modified`` says.
    """
    in_url = date_in_url(facts.url) or (date_in_url(facts.canonical) if facts.canonical else "")
    if not (in_url or text or facts.speaks or facts.has_scripts or facts.has_times or things or items or changed.iso):
        return UNDATED, UNDATED
    american = is_american(facts.language)
    if things or items or facts.metas:
        for source, said in _structured(facts, things, items, _PUBLISHED, ("datePublished", "dateCreated")):
            if len(found := read_date(said, american)) >= DAY:
                return _own_day(Dated(found, source), in_url), UNDATED
    for tag, said in facts.times:
        marks = f"{tag.get('class')} {tag.get('itemprop')}"
        own = "pubdate" in tag.attributes or "publish" in marks or "entry-date" in marks
        if own and "updat" not in marks and len(found := read_date(said, american)) >= DAY:
            return Dated(found, "time"), UNDATED
    seen = _in_text(text, facts, american) if text else NOT_SEEN
    in_text = Dated(seen.changed, "text") if seen.changed else UNDATED
    for dated in _ranked(facts, in_url, seen, changed, american):
        if len(dated.iso) >= DAY:
            return dated, in_text
    return UNDATED, in_text


def _ranked(facts: Facts, in_url: str, seen: _Seen, changed: Dated, american: bool) -> Iterator[Dated]:
    """Yield what may be the date of a page that names none in so many words, the best first."""
    if in_url:
        yield Dated(in_url, "url")
    if seen.near:
        yield Dated(seen.near, "text")
    if facts.has_marks:
        yield from (Dated(iso, "element") for iso in _named(facts, ARTICLE_WORDS, american))
    for tag, said in facts.times:
        if not _other(tag.get("class")):
            yield Dated(read_date(said, american), "time")
    if facts.has_marks:
        yield from (Dated(iso, "element") for iso in _named(facts, DATE_WORDS, american))
    if seen.cued:
        yield Dated(seen.cued, "text")
    metas = facts.metas
    for name in ("description", "og:description") if metas else ():
        yield from (Dated(date.iso, "meta") for said in metas.get(name, ()) for date in dates_in(said, american))
    if facts.has_scripts:
        yield from (Dated(iso, "script") for iso in _in_scripts(facts, american))
    for image in metas.get("og:image", ()) if metas else ():
        yield Dated(date_in_url(image), "image")
    if changed.iso:
        yield Dated(changed.iso, "modified")


def _own_day(found: Dated, in_url: str) -> Dated:
    """Return a date, or the URL's where that is earlier, or is the day beside a moment in UTC: the page's own day."""
    if not in_url:
        return found
    day = found.iso[:10]
    next_day = f"{datetime.fromisoformat(day) + timedelta(days=1):%Y-%m-%d}"
    if in_url < day or (in_url == next_day and found.iso.endswith("Z")):
        return Dated(in_url, "url")
    return found


def modified(facts: Facts, things: list[Thing], items: list[Thing]) -> Dated:
    """Return when a page says that it was last changed."""
    american = is_american(facts.language)
    for source, said in _structured(facts, things, items, _MODIFIED, ("dateModified",)):
        if found := read_date(said, american):
            return Dated(found, source)
    return UNDATED


def _structured(
    facts: Facts, things: list[Thing], items: list[Thing], names: dict[str, int], keys: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    for key in keys if things else ():
        for thing in things:
            if _PARTS.isdisjoint(types(thing)):
                yield from (("json-ld", said) for said in strings(thing.get(key)))
    metas = facts.metas
    for name in sorted(names.keys() & metas.keys(), key=names.__getitem__) if metas else ():
        yield from (("meta", said) for said in metas[name])
    for key in keys if items else ():
        for item in items:
            yield from (("microdata", said) for said in strings(item.get(key)))


def _other(marks: str) -> bool:
    return _OTHER.search(marks) is not None


def _named(facts: Facts, words: tuple[str, ...], american: bool) -> Iterator[str]:
    """Yield the dates of elements whose class, id or property is named so."""
    for tag in facts.marked(*words):
        marks = " ".join(tag.get(name) for name in ("class", "id", "itemprop", "property", "rel"))
        if tag.name in ("html", "body", "head", "meta", "link", "script", "form", "input") or _other(marks):
            continue
        for name in ("datetime", "content", "data-datetime", "data-time", "title"):
            if (said := tag.get(name)) and (found := read_date(said, american)):
                yield found
        said = facts.content(tag)
        if said and not _CHANGED.search(said[:60]):
            for date in dates_in(said, american):
                yield date.iso
                break


class _Seen(NamedTuple):
    """What the dates of a text are; each the first of its kind."""

    near: str = ""
    """By the page's heading: behind a word like "published", else the first below it, else the last above it."""
    cued: str = ""
    """Behind such a word anywhere; else behind one like "updated"; else the first date, a copyright's last."""
    changed: str = ""


NOT_SEEN = _Seen()


def _in_text(text: str, facts: Facts, american: bool) -> _Seen:
    text = text[:MAX_TEXT]
    dates = list(islice(dates_in(text, american), MAX_DATES))
    if not dates:
        return NOT_SEEN
    heading = facts.heading
    at = text.find(heading) if heading else -1
    low, end, high = at - NEAR[0], at + len(heading), at + len(heading) + NEAR[1]
    found: dict[str, str] = {}
    for date in dates:
        before = text[max(0, date.start - 40) : date.start]
        cued = _CUES.search(before[-25:]) is not None
        other = next((kind for kind, words in _OTHERWISE.items() if words.search(before)), "")
        if other:
            found.setdefault(other, date.iso)
            continue
        found.setdefault("cued" if cued else "first", date.iso)
        if at >= 0 and low <= date.start <= high:
            if date.start < at:
                found["above"] = date.iso
            found.setdefault("near" if cued else "below" if date.start >= end else "above", date.iso)
    near = found.get("near") or found.get("below") or found.get("above") or ""
    anywhere = (found[kind] for kind in ("cued", "changed", "first", "right") if kind in found)
    return _Seen(near, next(anywhere, ""), found.get("changed", ""))


_KEYS = (
    "datePublished", "publishedDate", "publishDate", "published_at", "publishedAt", "pubDate", "published", "createdAt",
    "created_at", "datecreated", "publicationDate", "dateCreated",
)  # fmt: skip
_NAMES = np.array([[*f'{key}"'.encode().ljust(2 + max(map(len, _KEYS)), b"\0")] for key in _KEYS], np.uint8)
_SAID = re.compile(rb'\s*:\s*\\?"?([^"\\,}]{8,40})')


def _in_scripts(facts: Facts, american: bool) -> Iterator[str]:
    """Yield what scripts that are no JSON-LD hold under names of such dates."""
    places = np.empty(len(_KEYS), np.int64)
    find_names(facts.tokens.page, _NAMES, places)
    for place in places.tolist():
        if place >= 0 and (match := _SAID.match(facts.tokens.data, place)):
            yield read_date(match[1].decode("utf-8", "replace"), american)
