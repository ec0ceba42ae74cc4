"""HTML to tagged text: a parsed page (formats/html) becomes a ``Document``. Other formats come here as HTML too.

``document`` is the whole; ``tagged`` is its hot part, kernels over the page's canonical markup. Both take the page
that links and cleaning use: nothing is parsed twice. Metadata is gathered from ``<meta>``, JSON-LD, microdata, RDFa and
``<time>``, and mapped by formats/tags; a date in the text counts only behind a word like "published".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from html import escape, unescape
from itertools import islice
from typing import NamedTuple

import msgspec
import numpy as np

from fyke.convert.markup_kernels import Bytes
from fyke.convert.plan_kernels import MAX_MARKUP, Plan, empty_plan, make_plan, sizes
from fyke.convert.registry import Source
from fyke.convert.write_kernels import write
from fyke.errors import UrlError
from fyke.formats.encoding import Decoded
from fyke.formats.encoding import decoded as decode
from fyke.formats.html import Page, References, parse
from fyke.formats.markup import fold
from fyke.formats.tags import TABLE, Table, canonical, visible_date
from fyke.url import Url
from fyke.values import Document, Link, Tags

MAX_LINKS = 50_000
"""Links of one document that are kept; a page of more is a trap or a dump."""

_RAW = re.compile(rb"<(xmp|plaintext)(?: [^>]*)?>(.*?)</\1>", re.DOTALL)
_RELATIVE = re.compile(r'<a href="([^"]*)"')
_CUES = ("ublished", "osted on", "pdated")
"""Words behind which a visible date is the document's."""
_ENDS = (3000, 1000)
"""Characters at the beginning and at the end of a text among which a visible date is looked for."""
_BYTES_PER_STEP = 12
"""Markup per step of its plan, a first guess: pages have 15 to 40. Where it falls short tags are counted."""
_STEPS_PER_TAG = 2
_MAX_ITEMS = 400
"""Things of JSON-LD, microdata and RDFa that are looked at: pages have a dozen."""
_ITEM_LENGTH = 500
"""Characters of each."""


def convert(source: Source) -> Document:
    """Return the document of an HTML or XHTML file."""
    text = decode(source.data, source.content_type or source.media_type)
    return document(parse(text.text), text, source.url, source.media_type, table=source.table)


class Tagged(NamedTuple):
    """Clean HTML, plain text, and the offsets of its tags."""

    html: str
    text: str
    tags: Tags


def tagged(page: Page) -> Tagged:
    """Return the tagged text of a page. Linear; well-formed whatever the page."""
    source, plan = _plan(page)
    html_size, text_size, count = sizes(plan)
    html, text = np.empty(html_size, np.uint8), np.empty(text_size, np.uint8)
    tags = np.empty((count, 3), np.int32)
    html_end, text_end, count = write(source, plan, html, text, tags)
    return Tagged(
        str(html[:html_end].data, "utf-8", "replace"),
        str(text[:text_end].data, "utf-8", "replace"),
        Tags(tags[:count].astype("<i4", copy=False).tobytes()),
    )


def _plan(page: Page) -> tuple[Bytes, Plan]:
    markup = page.markup
    if page.tree.select_one("xmp") is not None or page.tree.select_one("plaintext") is not None:
        markup = _RAW.sub(lambda m: b"<pre>" + escape(m[2].decode(), quote=False).encode() + b"</pre>", markup)
    markup = markup[:MAX_MARKUP]
    source = np.frombuffer(markup, np.uint8)
    steps = len(markup) // _BYTES_PER_STEP
    while not make_plan(source, plan := empty_plan(markup, steps)):
        steps = max(2 * steps + 1, _STEPS_PER_TAG * markup.count(b"<"))
    return source, plan


def document(
    page: Page,
    decoded: Decoded | None = None,
    url: Url | None = None,
    media_type: str = "text/html",
    *,
    links: tuple[Link, ...] | None = None,
    pairs: Iterable[tuple[str, str]] = (),
    table: Table = TABLE,
    text: str | None = None,
) -> Document:
    """Return the document of a page at ``url``.

    ``links`` are its links if the caller has resolved them already; ``pairs`` are source tags that the page itself
    does not hold (those of a container, say), which count before its own. Where its ``text`` is known already there is
    no HTML and there are no tags.
    """
    html, text, tags = Tagged("", text, Tags()) if text is not None else tagged(page)
    if page.base and url is not None:
        html = _RELATIVE.sub(lambda m: f'<a href="{_absolute(m[1], page.base, url)}"', html)
    meta, title = canonical([*pairs, *source_tags(page, text)], table)
    return Document(
        html=html,
        text=text,
        tags=tags,
        title=page.title or title,
        language=page.language,
        media_type=media_type,
        encoding=decoded.encoding if decoded else "",
        encoding_from=decoded.how if decoded else "",
        replaced=decoded.replaced if decoded else 0,
        meta=meta,
        links=resolve(page.links(), page.base, url) if links is None else links,
    )


def resolve(references: References, base: str, url: Url | None) -> tuple[Link, ...]:
    """Return the links that name a document, joined with the page's base; each target and text once."""
    root = url
    if base:
        try:
            root = url.join(base) if url else Url.parse(base)
        except UrlError:
            root = url
    found: dict[tuple[str, str], Link] = {}
    for href, text, rel in zip(*references, strict=True):
        if len(found) >= MAX_LINKS:
            break
        try:
            target = root.join(href) if root else Url.parse(href)
        except UrlError:
            continue
        found.setdefault((target.href, text), Link(target, text, rel))
    return tuple(found.values())


def source_tags(page: Page, text: str) -> Iterator[tuple[str, str]]:
    """Yield what the page says of itself as (source tag, content)."""
    yield from page.metas
    yield from _json_ld(page)
    for attribute in ("itemprop", "property") if page.is_annotated else ():
        for element in page.tree.select(f"[{attribute}]")[:_MAX_ITEMS]:
            get = element.attr
            value = get("content") or get("datetime") or element.text[:_ITEM_LENGTH]
            yield (get(attribute) or "").strip().split(" ")[0].removeprefix("schema:"), value
    for published, said in islice(page.times, 20):
        yield ("pubdate" if published else "time"), said
    ends = text if len(text) <= sum(_ENDS) else f"{text[: _ENDS[0]]}\n{text[-_ENDS[1] :]}"
    for cue in _CUES:
        at = ends.find(cue)
        if at >= 0:
            yield "updated" if cue == "pdated" else "time", visible_date(ends[at : at + 60])


def _json_ld(page: Page) -> Iterator[tuple[str, str]]:
    values: list[object] = []
    for script in page.linked_data:
        with suppress(ValueError, RecursionError):  # what a site sent
            values.append(msgspec.json.decode(script))
    seen = 0
    while values and seen < _MAX_ITEMS:
        value = values.pop(0)
        seen += 1
        if isinstance(value, list):
            values.extend(value[:_MAX_ITEMS])
        elif isinstance(value, dict):
            values.extend(inner for key, inner in value.items() if key in {"@graph", "mainEntity"})
            for key, inner in value.items():
                yield from ((f"{key}", said) for said in _names(inner))


def _names(value: object) -> Iterator[str]:
    """Yield the strings of a JSON-LD value: itself, or the name of the things it lists."""
    for item in value[:10] if isinstance(value, list) else [value]:
        said = item.get("name") if isinstance(item, dict) else item
        if isinstance(said, str):
            yield fold(said[:_ITEM_LENGTH])


def _absolute(href: str, base: str, url: Url) -> str:
    try:
        return escape(url.join(base).join(unescape(href)).href)
    except UrlError:
        return href
