"""Who wrote a page: bylines in JSON-LD, ``<meta>``, microdata and elements that are named after authors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from fyke.convert.facts import BYLINE_WORDS, Facts
from fyke.convert.structured import ARTICLES, Thing, strings, types
from fyke.text.placeholders import is_placeholder

AUTHORS = (
    "dc:creator", "dcterm:creator", "dcterms:creator", "dc:author", "author", "parsely-author", "article:author",
    "og:article:author", "citation_author", "sailthru:author", "byl", "article:author_name", "creator",
    "twitter:creator:name",
)  # fmt: skip
MAX_NAME = 100
"""Characters of a byline: more is a sentence."""
_BY = re.compile(
    r"^(?:(?:written|posted|published|photographs?|words|story|text)?\s*by|par|von|por|di|de|door|av|autor(?:in)?|author"
    r"|(?:ein )?(?:gast)?beitrag von|from)\b\s*:?\s*",
    re.IGNORECASE,
)
_NOT_BYLINES = ("comment", "avatar", "image", "photo", "bio", "share", "social", "date ", "count")
_NOT_A_NAME = re.compile(
    r"https?://|www\.|@\w+\.|^\W*$|share|comment|follow|subscribe|newsletter|more from|sign in|log ?in|cookie"
    r"|about the author"
    r"|read more|view all|see all|contact|profile",
    re.IGNORECASE,
)
_DATE_TAIL = re.compile(
    r"\s*(?:[|•·,–—-]\s*)?(?:on\s+)?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s+)?\b[^\W\d_]{0,9}\.?\s*\d.*$",
    re.IGNORECASE,
)
_SPACES = re.compile(r"\s+")


def author(facts: Facts, own: list[Thing], marked: list[Thing]) -> tuple[str, str]:
    """Return the names of those who wrote a page, and where it says so; empty where it does not."""
    articles = [thing for thing in own if not ARTICLES.isdisjoint(types(thing))] or own
    names = [name for thing in articles[:3] for name in strings(thing.get("author") or thing.get("creator"))]
    if names and (found := _names(names)):
        return found, "json-ld"
    for name in AUTHORS if facts.metas else ():
        if name in facts.metas and (found := _names(facts.metas[name])):
            return found, "meta"
    for thing in marked:
        if not ARTICLES.isdisjoint(types(thing)) and (found := _names(strings(thing.get("author")))):
            return found, "microdata"
    if facts.has_marks and (found := next(_bylines(facts), "")):
        return found, "element"
    return "", ""


def _names(values: Iterable[str]) -> str:
    """Return the names among values, each once, joined by commas."""
    kept: dict[str, None] = {}
    for value in values:
        name = clean_name(value)
        if name:
            kept.setdefault(name)
    return ", ".join(list(kept)[:10])


def clean_name(value: str) -> str:
    """Return an author's name without "by"; empty where it is an address, a placeholder or a sentence."""
    name = _BY.sub("", _SPACES.sub(" ", value).strip()).strip(" ,;:|·•–—-\u00a0")
    if not name or len(name) > MAX_NAME or _NOT_A_NAME.search(name) or is_placeholder(name, author=True):
        return ""
    return name


def _bylines(facts: Facts) -> Iterator[str]:
    """Yield the names in elements that are named after authors, the most certain first."""
    tags = [
        tag for tag in facts.marked(*BYLINE_WORDS) if tag.name not in ("meta", "link", "script", "body", "html", "img")
    ]
    certain = [tag for tag in tags if "author" in tag.get("rel").split() or "author" in tag.get("itemprop").split()]
    for tag in [*certain, *tags]:
        marks = f"{tag.get('class')} {tag.get('id')}".casefold()
        if any(word in marks for word in _NOT_BYLINES):
            continue
        said = facts.content(tag)
        if len(said) > MAX_NAME + 60:
            continue
        name = clean_name(_DATE_TAIL.sub("", _BY.sub("", said)))
        if name and len(name.split()) <= 12:
            yield name
