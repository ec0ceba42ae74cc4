"""``fyke.extract``: the main content of a page by one of the methods, as a ``Content``."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from fyke.clean.curve import draw
from fyke.clean.extract import METHODS, Auto, Method, Switches, find
from fyke.clean.layout import RENDERED as RENDERED  # noqa: PLC0414 - handed on
from fyke.clean.main import main_markup, main_texts, weighted_blocks
from fyke.clean.model import Model
from fyke.convert.facts import Facts
from fyke.convert.html import absolute, tagged_pieces
from fyke.convert.metadata import describe
from fyke.errors import UserError
from fyke.footprint import give_back
from fyke.formats.encoding import decoded
from fyke.formats.html import Page, check_selector, parse
from fyke.formats.markdown import markdown
from fyke.reading.links import document_links
from fyke.url import Url
from fyke.values import BLOCK_END, Content, Described, Link

FAVOURS = {"precision": 0.5, "recall": 2.0}
"""How much more recall counts than precision in the expected F_β."""
LARGE = 1_000_000
"""Bytes or characters of a page before which room is made."""
_LINK = re.compile(r'<a href="([^"]*)"(?: title="[^"]*")?>|</a>')


def extract(
    html: str | bytes,
    method: str | Method = "auto",
    url: str | None = None,
    *,
    comments: bool = True,
    tables: bool = True,
    captions: bool = True,
    links: bool = True,
    favour: str = "",
) -> Content:
    """Return the main content of a page. Bytes are decoded as a browser would.

    ``method`` is ``auto``, ``plateau``, ``slices``, ``dom``, ``layout`` or ``css:SELECTOR``, or one of these with
    settings of its own (``Plateau(c=0.5)``). ``url`` makes the links of ``Content.html`` absolute. A switch that is off
    drops blocks of that kind; without ``links`` there are none, and their text stays. ``favour`` is ``precision`` or
    ``recall``: what ``auto`` should rather have.
    """
    if len(html) > LARGE:
        make_room()
    page = parse(html if isinstance(html, str) else decoded(html, "text/html").utf8(html))
    if method == "auto" and comments and tables and captions and not favour:
        return content_of(page, url, links)
    found = find(page, _favouring(method, favour), Switches(comments, tables, captions))
    return Content(
        found.text,
        found.kind,
        lambda: _html(found.markup, page, links, url),
        lambda: found.blocks,
        lambda: _described(page, BLOCK_END.join(block.text for block in found.blocks), found.text, url),
        markdown,
        lambda: _links(page, links, url),
    )


def make_room() -> None:
    """Load all that reading a page takes, and give back what that and earlier pages left: for a large one."""
    _load()
    give_back()


@cache
def _load() -> None:
    _ = extract("<title>t</title><p>one <a href=/>two</a> and three words", url="http://room.invalid/").html


def content_of(page: Page, url: str | None = None, links: bool = True) -> Content:
    """Return the content of a page with all switches on: found by the one call that a crawl makes."""
    main = main_texts([page])[0]
    return Content(
        main.text,
        main.kind,
        lambda: _html(main_markup(page, main.weights), page, links, url),
        lambda: weighted_blocks(page, main.weights),
        lambda: _described(page, main.blocks, main.text, url),
        markdown,
        lambda: _links(page, links, url),
    )


def html_of(page: Page, url: str) -> str:
    """Return ``content_of(page, url).html``; no text is made."""
    return _html(main_markup(page, main_texts([page])[0].weights), page, True, url)


def _links(page: Page, links: bool, url: str | None) -> tuple[Link, ...]:
    return document_links(page, Url.parse(url) if url else None) if links else ()


def _described(page: Page, blocks: str, main: str, url: str | None) -> Described:
    return describe(Facts(page, url or ""), blocks, main)


def _favouring(method: str | Method, favour: str) -> str | Method:
    if not favour:
        return method
    if favour not in FAVOURS:
        raise UserError(f"{favour!r} can not be favoured: take one of {', '.join(FAVOURS)}")
    way = METHODS.get(method) if isinstance(method, str) else method
    if not isinstance(way, Auto):
        raise UserError("only the method auto can favour precision or recall: leave --favour out, or take that")
    return replace(way, beta=FAVOURS[favour])


def _html(kept: bytes, page: Page, links: bool, url: str | None) -> str:
    """Return the kept blocks as tagged HTML: conversion writes it, of a page that has nothing else."""
    root = Url.parse(url) if url is not None else None
    found = (each.html for each in tagged_pieces(parse(kept)))
    if not links:
        return "".join(_LINK.sub("", html) for html in found)
    return "".join(found if root is None else (absolute(html, page.base, root) for html in found))


__all__ = ["METHODS", "Auto", "Method", "Model", "Switches", "check_selector", "content_of", "draw", "extract"]
