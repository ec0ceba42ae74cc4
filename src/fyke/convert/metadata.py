"""Metadata: what a page is called, by whom, of which site, about what, under which licence; each with its source.

``describe`` ranks what a page says of itself (``facts``) by trust: JSON-LD of the article → Dublin Core, Open Graph and
other ``<meta>`` → microdata and RDFa → elements → the text. Placeholders (fyke.text.placeholders) are no facts.
``Meta.sources`` names the place that each field is from: ``json-ld``, ``meta``, ``microdata``, ``link``, ``element``,
``time``, ``url``, ``heading``, ``title``, ``text``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from fyke.convert.authors import author
from fyke.convert.facts import Facts, Joiner
from fyke.convert.publication import UNDATED, modified, published
from fyke.convert.structured import (
    ARTICLES,
    Thing,
    addresses,
    decode_json_ld,
    local,
    microdata,
    rdfa,
    strings,
    things,
    types,
)
from fyke.description import maker
from fyke.formats.markup import fold
from fyke.formats.tags import NO_META, TABLE, Table, canonical
from fyke.text.language import LIKELY, Language, identify, primary
from fyke.text.placeholders import is_placeholder
from fyke.values import Described, Meta

KINDS = {
    **dict.fromkeys(ARTICLES, "article"),
    "DiscussionForumPosting": "forum", "QAPage": "forum", "Question": "forum", "Product": "product",
    "ProductGroup": "product", "Offer": "product", "CollectionPage": "listing", "ItemList": "listing",
    "SearchResultsPage": "listing", "OfferCatalog": "listing", "Service": "service", "LocalBusiness": "service",
    "TechArticle": "documentation", "APIReference": "documentation", "product": "product", "article": "article",
    "product.item": "product", "og:product": "product", "product.group": "listing",
}  # fmt: skip
"""What a page says it is, in the words of the page types of fyke.clean."""
TITLES = (
    "dc:title", "dcterm:title", "dcterms:title", "og:title", "weibo:article:title", "weibo:webpage:title",
    "citation_title", "title", "twitter:title", "parsely-title", "sailthru:title",
)  # fmt: skip
SITES = ("og:site_name", "dc:publisher", "dcterms:publisher", "application-name", "cre", "publisher")
DESCRIPTIONS = (
    "dc:description", "dcterm:description", "dcterms:description", "og:description", "weibo:article:description",
    "weibo:webpage:description", "description", "twitter:description", "dc:abstract", "abstract",
)  # fmt: skip
TAGS = ("article:tag", "news_keywords", "keywords", "parsely-tags", "dc:subject", "dcterms:subject", "sailthru:tags")
IMAGES = ("og:image:secure_url", "og:image", "og:image:url", "twitter:image", "twitter:image:src", "image", "thumbnail")
LICENCES = (
    "dcterms:license", "dc:rights:license", "license", "dc:license", "cc:license", "dc:rights", "dcterms:rights",
)  # fmt: skip

MAX_PARAGRAPH = 1_000
"""Of a paragraph that stands for a description."""
_PARAGRAPH_WITHIN = 20_000
"""Characters of a text in which it is looked for."""
LINE = 40
"""Characters of a line that is a paragraph, in scripts of letters."""
MAX_TAGS = 40
MAX_ALTERNATES = 200
_BARS = re.compile(r"\s[|\-–—\\/>»]\s")
_HIERARCHY = re.compile(r"\s[\\/>»]\s")


Found = tuple[str, str]
"""A value and its source."""
_make_meta = maker(Meta)
NOTHING: Found = ("", "")


def describe(
    facts: Facts,
    text: str = "",
    main: str = "",
    pairs: Iterable[tuple[str, str]] = (),
    table: Table = TABLE,
    language: Language | None = None,
    undated: bool = False,
) -> Described:
    """Return what a page says of itself.

    ``text`` is what can be read of it, ``main`` its main content: a date is looked for in the one, the language and a
    description in the other. ``pairs`` are tags that a container gives (a feed's, a mail's): they count before the
    page's own. ``table`` may know a user's names of tags. ``language`` is that of the text, where it is known already;
    ``undated`` says that the text is known to name no date.
    """
    pairs = list(pairs)
    language = language or identify(main or text)
    if not pairs and not facts.speaks:
        return _plain(facts, text, main, language, undated)
    said = [
        thing
        for _, script, plain in facts.linked_data
        for thing in things([plain if plain is not None else decode_json_ld(script)])
    ]
    own = _articles_first(thing for thing in said if _is_page(thing)) if said else []
    marked = _articles_first(things([*microdata(facts), *rdfa(facts)])) if facts.has_items else []
    speaks = bool(facts.metas or said or marked)
    base, base_title, given, given_title = NO_META, "", NO_META, ""
    if pairs or speaks:
        base, base_title = canonical([*pairs, *_flat(facts, [*own, *marked], table)], table)
        given, given_title = canonical(pairs, table) if pairs else (NO_META, "")
    title = (given_title and _first([given_title], "container")) or _title(facts, own, marked)
    changed = modified(facts, own, marked) if speaks else UNDATED
    when, in_text = published(facts, own, marked, "" if undated else text, changed)
    join = Joiner(facts)
    fields: dict[str, Found] = {
        "author": (given.author and _first([given.author], "container", author=True)) or author(facts, own, marked),
        "published": (given.published, "container") if given.published else when,
        "updated": (given.updated, "container") if given.updated else changed if changed.iso else in_text,
        "site": _site(facts, own, said) if speaks else NOTHING,
        "description": _text_of(facts, own, "description", DESCRIPTIONS, marked) if speaks else NOTHING,
        "keywords": _tags(facts, own) if speaks else NOTHING,
        "image": _address(facts, own, marked, "image", IMAGES, join),
        "licence": _licence(facts, own, marked, join),
        "canonical": (join(facts.canonical), "link") if facts.canonical else NOTHING,
        "kind": _kind(facts, own, marked) if speaks else NOTHING,
    }
    if text and main and not fields["description"][0]:
        fields["description"] = (first_paragraph(main), "text")
    known: dict[str, Any] = {} if base is NO_META else {name: getattr(base, name) for name in _FROM_TABLE}
    known.update((name, value) for name, (value, _) in fields.items() if value or name == "author")
    known["alternates"] = _alternates(facts, join)
    sources = [(name, source) for name, (value, source) in fields.items() if value]
    title = title if title[0] or is_placeholder(base_title) else (base_title, "")
    return _described(facts, title, known, sources, language)


def _plain(facts: Facts, text: str, main: str, language: Language, undated: bool) -> Described:
    """Return ``describe`` of a page that says nothing of itself but what it is called."""
    known: dict[str, Any] = {}
    sources = []
    when, changed = published(facts, [], [], "" if undated else text, UNDATED)
    if when.iso:
        known["published"] = when.iso
        sources.append(("published", when.source))
    if changed.iso:
        known["updated"] = changed.iso
        sources.append(("updated", changed.source))
    if text and main and (paragraph := first_paragraph(main)):
        known["description"] = paragraph
        sources.append(("description", "text"))
    return _described(facts, _title(facts, [], []), known, sources, language)


def _described(
    facts: Facts, title: Found, known: dict[str, Any], sources: list[tuple[str, str]], language: Language
) -> Described:
    if title[1]:
        sources.append(("title", title[1]))
    known["declared"], known["language_score"], known["sources"] = facts.language, language.score, tuple(sources)
    code = language.code if language.score >= LIKELY else primary(facts.language) or language.code
    return Described(title[0], code, _make_meta(**known))


def first_paragraph(main: str) -> str:
    """Return the first line of a text that is more than a heading or a byline; else the first line."""
    first, at, end = "", 0, min(len(main), _PARAGRAPH_WITHIN)
    while at < end:
        stop = main.find("\n", at, end)
        stop = end if stop < 0 else stop
        line = main[at:stop].strip()
        if len(line) >= LINE and line.rstrip('”"»）)')[-1:] in ".!?。！？:…;":
            first = line
            break
        first, at = first or line, stop + 1
    return fold(first[:MAX_PARAGRAPH])


_FROM_TABLE = tuple(Meta.__slots__)


def _flat(facts: Facts, about: Iterable[Thing], table: Table) -> Iterator[tuple[str, str]]:
    """Yield what the page says as tags for the table of synonyms, which knows more fields and a user's own names."""
    if table is TABLE:
        for name in facts.metas.keys() & table.ranks.keys():
            yield name, facts.metas[name][0]
    else:
        yield from facts.page.metas
    for thing in about:
        for key, value in islice(thing.items(), 40):
            yield from ((local(key), said) for said in strings(value, 2))


def _is_page(thing: Thing) -> bool:
    """Whether a thing is the page, or what the page is about: no part of the site, no list of crumbs."""
    return not _FURNITURE.issuperset(types(thing) or {"Thing"})


_FURNITURE = frozenset({
    "Organization", "NewsMediaOrganization", "Corporation", "WebSite", "BreadcrumbList", "Person", "ImageObject",
    "VideoObject", "SiteNavigationElement", "WPHeader", "WPFooter", "SearchAction", "Comment", "Review", "ListItem",
    "PostalAddress", "ContactPoint", "Rating", "AggregateRating", "ItemList", "EntryPoint", "Brand", "Thing",
})  # fmt: skip


def _first(values: Iterable[str], source: str, author: bool = False) -> Found | None:
    for value in values:
        if value and not is_placeholder(value, author=author):
            return value, source
    return None


def _metas(facts: Facts, names: tuple[str, ...]) -> list[str]:
    metas = facts.metas
    return [said for name in names if name in metas for said in metas[name]] if metas else []


def _of(own: list[Thing], *keys: str) -> Iterator[str]:
    for thing in own:
        for key in keys:
            yield from strings(thing.get(key))


def _meta(facts: Facts, names: tuple[str, ...]) -> Found | None:
    said = _metas(facts, names)
    return _first(said, "meta") if said else None


def _told(own: list[Thing], source: str, *keys: str) -> Found | None:
    return _first(_of(own, *keys), source) if own else None


def _articles(own: list[Thing]) -> list[Thing]:
    return [thing for thing in own if not ARTICLES.isdisjoint(types(thing))] if own else own


def _articles_first(found: Iterable[Thing]) -> list[Thing]:
    return sorted(found, key=lambda thing: ARTICLES.isdisjoint(types(thing)))


# ---- title


def _title(facts: Facts, own: list[Thing], marked: list[Thing]) -> Found:
    return (
        (_article_title(facts, _articles(own)) if own else None)
        or (_meta(facts, TITLES) if facts.metas else None)
        or _first((_from_title(facts),), "title")
        or (_told(_articles(marked), "microdata", "headline", "name") if marked else None)
        or (_first(_headings(facts), "heading") if facts.headings else None)
        or NOTHING
    )


def _headings(facts: Facts) -> list[str]:
    """Return the headings, each once, that of the page first."""
    if len(facts.headings) == 1:
        return [facts.headings[0][1]]
    return list(dict.fromkeys((facts.heading, *(said for _, said in facts.headings))))


def _article_title(facts: Facts, articles: list[Thing]) -> Found | None:
    """Of name and headline, take the one that is like the title of the page."""
    if not articles:
        return None
    names, headlines = list(_of(articles, "name")), list(_of(articles, "headline"))
    if names and headlines and names[0] != headlines[0]:
        title = _from_title(facts)
        if _alike(headlines[0], title) > 0.75 >= _alike(names[0], title):
            return _first(headlines, "json-ld")
    return _first([*names, *headlines], "json-ld")


def _alike(one: str, other: str) -> float:
    left, right = set(one.casefold().split()), set(other.casefold().split())
    return 2 * len(left & right) / (len(left) + len(right)) if left and right else 0.0


def _from_title(facts: Facts) -> str:
    """Return ``<title>`` without the site's name: before or behind a bar, where enough is left."""
    whole = title = facts.title
    site = facts.metas[SITES[0]][0] if SITES[0] in facts.metas else ""
    if site and whole.endswith(site) and _BARS.fullmatch(whole[: -len(site)][-3:]):
        return whole[: -len(site) - 3].strip()
    cuts = [] if title.replace(" ", "").isalnum() else list(_BARS.finditer(title))
    if cuts:
        title = whole[: cuts[-1].start()]
        if len(title.split()) < 3:
            title = whole[cuts[0].end() :]
    elif 15 <= len(whole) <= 150:
        return whole
    else:
        level_one = [said for level, said in facts.headings if level == 1]
        if len(level_one) == 1:
            title = level_one[0]
    title = title.strip()
    words = len(title.split())
    if words <= 4 and (not cuts or not _HIERARCHY.search(whole) or words != len(_BARS.sub(" ", whole).split()) - 1):
        title = whole
    return title


# ---- the rest


def _site(facts: Facts, own: list[Thing], said: list[Thing]) -> Found:
    articles = _articles(own)
    return (
        _told(articles, "json-ld", "publisher")
        or _meta(facts, SITES)
        or _told([thing for thing in said if "WebSite" in types(thing)], "json-ld", "name")
        or NOTHING
    )


def _text_of(facts: Facts, own: list[Thing], key: str, names: tuple[str, ...], marked: list[Thing]) -> Found:
    articles = _articles(own)
    return (
        _told(articles, "json-ld", key)
        or _meta(facts, names)
        or _told(own, "json-ld", key)
        or _told(marked[:3], "microdata", key)
        or NOTHING
    )


def _tags(facts: Facts, own: list[Thing]) -> Found:
    if not facts.metas and not own:
        return NOTHING
    for source, values in (("meta", _metas(facts, TAGS[:1])), ("json-ld", _of(own, "keywords")),
                           ("meta", _metas(facts, TAGS[1:]))):  # fmt: skip
        kept: dict[str, None] = {}
        for value in values:
            for tag in value.split(","):
                if len(kept) < MAX_TAGS and (tag := tag.strip()):
                    kept.setdefault(tag)
        if kept:
            return ", ".join(kept), source
    return NOTHING


def _address(
    facts: Facts, own: list[Thing], marked: list[Thing], key: str, names: tuple[str, ...], join: Callable[[str], str]
) -> Found:
    for value in _metas(facts, names):
        return join(value), "meta"
    for source, among in (("json-ld", own), ("microdata", marked[:3])):
        for thing in among:
            for value in addresses(thing.get(key)):
                return join(value), source
    for relation in facts.relations:
        if "image_src" in relation.rel.split() and key == "image":
            return join(relation.href), "link"
    return NOTHING


def _licence(facts: Facts, own: list[Thing], marked: list[Thing], join: Callable[[str], str]) -> Found:
    for relation in facts.relations:
        if "license" in relation.rel.split() and relation.href:
            return join(relation.href), "link"
    for source, among in (("json-ld", own), ("microdata", marked)):
        for thing in among:
            for value in addresses(thing.get("license")):
                return (join(value) if value.startswith(("http", "/")) else value), source
    for tag in facts.related("license"):
        if tag.get("href"):
            return join(tag.get("href")), "element"
    return _meta(facts, LICENCES) or NOTHING


def _kind(facts: Facts, own: list[Thing], marked: list[Thing]) -> Found:
    for source, among in (("json-ld", own), ("microdata", marked)):
        for thing in among:
            for name in types(thing):
                if name in KINDS:
                    return KINDS[name], source
    for value in _metas(facts, ("og:type",)):
        if kind := KINDS.get(value.strip().lower()):
            return kind, "meta"
    return NOTHING


def _alternates(facts: Facts, join: Callable[[str], str]) -> tuple[tuple[str, str], ...]:
    """Return the languages that the page is in elsewhere, each with its address."""
    found = {
        relation.hreflang.lower(): join(relation.href)
        for relation in facts.relations
        if relation.hreflang and relation.href and "alternate" in relation.rel.split()
    }
    return tuple(list(found.items())[:MAX_ALTERNATES])
