"""What stands at an address: pages, and everything on a host that is none: redirects, traps, errors.

Traps are endless and worthless: a calendar with a month for ever, paths that grow by one segment a click, and
session ids that give every page a new address on every visit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

from fyke.world.chance import draw
from fyke.world.graph import REDIRECTS
from fyke.world.plan import Plans, member_index, section_size
from fyke.world.site import REAL_ROBOTS
from fyke.world.truth import Host, RobotsKind, Trap


class Kind(Enum):
    """What an address leads to."""

    PAGE = auto()
    PRINT = auto()
    SESSION = auto()
    CALENDAR = auto()
    GROWING = auto()
    ROBOTS = auto()
    SITEMAP = auto()
    FEED = auto()
    REDIRECT = auto()
    MISSING = auto()
    BROKEN = auto()


@dataclass(frozen=True, slots=True)
class Place:
    """What stands at an address of a host."""

    kind: Kind
    index: int = 0
    """The page, or the number of the sitemap file (-1: the sitemap itself)."""
    host: int = 0
    """For a redirect: the host of its target."""
    target: str = ""
    """For a redirect its target; for a trap the address itself."""
    status: int = 200

    @property
    def trap(self) -> Trap | None:
        """Which trap it belongs to."""
        return _TRAPS.get(self.kind)


_TRAPS = {Kind.SESSION: Trap.SESSION, Kind.CALENDAR: Trap.CALENDAR, Kind.GROWING: Trap.GROWING}
_CALENDAR = re.compile(r"/calendar/(\d{4})/(\d\d)/")
_GROWING = re.compile(r"/archive/deep(?:/(?:deep|deeper|more))*/")
_MOVED = re.compile(r"/moved/(\d{1,4})(?:/([12]))?")
_SITEMAP_FILE = re.compile(r"/sitemap-(\d{1,6})\.xml(?:\.gz)?")
_SESSION = re.compile(r"sid=[0-9a-f]{16}")
_MISSING = Place(Kind.MISSING, status=404)


def find(plans: Plans, asked: Host, model: Host, target: str) -> Place:
    """What stands at ``target`` of host ``asked``, which is ``model`` or mirrors it."""
    path, _, query = target.partition("?")
    index = plans.find_page(model, path)
    if index is not None:
        if not query:
            return Place(Kind.PAGE, index)
        if query == "print=1" and index > model.sections:
            return Place(Kind.PRINT, index)
        if model.traps and _SESSION.fullmatch(query):
            return Place(Kind.SESSION, index, target=target)
        return _MISSING
    if query:
        return _MISSING
    if path == "/robots.txt":
        return _robots(asked)
    if path == REAL_ROBOTS and asked.robots is RobotsKind.REDIRECT:
        return Place(Kind.ROBOTS)
    if asked.sitemap and path == "/sitemap.xml":
        return Place(Kind.SITEMAP, -1)
    if asked.sitemap and (match := _SITEMAP_FILE.fullmatch(path)):
        return Place(Kind.SITEMAP, int(match[1]), target=target)
    if path == "/feed.xml":
        return Place(Kind.FEED)
    if model.traps and _CALENDAR.fullmatch(path):
        return Place(Kind.CALENDAR, target=path)
    if model.traps and _GROWING.fullmatch(path):
        return Place(Kind.GROWING, target=path)
    return _redirect(plans, model, path)


def _robots(host: Host) -> Place:
    if host.robots is RobotsKind.BROKEN:
        return Place(Kind.BROKEN, status=503)
    if host.robots is RobotsKind.REDIRECT:
        return Place(Kind.REDIRECT, 0, host.number, REAL_ROBOTS, 301)
    return _MISSING if host.robots is RobotsKind.ABSENT else Place(Kind.ROBOTS)


def _redirect(plans: Plans, host: Host, path: str) -> Place:
    """/ad leads to somebody's home; /moved/N at once, over two more hops, or to another host; /loop never ends."""
    if path.startswith("/ad/click/"):
        return Place(Kind.REDIRECT, 0, (host.number + 1) % len(plans.hosts), "/", 302)
    if not plans.config.redirects:
        return _MISSING
    if path in ("/loop/a-0", "/loop/b-0"):
        return Place(Kind.REDIRECT, 0, host.number, "/loop/b-0" if "a" in path else "/loop/a-0", 302)
    match = _MOVED.fullmatch(path)
    if not match or not 0 < int(match[1]) < REDIRECTS or (match[2] and int(match[1]) % 4 != 2):
        return _MISSING
    number, hop = int(match[1]), match[2]
    if number % 4 == 0:
        return Place(Kind.REDIRECT, 0, (host.number + number) % len(plans.hosts), "/", 301)
    if number % 4 == 2 and hop != "1":
        return Place(Kind.REDIRECT, 0, host.number, f"/moved/{number}/{'1' if hop else '2'}", 302)
    section = 1 + number % host.sections
    size = section_size(host, section)
    index = member_index(host, section, number % size // 8 * 8) if size else section  # classes 0 and 8 are always there
    return Place(Kind.REDIRECT, 0, host.number, plans.plan(host.number, index).path, 302 if number % 4 == 3 else 301)


def trap_links(seed: int, host: Host, place: Place) -> list[tuple[str, str]]:
    """Where a calendar or growing path leads on: (target, text)."""
    if place.kind is Kind.CALENDAR:
        match = _CALENDAR.fullmatch(place.target)
        assert match
        month = int(match[1]) * 12 + min(max(int(match[2]), 1), 12) - 1
        return [
            (f"/calendar/{m // 12 % 10_000:04}/{m % 12 + 1:02}/", f"{m // 12}-{m % 12 + 1:02}")
            for m in (month - 1, month + 1)
        ]
    bits = draw(seed, "growing", host.number, place.target)
    return [(f"{place.target}{word}/", word) for word in ("deep", "deeper", "more")[bits % 2 :]]


def next_session(seed: int, session: str, target: str) -> str:
    """The session id that a link to ``target`` carries on a page visited with ``session``."""
    return f"{target}?sid={draw(seed, 'sid', session, target):016x}"
