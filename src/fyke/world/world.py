"""The front of a world: what a server answers at a time, and what is true.

``answer`` is the whole web as one pure function of (settings, host, target, time, validators); both faces of a
world, ``WorldTransport`` and the loopback server, give exactly its bytes. ``truth`` tells what ``answer`` shows
without making bytes, and ``expected`` what a correct crawl fetches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from functools import lru_cache

from fyke.errors import UserError
from fyke.world import scripted
from fyke.world.bodies import Bodies
from fyke.world.catalogue import Catalogue, make_catalogues
from fyke.world.chance import draw, unit
from fyke.world.change import Changes
from fyke.world.config import START, WorldConfig
from fyke.world.content import Content, Writer
from fyke.world.copies import jaccard
from fyke.world.graph import Graph
from fyke.world.hosts import make_hosts
from fyke.world.http import Answer, Fault, conditional, make_answer
from fyke.world.places import Kind, Place, find, next_session, trap_links
from fyke.world.plan import EXACT, MEDIA_TYPES, Plan, Plans, oldest
from fyke.world.site import allows
from fyke.world.truth import Expected, Host, RobotsKind, Template, Truth

FLAKY_SECONDS = 10.0
FLAKY_ONE_IN = 5


class World:
    """A deterministic synthetic web. Pages are made when asked for; memory does not grow with their number."""

    def __init__(self, config: WorldConfig | None = None, port: int = 80) -> None:
        """The world of ``config``; ``port`` stands in its URLs, as it is served there."""
        self.config = config or WorldConfig()
        self.hosts = make_hosts(self.config)
        suffix = "" if port == 80 else f":{port}"
        self.bases = [f"http://{host.name}{suffix}" for host in self.hosts]
        self.catalogues = make_catalogues(self.config.seed, self.config.catalogues, suffix)
        """Hosts whose records are behind forms; they are none of ``hosts``."""
        self._catalogues = {each.name: each for each in self.catalogues}
        self._numbers = {host.name: host.number for host in self.hosts}
        self._plans = Plans(self.config, self.hosts)
        self._graph = Graph(self._plans)
        self._writer = Writer(self._plans, self._graph)
        self._bodies = Bodies(self._plans, self._graph, self._writer, self.bases, self.changes)
        self._cached_changes = lru_cache(maxsize=200_000)(self._make_changes)

    # -- asking

    @property
    def seeds(self) -> list[str]:
        """The home page of every host."""
        return [base + "/" for base in (*self.bases, *(each.base for each in self.catalogues))]

    def knows(self, name: str) -> bool:
        """Whether there is such a host (without port), of either kind."""
        return name in self._numbers or name in self._catalogues

    def host(self, name: str) -> Host | None:
        """The host of that name (without port)."""
        number = self._numbers.get(name)
        return None if number is None else self.hosts[number]

    def pages(self, name: str) -> Iterator[str]:
        """The URL of every page that a host ever has, its home page first."""
        host = self._host(name)
        for index in range(host.pages):
            yield self.bases[host.number] + self._plans.plan(self._model(host).number, index).path

    def answer(
        self, name: str, target: str, t: float, etag: str = "", since: str = "", form: bytes | None = None
    ) -> Answer:
        """What the host ``name`` answers for ``target`` (path and query) at ``t`` to a GET with those validators.

        ``form`` is what was posted, where it is no GET.
        """
        if (catalogue := self._catalogues.get(name)) is not None:
            return catalogue.answer(target, t, form)
        host = self.host(name)
        if form is not None:
            return make_answer(405, "text/plain", b"nothing is posted here\n", t)
        if host is None:
            return make_answer(421, "text/plain", b"no such host in this world\n", t)
        latency = host.latency * (0.5 + unit(self.config.seed, "latency", host.number, target)) if host.latency else 0.0
        if host.flaky and target != "/robots.txt":
            turn = int(t // FLAKY_SECONDS)
            bits, before = (draw(self.config.seed, "flaky", host.number, target, turn - i) for i in (0, 1))
            if bits % FLAKY_ONE_IN == 0 and before % FLAKY_ONE_IN:  # never twice in a row
                fault = Fault.RESET if bits >> 8 & 1 else Fault.NONE
                return make_answer(503, "text/plain", b"try again\n", t, latency, (("Retry-After", "10"),), fault)
        if host.scripted and target.startswith((scripted.SCRIPTS, scripted.DATA + "/")):
            return self._part(host, target, t, latency)
        place = find(self._plans, host, self._model(host), target)
        return self._answer(host, place, t, latency, etag, since)

    def _part(self, host: Host, target: str, t: float, latency: float) -> Answer:
        """What the script of a scripted page loads: scripts, and pages as data."""
        if target.startswith(scripted.SCRIPTS):
            code = scripted.script(target.removeprefix(scripted.SCRIPTS))
            if code is None:
                return make_answer(404, "text/plain", b"no such script\n", t, latency)
            return make_answer(200, "text/javascript; charset=utf-8", code, t, latency)
        place = find(self._plans, host, self._model(host), target.removeprefix(scripted.DATA))
        html = self._html(host, place, t)
        if not html:
            return make_answer(404, "application/json", b"null", t, latency)
        return make_answer(200, "application/json", scripted.data(host.scripted, html), t, latency)

    def _html(self, host: Host, place: Place, t: float) -> str:
        """The HTML of a page that is there; empty where it is none."""
        if place.kind is not Kind.PAGE:
            return ""
        plan = self._plans.plan(self._model(host).number, place.index)
        source = self._graph.original(plan) if plan.kind == EXACT else None
        shown = source or plan
        if shown.format != "html" or self._absence(plan, t):
            return ""
        return self._bodies.page(host, place, plan, self.changes(plan).version(t), t)[1].decode(shown.encoding)

    def _answer(self, host: Host, place: Place, t: float, latency: float, etag: str, since: str) -> Answer:
        if place.kind is Kind.REDIRECT:
            location = self.bases[place.host] + place.target if place.host != host.number else place.target
            return make_answer(place.status, "text/plain", b"moved\n", t, latency, (("Location", location),))
        if place.kind is Kind.BROKEN:
            return make_answer(503, "text/plain", b"broken\n", t, latency)
        model = self._model(host)
        if place.kind in (Kind.PAGE, Kind.PRINT, Kind.SESSION):
            plan = self._plans.plan(model.number, place.index)
            gone = self._absence(plan, t)
            if gone:
                return self._missing(host, gone, t, latency)
            changes = self.changes(plan)
            version = changes.version(t)
            modified = max(
                plan.born if plan.born > START else 0.0,
                changes.last(t, oldest(self.config.seed, plan.host, plan.index)),
            )
            validators = conditional(host, f"{plan.index:x}-{place.kind.value:x}", version, modified, t)
            if place.kind is not Kind.SESSION and validators.matches(etag, since):
                return make_answer(304, "", b"", t, latency, validators.headers)
            media, body = self._bodies.page(host, place, plan, version, t)
            if host.scripted and (html := self._html(host, place, t)):
                media, body = "text/html; charset=utf-8", scripted.shell(host.scripted, html)
            return make_answer(200, media, body, t, latency, () if place.kind is Kind.SESSION else validators.headers)
        if place.kind is Kind.MISSING:
            return self._missing(host, 404, t, latency)
        found = self._bodies.other(host, model, place, t)
        if found is None:
            return self._missing(host, 404, t, latency)
        return make_answer(200, found[0], found[1], t, latency)

    def _missing(self, host: Host, status: int, t: float, latency: float) -> Answer:
        body = self._bodies.missing(host, status)
        return make_answer(200 if host.soft_errors else status, "text/html; charset=utf-8", body, t, latency)

    # -- truth

    def truth(self, url: str, t: float = START) -> Truth:
        """What is true of a URL of this world at ``t``. Raises ``UserError`` for a URL of another."""
        if (catalogue := self._catalogue_of(url)) is not None:
            return catalogue.truth(url)
        host, target = self._split(url)
        model = self._model(host)
        place = find(self._plans, host, model, target)
        allowed = allows(host, target)
        if place.kind is Kind.REDIRECT:
            location = self.bases[place.host] + place.target
            return Truth(url, place.status, allowed, redirect=location, links=(location,))
        if place.kind not in (Kind.PAGE, Kind.PRINT, Kind.SESSION):
            missing = place.kind is Kind.MISSING
            status = 200 if missing and host.soft_errors else place.status
            soft = missing and host.soft_errors
            return Truth(url, status, allowed, trap=place.trap, soft_error=soft, links=self._links(host, place, t))
        plan = self._plans.plan(model.number, place.index)
        gone = self._absence(plan, t)
        if gone:
            return Truth(
                url, 200 if host.soft_errors else gone, allowed, rate=plan.rate, born=plan.born, gone=plan.gone,
                soft_error=host.soft_errors, links=self._links(host, Place(Kind.MISSING), t),
            )  # fmt: skip
        return self._page_truth(url, host, place, plan, allowed, t)

    def _page_truth(self, url: str, host: Host, place: Place, plan: Plan, allowed: bool, t: float) -> Truth:
        changes = self.changes(plan)
        version = changes.version(t)
        content = self._writer.content(plan, version, t)
        source = self._graph.original(plan)
        shown = source if source is not None and plan.kind == EXACT else plan
        copy_of, alike = self._copy(host, place, plan, source, content)
        bare = place.kind is Kind.PRINT
        return Truth(
            url=url,
            status=200,
            allowed=allowed,
            title=content.title,
            main_text=content.main_text.replace("\t", "\n"),
            topic=(source or plan).topic,
            language=plan.language,
            template=shown.template,
            media_type=MEDIA_TYPES[plan.format],
            encoding="utf-8" if bare else shown.encoding,
            declared_encoding="utf-8" if bare else shown.declared,
            mislabelled=not bare and shown.declared not in ("", shown.encoding),
            copy_of=copy_of,
            jaccard=alike,
            rate=plan.rate,
            version=version,
            changed=max(plan.born, changes.last(t, plan.born)),
            born=plan.born,
            gone=plan.gone,
            trap=place.trap,
            links=self._links(host, place, t),
        )

    def _copy(self, host: Host, place: Place, plan: Plan, source: Plan | None, content: Content) -> tuple[str, float]:
        """The URL that a page copies, and how much it resembles it."""
        if place.kind is not Kind.PAGE:
            return self.bases[host.number] + plan.path, 1.0
        if host.mirror_of is not None:
            return self.bases[host.mirror_of] + plan.path, 1.0
        if source is None:
            return "", 0.0
        original = self._writer.content(source, 0, START)
        alike = 1.0 if original == content else jaccard(original.main_text, content.main_text)
        return self.bases[source.host] + source.path, alike

    def version(self, url: str, t: float = START) -> int | None:
        """``truth(url, t).version`` without the rest, which is quicker; None for what is no page, or not there."""
        host, target = self._split(url)
        place = find(self._plans, host, self._model(host), target)
        if not self._is_document(host, place, t):
            return None
        return self.changes(self._plans.plan(self._model(host).number, place.index)).version(t)

    def links(self, url: str, t: float = START) -> tuple[str, ...]:
        """``truth(url, t).links`` without the rest, which is quicker."""
        if (catalogue := self._catalogue_of(url)) is not None:
            return catalogue.truth(url).links
        host, target = self._split(url)
        place = find(self._plans, host, self._model(host), target)
        if place.kind is Kind.REDIRECT:
            return (self.bases[place.host] + place.target,)
        return self._links(host, place, t)

    def _links(self, host: Host, place: Place, t: float) -> tuple[str, ...]:
        """The links of a page, absolute, each once, in order; of furniture and main content alike."""
        if place.kind in (Kind.ROBOTS, Kind.SITEMAP, Kind.FEED, Kind.BROKEN):
            return ()
        model = self._model(host)
        anchors = list(self._graph.navigation(model))
        own: list[str] = []
        if place.kind in (Kind.CALENDAR, Kind.GROWING):
            own = [target for target, _ in trap_links(self.config.seed, model, place)]
        elif place.kind is not Kind.MISSING:
            plan = self._plans.plan(model.number, place.index)
            shown = self._graph.original(plan)
            source = plan if shown is None else shown
            if plan.member < 0:
                anchors += self._writer.listed(plan, t)
            elif plan.format == "html":
                anchors += self._graph.main_links(source)
                page = source if plan.kind == EXACT else plan
                if model.robots is RobotsKind.RULES and page.template is Template.ARTICLE:
                    own = [page.path + "?print=1"]
            else:
                return ()
            if place.kind is Kind.PRINT:
                return self._absolute(host, model, [(a.host, a.target) for a in self._graph.main_links(source)])
        anchors += self._graph.popular(model)
        pairs = [(a.host, a.target) for a in anchors] + [(model.number, target) for target in own]
        if place.kind is Kind.SESSION:
            sid = place.target.rpartition("=")[2]
            pairs = [
                (h, next_session(self.config.seed, sid, x) if h == model.number and "?" not in x else x)
                for h, x in pairs
            ]
        return self._absolute(host, model, pairs)

    def _absolute(self, host: Host, model: Host, pairs: list[tuple[int, str]]) -> tuple[str, ...]:
        bases, own = self.bases, self.bases[host.number]
        return tuple(dict.fromkeys((own if h == model.number else bases[h]) + target for h, target in pairs))

    def expected(self, seeds: Iterable[str], t: float = START, sitemaps: bool = False) -> Expected:
        """What a correct crawl from ``seeds`` fetches at ``t``, by following links breadth first.

        With ``sitemaps``, pages that only the sitemap or feed of a host reached tells are found too.
        robots.txt, sitemaps and feeds themselves are not counted. Agents that robots.txt names are not meant.
        """
        queue = deque(seeds)
        seen = set(queue)
        mapped: set[int] = set()
        pages: set[str] = set()
        others: set[str] = set()
        traps: set[str] = set()
        disallowed: set[str] = set()
        while queue:
            url = queue.popleft()
            if (catalogue := self._catalogue_of(url)) is not None:
                pages.update(catalogue.linked)
                seen.update(catalogue.linked)
                continue
            host, target = self._split(url)
            place = find(self._plans, host, self._model(host), target)
            if not allows(host, target):
                disallowed.add(url)
                continue
            if place.trap:
                traps.add(url)
                continue
            (pages if self._is_document(host, place, t) else others).add(url)
            found = list(self.links(url, t) if url in pages or host.soft_errors or place.kind is Kind.REDIRECT else ())
            if sitemaps and host.number not in mapped:
                mapped.add(host.number)
                found += self.mapped(host.name, t)
            for link in found:
                if link not in seen:
                    seen.add(link)
                    queue.append(link)
        return Expected(frozenset(pages), frozenset(others), frozenset(traps), frozenset(disallowed))

    def mapped(self, name: str, t: float = START) -> list[str]:
        """The pages that the sitemap of a host tells at ``t``; those of its feed where it has no sitemap."""
        host = self._host(name)
        base = self.bases[host.number]
        return [base + plan.path for plan in self._bodies.mapped(host, self._model(host), t)]

    def _is_document(self, host: Host, place: Place, t: float) -> bool:
        if place.kind not in (Kind.PAGE, Kind.PRINT):
            return False
        return not self._absence(self._plans.plan(self._model(host).number, place.index), t)

    # -- time

    def changes(self, plan: Plan) -> Changes:
        """When a page changes."""
        return self._cached_changes(plan.host, plan.index)

    def _make_changes(self, host: int, index: int) -> Changes:
        plan = self._plans.plan(host, index)
        if plan.member >= 0:
            return Changes(plan.rate, (self.config.seed, host, index))
        if plan.index == 0:
            return Changes()
        members = self._graph.members(plan, None)
        events = [t for m in members for t in (m.born, m.gone) if START < t < float("inf")]
        return Changes(times=tuple(events))

    def _absence(self, plan: Plan, t: float) -> int:
        """The status of a page that is not there yet or no more; 0 for one that is there."""
        return 404 if t < plan.born else plan.gone_status if t >= plan.gone else 0

    # -- hosts

    def _model(self, host: Host) -> Host:
        return host if host.mirror_of is None else self.hosts[host.mirror_of]

    def _host(self, name: str) -> Host:
        host = self.host(name)
        if host is None:
            raise UserError(f"this world has no host {name!r}; `fyke world --facts` lists its hosts")
        return host

    def _catalogue_of(self, url: str) -> Catalogue | None:
        return self._catalogues.get(url.split("/", 3)[2].partition(":")[0]) if url.count("/") > 2 else None

    def _split(self, url: str) -> tuple[Host, str]:
        parts = url.split("/", 3)
        if len(parts) < 4 or parts[0] != "http:":
            raise UserError(f"not a URL of this world: {url[:80]!r}; they look like {self.bases[0]}/")
        return self._host(parts[2].partition(":")[0]), "/" + parts[3]
