"""Structured data: JSON-LD as sites write it, and the items of microdata and RDFa Lite, as nested things.

Sites put comments, CDATA marks, entities, raw line breaks and trailing commas into JSON-LD; what can be understood is.
A thing is a dict: ``@type`` and properties, in JSON-LD's own words for all three. Sizes and depths are bounded, nothing
raises.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from html import unescape

import msgspec
import numpy as np
import numpy.typing as npt

from fyke.convert.facts import Facts
from fyke.convert.mark_kernels import element_end
from fyke.formats.markup import ELEMENT_COLUMN, Tag, fold
from fyke.formats.markup_names import ELEMENT, marked
from fyke.limits import note

Thing = dict[str, object]

MAX_SCRIPT = 1 << 20
"""Characters of a JSON-LD script."""
MAX_THINGS = 400
"""Things that are looked at: pages have a dozen."""
MAX_SAID = 20_000
"""Characters of a property."""
MAX_DEPTH = 60
MAX_REFERRING = 20
"""Things that borrow properties from elsewhere."""
_MARKS = re.compile(
    r"^\s*+(?:/\*|//)?\s*+<!\[CDATA\[(?:\s*\*/)?|(?:(?:/\*|//)\s*)?\]\]>(?:\s*\*/)?\s*$|^\s*<!--|-->\s*$"
)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_LEXEMES = re.compile(r'"(?:[^"\\]|\\.)*"?|//[^\n]*|/\*.*?(?:\*/|$)|,|<!--|-->|[^"/,<-]+|.', re.DOTALL)
_BETWEEN = re.compile(r"}\s*+;?\s*+{")
_SPACE_IN_STRING = {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"} | {
    code: "" for code in range(32) if code not in (9, 10, 13)
}
_SCHEMA = re.compile(r"^(?:https?:)?//(?:www\.)?schema\.org/|^schema:")

ARTICLES = frozenset({
    "Article", "AdvertiserContentArticle", "NewsArticle", "AnalysisNewsArticle", "AskPublicNewsArticle",
    "BackgroundNewsArticle", "OpinionNewsArticle", "ReportageNewsArticle", "ReviewNewsArticle", "Report",
    "SatiricalArticle", "ScholarlyArticle", "MedicalScholarlyArticle", "SocialMediaPosting", "BlogPosting",
    "LiveBlogPosting", "DiscussionForumPosting", "TechArticle", "APIReference", "Recipe", "HowTo", "Question",
})  # fmt: skip
"""Types of things that a page is, rather than speaks of."""


def decode_json_ld(script: str) -> object:
    """Return what a script of JSON-LD says, mended where it is not JSON; None where it cannot be understood."""
    if len(script) > MAX_SCRIPT:
        note("linked-data")
    script = script[:MAX_SCRIPT].strip("\ufeff \t\r\n;")
    if not script:
        return None
    try:
        return msgspec.json.decode(script)
    except (ValueError, RecursionError):
        pass
    plain = _COMMENT.sub("", script).lstrip() if script.startswith("<!--") else ""
    script = plain if plain[:1] in ("{", "[") else _MARKS.sub("", _MARKS.sub("", script))
    script = script.strip("\ufeff \t\r\n;")
    for text in (script, unescape(script)) if "&" in script else (script,):
        mended = _mended(text)
        for attempt in (mended, f"[{_BETWEEN.sub('},{', mended)}]"):
            try:
                found: object = json.loads(attempt, strict=False)
            except (ValueError, RecursionError):
                continue
            return found
    return None


def _mended(script: str) -> str:
    """Return a script without comments and trailing commas, control characters in strings escaped."""
    parts: list[str] = []
    commas: list[int] = []
    for match in _LEXEMES.finditer(script):
        part = match[0]
        if part[0] == '"':
            commas.clear()
            parts.append(part.translate(_SPACE_IN_STRING))
        elif part[0] == ",":
            commas.append(len(parts))
            parts.append(part)
        elif not part.startswith(("//", "/*", "<!--", "-->")):
            parts.append(part)
            if commas and not part.isspace():
                if part.lstrip()[0] in "}]":
                    parts[commas[-1]] = ""
                commas.clear()
    return "".join(parts)


def local(name: str) -> str:
    """Return a type or property without its vocabulary: ``https://schema.org/Article`` is ``Article``."""
    name = name.strip()
    if ":" not in name and "/" not in name:
        return name
    name = _SCHEMA.sub("", name)
    return name.rpartition("/")[2].rpartition("#")[2] if name.startswith(("http:", "https:")) else name


def types(thing: Thing) -> list[str]:
    """Return the local names of a thing's types."""
    said = thing.get("@type", "")
    return [local(name) for name in (said if isinstance(said, list) else [said]) if isinstance(name, str) and name]


def things(values: Iterable[object]) -> Iterator[Thing]:
    """Yield the things that values hold at their top: of lists, of ``@graph``, and main entities; in order."""
    waiting = list(values)[::-1]
    seen = 0
    while waiting and seen < MAX_THINGS:
        value = waiting.pop()
        seen += 1
        if isinstance(value, list):
            waiting.extend(value[:MAX_THINGS][::-1])
        elif isinstance(value, dict):
            yield value
            waiting.extend(value[key] for key in ("mainEntityOfPage", "mainEntity", "@graph") if key in value)
    if waiting:
        note("structured-data")


def strings(value: object, most: int = 10) -> list[str]:
    """Return the texts of a property: itself, or the names of the things it lists; white space folded."""
    found = []
    for item in value[:most] if isinstance(value, list) else [value]:
        said = item.get("name") or item.get("@value") if isinstance(item, dict) else item
        if isinstance(said, list) and said:
            said = said[0]
        if isinstance(said, str) and (text := fold(said[:4_000])):
            found.append(unescape(text) if "&" in text else text)
    return found


def addresses(value: object, most: int = 10) -> list[str]:
    """Return the URLs of a property: itself, or where the things it lists are."""
    found = []
    for item in value[:most] if isinstance(value, list) else [value]:
        said = (item.get("url") or item.get("@id") or item.get("contentUrl")) if isinstance(item, dict) else item
        if isinstance(said, list) and said:
            said = said[0]
        if isinstance(said, str) and said.strip():
            found.append(said.strip())
    return found


# ---- items in the markup

_SOURCES = {
    **dict.fromkeys(("audio", "embed", "iframe", "img", "source", "track", "video"), "src"),
    **dict.fromkeys(("a", "area", "link"), "href"),
    "object": "data", "data": "value", "meter": "value", "time": "datetime", "meta": "content",
}  # fmt: skip
_VOID = frozenset(
    ELEMENT[name]
    for name in "area base br col embed hr img input link meta param source track wbr".split()  # noqa: SIM905 - as HTML lists them
)
_NONE = marked()
_IMPLIED = {
    ELEMENT[name]: marked(*others)
    for names, others in (
        (("dd", "dt"), ("dd", "dt")),
        (("td", "th"), ("td", "th", "tr")),
        (("p",), ("p", "div", "ul", "ol")),
    )
    for name in names
}
"""Elements that the start of others ends, if they hold none of them."""
_ADDRESSES = frozenset({"src", "href", "data"})
_NAME_MASK = 0xFF
Join = Callable[[str], str]


def microdata(facts: Facts, join: Join = str) -> list[Thing]:
    """Return the items of microdata that are no property of another one."""
    return _items(facts, facts.annotated("itemprop", "itemscope"), join, "itemprop", "itemscope", "itemtype")


def rdfa(facts: Facts, join: Join = str) -> list[Thing]:
    """Return the things of RDFa Lite; what a page says of itself outside of any ``typeof`` is a thing too."""
    tags = [tag for tag in facts.annotated("property", "typeof") if tag.name != "meta" or "typeof" in tag.attributes]
    found = _items(facts, tags, join, "property", "typeof", "typeof")
    page: Thing = {name: said for name, said in facts.metas.items() if ":" in name}
    for tag in facts.annotated("rel"):
        names = [name for name in tag.get("rel").split() if ":" in name or tag.name == "link"]
        if names and (target := tag.get("resource") or tag.get("href") or tag.get("src")):
            for name in names:
                _add(page, name, join(target))
    return [*found, page] if page else found


def _items(facts: Facts, tags: list[Tag], join: Join, prop: str, scope: str, kind: str) -> list[Thing]:
    """Nest tags by where their elements end; a tag with ``scope`` is a thing, one with ``prop`` a property of it."""
    roots: list[Thing] = []
    outside: Thing = {}
    open_things: list[tuple[int, Thing]] = []
    rows = facts.tokens.tokens
    made: list[tuple[Tag, object]] = []
    if len(tags) > MAX_THINGS:
        note("structured-data")
    for tag in tags[:MAX_THINGS]:
        while open_things and open_things[-1][0] <= tag.token:
            open_things.pop()
        value = _thing(tag, join, kind) if scope in tag.attributes else _value(facts, tag, join)
        made.append((tag, value))
        owner = open_things[-1][1] if open_things else outside
        names = tag.attributes.get(prop, "").split()
        literal = _value(facts, tag, join) if "datatype" in tag.attributes else value
        for name in names:
            _add(owner, name, literal)
        if isinstance(value, dict):
            if not names:
                roots.append(value)
            if len(open_things) < MAX_DEPTH:
                open_things.append((end_of(rows, tag.token), value))
    _borrow(facts, made, prop)
    return [*roots, *([outside] if outside else [])]


def _thing(tag: Tag, join: Join, kind: str) -> Thing:
    thing: Thing = {}
    if names := tag.get(kind).split():
        thing["@type"] = names if len(names) > 1 else names[0]
    if identity := tag.get("itemid") or tag.get("resource") or tag.get("about"):
        thing["@id"] = join(identity)
    return thing


def _borrow(facts: Facts, made: list[tuple[Tag, object]], prop: str) -> None:
    """Give things the properties of the elements that they refer to by id (itemref)."""
    if not any("itemref" in tag.attributes for tag, _ in made):
        return
    rows = facts.tokens.tokens
    by_id = {tag.get("id"): tag for tag in facts.annotated("id")}
    referring = [(tag, thing) for tag, thing in made if "itemref" in tag.attributes and isinstance(thing, dict)]
    for tag, thing in referring[:MAX_REFERRING]:
        for referred in (by_id[name] for name in tag.get("itemref").split()[:10] if name in by_id):
            at, end = referred.token, max(end_of(rows, referred.token), referred.token + 1)
            for inner, value in made:
                if at <= inner.token < end and value is not thing:
                    for name in inner.attributes.get(prop, "").split():
                        _add(thing, name, value)
                    if isinstance(value, dict) and prop in inner.attributes:
                        at = end_of(rows, inner.token)


def _value(facts: Facts, tag: Tag, join: Join) -> str:
    if "content" in tag.attributes:
        return tag.attributes["content"].strip()
    source = _SOURCES.get(tag.name)
    if source is not None and source in tag.attributes and not {"datatype", "rel"}.intersection(tag.attributes):
        said = tag.get(source)
        return join(said) if source in _ADDRESSES else said
    if tag.name in ("meta", "img", "link", "source"):
        return ""
    return fold(facts.tokens.content(tag.token, end_of(facts.tokens.tokens, tag.token) - tag.token + 1)[:MAX_SAID])


def _add(thing: Thing, name: str, value: object) -> None:
    before = thing.get(name)
    if before is None:
        thing[name] = value
    elif isinstance(before, list):
        before.append(value)
    else:
        thing[name] = [before, value]


def end_of(rows: npt.NDArray[np.int32], token: int) -> int:
    """Return the token that ends the element opened at ``token``: its own end tag; itself for a void element."""
    name = int(rows[token, ELEMENT_COLUMN]) & _NAME_MASK
    if name in _VOID:
        return token + 1
    return element_end(rows, token, _IMPLIED.get(name, _NONE))
