"""XML of any vocabulary to HTML: DocBook, JATS, feeds, FictionBook, OPML, newswires, and what nobody has heard of.

Elements are recognised by their local names (``para`` is a paragraph wherever it comes from). One that is not
known is a block if it holds only elements or only text, and transparent inside running text. Text that is itself HTML,
as in a feed's ``description``, is taken as HTML. Short leaves are source tags for formats/tags.
"""

from __future__ import annotations

import re
from html import escape

from fyke.convert.html import document
from fyke.convert.registry import Source
from fyke.formats import html as pages
from fyke.formats.encoding import decoded
from fyke.formats.xml import End, Start, events
from fyke.values import Document

_HTML = {
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
_SAID = {"outline": ("text", "title"), "ct": ("s",)}
"""Elements that say their text in an attribute: OPML's, and a cell of Numbers."""
_LEAF = 300
"""Characters of a leaf that may be a source tag: a description at its longest."""
_MAX_PAIRS = 500
"""Source tags of one file: newswires have fifty."""


def convert(source: Source) -> Document:
    """Return the document of an XML file."""
    text = decoded(source.data, source.content_type or "application/xml")
    markup, pairs = _markup(f"<document>{_body(text.text)}</document>")
    page = pages.parse(markup)
    return document(page, text, source.url, source.media_type, pairs=pairs, table=source.table)


def _body(text: str) -> str:
    """Drop the declaration (the text is decoded, whatever it says) and the document type (no entity is expanded)."""
    return _PROLOGUE.sub("", text, count=1)


def _markup(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Return HTML for the XML, and its short leaves as (source tag, content)."""
    out: list[str] = []
    pairs: list[tuple[str, str]] = []
    open_elements: list[tuple[str, str]] = []  # (element, what was opened for it)
    leaf: list[str] | None = None  # the text so far of the innermost element, as long as it holds no other
    tables = depth = 0
    for event in events(text):
        if isinstance(event, Start):
            local = _local(event.name)
            depth += local.startswith(_SECTIONS)
            tables += local in _TABLES
            tag = _tag(local, depth, tables > 0)
            out.append(f"<{tag}{_target(event.attributes) if tag == 'a' else ''}>" if tag else "")
            said = next((event.attributes[key] for key in _SAID.get(local, ()) if key in event.attributes), "")
            out.append(f"<p>{escape(said)}</p>" if said else "")
            open_elements.append((event.name, tag))
            leaf = []
        elif isinstance(event, End):
            name, tag = open_elements.pop()
            local = _local(name)
            depth -= local.startswith(_SECTIONS)
            tables -= local in _TABLES
            content = "".join(leaf or ()).strip()
            if 0 < len(content) <= _LEAF and len(pairs) < _MAX_PAIRS:
                pairs.append((name, content))
            if local in {"link", "guid"} and content.startswith("http"):
                out.append(f'</a><a href="{escape(content)}">{escape(content)}')
            leaf = None
            out.append(f"</{tag}>" if tag else "")
        else:
            if leaf is not None:
                leaf.append(event)
            out.append(event if _is_html(event) else escape(event, quote=False))
    return "".join(out), pairs


def _local(name: str) -> str:
    return name.rpartition(":")[2].lower()


def _tag(local: str, depth: int, in_table: bool) -> str:
    if local in _TITLES:
        return f"h{min(max(depth, 1), 6)}"
    if local == "entry":
        return "td" if in_table else "div"
    return _HTML.get(local) or ("" if local in _INLINE else "div")


def _target(attributes: dict[str, str]) -> str:
    href = attributes.get("href") or attributes.get("url") or ""
    return f' href="{escape(href)}"' if href else ""


def _is_html(text: str) -> bool:
    """Whether text is HTML that was escaped to pass through XML."""
    return "</" in text or "<br" in text or "<p>" in text or "<img" in text
