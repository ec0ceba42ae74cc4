"""Rendering, joined to the crawl (``--render``): which pages are shown in a browser, and by whose leave they ask.

::

    page read ─▶ look: signs, what is learnt ─┬─ no: kept as the server sent it
                                              ├─ data: what is embedded says as much
                                              └─ why: render, beside the loop ─▶ text and links of the DOM
                                                   │  the page's requests, one by one: rules, robots.txt, gate, fetch
                                                   └─ learnt: did it gain? (fyke.sites.scripted), kept in the tablet

A render is part of the visit: the host stays leased, and each request to it keeps the host's gap. Whatever a page does
to the browser, what the server sent is kept, and the reason is counted.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from fyke.browser.values import Limits, Looks, Rendered, Renderer
from fyke.crawl.arrival import Arrival
from fyke.crawl.capture import Processed, Processor
from fyke.crawl.discovery.subrequests import Serving, SubRequests
from fyke.crawl.politeness.permissions import Permissions
from fyke.crawl.politeness.rules import Rules
from fyke.crawl.queue.queues import Queues
from fyke.crawl.run.archiving import WarcDir
from fyke.crawl.run.runtime import log
from fyke.errors import UrlError, UserError
from fyke.frontier.keys import is_requisite
from fyke.interfaces import Clock
from fyke.reading.conversion import MARKUP
from fyke.sites.scripted import (
    ONE_IN,
    SHORT,
    UNKNOWN,
    Embedded,
    Learnt,
    decide,
    embedded,
    gained,
    signs_of,
    suspect,
    template,
)
from fyke.store.imports.columns import CONVERSION
from fyke.url import Url, host_key
from fyke.values import BLOCK_END, Fetched, Link, Links, Moved, Outcome, Request

RENDERED = CONVERSION + "text/html"
"""The column of the DOM, written out: a conversion record in WARC."""
TOLD = "render"
"""The column that says why a page was rendered, and what came of it."""
ENOUGH = 0.8
"""Of the links and the text that rendering brings: what the data in a page must say."""
_REMEMBERED = 20_000  # hosts and templates
_JUDGED = 500  # links of a page that are looked at


@dataclass(frozen=True, slots=True)
class How:
    """Which pages, and what they may take."""

    always: bool = False
    limits: Limits = Limits()  # noqa: RUF009 - frozen
    agent: str = ""
    keep: bool = False
    """What they load is stored, too."""


class Rendering:
    """Shows the pages of one agent that are worth it."""

    def __init__(
        self,
        renderer: Renderer,
        how: How,
        queues: Queues,
        rules: Rules,
        processor: Processor,
        permissions: Permissions,
        fetch: Callable[[Request], Awaitable[Outcome]],
        clock: Clock,
    ) -> None:
        """``fetch`` keeps the gap of each host (``Visits.fetch``)."""
        self.captures: WarcDir | None = None
        """Takes every exchange, and the pages as they were shown."""
        self.close: Callable[[], None] = lambda: None
        """Ends the renderer; may block for a moment."""
        self._renderer, self._how, self._clock = renderer, how, clock
        self._queues, self._rules, self._processor = queues, rules, processor
        self._site = SubRequests(queues, rules, permissions, fetch, clock)
        self._learnt: OrderedDict[tuple[str, str], Learnt] = OrderedDict()
        self._broken = False

    # ---- which pages

    def look(self, each: Arrival, processed: Processed) -> tuple[Processed, str]:
        """Return what is kept of a page that is not rendered, and why it is to be rendered; empty where it is not."""
        change, entry = processed.change, each.lease.entry
        meta, cell = change.meta, change.page
        if (
            self._broken
            or cell is None
            or is_requisite(entry.kind)
            or meta.error
            or meta.type not in MARKUP
            or not 200 <= meta.status < 300
        ):
            return processed, ""
        if self._how.always:
            return processed, "all are"
        body = cell.body
        if b"<script" not in body and b"<SCRIPT" not in body:
            return processed, ""
        text = len(change.text or "")
        looks = suspect(signs_of(body, text, len(processed.links))) if text < SHORT else ""
        url = entry.url
        key = (url.host, template(url))
        learnt = self._learnt[key] = self._known(url, key).noted(bool(looks))
        why = decide(learnt, self._known(url, (url.host, "")), bool(looks))
        if why and learnt.data_is_enough and learnt.suspects % ONE_IN:
            return self._with_data(url, processed), ""
        return processed, f"{looks}, {why}" if looks and why else why

    def expects(self, url: Url) -> bool:
        """Whether pages like ``url`` are rendered, so that bytes that have not changed say nothing."""
        key = (url.host, template(url))
        return self._how.always or bool(self._known(url, key).gains)

    def _known(self, url: Url, key: tuple[str, str]) -> Learnt:
        found = self._learnt.get(key)
        if found is None:
            stored = self._queues.tablet(url).get("host", _key(key))
            found = self._learnt[key] = msgspec.msgpack.decode(stored, type=Learnt) if stored else UNKNOWN
            if len(self._learnt) > _REMEMBERED:
                self._learnt.popitem(last=False)
        self._learnt.move_to_end(key)
        return found

    def _learn(self, url: Url, gain: bool, data: bool) -> None:
        number = self._queues.tablet_of(url)
        batch = self._queues.store.tablet(number).batch()
        for key in ((url.host, template(url)), (url.host, "")):
            learnt = self._learnt[key] = self._known(url, key).proven(gain, data)
            batch.put("host", _key(key), msgspec.msgpack.encode(learnt))
        self._queues.commit(number, batch)
        self._queues.flush()

    def _with_data(self, url: Url, processed: Processed) -> Processed:
        """Return a page with what its embedded data says."""
        cell = processed.change.page
        found = embedded(cell.body if cell is not None else b"")
        known = {link.target.href for link in processed.links}
        links = [Link(target, "", "data") for target in _targets(url, found) if target.href not in known]
        blocks = found.text.split("\n") if found.text else []
        text = BLOCK_END.join([*([processed.change.text] if processed.change.text else []), *blocks])
        weights = processed.change.weights + b"\xff" * len(blocks) if processed.change.weights or blocks else b""
        if blocks and processed.change.text and not processed.change.weights:
            weights = b"\x00" * (processed.change.text.count(BLOCK_END) + 1) + b"\xff" * len(blocks)
        every = Links.of([*processed.links, *links])
        meta = replace(processed.change.meta, title=found.title or processed.change.meta.title)
        change = replace(processed.change, meta=meta, text=text or None, weights=weights, links=every)
        change = replace(change, columns=(*change.columns, (TOLD, b"not rendered: its data says as much")))
        return replace(processed, change=change, links=every, keys=None, main=found.text or processed.main)

    # ---- the rendering

    async def render(self, each: Arrival, processed: Processed, why: str) -> tuple[Arrival, Processed]:
        """Show a page; return what is kept of it, and its arrival with the time of the last request to its host."""
        outcome, entry, how = each.outcome, each.lease.entry, self._how
        assert isinstance(outcome, Fetched)
        serving = Serving(self._site, outcome)
        try:
            rendered = await self._renderer.render(outcome.url.href, serving, how.limits, Looks(how.agent))
        except UserError as error:  # the browser does not start: the crawl goes on without
            if not self._broken:
                log.warning("pages are not rendered any more: %s", error)
            self._broken = True
            return each, processed
        finally:
            await serving.end()
        made = await self._made(each, processed, rendered)
        self._archive(serving.came, outcome, rendered)
        if how.keep:
            self._keep(serving.came, entry.depth)
        told = f"{why}; {serving.asked} requests, {rendered.seconds:.1f} s" + (f"; {made[1]}" if made[1] else "")
        change = replace(made[0].change, columns=(*made[0].change.columns, (TOLD, told.encode())))
        exchange = replace(outcome.exchange, started=serving.last[0], finished=serving.last[1])
        return replace(each, outcome=replace(outcome, exchange=exchange)), replace(made[0], change=change)

    async def _made(self, each: Arrival, processed: Processed, rendered: Rendered) -> tuple[Processed, str]:
        """Return what is kept, and what there is to say of it."""
        outcome = each.outcome
        assert isinstance(outcome, Fetched)
        counts: tuple[tuple[str, int], ...] = (("rendered", 1),)
        if rendered.error is not None:
            self._learn(outcome.url, False, False)
            return replace(processed, counts=(*counts, (f"errors:{rendered.error}", 1))), str(rendered.error)
        if rendered.moved:
            return self._led(processed, rendered.moved, counts), f"led to {rendered.moved}"
        body = rendered.html.encode("utf-8", "replace")
        made = await self._processor.rendered(outcome, processed, body)
        new = self._new_links(processed.links, made.links)
        gain = gained(len(processed.main), len(made.main), len(new))
        self._learn(outcome.url, gain, gain and _says_as_much(outcome, made.main, new))
        said = f"{len(made.main) - len(processed.main):+} characters, {len(new)} new links"
        if rendered.truncated:
            said += "; its time was over, or it asked for too much"
        if made.change.meta.error:  # a type that is not wanted
            return replace(made, counts=counts), said
        if not new and 2 * len(made.main) < len(processed.main):
            made, said = processed, f"{said}; less than the server sent, which is kept"
        change = replace(made.change, columns=(*made.change.columns, (RENDERED, body)))
        counts += (("rendered:gained", 1),) if gain else ()
        shown = {link.target.href for link in made.links}
        if lost := [link for link in processed.links if link.target.href not in shown]:  # they lead on all the same
            made = replace(made, links=Links.of([*made.links, *lost]), keys=None)
        return replace(made, change=change, counts=counts), said

    @staticmethod
    def _led(processed: Processed, target: str, counts: tuple[tuple[str, int], ...]) -> Processed:
        """A page whose scripts lead elsewhere: that is another page, and a link."""
        try:
            link = Link(Url.parse(target), "", "redirect")
        except UrlError:
            return replace(processed, counts=counts)
        links = Links.of([*processed.links, link])
        return replace(processed, links=links, keys=None, change=replace(processed.change, links=links), counts=counts)

    def _new_links(self, server: Sequence[Link], shown: Sequence[Link]) -> set[str]:
        """The links that only the shown page has, and that belong to the crawl."""
        known = {link.target.href for link in server}
        fresh = (link.target for link in shown[:_JUDGED] if link.target.href not in known)
        return {target.href for target in fresh if self._rules.belongs(target) is None}

    def _archive(self, came: Sequence[Outcome], outcome: Fetched, rendered: Rendered) -> None:
        if self.captures is None:
            return
        for each in came:
            self.captures.add(each)
        if rendered.html:
            self.captures.convert(outcome, "text/html", rendered.html.encode("utf-8", "replace"))
        self.captures.flush()

    def _keep(self, came: Sequence[Outcome], depth: int) -> None:
        """Store what a page loaded, as far as its rows are ours to write."""
        now = self._clock.now()
        for each in came:
            number = self._queues.tablet_of(each.url)
            if number not in self._queues.store.owned or not isinstance(each, (Fetched, Moved)):
                continue
            tablet = self._queues.store.tablet(number)
            if tablet.version(each.url.key) is not None:
                continue
            batch = tablet.batch()
            is_page = isinstance(each, Fetched)
            kept = self._processor.requisite(each, depth + 1) if is_page else self._processor.moved(each, depth + 1)  # type: ignore[arg-type]
            batch.put_row(each.url.key, kept.change, int(now * 1e6))
            batch.count("requisites")
            self._queues.commit(number, batch)
            self._queues.flush()


# ---- small parts


def _key(key: tuple[str, str]) -> bytes:
    """Where what is learnt stands in the family ``host``, behind the record of the host."""
    return host_key(key[0]) + b"render " + key[1].encode()[:500]


def _targets(url: Url, found: Embedded) -> list[Url]:
    targets = []
    for each in found.links:
        try:
            targets.append(url.join(each))
        except UrlError:
            continue
    return targets


def _says_as_much(outcome: Fetched, text: str, new: set[str]) -> bool:
    """Whether the data in a page says most of what rendering brought."""
    found = embedded(outcome.exchange.body)
    if not found.text and not found.links:
        return False
    there = {target.href for target in _targets(outcome.url, found)}
    return len(new & there) >= ENOUGH * len(new) and len(found.text) >= ENOUGH * len(text)
