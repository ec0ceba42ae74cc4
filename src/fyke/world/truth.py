"""What is true of a world, as values: its hosts, its pages, and what a correct crawl of it fetches."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RobotsKind(StrEnum):
    """What a host answers for robots.txt."""

    RULES = "rules"
    REDIRECT = "redirect"
    """Rules, behind a redirect."""
    CLOSED = "closed"
    """Disallow: /"""
    ABSENT = "absent"
    """404: everything is allowed."""
    BROKEN = "broken"
    """503: nothing may be fetched."""


class Validity(StrEnum):
    """How far a host's ETag and Last-Modified can be believed."""

    HONEST = "honest"
    NOW = "now"
    """Everything was always modified just now."""
    FROZEN = "frozen"
    """Nothing ever changes: 304 although it did."""
    NONE = "none"
    """No validators at all."""


class Trap(StrEnum):
    """Endless pages of no worth."""

    CALENDAR = "calendar"
    SESSION = "session"
    GROWING = "growing"


class Template(StrEnum):
    """How a page is laid out."""

    ARTICLE = "article"
    FORUM = "forum"
    LISTING = "listing"
    PRODUCT = "product"
    DOCUMENTATION = "documentation"


@dataclass(frozen=True, slots=True)
class Host:
    """One host of a world and its peculiarities."""

    number: int
    name: str
    language: str
    topic: str
    """What most of its sections are about."""
    template: Template
    pages: int
    sections: int
    mirror_of: int | None = None
    robots: RobotsKind = RobotsKind.ABSENT
    crawl_delay: float = 0.0
    validity: Validity = Validity.HONEST
    soft_errors: bool = False
    """Unknown and gone pages are answered with 200."""
    traps: bool = False
    latency: float = 0.0
    flaky: bool = False
    rotating_ads: bool = False
    """The advertising changes daily, and the page does not."""
    sitemap: bool = True
    atom: bool = False
    """Its feed is Atom, not RSS."""
    scripted: str = ""
    """The manner in which scripts make its pages (``fyke.world.scripted``); its server sends shells."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What is true of one URL at one time."""

    url: str
    status: int
    """What a patient client gets in the end: flaky hosts do answer."""
    allowed: bool
    """By robots.txt, for any agent that it does not name. A host whose robots.txt is broken allows nothing."""
    title: str = ""
    main_text: str = ""
    """Title, paragraphs, items and cells, one a line: everything that is not furniture."""
    topic: str = ""
    language: str = ""
    template: Template | None = None
    media_type: str = ""
    encoding: str = ""
    declared_encoding: str = ""
    """By HTTP or meta; empty where neither says."""
    mislabelled: bool = False
    """Decoding by what is declared gives the wrong text."""
    copy_of: str = ""
    """The URL that this one is an exact copy, a near copy or a mirror of."""
    jaccard: float = 0.0
    """With the main text of ``copy_of``, over sets of word 5-grams (``copies.jaccard``)."""
    rate: float = 0.0
    """Expected changes of the main text per day."""
    version: int = 0
    changed: float = 0.0
    """When the current version came to be."""
    born: float = 0.0
    gone: float = float("inf")
    trap: Trap | None = None
    soft_error: bool = False
    redirect: str = ""
    """The absolute target, where status is 3xx."""
    links: tuple[str, ...] = ()
    """Absolute targets of the links to be followed, in order, each once; rel=nofollow is left out."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a correct crawl fetches: reachable, allowed, and no trap."""

    pages: frozenset[str] = frozenset()
    """Documents: answered with 200, soft errors not counted."""
    others: frozenset[str] = frozenset()
    """Redirects, errors and soft errors that are linked, so asked for too."""
    traps: frozenset[str] = frozenset()
    """The doors of traps: linked from ordinary pages. A crawler may enter, and must give up."""
    disallowed: frozenset[str] = frozenset()
    """Linked, and not to be asked for."""
