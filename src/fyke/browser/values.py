"""What is asked of a browser and what comes of it: limits, requests, and the page as it was shown."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from fyke.values import Exchange, Reason

REQUISITES = frozenset({"image", "font", "media", "stylesheet", "texttrack", "manifest"})
"""Kinds of requests that change how a page looks, and not what it says."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one page may take."""

    seconds: float = 15.0
    """Its own time; what it waits for an answer of ours does not count."""
    patience: float = 60.0
    """Seconds that it may wait for answers, all together."""
    requests: int = 60
    """Requests that are answered; a page that asks for four times as many is taken as it is."""
    scroll: int = 0
    """How often it is scrolled to its end, as long as it grows."""
    everything: bool = False
    """Images, fonts and styles are asked for, too."""
    max_html: int = 10_000_000
    """Characters of the page that are kept."""
    memory: int = 1_500_000_000
    """Bytes of the whole browser, beyond which it is killed."""


@dataclass(frozen=True, slots=True)
class Looks:
    """What is wanted beside the page's HTML."""

    agent: str = ""
    """The User-Agent that scripts see."""
    shot: bool = False
    """A picture of the whole page, as PNG."""
    script: str = ""
    """A function of our own that is run in the page before it is written out; what it returns is ``Rendered.said``."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of a page."""

    url: str
    kind: str
    """``document``, ``script``, ``xhr``, ``fetch``, ``image``, …"""
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    """Those that a script may have set: Accept and what begins with X-."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not answered."""

    why: str


Serve = Callable[[Asked], Awaitable[Exchange | Refusal]]
"""Answers a request of a page, by the rules of whoever renders; redirects are followed by it. Never raises."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request of a page came to."""

    asked: Asked
    status: int = 0
    length: int = 0
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A page as it was shown, or why it was not."""

    url: str
    html: str = ""
    """The DOM written out; shadow trees and frames of the same site stand where they are shown."""
    error: Reason | None = None
    """Why there is no HTML."""
    detail: str = ""
    moved: str = ""
    """Where the page's scripts led its visitor; that is another page, which was not asked for."""
    truncated: bool = False
    """Its time was over, it asked for too much, or it was too long: the DOM is what there was by then."""
    answers: tuple[Answer, ...] = ()
    """Its requests, in order; the page itself first."""
    seconds: float = 0.0
    shot: bytes = b""
    said: str = ""


class Renderer(Protocol):
    """What shows pages."""

    async def render(self, url: str, serve: Serve, limits: Limits, looks: Looks) -> Rendered:
        """Show the page at ``url``, whose every request (its own first) ``serve`` answers. Never raises for a page."""
        ...
