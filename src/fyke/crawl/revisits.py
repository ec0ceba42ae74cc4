"""Revisits: a page that was stored comes again when a visit is worth it, and what is found then teaches its rate.

The life of a page in a continuous crawl::

    fetched ──▶ later (lower bound of its due time) ──wake: judged──▶ queued ──▶ asked again ──▶ later …
                  ▲                                     │ early                    │ gone, three times
                  └─────────────────────────────────────┘                          ▼ retired

Everything that is learnt of a page stands in its row's meta (``ChangeState``), of a host behind its host record
(``HostMemory``), both written in the batch of the visit. The main text decides whether a page changed: where the
converted text differs, what the cleaner finds in the old and the new body is compared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import msgspec
import xxhash

from fyke.clean.extract import extract
from fyke.crawl.freshness import Gauge
from fyke.crawl.process import Processed
from fyke.crawl.queues import AGAIN, Queues
from fyke.formats.http import Head, http_date, parse_head
from fyke.frontier.honesty import Honesty
from fyke.frontier.keys import Entry
from fyke.frontier.revisit import DAY, ChangeState, Priors, RevisitPolicy, Threshold, visited
from fyke.store import Batch, Change, RowMeta, Tablet, Version
from fyke.url import Url, host_key
from fyke.values import Failed, Fetched, Link, Outcome, Reason, Request, Unchanged, Validators

RETIRE_AFTER = 3
"""Visits in a row that find a page gone before it is believed: servers have bad days."""
LARGE = 500_000.0
"""Bytes: from this mean size on a HEAD, whose answer costs two contacts if the page did change, pays."""
LEAST_WAIT = 1.0
"""Seconds before a page may be due again, whatever its rate."""
ABSENT_WAIT = DAY
"""Seconds until the second look at a page that was not there; doubled for the third."""
LONGEST_WAIT = 365 * DAY
_BACKLOG = 8
"""Revisits, or a fiftieth of the pages: so many queued ones stop the threshold's fall; a queue knows no values."""
_HOSTS = 20_000
_BATCH = 1000
_REGRETS = 8


@dataclass(frozen=True, slots=True)
class RevisitSettings:
    """How an agent revisits."""

    policy: RevisitPolicy = field(default_factory=RevisitPolicy)
    share: float = 0.5
    """Of the requests, while new pages wait; all of them when none does."""
    budget: float = 0.0
    """Requests a second of this agent; 0 for a tenth of what politeness allows: hosts ÷ (10 × delay)."""
    delay: float = 1.0


class Regret(msgspec.Struct, frozen=True, array_like=True):
    """A text that some page of a host turned into; if another page does too, it is how the host says "not found"."""

    text: bytes
    before: bytes
    """What that page said until then."""
    sure: bool = False


class HostMemory(msgspec.Struct, array_like=True):
    """What is learnt of a host; key: host key ‖ ``revisit`` in the family ``host``. Version 1."""

    honesty: Honesty = msgspec.field(default_factory=Honesty)
    regrets: list[Regret] = msgspec.field(default_factory=list)

    def regretted(self, text: bytes) -> bool:
        """Whether a text is the host's way to say that a page is gone."""
        return any(r.sure and r.text == text for r in self.regrets)

    def turned(self, before: bytes, text: bytes) -> None:
        """Note that a page turned from one text into another."""
        for i, regret in enumerate(self.regrets):
            if regret.text == text:
                self.regrets[i] = Regret(text, before, regret.sure or regret.before != before)
                return
        self.regrets = [*self.regrets[-_REGRETS + 1 :], Regret(text, before)]


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of a revisit."""

    meta: RowMeta
    """Of the row, with its change state."""
    processed: Processed | None
    """The new version; None where the old one stays."""
    links: tuple[Link, ...]
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
        self.threshold = Threshold.guess(self.policy, 1, DAY)
        self.outstanding = 0
        """Revisits that were queued and are not done."""
        self.pages = 0
        self.full: set[str] = set()
        """URLs of which a HEAD said that they changed: the next request is a GET."""
        self.gauge = Gauge()
        self._memories: dict[str, HostMemory] = {}
        self._last = 0.0
        self._started = False
        self._allowance = 0.0

    # ---- when

    def passed(self, now: float, hosts: int, waiting: int) -> None:
        """Let time pass: the threshold falls at the rate of the budget. ``waiting``: entries queued, all kinds."""
        budget = self.settings.budget or hosts / (10 * max(self.settings.delay, 0.01))
        if waiting > self.outstanding:
            budget *= self.settings.share
        if not self._started and self.pages:
            self._started = True
            self.threshold = Threshold.guess(self.policy, self.pages, max(budget, 1e-9) * DAY)
        backlog = self.outstanding / max(_BACKLOG, self.pages / 50)  # they wait for hosts, or for the budget
        budget *= max(1 - backlog * backlog, 0.0)
        self.threshold.budget, self.threshold.gain = budget * DAY, Threshold.gain_for(self.pages)
        self.threshold.passed(max(now - self._last, 0.0) / DAY if self._last else 0.0)
        self._last = now

    def pace(self, now: float) -> float:
        """Take one request of the budget; return 0, or for how many seconds there is none."""
        budget = self.settings.budget
        if not budget:
            return 0.0
        self._allowance = max(self._allowance, now - max(1.0, 1 / budget))  # at most a second's worth at once
        if self._allowance > now:
            return self._allowance - now
        self._allowance += 1 / budget
        return 0.0

    def spare(self) -> None:
        """Give back what ``pace`` granted last: there was nothing to ask for."""
        if self.settings.budget:
            self._allowance -= 1 / self.settings.budget

    def judge(self, entry: Entry, tablet: Tablet, now: float) -> float:
        """Return 0 where a revisit is due, else when to look again; infinity where the row needs none."""
        version = tablet.version(entry.url.key)
        if version is None:
            return math.inf
        state = ChangeState.decode(version.meta.change)
        age = max(now - state.seen, 0.0) / DAY
        if not state.absent:
            again = self.policy.look_again(state.rate, age, self.threshold.value, state.weight)
            if again:
                return min(max(state.seen + again * DAY, now + LEAST_WAIT), now + LONGEST_WAIT)
        self.threshold.visited()
        self.outstanding += 1
        return 0.0

    def due(self, state: ChangeState) -> float:
        """Return when to look at a page again that was visited just now: before it is due."""
        if state.absent:
            return state.seen + ABSENT_WAIT * 2.0 ** (state.absent - 1)
        wait = self.policy.look_again(state.rate, 0.0, self.threshold.value, state.weight) * DAY
        return state.seen + min(max(wait, LEAST_WAIT), LONGEST_WAIT)

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
        """Whether the answer to a HEAD says that the page changed, so that a GET is to follow."""
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
        state = ChangeState(text=text_digest(processed.change))
        state = self.priors.learn(visited(state, now, False), host, meta.type)
        tablet = queues.store.tablet(queues.tablet_of(entry.url))
        self.memory(host, tablet).honesty.sized(meta.length)
        self.pages += 1
        self.gauge.note(entry.href, host, state)
        queues.postpone(batch, Entry(entry.href, 1, entry.depth, kind=AGAIN), self.due(state))
        return _with(processed, msgspec.structs.replace(meta, change=state.encode()))

    def write(self, batch: Batch, queues: Queues, entry: Entry, seen: Seen) -> None:
        """Write what a revisit taught, and queue the next."""
        host = entry.url.host
        batch.put("host", _memory_key(host), msgspec.msgpack.encode(self._memories.get(host, HostMemory())))
        if seen.due < math.inf:
            self.gauge.note(entry.href, host, ChangeState.decode(seen.meta.change))
            queues.postpone(batch, Entry(entry.href, 1, entry.depth, kind=AGAIN), seen.due)
        else:
            self.gauge.drop(entry.href)

    def seen(self, url: Url, outcome: Outcome, processed: Processed | None, tablet: Tablet, now: float) -> Seen:
        """Learn from a revisit. ``processed`` is what became of a body. REQUIRES: the row has a version."""
        version = tablet.version(url.key)
        assert version is not None, "a revisit of nothing"
        memory, meta = self.memory(url.host, tablet), version.meta
        state = ChangeState.decode(meta.change)
        if isinstance(outcome, Unchanged) or (isinstance(outcome, Fetched) and processed is None):
            return self._same(url, state, meta, (), tablet, now, (("revisits:unchanged", 1),))
        if isinstance(outcome, Failed) and outcome.reason in (Reason.GONE, Reason.CLIENT_ERROR):
            return self._absent(state, meta, now, processed)
        if processed is None or not isinstance(outcome, Fetched):  # it did not answer: nothing is learnt
            return Seen(meta, None, (), now + ABSENT_WAIT, (("revisits:failed", 1),))
        head = parse_head(outcome.exchange.response_head)
        fresh = text_digest(processed.change)
        same = fresh == state.text or self._same_main(url, processed, version, tablet)
        date = self._compare(memory.honesty, meta, head, same, state, now)
        memory.honesty.sized(processed.change.meta.length)
        if not same:
            memory.turned(state.text, fresh)
        state = msgspec.structs.replace(state, text=fresh)
        if memory.regretted(fresh):
            return self._absent(state, meta, now, None)
        if same:
            meta = msgspec.structs.replace(meta, etag=head.get("etag"), last_modified=head.get("last-modified"))
            return self._same(url, state, meta, processed.links, tablet, now, (("revisits:same-text", 1),))
        return self._changed(url, state, processed, date if memory.honesty.believes_dates else None, now)

    def take_up(self, queues: Queues, now: float) -> None:
        """Take up the rows of earlier runs; those that were crawled without revisits are queued for their first."""
        for tablet in queues.store.tablets():
            batch = tablet.batch()
            for key, _ in tablet.items("meta"):
                version, url = tablet.version(key), Url.from_key(key)
                if version is None or version.meta.error or not 200 <= version.meta.status < 300:
                    continue
                meta = version.meta
                state = ChangeState.decode(meta.change)
                if not state.seen:
                    row = tablet.read(key, parts=("text",))
                    text = Change(meta, text=row.text if row is not None else None)
                    state = ChangeState(seen=meta.fetched, text=text_digest(text))
                    state = self.priors.learn(state, url.host, meta.type)
                    batch.put_meta(key, msgspec.structs.replace(meta, change=state.encode()))
                    queues.postpone(batch, Entry(url.href, 1, max(meta.depth, 0), kind=AGAIN), now)
                elif state.belief[1] > 0:
                    self.priors.learn(msgspec.structs.replace(state, belief=(0.0, 0.0, 0.0)), url.host, meta.type)
                self.pages += 1
                self.gauge.note(url.href, url.host, state)
                if len(batch) >= _BATCH:
                    tablet.write(batch)
                    batch = tablet.batch()
            tablet.write(batch)

    def memory(self, host: str, tablet: Tablet) -> HostMemory:
        """What is known of a host."""
        memory = self._memories.get(host)
        if memory is None:
            stored = tablet.get("host", _memory_key(host))
            memory = msgspec.msgpack.decode(stored, type=HostMemory) if stored else HostMemory()
            if len(self._memories) >= _HOSTS:
                self._memories.pop(next(iter(self._memories)))
            self._memories[host] = memory
        return memory

    # ---- inside

    def _same(
        self, url: Url, state: ChangeState, meta: RowMeta, links: tuple[Link, ...], tablet: Tablet, now: float,
        counts: tuple[tuple[str, int], ...],
    ) -> Seen:  # fmt: skip
        """The copy is still right: the version stays, and its links are offered again."""
        if not links:
            row = tablet.read(url.key, parts=("links",))
            links = row.links if row is not None else ()
        state = msgspec.structs.replace(visited(state, now, False), absent=0)
        state = self.priors.learn(state, url.host, meta.type)
        return Seen(msgspec.structs.replace(meta, change=state.encode()), None, links, self.due(state), counts)

    def _changed(self, url: Url, state: ChangeState, processed: Processed, date: float | None, now: float) -> Seen:
        meta = processed.change.meta
        state = msgspec.structs.replace(visited(state, now, True, date), absent=0)
        state = self.priors.learn(state, url.host, meta.type)
        meta = msgspec.structs.replace(meta, change=state.encode())
        return Seen(meta, _with(processed, meta), processed.links, self.due(state), (("revisits:changed", 1),))

    def _absent(self, state: ChangeState, meta: RowMeta, now: float, processed: Processed | None) -> Seen:
        """It was not there: keep the copy until that is proved, then say so."""
        state = msgspec.structs.replace(state, absent=state.absent + 1, seen=now)
        if state.absent < RETIRE_AFTER:
            kept = msgspec.structs.replace(meta, change=state.encode())
            return Seen(kept, None, (), self.due(state), (("revisits:absent", 1),))
        self.pages -= 1
        gone = processed.change.meta if processed is not None else msgspec.structs.replace(meta, fetched=now)
        gone = msgspec.structs.replace(gone, error=Reason.GONE, change=state.encode())
        retired = _with(processed, gone) if processed is not None else Processed(Change(gone))
        return Seen(gone, retired, (), math.inf, (("revisits:retired", 1), ("pages", -1)))

    def _same_main(self, url: Url, processed: Processed, version: Version, tablet: Tablet) -> bool:
        """Whether the main text is the same although the whole is not: an advertisement changed."""
        page = processed.change.page
        row = tablet.read(url.key, parts=("page",))
        if page is None or row is None or row.raw is None or processed.change.meta.type != "text/html":
            return False
        if processed.change.meta.title != version.meta.title:
            return False
        return extract(row.raw, url=url.href).text == extract(page.body, url=url.href).text

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


def text_digest(change: Change) -> bytes:
    """Digest of a document's text; of its body where it has none."""
    if change.text is not None:
        return xxhash.xxh3_64_digest(change.text.encode("utf-8", "surrogatepass"))
    return xxhash.xxh3_64_digest(change.page.body if change.page is not None else b"")


def _with(processed: Processed, meta: RowMeta) -> Processed:
    return replace(processed, change=replace(processed.change, meta=meta))


def _memory_key(host: str) -> bytes:
    return host_key(host) + b"revisit"
