"""What a page needs to be shown: images, styles, scripts, fonts and media, as pages, styles and scripts name them.

Pages name them in attributes (``src``, ``srcset``, ``poster``, ``background``, those of pictures that scripts load
late), in ``<link>`` (stylesheet, icon, preload, manifest, …), in Link headers and in inline styles and scripts; styles
by ``@import``, ``url()`` and ``image-set()``; scripts in strings that end as the name of such a file does, which is a
guess. Addresses are joined as a browser would: what a script sets, with the page's own. Scope and robots.txt are not
asked here. Time is linear in what is read; frames are documents of their own (fyke.sites.links).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import unescape

from fyke.errors import UrlError
from fyke.formats.html import Page
from fyke.formats.http import Head, header_links
from fyke.limits import note
from fyke.sites.scope import NO_DOCUMENT
from fyke.url import Url

MAX_REQUISITES = 1_000
"""Taken from one page, style or script: real pages have up to some hundred."""

_SOURCES = ("img", "input", "script", "source", "video", "audio", "track", "embed", "object", "image")
_ADDRESSES = ("src", "data", "poster", "href", "data-src", "data-original", "data-lazy-src")
_SETS = ("srcset", "data-srcset")
_RELATIONS = frozenset(
    {"stylesheet", "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon", "preload", "modulepreload",
     "prefetch", "manifest", "fluid-icon", "apple-touch-startup-image"}
)  # fmt: skip
_HINTS = frozenset({"preload", "prefetch", "modulepreload", "stylesheet"})
"""Relations of Link headers that a browser follows."""

# Attributes that the tokeniser does not note.
_VALUE = rb"""\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))"""
_BACKGROUND = re.compile(rb"\sbackground" + _VALUE, re.IGNORECASE)
_IMAGE_SET = re.compile(rb"\simagesrcset" + _VALUE, re.IGNORECASE)
_SPRITE = re.compile(rb"\sxlink:href" + _VALUE, re.IGNORECASE)

_STYLE = re.compile(
    r"""/\*.*?(?:\*/|\Z)|@import\s{0,99}(?:"([^"\n]*)"|'([^'\n]*)')|url\(\s{0,99}(?:"([^"\n]*)"|'([^'\n]*)'|((?:[^)"'\s\\]|\\[0-9a-f]{1,6}\s?|\\.)*))"""
    r"""|image-set\(([^()]*(?:\([^()]*\)[^()]*){0,20})|"[^"\n]*"?|'[^'\n]*'?""",
    re.IGNORECASE | re.DOTALL,
)
_CHOICE = re.compile(r"""type\([^)]*\)|url\([^)]*\)|["']([^"'\n]*)["']""", re.IGNORECASE)
_WORD = re.compile(r"\s*(\S+)")
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", re.DOTALL)
_LITERAL = re.compile(r"""(\bfrom\s{0,9}|\bimport\s{0,9}\(?\s{0,9})?(["'`])([^"'`\\\s<>{}|^]{3,1000})\2""")
_IS_FILE = re.compile(
    r"[\w%~)-]\.(?:avif|bmp|css|cur|eot|gif|ico|jpe?g|m?js|json|m4[av]|mp[34]|og[agv]|otf|png|svg|ttf|wasm|wav|web[mp]|webmanifest|woff2?)"
    r"(?:[?#]|$)",
    re.IGNORECASE,
)
_SCRIPT_TYPES = ("javascript", "ecmascript", "module", "importmap", "babel")


def of_page(page: Page, url: Url, head: Head) -> list[Url]:
    """Return what the page at ``url``, which came with ``head``, needs; each once, in order, at most MAX_REQUISITES."""
    base = _joined(url, page.base) or url
    named = (target for target, relations in header_links(head.get_all("link")) if not _HINTS.isdisjoint(relations))
    return _distinct(_some(url, named), _some(base, _named(page)), _inline(page, base))


def of_style(text: str, url: Url) -> list[Url]:
    """Return what the style sheet at ``url`` needs; of an inline one, ``url`` is the page's base."""
    return _distinct(_some(url, _in_style(text)))


def of_script(text: str, url: Url, page: Url) -> list[Url]:
    """Return what the script at ``url`` seems to load, run in ``page``."""
    return _distinct(_in_script(text, url, page))


def _named(page: Page) -> Iterator[str]:
    for tag in page.tokens.tags(*_SOURCES):
        if tag.name == "input" and tag.get("type").lower() != "image":
            continue
        for name in _ADDRESSES:
            if (said := tag.get(name)) and (tag.name not in ("embed", "object") or NO_DOCUMENT.search(said)):
                yield said
        for name in _SETS:
            yield from _candidates(tag.get(name))
    for relation in page.relations:
        words = relation.rel.split()
        if not _RELATIONS.isdisjoint(words) and (words != ["prefetch"] or NO_DOCUMENT.search(relation.href)):
            yield relation.href
    yield from _unnoted(page)


def _unnoted(page: Page) -> Iterator[str]:
    """The addresses in styles of elements, and in attributes that are seldom."""
    for tag in page.tokens.tags_with("style", "href"):
        if tag.name == "?":  # <use>, which shows a part of a picture
            yield tag.get("href")
        yield from _in_style(tag.get("style"))
    data = page.tokens.data
    for found in _BACKGROUND.finditer(data):
        yield _text(found)
    for found in _SPRITE.finditer(data):
        if NO_DOCUMENT.search(said := _text(found).partition("#")[0]):
            yield said
    for found in _IMAGE_SET.finditer(data):
        yield from _candidates(_text(found))


def _inline(page: Page, base: Url) -> Iterator[Url]:
    for tag in page.tokens.tags("style"):
        yield from _some(base, _in_style(page.raw(tag) or ""))
    for tag in page.tokens.tags("script"):
        kind = tag.get("type").lower()
        if not kind or any(known in kind for known in _SCRIPT_TYPES):
            yield from _in_script(page.raw(tag) or "", base, base)


def _candidates(srcset: str) -> Iterator[str]:
    """The addresses of a srcset."""
    at = 0
    while found := _WORD.match(srcset, at):
        word, at = found[1], found.end()
        if not word.endswith(","):
            comma = srcset.find(",", at)
            at = comma + 1 if comma >= 0 else len(srcset)
        if address := word.strip(","):
            yield address


def _in_style(text: str) -> Iterator[str]:
    for found in _STYLE.finditer(text):
        imported, also, double, single, bare, choice = found.groups()
        if choice is not None:
            yield from (_unescaped(each[1]) for each in _CHOICE.finditer(choice) if each[1])
            yield from _in_style(choice) if "(" in choice else ()
        elif said := imported or also or double or single or bare:
            yield _unescaped(said)


def _in_script(text: str, url: Url, page: Url) -> Iterator[Url]:
    for found in _LITERAL.finditer(text.replace("\\/", "/")):
        imported, _, said = found.groups()
        if _IS_FILE.search(said):
            yield from _some(url if imported else page, [said])


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text.strip()
    return _ESCAPE.sub(lambda found: found[2] or chr(min(int(found[1], 16), 0xFFFF) or 0xFFFD), text).strip()


def _text(found: re.Match[bytes]) -> str:
    return unescape((found[1] or found[2] or found[3] or b"").decode("utf-8", "replace")).strip()


def _joined(base: Url, said: str) -> Url | None:
    try:
        url = base.join(said)
    except UrlError:
        return None
    return url if url.href.startswith(("http://", "https://")) else None


def _some(base: Url, said: Iterable[str]) -> Iterator[Url]:
    for each in said:
        if each and not each.startswith(("#", "data:", "blob:", "about:")) and (url := _joined(base, each)) is not None:
            yield url


def _distinct(*found: Iterable[Url]) -> list[Url]:
    urls: dict[Url, None] = {}
    for some in found:
        for url in some:
            urls[url] = None
            if len(urls) == MAX_REQUISITES:
                note("requisites")
                return list(urls)
    return list(urls)
