"""HTML to tagged text: a parsed page (formats/html) becomes a ``Document``. Other formats come here as HTML too.

``document`` is the whole; ``tagged`` is its hot part, kernels over the page's canonical markup. Both take the page
that links and cleaning use: nothing is parsed twice. Metadata is what ``metadata.describe`` makes of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from html import escape, unescape
from typing import NamedTuple

import numpy as np

from fyke.convert.elements import replaced
from fyke.convert.facts import Facts
from fyke.convert.markup_kernels import Bytes
from fyke.convert.metadata import describe
from fyke.convert.plan_kernels import LEFT_OUT, MAX_MARKUP, Plan, empty_plan, sizes
from fyke.convert.registry import Source
from fyke.convert.tag_kernels import make_plan
from fyke.convert.write_kernels import write
from fyke.description import maker
from fyke.errors import UrlError
from fyke.formats.encoding import Decoded, Utf8
from fyke.formats.encoding import decoded as decode
from fyke.formats.html import Page, References, parse
from fyke.formats.pieces import pieces
from fyke.formats.tags import TABLE, Table
from fyke.limits import note
from fyke.text.language import Language
from fyke.url import Url, whatwg
from fyke.values import Document, Link, Tags

MAX_LINKS = 50_000
"""Links of one document that are kept; a page of more is a trap or a dump."""

MAX_FORMULAS = 20_000
"""Formulas of one document: a book of mathematics has some thousands."""
_FORMULAS = b"<math", b"math/tex"
"""Signs of formulas in markup."""
_REFERENCE = re.compile(r'(<a href|<img alt="[^"]*" src)="([^"]*)"')
_BYTES_PER_STEP = 12
"""Markup per step of its plan, a first guess: pages have 15 to 40. Where it falls short tags are counted."""
_STEPS_PER_TAG = 2
_APART = "\n\n"
"""Between two blocks of a text."""
_UNDECODED = Decoded("", "", "", 0)
_NO_TAGS = Tags()
_make_document = maker(Document)
_PAGES = frozenset({"text/html", "application/xhtml+xml"})
"""Types whose text may be asked for a date: elsewhere dates in the text are of anything."""


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
    htmls: list[str] = []
    texts: list[str] = []
    tags: list[bytes] = []
    begin = 0
    for each in tagged_pieces(page):
        if each.html:
            htmls.append(each.html)
            texts.append(each.text)
            tags.append((each.tags.moved(begin) if begin else each.tags).packed)
            begin += len(each.text) + len(_APART)
    html = "".join(htmls)
    htmls.clear()  # a large page has each of its columns twice for a moment, one after the other
    text = _APART.join(texts)
    texts.clear()
    return Tagged(html, text, Tags(b"".join(tags)))


def tagged_pieces(page: Page) -> Iterator[Tagged]:
    """Yield the same in pieces (formats/pieces), each with offsets of its own; of all but large pages that is one."""
    if page.has_markup:
        yield _tagged(page.markup)
        return
    left = MAX_FORMULAS
    for piece in pieces(page.tokens):
        markup = parse(piece).markup
        yield _tagged(markup, left)
        left -= sum(map(markup.count, _FORMULAS))
        if left < 0:
            note("formulas")
            left = 0


def _tagged(markup: bytes, formulas: int = MAX_FORMULAS) -> Tagged:
    """Return the tagged text of markup, of whose formulas so many are read."""
    source, plan = _plan(markup, formulas)
    html_size, text_size, count = sizes(plan)
    html, text = np.empty(html_size, np.uint8), np.empty(text_size, np.uint8)
    tags = np.empty((count, 3), np.int32)
    if plan[LEFT_OUT]:
        note("long-attributes")
    html_end, text_end, count = write(source, plan, html, text, tags)
    return Tagged(
        str(html[:html_end].data, "utf-8", "replace"),
        str(text[:text_end].data, "utf-8", "replace"),
        Tags(tags[:count].astype("<i4", copy=False).tobytes()),
    )


def _plan(markup: bytes, formulas: int) -> tuple[Bytes, Plan]:
    if b"<xmp" in markup or b"<plaintext" in markup:
        markup = replaced(markup, _preformatted)
    if formulas and any(sign in markup for sign in _FORMULAS):
        from fyke.convert.mathml import with_formulas  # which needs a reader of XML; few pages have formulas

        markup = with_formulas(markup, formulas)
    if len(markup) > MAX_MARKUP:
        note("markup-bytes")
        markup = markup[:MAX_MARKUP]
    source = np.frombuffer(markup, np.uint8)
    steps = len(markup) // _BYTES_PER_STEP
    while not make_plan(source, plan := empty_plan(markup, steps)):
        steps = max(2 * steps + 1, _STEPS_PER_TAG * markup.count(b"<"))
    return source, plan


def _preformatted(tag: bytes, content: bytes) -> bytes | None:
    """Text that stands as it is, as preformatted text."""
    if not tag.startswith((b"<xmp", b"<plaintext")):
        return None
    return b"<pre>" + escape(content.decode(), quote=False).encode() + b"</pre>"


def document(
    page: Page,
    decoded: Decoded | None = None,
    url: Url | None = None,
    media_type: str = "text/html",
    *,
    links: tuple[Link, ...] | None = None,
    pairs: Iterable[tuple[str, str]] = (),
    table: Table = TABLE,
    main: str = "",
    blocks: str | None = None,
) -> Document:
    """Return the document of a page at ``url``.

    ``links`` are its links if the caller has resolved them already; ``pairs`` are source tags that the page itself
    does not hold (those of a container, say), which count before its own. ``main`` is its main text, ``blocks`` the
    text of all its blocks, where the caller has cut it into such: what they say of date and language counts where the
    page says nothing.
    """
    html, text, tags = tagged(page)
    if url is not None:
        html = absolute(html, page.base, url)
    origin = decoded or _UNDECODED
    facts = Facts(page, url.href if url else "")
    read = text if blocks is None else blocks
    said = describe(facts, read if media_type in _PAGES else "", main or read, pairs, table)
    return Document(
        html=html,
        text=text,
        tags=tags,
        title=said.title,
        language=said.language,
        media_type=media_type,
        encoding=origin.encoding,
        encoding_from=origin.how,
        replaced=origin.replaced,
        meta=said.meta,
        links=resolve(page.links(), page.base, url) if links is None else links,
    )


def text_document(
    page: Page, decoded: Utf8, url: Url, media_type: str, main: str, blocks: str, language: Language,
    undated: bool = False,
) -> Document:  # fmt: skip
    """Return the document of a page that is kept as text: as ``document``, without HTML, tags and links.

    ``language`` is what its text is likely in; ``undated`` says that it is known to name no date.
    """
    text = blocks if media_type in _PAGES else ""
    said = describe(Facts(page, url.href), text, main or blocks, language=language, undated=undated)
    return _make_document(
        "", blocks, _NO_TAGS, said.title, said.language, media_type, decoded.encoding, decoded.how, decoded.replaced,
        said.meta, whole=blocks,
    )  # fmt: skip


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
            note("document-links")
            break
        try:
            target = root.join(href) if root else Url.parse(href)
        except UrlError:
            continue
        found.setdefault((target.href, text), Link(target, text, rel))
    return tuple(found.values())


def absolute(html: str, base: str, url: Url) -> str:
    """Return tagged HTML with its references joined with the page's ``base`` and ``url``; fragments stay."""
    root = url
    with suppress(UrlError):
        root = url.join(base)
    return _REFERENCE.sub(lambda found: f'{found[1]}="{_joined(found[2], root.href)}"', html)


def _joined(href: str, base: str) -> str:
    try:
        return escape(whatwg(unescape(href), base))
    except UrlError:
        return href
