"""What documents of all formats say of themselves: title, language, author, dates, site, what they may be used for.

Part of the vocabulary: ``fyke.values`` hands it on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, make_dataclass
from typing import Any, NamedTuple, TypeVar

import msgspec

T = TypeVar("T")


def maker(kind: type[T]) -> Callable[..., T]:
    """Return what makes values of a frozen dataclass as calling it does, in a third of the time.

    The fields are set one by one while the value is still open. REQUIRES: the class has slots, every default is a
    value, and its ``__post_init__`` would do nothing.
    """
    named = [(each.name, each.type, field(default=each.default)) for each in fields(kind)]  # type: ignore[arg-type]
    opened = make_dataclass(kind.__name__, named, slots=True)

    def make(*values: Any, **more: Any) -> T:
        made: Any = opened(*values, **more)
        made.__class__ = kind
        return made  # type: ignore[no-any-return]

    return make


@dataclass(frozen=True, slots=True)
class Meta:
    """The canonical fields that documents of all formats share (formats/tags.py maps source tags to them).

    Dates are ISO 8601 with the precision of the source: ``2008``, ``2008-09``, ``2008-09-28T23:41:50Z``. Those of pages
    keep the zone that the page names (``…T23:41:50+02:00``), so that their day is the page's own; others are in UTC.
    """

    author: str = ""
    published: str = ""
    updated: str = ""
    received: str = ""
    section: str = ""
    source: str = ""
    place: str = ""
    description: str = ""
    keywords: str = ""
    """Tags, separated by commas."""
    site: str = ""
    """The name of the site, as it calls itself."""
    image: str = ""
    """The address of the picture that stands for the document."""
    licence: str = ""
    """The address of the licence, or what it is called."""
    canonical: str = ""
    """Where the document says its true address is."""
    kind: str = ""
    """What the document says it is: article, forum, product, listing, service, documentation; else empty."""
    alternates: tuple[tuple[str, str], ...] = ()
    """Languages in which it is elsewhere (hreflang), each with the address."""
    declared: str = ""
    """The language that it declares, as written."""
    language_score: float = 0.0
    """How sure its language is: 0 … 1, by its text; 0.0 where only the declaration tells."""
    sources: tuple[tuple[str, str], ...] = ()
    """Field and where it is from: ``json-ld``, ``meta``, ``microdata``, ``time``, ``url``, ``text``, …"""


class Described(NamedTuple):
    """What a document is called, the language it is in, and what else it says of itself."""

    title: str = ""
    language: str = ""
    """By its text where that is likely, else as declared: a code as fyke.text.language writes it."""
    meta: Meta = Meta()


class Usage(NamedTuple):
    """What somebody says of one use of a document."""

    purpose: str
    """In the words of who says it: ``search``, ``ai-train``, ``train-ai``, ``ai-input``, ``tdm``, …"""
    allowed: bool
    source: str
    """Where it is said: ``content-usage``, ``content-signal``, ``tdm-reservation``, ``robots.txt``, ``tdmrep.json``."""


class Signals(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a document and its site say of its use. fyke obeys what concerns crawling, and hands on all of it."""

    robots: tuple[str, ...] = ()
    """The directives of robots meta elements and X-Robots-Tag that concern us, in lower case: ``noindex``,
    ``noarchive``, ``nosnippet``, ``noai``, ``noimageai``, ``max-snippet:50``, …; ``none`` is what it stands for."""
    usage: tuple[Usage, ...] = ()
    policy: str = ""
    """The address of the terms for text and data mining (TDMRep)."""

    @property
    def noindex(self) -> bool:
        """Whether it does not want to be shown to others."""
        return "noindex" in self.robots


NO_SIGNALS = Signals()
