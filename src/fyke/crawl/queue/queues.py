"""The frontier and the tablets as one: what the frontier decides is written, what it wishes is read.

Everything that follows from a page goes into the batch of the page's own tablet: its row, the queue entries of links
that belong to the tablet with their keys in the seen-set, and a letter in the outbox for each other tablet
(fyke.crawl.mail.outbox). A restart reads the records of sites and the seen-set back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress, islice

from fyke.crawl.duplicates.exact import Duplicates
from fyke.crawl.mail.anchors import Anchors
from fyke.crawl.mail.outbox import Letter, Offer, Outbox
from fyke.crawl.order.order import Order
from fyke.crawl.order.reserve import ALL_WAITING, FED, level_of
from fyke.crawl.queue.later import REVISIT, Later
from fyke.crawl.queue.seen_chunks import SeenChunks
from fyke.dedupe.breeding import is_demoted
from fyke.frontier.frontier import Frontier
from fyke.frontier.keys import (
    BY_HOST,
    QUEUED,
    Entry,
    SiteRecord,
    is_record_key,
    is_requisite,
    record_key,
    sequence_of,
)
from fyke.frontier.leases import Lease
from fyke.frontier.priority import DefaultPrioritizer, Levels, found, usual_score
from fyke.frontier.seen import Keys, SeenSet, url_keys
from fyke.interfaces import Prioritizer
from fyke.sites.traps import seen_form
from fyke.store import Batch, Store, Tablet
from fyke.url import Url, host_key
from fyke.values import Drop, Links

_MOVED_AT_ONCE = 1000  # entries of an older version, so that no step is long
_MEMORY_OF_TABLETS = 200_000
_NOT_NOW = 86_400.0  # seconds until a crawl that does not revisit looks at a revisit again

_SEED = b"seed"
"""Behind a host key: the host of a seed, or where one led."""


class Queues:
    """The queues of the tablets that ``store`` owns."""

    def __init__(
        self,
        store: Store,
        frontier: Frontier,
        prioritizer: Prioritizer,
        seen: SeenSet,
        worth: Callable[[Url, int, float], Drop | None],
    ) -> None:
        """``worth(url, depth, now)`` says why a URL is not to be queued; it is asked once for each."""
        self.store = store
        self.frontier = frontier
        frontier.sites.load = self._load
        self.outbox = Outbox(store)
        self.duplicates = Duplicates(store, self.outbox)
        self.anchors = Anchors(store, self.outbox)
        self.prefetch: Callable[[str], None] = lambda host: None
        """Told of hosts that are about to be contacted, so that their addresses are known by then."""
        self.admit: Callable[[Url], None] = lambda url: None
        """Told of seeds, and of where they led: what belongs to the crawl is near them."""
        self.demoted: dict[str, str] = {}
        """Places whose pages come last, and why: hosts and templates that breed copies."""
        self._prioritizer = prioritizer
        self._levels = Levels(frontier.priorities)
        self._seen = seen
        self.worth = worth
        self.later = Later(frontier.note_later)
        self.judge: Callable[[Entry, Tablet, float], float] | None = None
        """Says of a revisit whose time has come: 0 where it is due, else when to look again. None: not in this run."""
        self.rate: Callable[[str], float] | None = None
        """Says how often the pages of a host change, where that is learnt."""
        self._tablets: dict[str, int] = {}
        self._chunks: dict[int, SeenChunks] = {}
        self.order: Order | None = None
        """Which page first, where it is not breadth first."""
        self._complete: defaultdict[int, list[Batch]] = defaultdict(list)

    def keys(self, urls: Iterable[Url]) -> Keys:
        """Return the keys of URLs in the seen-set."""
        return url_keys(map(seen_form, urls), self.store.secret)

    # ---- starting

    def restore(self, now: float, beat: Callable[[], object] = lambda: None) -> None:
        """Take up what earlier runs left. Every host waits its full delay once. ``beat`` is called now and then."""
        for number in self.store.owned:
            tablet = self.store.tablet(number)
            self._queue_by_site(tablet, now)
            for key, value in tablet.items("host"):
                if is_record_key(key):
                    self.frontier.restore(SiteRecord.decode(value), now)
                    self.frontier.sites.shrink()
                elif key.endswith(_SEED):
                    self.admit(Url(value.decode()))
            beat()
            self._remember(number, tablet, beat)
            self.later.restore(number, tablet)
        if self.order is not None:
            self.order.reserve.restore()
            self.order.restore()
        self.duplicates.restore()
        self.anchors.restore(now)

    def _queue_by_site(self, tablet: Tablet, now: float) -> None:
        """Move what version 1 queued by host to the queues of its sites, in steps that a crash cannot tear."""
        while old := list(islice(tablet.items("queue", *BY_HOST), _MOVED_AT_ONCE)):
            batch = tablet.batch()
            sites: defaultdict[str, list[Entry]] = defaultdict(list)
            for key, value in old:
                entry = Entry.decode(value)
                sites[entry.url.site].append(entry)
                batch.delete("queue", key)
            for site, entries in sites.items():
                for key, value in self.frontier.add(site, entries, now):
                    batch.put("queue", key, value)
                self.write_site(batch, site)
            tablet.write(batch)

    def _load(self, site: str) -> SiteRecord | None:
        number = self.tablet_of(Url(site + "/")) if "://" in site else -1
        stored = self.store.tablet(number).get("host", record_key(site)) if number in self.store.owned else None
        return SiteRecord.decode(stored) if stored else None

    def _remember(self, number: int, tablet: Tablet, beat: Callable[[], object]) -> None:
        """Know the URLs of a tablet again: from its chunks, or else from its rows and queues."""
        chunks = self._chunks[number] = SeenChunks(tablet, self.store.secret)
        known = chunks.read() if self.order is None else None  # an order tells known URLs from waiting ones
        for keys in known or chunks.rebuild(self._known_urls(tablet)):
            self._seen.add(keys)
            if self.order is not None:
                self.order.reserve.refuse(keys)
            beat()
        waiting = [Entry.decode(value).url for _, value in tablet.items("queue", *ALL_WAITING)]
        self._seen.add(self.keys(waiting))

    def _known_urls(self, tablet: Tablet) -> Iterator[Url]:
        """The URLs of rows, queues and entries for later; not those that an order holds back."""
        for key, _ in tablet.items("meta"):
            yield Url.from_key(key)
        for _, value in tablet.items("queue", *QUEUED):
            yield Url(Entry.decode(value).href)

    # ---- discovering

    def unseen(self, urls: Sequence[Url]) -> list[Url]:
        """Those of ``urls`` that were never offered before, each once and under one session id; they are remembered."""
        return [*compress(urls, self._seen.add(self.keys(urls)).tolist())] if urls else []

    def unseen_by_key(self, links: Links, keys: Keys) -> list[str]:
        """The same for the addresses of links that have these keys in the seen-set."""
        new = self._seen.add(keys).tolist() if len(keys) else []
        return [*compress(links.hrefs, new)] if True in new else []

    def tablet_of(self, url: Url) -> int:
        """The number of the tablet that a URL belongs to; that of its host."""
        host = url.host
        number = self._tablets.get(host)
        if number is None:
            if len(self._tablets) > _MEMORY_OF_TABLETS:
                self._tablets.clear()
            number = self._tablets[host] = self.store.tablet_of(url.key)
        return number

    def tablet(self, url: Url) -> Tablet:
        """The tablet that a URL belongs to. REQUIRES: it is ours."""
        return self.store.tablet(self.tablet_of(url))

    def offer(self, batch: Batch, here: int, offers: Sequence[Offer], now: float) -> None:
        """Queue what belongs to tablet ``here``, and write letters for the rest, all in ``batch``.

        REQUIRES: the offers are unseen, and ``batch`` is of tablet ``here`` and written before anything else happens.
        """
        mine: list[Offer] = []
        others: defaultdict[int, list[Offer]] = defaultdict(list)
        for each in offers:
            number = self.tablet_of(Url(each.href))
            if number == here:
                mine.append(each)
            else:
                others[number].append(each)
        self.enqueue(batch, mine, now)
        for number, letter in others.items():
            self.outbox.write(batch, here, number, letter)

    def enqueue(self, batch: Batch, offers: Sequence[Offer], now: float) -> int:
        """Queue those offers that are worth it; return how many are not. REQUIRES: ``batch`` is of their tablet."""
        count, left = len(offers), 0
        if self.order is not None:
            if pages := [each for each in offers if not is_requisite(each.kind)]:
                left = self._set_aside(self.order, batch, pages, now)
            offers = [each for each in offers if is_requisite(each.kind)]
        if not offers:
            return count - left
        urls = [Url(each.href) for each in offers]
        if (chunks := self._chunks.get(self.tablet_of(urls[0]))) is not None:
            chunks.add(batch, urls)
        wanted: list[Offer] = []
        for each, url in zip(offers, urls, strict=True):
            if not each.depth and ":" not in each.kind:  # a seed, or where one led
                self._admit(batch, url)
            why = self.worth(url, each.depth, now)
            if why is None:
                wanted.append(each)
            else:
                batch.count("dropped:" + why)
        if not wanted:
            return count - left
        sites: defaultdict[str, list[Entry]] = defaultdict(list)
        for each, priority in zip(wanted, self._priorities(wanted), strict=True):
            more = each.from_feed, each.clue, each.worth, each.off
            entry = Entry(each.href, priority, each.depth, each.tries, 0, each.kind, *more)
            sites[Url(each.href).site].append(entry)
        for site, entries in sites.items():
            for key, value in self.frontier.add(site, entries, now):
                batch.put("queue", key, value)
            self.write_site(batch, site)
        return count - left - len(wanted)

    def _set_aside(self, order: Order, batch: Batch, offers: Sequence[Offer], now: float) -> int:
        """Let offers wait at the level of their worth, return how many do; those that wait at a worse one move up."""
        left, number = 0, self.tablet_of(Url(offers[0].href))
        urls = [Url(each.href) for each in offers]
        keys = self.keys(urls)
        levels = level_of(order.scores(batch, number, offers, keys)).tolist()
        for i, (each, url, level) in enumerate(zip(offers, urls, levels, strict=True)):
            key = keys[i : i + 1]
            known = int(order.reserve.levels(key)[0])
            if known == FED or 0 < known <= level:
                continue
            why = self.worth(url, each.depth, now) if not known else None
            if why is not None:
                batch.count("dropped:" + why)
                order.reserve.refuse(key)
                continue
            entry = Entry(each.href, level, each.depth, each.tries, kind=each.kind, clue=each.clue, off=each.off)
            order.reserve.put(batch, number, entry, key, level)
            left += 1
        return left

    def _admit(self, batch: Batch, url: Url) -> None:
        self.admit(url)
        batch.put("host", host_key(url.host) + _SEED, url.href.encode())

    @property
    def pending(self) -> int:
        """What is neither with the frontier nor done: letters and anchors under way, URLs that an order holds back."""
        return self.outbox.pending + self.held + self.anchors.pending

    @property
    def held(self) -> int:
        """URLs that an order holds back."""
        return self.order.reserve.waiting if self.order is not None else 0

    def feed(self, now: float, pages: int) -> None:
        """Hand the best of what waits to the frontier."""
        if self.order is not None:
            self.order.reserve.feed(now, pages)

    def _priorities(self, offers: Sequence[Offer]) -> list[int]:
        priorities = self._levels.priorities(self._scores(offers))
        if self.demoted:
            for i, each in enumerate(offers):
                if is_demoted(self.demoted, (url := Url(each.href)).host, url.target):
                    priorities[i] = self.frontier.priorities
        return priorities

    def _scores(self, offers: Sequence[Offer]) -> list[float]:
        if type(self._prioritizer) is DefaultPrioritizer and self.rate is None:
            return [usual_score(each.depth, each.worth) for each in offers]
        hosts = [Url(each.href).host for each in offers]
        rates = {host: self.rate(host) if self.rate is not None else 0.0 for host in set(hosts)}
        depths, worths = [each.depth for each in offers], [each.worth for each in offers]
        scores: list[float] = self._prioritizer.priority(
            found(depths, worths, [rates[host] for host in hosts])
        ).tolist()
        return scores

    def write_site(self, batch: Batch, site: str) -> None:
        """Write what a restart needs to know of a site, as it is when ``batch`` is written."""
        record = self.frontier.record
        batch.at_write(site, lambda put: put("host", record_key(site), record(site).encode()))

    # ---- writing

    def commit(self, number: int, batch: Batch) -> None:
        """Have all that follows from one visit written to tablet ``number``, with the others of this tick."""
        self._complete[number].append(batch)

    def flush(self) -> None:
        """Write what was committed, one write for each tablet. REQUIRES: called before anything is awaited or read."""
        if self._complete:
            complete, self._complete = self._complete, defaultdict(list)
            for number, batches in complete.items():
                self.store.tablet(number).write_all(batches)
            self.frontier.sites.shrink()

    # ---- handing out

    def finish(self, batch: Batch, lease: Lease) -> None:
        """Write that a URL is no longer queued. REQUIRES: ``frontier.done`` was told."""
        if self.order is not None:
            kind = lease.entry.kind
            self.order.reserve.ended(lease.host, again=kind == REVISIT or is_requisite(kind))
        batch.delete("queue", lease.key)
        self.write_site(batch, lease.site)

    def postpone(self, batch: Batch, entry: Entry, due: float) -> None:
        """Write an entry that is to be queued again at ``due``."""
        self.later.put(batch, self.tablet_of(entry.url), entry, due)

    def refill(self, now: float) -> None:
        """Read what the frontier wishes for."""
        self.flush()
        for wish in self.frontier.refills():
            self.prefetch(wish.host)
            tablet = self.store.tablet(self.tablet_of(Url(f"http://{wish.host}/")))
            items = islice(tablet.items("queue", wish.key, wish.end), wish.count)
            found = [(sequence_of(key), Entry.decode(value)) for key, value in items]
            self.frontier.supply(wish, found, now)

    def wake(self, now: float) -> None:
        """Queue the entries whose time has come."""
        if self.later.first > now:
            return
        self.flush()
        for number in self.later.due(now):
            tablet = self.store.tablet(number)
            batch = tablet.batch()
            if woken := self.later.take(batch, number, tablet, now):
                self._queue_again(batch, tablet, woken, now)
                tablet.write(batch)

    def _queue_again(self, batch: Batch, tablet: Tablet, entries: Iterable[Entry], now: float) -> None:
        """Queue entries that were waiting; a revisit that is not due after all waits on, or is forgotten."""
        for entry in entries:
            if entry.kind == REVISIT and not entry.tries:
                again = self.judge(entry, tablet, now) if self.judge is not None else now + _NOT_NOW
                if again:
                    if again < float("inf"):
                        self.postpone(batch, entry, again)
                    continue
            site = entry.url.site
            for key, value in self.frontier.add(site, [entry], now):
                batch.put("queue", key, value)
            self.write_site(batch, site)

    # ---- mail

    def deliver(self, now: float, urgent: bool = False) -> bool:
        """Hand letters, ``urgent`` ones or all, to those of our tablets that they are for; return whether any left."""
        taken = self.outbox.take(self.store.owned, urgent, ours=True)
        for letters in taken.values():
            self.apply(letters, now)
            self.outbox.delivered(letters)
        return bool(taken)

    def apply(self, letters: Sequence[Letter], now: float) -> None:
        """Let letters to one tablet of this agent take effect, once, in one batch."""
        number = letters[0].destination
        letters = self.outbox.new(letters)
        if not letters:
            return
        tablet = self.store.tablet(number)
        batch = tablet.batch()
        offers: list[Offer] = []
        for letter in letters:
            some = letter.offers
            if not letter.judged:  # written by an earlier run or another agent, who do not know what we have seen
                fresh = {url.href for url in self.unseen([Url(each.href) for each in some])}
                if self.order is None:  # an order has a memory of its own
                    some = [each for each in some if each.href in fresh]
            offers += some
        self.enqueue(batch, offers, now)
        self.duplicates.apply(batch, number, [note for letter in letters for note in letter.notes])
        self.anchors.apply(batch, letters)
        self.outbox.applied(batch, letters)
        tablet.write(batch)
