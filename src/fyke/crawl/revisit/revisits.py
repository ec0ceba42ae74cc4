"""Revisits: a page that was stored comes again when a visit is worth it, and what is found then teaches its rate.

The life of a page in a continuous crawl::

    fetched ──▶ later (lower bound of its due time) ──wake: judged──▶ queued ──▶ asked again ──▶ later …
                  ▲                                     │ early                    │ gone, three times
                  └─────────────────────────────────────┘                          ▼ retired

Everything that is learnt of a page stands in its row's meta (``ChangeState``), of a host behind its host record
(``HostMemory``), both written in the batch of the visit. The main text decides whether a page changed, so that another
advertisement is no change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import xxhash
from msgspec.structs import replace

from fyke.crawl.capture import Processed
from fyke.crawl.discovery.discovery import is_polled, polled_kind
from fyke.crawl.queue.later import REVISIT
from fyke.crawl.queue.queues import Queues
from fyke.crawl.revisit.budget import Budget, RevisitSettings
from fyke.crawl.revisit.freshness import FreshnessSample
from fyke.crawl.revisit.memory import HostMemory, memory_key
from fyke.formats.http import Head, http_date, parse_head
from fyke.frontier.honesty import Honesty
from fyke.frontier.keys import Entry
from fyke.frontier.revisit import DAY, FEW, ChangeState, Priors, Signal, counting_quiet, visited
from fyke.reading.stored import text_of
from fyke.store import Batch, Change, RowMeta, Tablet
from fyke.store.codec import sha1
from fyke.url import Url
from fyke.values import Failed, Fetched, Link, Outcome, Reason, Request, Unchanged, Validators

RETIRE_AFTER = 3
"""Visits in a row that find a page gone before it is believed: servers have bad days."""
LARGE = 500_000.0
"""Bytes: from this mean size on a HEAD, whose answer costs two contacts if the page did change, pays."""
LEAST_WAIT = 0.05
"""Seconds before a page is looked at again, whatever its rate; politeness makes it more."""
ABSENT_WAIT = DAY
"""Seconds until the second look at a page that was not there; doubled for the third."""
LONGEST_WAIT = 365 * DAY
_HOSTS = 20_000
_BATCH = 1000
_UNSEEN = ChangeState()
_SIGNALS = 500  # of one list: less than 50 ms


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of a revisit."""

    meta: RowMeta
    """Of the row, with its change state."""
    processed: Processed | None
    """The new version; None where the old one stays."""
    links: Sequence[Link]
    """To be offered: those of the new version, or the old ones again."""
    due: float
    """When to look again; infinity for a page that is retired."""
    counts: tuple[tuple[str, int], ...]
    """For the tablet's counters."""


class Revisits:
    """Decides and learns for one agent. Draws no chance and reads no clock: ``now`` and hashes are given."""

    def __init__(self, settings: RevisitSettings) -> None:
        self.settings = settings
        self.policy = settings.policy
        self.priors = Priors()
        self.budget = Budget(settings)
        self.full: set[str] = set()
        """URLs of which a HEAD said that they changed: the next request is a GET."""
        self.sample = FreshnessSample()
        self._memories: dict[str, HostMemory] = {}

    # ---- when

    def judge(self, entry: Entry, tablet: Tablet, now: float) -> float:
        """Return 0 where a revisit is due, else when to look again; infinity where the row needs none."""
        version = tablet.version(entry.url.key)
        if version is None:
            return math.inf
        state = ChangeState.decode(version.meta.change)
        if entry.generation < state.generation:
            return math.inf
        if state.visits < FEW:  # more may be known of its like by now
            rate = self.priors.rate(state, entry.url.host, version.meta.type)
            state = replace(state, rate=rate)
        if not state.absent and (again := self.policy.due_at(state, self.budget.threshold.value, now)):
            self.budget.threshold.early()
            return self._look(state, again, now)
        self.budget.granted()
        return 0.0

    def signal(self, queues: Queues, url: Url, signal: Signal, now: float) -> bool:
        """Take in that a page is said to have changed; return whether that is news.

        REQUIRES: the URL belongs to this agent's tablets. The page is judged again at once: how soon it is visited
        depends on the signal's trust and the page's rate.
        """
        tablet = queues.store.tablet(queues.tablet_of(url))
        version = tablet.version(url.key)
        state = ChangeState.decode(version.meta.change) if version is not None else ChangeState()
        when = min(signal.when, now)  # nobody knows what will change
        if version is None or not state.seen or when <= state.seen:
            return False
        if state.signal[0] and signal.trust <= state.signal[1]:
            return False
        state = replace(state, signal=(when, signal.trust))
        batch = tablet.batch()
        if signal.trust > 0:  # else it is only remembered, so that the visit tells whether it was true
            state = replace(state, generation=state.generation + 1)
            queues.postpone(batch, _entry(url.href, version.meta.depth, state), now)
        batch.put_meta(url.key, replace(version.meta, change=state.encode()))
        batch.count("signals:" + signal.kind)
        tablet.write(batch)
        return True

    def told(self, queues: Queues, signals: Sequence[tuple[str, float]], kind: str, now: float) -> None:
        """Take in what a sitemap or feed says of pages that may be known: (URL, when it changed); the newest ones."""
        for href, when in sorted(signals, key=lambda pair: -pair[1])[:_SIGNALS]:
            url = Url(href)
            if queues.tablet_of(url) in queues.store.owned:
                trust = self.memory(url.host, queues.tablet(url)).trust.trust
                self.signal(queues, url, Signal(when, kind, trust), now)

    def due(self, state: ChangeState) -> float:
        """Return when to look at a page again that was visited just now: before it is due."""
        if state.absent:
            return state.seen + ABSENT_WAIT * 2.0 ** (state.absent - 1)
        wait = self.policy.look_again(state.rate, 0.0, self.budget.threshold.value, state.weight) * DAY
        return self._look(state, state.seen + wait, state.seen)

    def _look(self, state: ChangeState, wanted: float, now: float) -> float:
        """Return when to judge a page again that is not due before ``wanted``.

        At the latest when the copy is twice as old, as more may be known by then: of the threshold, and of its like
        where it was seen little. Looks that are close together are one.
        """
        budget = self.budget
        soon = budget.cycle / 4 if state.visits < FEW else budget.cycle
        latest = now + min(max(soon, now - state.seen), LONGEST_WAIT)
        when = min(max(wanted, now + LEAST_WAIT), latest)
        return math.ceil(when / budget.grain) * budget.grain if budget.grain else when

    # ---- what to ask

    def request(self, entry: Entry, tablet: Tablet, now: float) -> Request:
        """Return how to ask for a page again: with validators where its host deserves it, by HEAD where that pays."""
        url = entry.url
        version = tablet.version(url.key)
        if version is None or entry.href in self.full:
            self.full.discard(entry.href)
            return Request(url)
        meta, honesty = version.meta, self.memory(url.host, tablet).honesty
        draw = xxhash.xxh3_64_intdigest(f"{entry.href} {now}".encode()) / 2.0**64
        if not (meta.etag or meta.last_modified) or honesty.audits(draw):
            return Request(url)
        validators = Validators(meta.etag, meta.last_modified)
        return Request(url, "HEAD" if honesty.asks_head(LARGE) else "GET", validators)

    def wants_body(self, outcome: Outcome, tablet: Tablet) -> bool:
        """Whether the answer to a HEAD says that the page changed, or nothing of it, so that a GET is to follow."""
        if isinstance(outcome, Failed) and outcome.exchange is not None:  # some know no HEAD, or refuse it
            self.full.add(outcome.url.href)
            return True
        if not isinstance(outcome, Fetched):
            return False
        version, head = tablet.version(outcome.url.key), parse_head(outcome.exchange.response_head)
        if version is not None and head.get("etag") and head.get("etag") == version.meta.etag:
            return False  # it ignores conditions, and tells the same without them
        self.full.add(outcome.url.href)
        return True

    # ---- what came

    def first(self, batch: Batch, queues: Queues, entry: Entry, processed: Processed, now: float) -> Processed:
        """A page was fetched for the first time: queue its revisit in ``batch``, and return it with its state."""
        meta, host = processed.change.meta, entry.url.host
        weight = self.settings.weights.of(entry.href, entry.worth)
        if queues.order is not None:
            weight *= queues.order.importance(entry, meta)
        memory = self.memory(host, queues.store.tablet(queues.tablet_of(entry.url)))
        memory.honesty.sized(meta.length)
        date = http_date(meta.last_modified) if meta.last_modified else None
        quiet = max(now - date, 0.0) / DAY if date is not None else 0.0
        state = visited(ChangeState(text=text_digest(processed), weight=weight, quiet=quiet), now, False)
        state = self.priors.learn(_believing(state, memory), host, meta.type)
        self.budget.pages += 1
        self.sample.note(entry.href, host, state)
        queues.postpone(batch, _entry(entry.href, entry.depth, state), self.due(state))
        return _with(processed, replace(meta, change=state.encode()))

    def write(self, batch: Batch, queues: Queues, entry: Entry, seen: Seen) -> None:
        """Write what a revisit taught, and queue the next."""
        host = entry.url.host
        batch.put("host", memory_key(host), msgspec.msgpack.encode(self._memories.get(host, HostMemory())))
        if seen.due < math.inf:
            state = ChangeState.decode(seen.meta.change)
            self.sample.note(entry.href, host, state)
            queues.postpone(batch, _entry(entry.href, entry.depth, state), seen.due)
        else:
            self.sample.drop(entry.href)

    def seen(self, url: Url, outcome: Outcome, processed: Processed | None, tablet: Tablet, now: float) -> Seen:
        """Learn from a revisit. ``processed`` is what became of a body. REQUIRES: the row has a version."""
        version = tablet.version(url.key)
        assert version is not None, "a revisit of nothing"
        memory, meta = self.memory(url.host, tablet), version.meta
        state = ChangeState.decode(meta.change)
        chance = _chance(state, now)
        if isinstance(outcome, Unchanged) or (isinstance(outcome, Fetched) and processed is None):
            memory.trust.judged(state.signal[0] > 0, False, chance)
            return self._same(url, state, meta, (), tablet, now, (("revisits:unchanged", 1),))
        if isinstance(outcome, Failed) and outcome.reason in (Reason.GONE, Reason.CLIENT_ERROR):
            return self._absent(state, meta, now, processed)
        if processed is None or not isinstance(outcome, Fetched):  # it did not answer: nothing is learnt
            return Seen(meta, None, (), now + ABSENT_WAIT, (("revisits:failed", 1),))
        head = parse_head(outcome.exchange.response_head)
        fresh = text_digest(processed)
        same = fresh == state.text
        memory.trust.judged(state.signal[0] > 0, not same, chance)
        date = self._compare(memory.honesty, meta, head, same, state, now)
        memory.honesty.sized(processed.change.meta.length)
        if not same:
            memory.turned(state.text, fresh)
        state = replace(state, text=fresh)
        if memory.regretted(fresh):
            return self._absent(state, meta, now, None)
        if same:
            return self._same(
                url, state, _validated(meta, head), processed.links, tablet, now, (("revisits:same-text", 1),)
            )
        kept = replace(processed.change.meta, relevance=meta.relevance)  # judged once, when it is new
        date = date if memory.honesty.believes_dates else None
        return self._changed(url, state, _with(processed, kept), date, now)

    def is_same(self, outcome: Fetched, tablet: Tablet) -> bool:
        """Whether a body is the one that is stored, byte for byte: then it need not be read again."""
        version, body = tablet.version(outcome.url.key), outcome.exchange.body
        if version is None or version.meta.error or not body or len(body) != version.meta.length:
            return False
        return sha1(body) == version.meta.digest

    def same(self, outcome: Fetched, tablet: Tablet, now: float) -> Seen:
        """Learn from a revisit that brought the stored body again. REQUIRES: ``is_same``."""
        version = tablet.version(outcome.url.key)
        assert version is not None, "a revisit of nothing"
        memory, state = self.memory(outcome.url.host, tablet), ChangeState.decode(version.meta.change)
        memory.trust.judged(state.signal[0] > 0, False, _chance(state, now))
        head = parse_head(outcome.exchange.response_head)
        self._compare(memory.honesty, version.meta, head, True, state, now)
        if memory.regretted(state.text):
            return self._absent(state, version.meta, now, None)
        meta = _validated(version.meta, head)
        return self._same(outcome.url, state, meta, (), tablet, now, (("revisits:same-text", 1),))

    def take_up(self, queues: Queues, now: float) -> None:
        """Take up the rows of earlier runs; those that were crawled without revisits are queued for their first."""
        for tablet in queues.store.tablets():
            batch = tablet.batch()
            for key, _ in tablet.items("meta"):
                version, url = tablet.version(key), Url.from_key(key)
                if version is None or version.meta.error or not 200 <= version.meta.status < 300:
                    continue
                meta = version.meta
                if meta.requisite:
                    continue
                if kind := polled_kind(meta.type):
                    if not is_polled(tablet, url):
                        queues.postpone(batch, Entry(url.href, 1, max(meta.depth, 0), kind=kind), now)
                    continue
                state = ChangeState.decode(meta.change)
                if not state.seen:
                    row = tablet.read(key)
                    text = _digest(text_of(row), row.raw or b"") if row is not None else b""
                    state = ChangeState(seen=meta.fetched, text=text, weight=self.settings.weights.of(url.href))
                    state = self.priors.learn(state, url.host, meta.type)
                    batch.put_meta(key, replace(meta, change=state.encode()))
                    queues.postpone(batch, _entry(url.href, meta.depth, state), now)
                elif state.belief[1] > 0:
                    self.priors.learn(replace(state, belief=(0.0, 0.0, 0.0)), url.host, meta.type)
                self.budget.pages += 1
                self.sample.note(url.href, url.host, state)
                if len(batch) >= _BATCH:
                    tablet.write(batch)
                    batch = tablet.batch()
            tablet.write(batch)

    def rate(self, host: str) -> float:
        """Return how often a page of a host changes that nobody has seen yet, by what its like did."""
        return self.priors.rate(_UNSEEN, host, "text/html")

    def memory(self, host: str, tablet: Tablet) -> HostMemory:
        """What is known of a host."""
        memory = self._memories.get(host)
        if memory is None:
            stored = tablet.get("host", memory_key(host))
            memory = msgspec.msgpack.decode(stored, type=HostMemory) if stored else HostMemory()
            if len(self._memories) >= _HOSTS:
                self._memories.pop(next(iter(self._memories)))
            self._memories[host] = memory
        return memory

    # ---- inside

    def _same(
        self, url: Url, state: ChangeState, meta: RowMeta, links: Sequence[Link], tablet: Tablet, now: float,
        counts: tuple[tuple[str, int], ...],
    ) -> Seen:  # fmt: skip
        """The copy is still right: the version stays, and its links are offered again."""
        if not links:
            row = tablet.read(url.key, parts=("links",))
            links = row.links if row is not None else ()
        state = replace(visited(state, now, False), absent=0)
        state = self.priors.learn(_believing(state, self.memory(url.host, tablet)), url.host, meta.type)
        return Seen(replace(meta, change=state.encode()), None, links, self.due(state), counts)

    def _changed(self, url: Url, state: ChangeState, processed: Processed, date: float | None, now: float) -> Seen:
        meta = processed.change.meta
        state = replace(visited(state, now, True, date), absent=0)
        state = self.priors.learn(state, url.host, meta.type)
        meta = replace(meta, change=state.encode())
        return Seen(meta, _with(processed, meta), processed.links, self.due(state), (("revisits:changed", 1),))

    def _absent(self, state: ChangeState, meta: RowMeta, now: float, processed: Processed | None) -> Seen:
        """It was not there: keep the copy until that is proved, then say so."""
        state = replace(state, absent=state.absent + 1, seen=now)
        if state.absent < RETIRE_AFTER:
            kept = replace(meta, change=state.encode())
            return Seen(kept, None, (), self.due(state), (("revisits:absent", 1),))
        self.budget.pages -= 1
        gone = processed.change.meta if processed is not None else replace(meta, fetched=now)
        gone = replace(gone, error=Reason.GONE, change=state.encode())
        retired = _with(processed, gone) if processed is not None else Processed(Change(gone))
        return Seen(gone, retired, (), math.inf, (("revisits:retired", 1), ("pages", -1)))

    def _compare(
        self, honesty: Honesty, meta: RowMeta, head: Head, same: bool, state: ChangeState, now: float
    ) -> float | None:
        """Learn whether the validators told the truth; return when the page says that it changed."""
        etag, modified = head.get("etag"), head.get("last-modified")
        date = http_date(modified) if modified else None
        if not (etag or modified or meta.etag or meta.last_modified):
            return None
        same_validators = etag == meta.etag if etag or meta.etag else modified == meta.last_modified
        between = None if date is None else state.seen - 1 <= date <= now + 1
        honesty.compared(
            same_text=same,
            same_validators=same_validators,
            date_between=between,
            date_moved=bool(modified) and modified != meta.last_modified,
        )
        return date


def _believing(state: ChangeState, memory: HostMemory) -> ChangeState:
    return counting_quiet(state) if state.quiet and memory.honesty.believes_dates else state


def _chance(state: ChangeState, now: float) -> float:
    """How likely a change since the last look is, by the page's rate alone."""
    return -math.expm1(-state.rate * max(now - state.seen, 0.0) / DAY)


def _validated(meta: RowMeta, head: Head) -> RowMeta:
    return replace(meta, etag=head.get("etag"), last_modified=head.get("last-modified"))


def text_digest(processed: Processed) -> bytes:
    """Digest of a document's main text; of its body where it has none."""
    page = processed.change.page
    return _digest(processed.main or processed.change.text or "", page.body if page is not None else b"")


def _digest(text: str, body: bytes) -> bytes:
    return xxhash.xxh3_64_digest(text.encode("utf-8", "surrogatepass") or body)


def _with(processed: Processed, meta: RowMeta) -> Processed:
    return replace(processed, change=replace(processed.change, meta=meta))


def _entry(href: str, depth: int, state: ChangeState) -> Entry:
    """A revisit as it is queued: before new pages, as the budget has been judged already."""
    return Entry(href, 1, max(depth, 0), generation=state.generation, kind=REVISIT)
