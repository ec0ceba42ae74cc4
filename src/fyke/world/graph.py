"""The links of a world: hubs, communities and topics.

A page links mostly within its section (its community), then to well-known pages of its host, then to pages of
its topic elsewhere, sometimes anywhere. "Well known" are the first members of a section: a draw is squared, so
they become hubs. A page that appears late or is linked from nowhere is never a target here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from fyke.world.chance import draw
from fyke.world.plan import EXACT, LATE, NEAR, NEAR_ELSEWHERE, UNLINKED, Plan, Plans, member_index, section_size
from fyke.world.truth import Host
from fyke.world.words import title

SECTIONS_SHOWN = 60
"""Sections on a home page; each section leads to the one so many further, so all are reachable."""
POPULAR = 8
LEAST_LINKS, LINKS_SPREAD = 4, 8
# Cumulative share of links, in 256ths: own section, own host, own topic elsewhere, anywhere; the rest is odd.
OWN_SECTION, OWN_HOST, OWN_TOPIC, ANYWHERE, MOVED = 115, 145, 215, 238, 248
REDIRECTS = 64
"""Numbers that redirecting addresses of a host carry."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A link as a page shows it."""

    host: int
    target: str
    text: str


class Graph:
    """Which page links to which."""

    def __init__(self, plans: Plans) -> None:
        self._plans = plans
        self._hosts = plans.hosts
        self._config = plans.config
        self._by_topic: dict[str, list[tuple[int, int]]] | None = None
        self.main_links = lru_cache(maxsize=8192)(self._main_links)
        self._cached_anchor = lru_cache(maxsize=65_536)(self._anchor)
        self._navigation: dict[int, tuple[Anchor, ...]] = {}
        self._popular: dict[int, tuple[Anchor, ...]] = {}

    def original(self, plan: Plan) -> Plan | None:
        """The page that a copy is a copy of; None for anything else."""
        if not self._config.copies or plan.format != "html":
            return None
        host = self._hosts[plan.host]
        if plan.kind == EXACT:
            return self._html_stable(host, plan.section, plan.member - 2)
        if plan.kind == NEAR:
            return self._html_stable(host, plan.section, plan.member - 3)
        if plan.kind == NEAR_ELSEWHERE:
            other = self._next_of_language(host)
            section = 1 + (plan.section - 1) % other.sections
            return self._html_stable(other, section, plan.member - 5)
        return None

    def _html_stable(self, host: Host, section: int, member: int) -> Plan | None:
        if member >= section_size(host, section):
            return None
        return self._plans.plan(host.number, member_index(host, section, member))

    def _next_of_language(self, host: Host) -> Host:
        """The next host that writes the same language and is no mirror; ``host`` itself where it is alone."""
        count = len(self._hosts)
        for step in range(1, min(count, 200)):
            other = self._hosts[(host.number + step) % count]
            if other.mirror_of is None and other.language == host.language:
                return other
        return host

    def anchor(self, host: int, index: int) -> Anchor:
        """A link to a page, with its title as text."""
        return self._cached_anchor(host, index)

    def _anchor(self, host: int, index: int) -> Anchor:
        plan = self._plans.plan(host, index)
        source = self.original(plan) or plan
        return Anchor(host, plan.path, title(source.language, source.topic, source.title_bits))

    def _main_links(self, plan: Plan) -> tuple[Anchor, ...]:
        """The links inside a page's main text. REQUIRES: ``plan`` is a member of a section."""
        seed, host = self._config.seed, self._hosts[plan.host]
        made: dict[tuple[int, str], Anchor] = {}
        for k in range(LEAST_LINKS + draw(seed, "links", plan.host, plan.index) % LINKS_SPREAD):
            bits = draw(seed, "link", plan.host, plan.index, k)
            anchor = self._one_link(plan, host, bits)
            if (anchor.host, anchor.target) != (plan.host, plan.path):
                made.setdefault((anchor.host, anchor.target), anchor)
        return tuple(made.values())

    def _one_link(self, plan: Plan, host: Host, bits: int) -> Anchor:
        kind, more = bits & 255, bits >> 8
        if kind < OWN_SECTION:
            return self._member(host, plan.section, more)
        if kind < OWN_HOST:
            return self._member(host, 1 + (more >> 32) % host.sections, more)
        if kind < OWN_TOPIC:
            places = self._places(plan.topic)
            number, section = places[(more >> 32) % len(places)]
            if self._hosts[number].language != plan.language:  # one more try for a page that its readers can read
                number, section = places[(more >> 44) % len(places)]
            return self._member(self._hosts[number], section, more)
        if kind < ANYWHERE:
            other = self._hosts[(more >> 32) % len(self._hosts)]
            other = self._hosts[other.mirror_of] if other.mirror_of is not None else other
            return self._member(other, 1 + (more >> 48) % other.sections, more)
        text = title(plan.language, plan.topic, bits)
        if kind < MOVED and self._config.redirects:
            number = (more >> 16) % REDIRECTS
            return Anchor(host.number, f"/loop/a-{number}" if number == 0 else f"/moved/{number}", text)
        if kind >= MOVED and self._config.errors:
            return Anchor(host.number, f"/missing/{(more >> 16) % 20}.html", text)
        return self._member(host, plan.section, more)

    def _member(self, host: Host, section: int, bits: int) -> Anchor:
        size = section_size(host, section)
        if size == 0:
            return self.anchor(host.number, section)
        u = (bits & 0xFFFFFFFF) / 2**32
        member = int(size * u * u)
        if member % 16 in (LATE, UNLINKED):
            member -= 1
        return self.anchor(host.number, member_index(host, section, member))

    def _places(self, topic: str) -> list[tuple[int, int]]:
        """Every (host, section) about ``topic``; made once."""
        if self._by_topic is None:
            self._by_topic = {}
            for host in self._hosts:
                if host.mirror_of is None:
                    for section in range(1, host.sections + 1):
                        about = self._plans.section_topic(host, section)
                        self._by_topic.setdefault(about, []).append((host.number, section))
        return self._by_topic[topic]

    def navigation(self, host: Host) -> tuple[Anchor, ...]:
        """Home, the first sections, a mirror, and the doors of the traps: on every page of the host."""
        if host.number not in self._navigation:
            self._navigation[host.number] = self._make_navigation(host)
        return self._navigation[host.number]

    def _make_navigation(self, host: Host) -> tuple[Anchor, ...]:
        shown = [self.anchor(host.number, s) for s in range(min(host.sections, 7) + 1)]
        mirror = host.number + 1
        if mirror < len(self._hosts) and self._hosts[mirror].mirror_of == host.number:
            shown.append(Anchor(mirror, "/", "Mirror"))
        if host.traps:
            shown += [
                Anchor(host.number, "/calendar/2023/11/", "Calendar"),
                Anchor(host.number, "/?sid=" + format(draw(self._config.seed, "sid", host.number), "016x"), "Login"),
                Anchor(host.number, "/archive/deep/", "Archive"),
            ]
        return tuple(shown)

    def popular(self, host: Host) -> tuple[Anchor, ...]:
        """The sidebar: well-known pages of the host, on every page."""
        if host.number not in self._popular:
            self._popular[host.number] = self._make_popular(host)
        return self._popular[host.number]

    def _make_popular(self, host: Host) -> tuple[Anchor, ...]:
        members = [(1 + k % host.sections, k // host.sections) for k in range(POPULAR)]
        return tuple(
            self.anchor(host.number, member_index(host, section, member))
            for section, member in members
            if member < section_size(host, section)
        )

    def sections(self, host: Host) -> tuple[Anchor, ...]:
        """What a home page lists."""
        return tuple(self.anchor(host.number, s) for s in range(1, min(host.sections, SECTIONS_SHOWN) + 1))

    def members(self, plan: Plan, t: float | None) -> list[Plan]:
        """What a section lists at ``t`` (None: ever): its members that are there and not linked from nowhere."""
        host = self._hosts[plan.host]
        plans = (
            self._plans.plan(host.number, member_index(host, plan.section, k))
            for k in range(section_size(host, plan.section))
            if k % 16 != UNLINKED
        )
        return [p for p in plans if t is None or p.born <= t < p.gone]
