"""Bodies of answers: pages in their encodings and formats, site files, traps and regrets; the last ones kept.

A body is kept under what it depends on (page, version, day of the advertising), so a server that is asked the
same thing again does not make it again, and a changed page is made anew.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from fyke.world.change import Changes
from fyke.world.config import DAY, START
from fyke.world.content import Content, Writer
from fyke.world.files import gzipped, make_file
from fyke.world.graph import Graph
from fyke.world.places import Kind, Place, next_session, trap_links
from fyke.world.plan import EXACT, LATE, MEDIA_TYPES, UNLINKED, Plan, Plans, oldest
from fyke.world.render import Renderer, brand
from fyke.world.site import (
    FEED_ITEMS,
    SITEMAP_EVERY,
    URLS_PER_SITEMAP,
    Entry,
    feed,
    robots_txt,
    sitemap,
    sitemap_count,
    sitemap_index,
)
from fyke.world.truth import Host, Validity
from fyke.world.words import paragraph

KEPT_BYTES = 64 << 20
"""Bytes of bodies kept: a few thousand pages, so that a server is asked for the making of each once."""


class Bodies:
    """Makes and keeps bodies."""

    def __init__(
        self, plans: Plans, graph: Graph, writer: Writer, bases: list[str], changes: Callable[[Plan], Changes]
    ) -> None:
        self._plans = plans
        self._graph = graph
        self._writer = writer
        self._bases = bases
        self._changes = changes
        self._seed = plans.config.seed
        self._renderer = Renderer(graph, plans.hosts, bases, self._seed)
        self._kept: OrderedDict[tuple[object, ...], bytes] = OrderedDict()
        self._size = 0

    def page(self, host: Host, place: Place, plan: Plan, version: int, t: float) -> tuple[str, bytes]:
        """Media type and body of a page at a version."""
        source = self._graph.original(plan) if plan.kind == EXACT else None
        shown = source or plan
        if place.kind is Kind.PRINT:
            return "text/html", self._keep(
                (place.kind, plan.host, plan.index, version), lambda: self._print(plan, version, t)
            )
        media = MEDIA_TYPES[shown.format]
        if shown.declared_by == "header":
            media += f"; charset={shown.declared}"
        day = int((t - START) // DAY) if host.rotating_ads else 0
        if place.kind is Kind.SESSION:
            return media, self._session(place, shown, version, day, t)
        key = (shown.host, shown.index, version, day)
        return media, self._keep(key, lambda: self._make(shown, version, day, t))

    def _make(self, plan: Plan, version: int, day: int, t: float) -> bytes:
        content = self._writer.content(plan, version, t)
        if plan.format != "html":
            return make_file(plan.format, content, plan.language, plan.encoding)
        return encode(self._renderer.page(plan, content, day), plan.encoding)

    def _print(self, plan: Plan, version: int, t: float) -> bytes:
        content: Content = self._writer.content(plan, version, t)
        return self._renderer.bare(plan, content).encode()

    def _session(self, place: Place, plan: Plan, version: int, day: int, t: float) -> bytes:
        """The page with a fresh session id on every link that stays on the host."""
        if plan.format != "html":
            return self._make(plan, version, day, t)
        sid = place.target.rpartition("=")[2]
        head, *parts = self._renderer.page(plan, self._writer.content(plan, version, t), day).split('<a href="/')
        out = [head]
        for part in parts:
            target, quote, rest = part.partition('"')
            target = "/" + target
            out.append((target if "?" in target else next_session(self._seed, sid, target)) + quote + rest)
        return encode('<a href="'.join(out), plan.encoding)

    def missing(self, host: Host, status: int) -> bytes:
        """What a host says instead of a page."""
        text = {410: "This page is gone."}.get(status, "Sorry, the page you are looking for was not found.")
        model = host if host.mirror_of is None else self._plans.hosts[host.mirror_of]
        return self._keep((host.number, status), lambda: self._renderer.notice(model, "Not found", text).encode())

    def other(self, host: Host, model: Host, place: Place, t: float) -> tuple[str, bytes] | None:
        """Media type and body of what is no page; None where there is nothing after all."""
        base = self._bases[host.number]
        if place.kind is Kind.ROBOTS:
            return "text/plain; charset=utf-8", robots_txt(host, base).encode()
        if place.kind is Kind.FEED:
            made = feed(host, base, brand(model), self._newest(model, base, t))
            return f"application/{'atom' if host.atom else 'rss'}+xml; charset=utf-8", made.encode()
        if place.kind is Kind.SITEMAP:
            when = t // SITEMAP_EVERY * SITEMAP_EVERY
            key = ("sitemap", host.number, place.index, when)
            body = self._keep(key, lambda: self._sitemap(host, model, place.index, when, place.target))
            return ("application/gzip" if place.target.endswith(".gz") else "application/xml", body) if body else None
        links = trap_links(self._seed, model, place)
        text = paragraph("en", model.topic, 12, self._seed, "trap", model.number, place.target)
        shown = "".join(f'<p><a href="{target}">{name}</a></p>' for target, name in links)
        return "text/html; charset=utf-8", self._renderer.notice(model, place.target, text, shown).encode()

    def mapped(self, host: Host, model: Host, t: float) -> list[Plan]:
        """The pages in the sitemap of ``host`` at ``t``, or in its feed where it has none."""
        if not host.sitemap:
            return self._newest_plans(model, t)
        when = t // SITEMAP_EVERY * SITEMAP_EVERY
        plans = (self._plans.plan(model.number, k) for k in range(model.pages))
        # Half of what is linked from nowhere is not in the sitemap either.
        return [
            p for p in plans if p.born <= max(when, START) < p.gone and not (p.kind == UNLINKED and p.title_bits & 1)
        ]

    def _sitemap(self, host: Host, model: Host, number: int, when: float, name: str) -> bytes:
        base = self._bases[host.number]
        plans = self.mapped(host, model, when)
        files = sitemap_count(len(plans))
        if number < 0 and files > 1:
            return sitemap_index(base, files, max(when, START)).encode()
        if (
            number >= files
            or (number >= 0 and files == 1)
            or (number >= 0 and name.endswith(".gz") != bool(number % 2))
        ):
            return b""
        first = max(number, 0) * URLS_PER_SITEMAP
        entries = [self._entry(p, base, when, host) for p in plans[first : first + URLS_PER_SITEMAP]]
        body = sitemap(entries).encode()
        return gzipped(body) if name.endswith(".gz") else body

    def _entry(self, plan: Plan, base: str, t: float, host: Host) -> Entry:
        changed = self._changes(plan).last(
            t, plan.born if plan.born > START else oldest(self._seed, plan.host, plan.index)
        )
        if host.validity is Validity.NOW:
            changed = max(t, START)
        title = self._graph.anchor(plan.host, plan.index).text
        return Entry(base + plan.path, title, max(changed, plan.born if plan.born > START else 0), plan.born, plan.rate)

    def _newest_plans(self, model: Host, t: float) -> list[Plan]:
        """The newest pages of a host at ``t``, the newest first."""
        late = []
        for index in range(model.sections + 1, model.pages):
            if (index - model.sections - 1) // model.sections % 16 in (LATE, 0):
                plan = self._plans.plan(model.number, index)
                if plan.born <= t < plan.gone:
                    late.append(plan)
        return sorted(late, key=lambda p: (-p.born, p.index))[:FEED_ITEMS]

    def _newest(self, model: Host, base: str, t: float) -> list[Entry]:
        return [self._entry(p, base, t, model) for p in self._newest_plans(model, t)]

    def _keep(self, key: tuple[object, ...], make: Callable[[], bytes]) -> bytes:
        body = self._kept.get(key)
        if body is not None:
            self._kept.move_to_end(key)
            return body
        body = self._kept[key] = make()
        self._size += len(body)
        while self._size > KEPT_BYTES:
            self._size -= len(self._kept.popitem(last=False)[1])
        return body


def encode(text: str, encoding: str) -> bytes:
    """HTML in an encoding; what it cannot write becomes a character reference. UTF-16 has a byte order mark."""
    if encoding == "utf-16":
        return b"\xff\xfe" + text.encode("utf-16-le")
    return text.encode(encoding, "xmlcharrefreplace")
