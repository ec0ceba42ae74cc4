"""XML of any vocabulary to HTML: DocBook, JATS, feeds, FictionBook, OPML, newswires, and what nobody has heard of.

Elements are recognised by their local names (``para`` is a paragraph wherever it comes from). One that is not
known is a block if it holds only elements or only text, and transparent inside running text. Text that is itself HTML,
as in a feed's ``description``, is taken as HTML. Short leaves are source tags for formats/tags.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from html import escape
from typing import NamedTuple

from fyke.convert.html import document
from fyke.convert.registry import Source
from fyke.formats import html as pages
from fyke.formats import media_types as kinds
from fyke.formats.encoding import decoded
from fyke.formats.tags import date
from fyke.formats.xml import End, Start, events
from fyke.values import Document

_HTML = {
    **dict.fromkeys(("code", "literal", "command", "filename", "userinput", "function", "varname"), "code"),
    **dict.fromkeys(("para", "simpara", "formalpara", "p", "v", "subtitle", "text-author", "abstract"), "p"),
    **dict.fromkeys(("itemizedlist", "simplelist", "variablelist", "list", "ul"), "ul"),
    **dict.fromkeys(("orderedlist", "procedure", "ol"), "ol"),
    **dict.fromkeys(("listitem", "varlistentry", "member", "step", "list-item", "li"), "li"),
    **dict.fromkeys(("programlisting", "screen", "literallayout", "pre", "synopsis", "preformat"), "pre"),
    **dict.fromkeys(("blockquote", "epigraph", "cite", "disp-quote"), "blockquote"),
    **dict.fromkeys(("table", "informaltable"), "table"),
    **dict.fromkeys(("row", "tr"), "tr"),
    **dict.fromkeys(("emphasis", "em", "i", "italic", "citetitle", "firstterm"), "em"),
    **dict.fromkeys(("strong", "b", "bold"), "strong"),
    "td": "td",
    "th": "th",
    **dict.fromkeys(("ulink", "link", "ext-link", "a", "uri", "guid"), "a"),
}
_TITLES = frozenset({"title", "head", "headline", "article-title"})
_TABLES = frozenset({"table", "informaltable", "tgroup"})
_SECTIONS = (
    *("chapter", "section", "sect", "book", "part", "article", "appendix", "preface", "refsect", "sec", "body"),
    *("item", "entry"),
)
_INLINE = frozenset(
    (
        *("literal", "command", "filename", "option", "parameter", "replaceable", "quote", "code", "userinput", "xref"),
        *("phrase", "acronym", "function", "type", "varname", "sub", "sup", "subscript", "superscript", "span"),
        *("email", "application", "keycap", "abbrev"),
    )
)
_PROLOGUE = re.compile(
    r"\s*(?:<\?xml\b[^>]{0,300}\?>)?(?:\s|<!--.*?-->|<\?.*?\?>)*+(?:<!DOCTYPE\b[^\[>]*(?:\[.*?\]\s*)?>)?",
    re.DOTALL | re.IGNORECASE,
)
_NAMES = ("honorific", "prefix", "firstname", "given-names", "othername", "surname", "lineage", "suffix")
"""Parts of a person's name, in the order in which they are written."""
_FEED = frozenset(
    (
        *("language", "generator", "ttl", "docs", "cloud", "updateperiod", "updatefrequency", "skiphours", "skipdays"),
        *("guid", "id", "lastbuilddate", "pubdate", "updated", "published", "rating", "textinput", "post-id", "image"),
    )
)
_IWORK = frozenset({"section-prototypes", "prototypes", "stylesheet", "stylesheet-ref"})
_DROPPED = {
    **dict.fromkeys((kinds.RSS, kinds.ATOM, kinds.RDF), _FEED),
    kinds.FICTIONBOOK: frozenset(
        (
            *("stylesheet", "binary", "genre", "author", "book-title", "lang", "src-lang", "date", "keywords"),
            *("coverpage", "document-info", "publish-info", "custom-info", "translator", "sequence"),
        )
    ),
    **dict.fromkeys((kinds.PAGES, kinds.NUMBERS, kinds.KEYNOTE), _IWORK),
}
"""Elements of a format whose content is not for readers; what they say counts as metadata."""
_HELD = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6", "em", "strong", "a", "pre", "code"})
"""What holds running text: elements in it that are not known are part of it."""
_SAID = {"outline": ("text", "title"), "ct": ("s",)}
"""Elements that say their text in an attribute: OPML's, and a cell of Numbers."""
_PEOPLE = frozenset({"author", "contrib", "editor", "othercredit", "collab", "translator", "ref", "para", "p"})
"""Elements that tell whose a name is; the first two are authors."""
_AUTHORS = "author/"
"""Before the name of a tag that is a part of an author's name."""
MAX_AUTHORS = 10
_LEAF = 300
"""Characters of a leaf that may be a source tag: a description at its longest."""
_MAX_PAIRS = 500
"""Source tags of one file: newswires have fifty."""


def convert(source: Source) -> Document:
    """Return the document of an XML file."""
    text = decoded(source.data, source.content_type or "application/xml")
    dropped = _DROPPED.get(source.media_type, frozenset())
    markup, pairs = _markup(f"<document>{_body(text.text)}</document>", dropped)
    if source.media_type in (kinds.DOCBOOK, kinds.JATS):
        pairs = [("author", ", ".join(authors)), *pairs] if (authors := _authors(pairs)) else pairs
    page = pages.parse(markup)
    found = document(page, text, source.url, source.media_type, pairs=pairs, table=source.table)
    return _book(found, pairs) if source.media_type == kinds.FICTIONBOOK else found


def _book(found: Document, pairs: Iterable[tuple[str, str]]) -> Document:
    """Return a FictionBook with what its description says: names come in parts, the first ones are the author's."""
    said: dict[str, str] = {}
    for name, content in pairs:
        said.setdefault(name, content)
    author = " ".join(said[part] for part in ("first-name", "middle-name", "last-name") if part in said)
    meta = replace(
        found.meta, author=author or found.meta.author, published=date(said.get("year", "")) or found.meta.published
    )
    return replace(
        found, title=said.get("book-title", found.title), meta=meta, language=said.get("lang", found.language)
    )


def _authors(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Return the names of authors that come in parts, each once."""
    names: list[dict[str, str]] = [{}]
    for name, content in pairs:
        if name.startswith(_AUTHORS):
            part = name.removeprefix(_AUTHORS)
            if part in names[-1]:
                names.append({})
            names[-1][part] = content
    whole = [" ".join(name[part] for part in _NAMES if part in name) for name in names if "surname" in name]
    return list(dict.fromkeys(whole))[:MAX_AUTHORS]


def _body(text: str) -> str:
    """Drop the declaration (the text is decoded, whatever it says) and the document type (no entity is expanded)."""
    return _PROLOGUE.sub("", text, count=1)


class _Open(NamedTuple):
    """An element that is open."""

    name: str
    local: str
    tag: str
    """What was opened for it."""
    start: int
    """Where its markup begins among the pieces."""
    is_dropped: bool


def _markup(text: str, dropped: frozenset[str]) -> tuple[str, list[tuple[str, str]]]:
    """Return HTML for the XML, and its short leaves as (source tag, content)."""
    out: list[str] = []
    pairs: list[tuple[str, str]] = []
    opened = [_Open("", "", "", 0, False)]
    leaf: list[str] | None = None  # the text so far of the innermost element, as long as it holds no other
    has_text = [False]  # of each open element: whether text of its own has come
    tables = depth = 0
    for event in events(text):
        if isinstance(event, Start):
            local = _local(event.name)
            depth += local.startswith(_SECTIONS)
            tables += local in _TABLES
            within = opened[-1]
            tag = _tag(local, depth, tables > 0, has_text[-1] or within.tag in _HELD or within.local in _INLINE)
            href = _target(event.attributes) if tag == "a" else ""
            tag = "" if tag == "a" and not href else tag
            opened.append(_Open(event.name, local, tag, len(out), within.is_dropped or local in dropped))
            has_text.append(False)
            out.append(f"<{tag}{href}>" if tag else "")
            said = next((event.attributes[key] for key in _SAID.get(local, ()) if key in event.attributes), "")
            out.append(f"<p>{escape(said)}</p>" if said else "")
            leaf = []
        elif isinstance(event, End):
            element = opened.pop()
            has_text.pop()
            depth -= element.local.startswith(_SECTIONS)
            tables -= element.local in _TABLES
            content = "".join(leaf or ()).strip()
            if 0 < len(content) <= _LEAF and len(pairs) < _MAX_PAIRS:
                pairs.append((_AUTHORS + element.local if _is_authors(element, opened) else element.name, content))
            leaf = None
            if element.is_dropped:
                del out[element.start :]
            elif element.local in {"link", "uri"} and not element.tag and content.startswith(("http://", "https://")):
                del out[element.start :]
                out.append(f'<p><a href="{escape(content)}">{escape(content)}</a></p>')
            else:
                out.append(f"</{element.tag}>" if element.tag else " " if element.local in _NAMES else "")
        else:
            if leaf is not None:
                leaf.append(event)
            has_text[-1] = has_text[-1] or not event.isspace()
            out.append(event if _is_html(event) else escape(event, quote=False))
    return "".join(out), pairs


def _is_authors(element: _Open, opened: list[_Open]) -> bool:
    """Whether an element is a part of the name of an author."""
    if element.local not in _NAMES:
        return False
    whose = next((outer.local for outer in reversed(opened) if outer.local in _PEOPLE), "")
    return whose in ("author", "contrib")


def _local(name: str) -> str:
    return name.rpartition(":")[2].lower()


def _tag(local: str, depth: int, in_table: bool, in_text: bool) -> str:
    if local in _TITLES:
        return f"h{min(max(depth, 1), 6)}"
    if local == "entry":
        return "td" if in_table else "div"
    return _HTML.get(local) or ("" if local in _INLINE or local in _NAMES or in_text else "div")


def _target(attributes: dict[str, str]) -> str:
    href = attributes.get("href") or attributes.get("url") or ""
    return f' href="{escape(href)}"' if href else ""


def _is_html(text: str) -> bool:
    """Whether text is HTML that was escaped to pass through XML."""
    return "</" in text or "<br" in text or "<p>" in text or "<img" in text
