"""The way of a URL through a crawl: each room, what it decided, how long it took. For "why was my page dropped?".

``attach`` lays watchers around the parts of one agent, from outside: a crawl without ``--trace`` has none, and pays
nothing. A watched URL that is redirected is watched where it leads, too. What is told goes to ``trace.jsonl`` in the
store, a ``Step`` a line (version 1), begun anew with each run; agents of several processes append to the same file.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fyke.crawl.run.steps import FILE, Step
from fyke.formats.http import parse_head
from fyke.formats.sniff import sniff
from fyke.reading.conversion import MARKUP
from fyke.reading.links import written_links
from fyke.reading.reading import Reader
from fyke.sites.standing import Verdict
from fyke.store import Store
from fyke.url import Url
from fyke.values import Failed, Fetched, Links, Moved, Outcome, Request

if TYPE_CHECKING:
    from fyke.crawl.agent import Agent


def known(store: Path, href: str) -> str:
    """What the store holds of a URL, in words; empty where it holds nothing."""
    with Store.open(store, "r") as reader:
        row = reader.get(href)
    if row is None or not row.stamp:
        return ""
    meta = row.meta
    if meta.error:
        return f"no document: {meta.error}" + (f" (status {meta.status})" if meta.status else "")
    copy = f"; {meta.duplicate_by} copy of {meta.duplicate_of} ({meta.similarity:.2f})" if meta.duplicate_of else ""
    return f"status {meta.status}, {meta.type or 'no type'}, {meta.length:,} bytes{copy}"


def attach(agent: Agent, store: Path, urls: Sequence[str]) -> None:
    """Watch ``urls`` in all that ``agent`` does."""
    watch = _Watch(store / FILE, {Url.parse(url).href for url in urls})
    writer, queues = agent.writer, agent.queues
    _around(writer.processor, "fetched", watch.processed)
    _around(writer.processor, "read_many", watch.read)
    _around(writer, "offers", watch.linked)
    _around(writer, "keep", watch.kept)
    _around(writer.lister, "wanted", watch.listed)
    _around(queues, "unseen", watch.sifted)
    _around(queues, "unseen_by_key", watch.sifted)
    _around(queues, "worth", watch.judged)
    _around(queues, "postpone", watch.postponed)
    _around(queues.frontier, "add", watch.queued)
    _around(queues.duplicates, "mark", watch.marked)
    _around(writer.rules, "belongs", watch.scoped)
    if writer.rendering is not None:
        _around(writer.rendering, "look", watch.looked)
        _around(writer.rendering, "render", watch.rendered)
    if writer.forms is not None:
        writer.forms.told = watch.formed
    context = agent.visits.context
    _around(context.permissions, "known", watch.permitted)
    _around(context, "start", watch.started)
    for href in watch.urls:
        number = queues.tablet_of(Url(href))
        if number in queues.store.owned and (said := _row(agent, href)):
            watch.tell(href, "store", f"known from an earlier run: {said}")


def _row(agent: Agent, href: str) -> str:
    row = agent.queues.store.get(href)
    if row is None or not row.stamp:
        return ""
    return row.meta.error or f"status {row.meta.status}"


def _around(part: Any, name: str, watcher: Callable[..., Any]) -> None:
    """Have ``watcher(original, *arguments)`` called in place of a method of this one object."""
    original = getattr(part, name)
    setattr(part, name, lambda *given, **more: watcher(original, *given, **more))


class _Watch:
    """Tells of watched URLs; each method stands around one of an agent's parts."""

    def __init__(self, path: Path, urls: set[str]) -> None:
        self._path = path
        self.urls = urls
        self._linked: set[str] = set()

    def tell(self, href: str, room: str, said: str, seconds: float = -1.0) -> None:
        """Write a step."""
        with self._path.open("ab") as file:  # one write: agents append side by side
            file.write(msgspec.json.encode(Step(time.time(), href, room, said, round(seconds, 6))) + b"\n")

    # ---- found

    def linked(self, original: Callable[..., Any], batch: Any, lease: Any, processed: Any) -> Any:
        source = lease.entry.href
        for link in processed.links:
            href = link.target.href
            if href in self.urls and href not in self._linked:
                self.tell(href, "sites/links", f"found on {source}" + (f" as {link.text!r}" if link.text else ""))
        return original(batch, lease, processed)

    def listed(self, original: Callable[..., Any], batch: Any, offers: Any) -> Any:
        for offer in offers:
            if offer.href in self.urls and offer.href not in self._linked:
                self.tell(offer.href, "sites/sitemap", "listed by a sitemap or feed")
        return original(batch, offers)

    def formed(self, url: Url, said: str) -> None:
        """Something was decided of a form, or of a request of one."""
        if url.href in self.urls:
            self.tell(url.href, "sites/forms", said)

    def sifted(self, original: Callable[..., Any], links: Links | Sequence[Url], *keys: Any) -> Any:
        fresh = original(links, *keys)
        hrefs = links.hrefs if isinstance(links, Links) else map(str, links)
        for href in self.urls.intersection(hrefs) - self._linked:
            self._linked.add(href)  # a menu links it from every page: told once
            new = any(str(each) == href for each in fresh)
            self.tell(href, "frontier/seen", "new" if new else "seen before: not offered again")
        return fresh

    def scoped(self, original: Callable[..., Any], url: Url) -> Any:
        why = original(url)
        if url.href in self.urls:
            self.tell(url.href, "sites/scope", f"dropped: {why}" if why else "belongs to the crawl")
        return why

    def judged(self, original: Callable[..., Any], url: Url, depth: int, now: float) -> Any:
        why = original(url, depth, now)
        if url.href in self.urls:
            self.tell(url.href, "sites/traps", f"dropped: {why}" if why else "no trap, within the limits")
        return why

    def queued(self, original: Callable[..., Any], host: str, entries: Any, now: float) -> Any:
        entries = list(entries)
        for entry in entries:
            if entry.href in self.urls:
                self.tell(entry.href, "frontier", f"queued: priority {entry.priority}, depth {entry.depth}")
        return original(host, entries, now)

    # ---- visited

    def permitted(self, original: Callable[..., Any], url: Url, tablet: Any, now: float) -> Any:
        permission = original(url, tablet, now)
        if url.href in self.urls:
            if permission is None:
                said = "robots.txt is asked for first"
            elif permission.standing.verdict is Verdict.DENY:
                said = "robots.txt cannot be had: the host waits"
            else:
                said = "allowed" if permission.allows(url) else "disallowed"
            self.tell(url.href, "sites/robots", said)
        return permission

    def started(self, original: Callable[..., Any], request: Request, done: Callable[[Outcome], None]) -> None:
        began = time.perf_counter()

        def told(outcome: Outcome) -> None:
            self.fetched(request.url, outcome, time.perf_counter() - began)
            done(outcome)

        original(request, told)

    def fetched(self, url: Url, outcome: Outcome, seconds: float) -> None:
        """An answer came, or none."""
        if url.href not in self.urls:
            return
        exchange = outcome.exchange
        said = f"status {exchange.status}, {len(exchange.body):,} bytes" if exchange else "no answer"
        if isinstance(outcome, Moved):
            said += f", moved to {outcome.target.href} (watched from here on)"
            self.urls.add(outcome.target.href)
        elif isinstance(outcome, Failed):
            said += f": {outcome.reason}" + (f" ({outcome.detail})" if outcome.detail else "")
        self.tell(url.href, "fetch", said, seconds)

    async def processed(self, original: Callable[..., Any], outcome: Fetched, depth: int) -> Any:
        began = time.perf_counter()
        made = await original(outcome, depth)
        self._tell_read(outcome, made, time.perf_counter() - began)
        return made

    def read(self, original: Callable[..., Any], pages: Sequence[tuple[Fetched, int, str]]) -> Any:
        began = time.perf_counter()
        made = original(pages)
        spent = (time.perf_counter() - began) / len(pages)
        for (outcome, _, _), processed in zip(pages, made, strict=True):
            self._tell_read(outcome, processed, spent)
        return made

    def _tell_read(self, outcome: Fetched, made: Any, spent: float) -> None:
        if outcome.url.href in self.urls:
            for room, said, seconds in _rooms(outcome):
                self.tell(outcome.url.href, room, said, seconds)
            dropped = "".join(f", {count} {why}" for why, count in made.dropped)
            self.tell(outcome.url.href, "crawl/capture", f"{len(made.links)} links to offer{dropped}; all of it", spent)
        for href in _unfollowed(outcome, self.urls - self._linked, {link.target.href for link in made.links}):
            self.tell(href, "sites/links", f"on {outcome.url.href}, but it is not to be followed (nofollow)")

    def looked(self, original: Callable[..., Any], each: Any, processed: Any) -> Any:
        made, why = original(each, processed)
        if each.lease.entry.href in self.urls:
            self.tell(each.lease.entry.href, "browser", f"to be rendered: {why}" if why else "not to be rendered")
        return made, why

    async def rendered(self, original: Callable[..., Any], each: Any, processed: Any, why: str) -> Any:
        began = time.perf_counter()
        arrival, made = await original(each, processed, why)
        if each.lease.entry.href in self.urls:
            told = next((value for name, value in made.change.columns if name == "render"), b"not rendered")
            self.tell(each.lease.entry.href, "browser", told.decode(), time.perf_counter() - began)
        return arrival, made

    def kept(self, original: Callable[..., Any], lease: Any, processed: Any, *more: Any) -> Any:
        began = time.perf_counter()
        original(lease, processed, *more)
        if lease.entry.href in self.urls:
            meta = processed.change.meta
            said = f"no document: {meta.error}" if meta.error else f"row written, status {meta.status}"
            self.tell(lease.entry.href, "store", said, time.perf_counter() - began)

    def postponed(self, original: Callable[..., Any], batch: Any, entry: Any, due: float) -> Any:
        if entry.href in self.urls:
            self.tell(entry.href, "frontier", f"try {entry.tries + 1} in {max(0.0, due - time.time()):.0f} s")
        return original(batch, entry, due)

    def marked(self, original: Callable[..., Any], batch: Any, here: int, mark: Any) -> None:
        began = time.perf_counter()
        original(batch, here, mark)
        if mark.href in self.urls:
            said = f"{mark.method} copy of {mark.original} ({mark.similarity:.2f})"
            self.tell(mark.href, "dedupe", said, time.perf_counter() - began)


def _rooms(outcome: Fetched) -> Iterator[tuple[str, str, float]]:
    """What is read of a page, in words; timed as a whole, since it is read in one go."""
    exchange, url = outcome.exchange, outcome.url
    head = parse_head(exchange.response_head)
    kind = sniff(exchange.body, head.get("content-type"), url.path)
    if kind not in MARKUP:
        yield "convert", f"{kind}: by its converter", -1.0
        return
    began = time.perf_counter()
    read = Reader().page(exchange.body, head, url, kind)
    spent = time.perf_counter() - began
    document = read.document
    yield "formats/encoding", f"{document.encoding}, {len(exchange.body):,} bytes", -1.0
    yield "sites/links", f"{len(read.links)} links", -1.0
    yield "clean", f"{len(read.text.split()):,} words of main content, {read.kind or 'no type'}", -1.0
    yield "convert", f"{read.title!r}, {read.language or 'no language'}, {len(read.whole.split()):,} words", -1.0
    yield "reading", "all of this", spent


def _unfollowed(outcome: Fetched, wanted: set[str], followed: set[str]) -> Iterator[str]:
    """Those of ``wanted`` that stand on a page and are not among its links."""
    body = outcome.exchange.body
    near = [href for href in wanted - followed if Url(href).path.rpartition("/")[2].encode() in body]
    head = parse_head(outcome.exchange.response_head)
    if not near or sniff(body, head.get("content-type"), "") not in MARKUP:
        return
    for href in written_links(body, head.get("content-type"), outcome.url):
        if href in near:
            near.remove(href)
            yield href
