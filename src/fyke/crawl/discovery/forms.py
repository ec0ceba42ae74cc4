"""Forms of pages, joined to the crawl (``--forms``): what is behind them is asked for as ordinary URLs of the frontier.

A page that was read is looked at for forms; each that is safe (fyke.sites.form_safety) has a ``Probe``, ``MAX_FORMS``
of a host at most. A probe has one request in the queue at a time. Its answer is a page like any other (row, links,
text); what it showed decides the next request, which is queued in the batch of that page: so a crash loses none, and
politeness, robots.txt, traps, scope and limits hold as for any URL. ``Entry.kind`` is ``form3:`` for the form of that
number of its host (``post3:`` where it is posted), behind the colon how often it was redirected. Links from an answer
to further pages of the same form are not followed by themselves: they are requests of the probe.

::

    host    host key ‖ "forms"                → Judged: which forms were looked at
            host key ‖ "form " ‖ number (1)   → Kept: the state of one that is tried
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
import numpy as np
import xxhash
from msgspec.structs import replace

from fyke.crawl.capture import Processed
from fyke.crawl.mail.outbox import Offer
from fyke.crawl.politeness.rules import Rules
from fyke.crawl.queue.queues import Queues
from fyke.formats.http import parse_head
from fyke.frontier.keys import Entry, is_form
from fyke.limits import note
from fyke.reading.conversion import MARKUP
from fyke.sites.form_queries import Ask
from fyke.sites.form_safety import refusal
from fyke.sites.form_words import Unsafe
from fyke.sites.forms import Form, forms
from fyke.sites.probing import BUDGET, PAGE, Probe
from fyke.sites.results import Answer, page_words, read_answer
from fyke.store import Batch
from fyke.url import Url, host_key
from fyke.values import Links

MAX_FORMS = 5
"""Of a host, that are tried."""
MAX_JUDGED = 500
"""Of a host, that are looked at."""
MAX_DROPPED = 3
"""Requests of a form that are no URLs for this crawl (traps, limits), until it is given up."""
HOSTS = 256
"""Whose forms are in memory."""
_TAG = re.compile(rb"<form\b[^>]{0,2000}>", re.IGNORECASE)
_KIND = re.compile(r"(?:form|post)(\d+):")


class Judged(msgspec.Struct, array_like=True):
    """What is kept of a host's forms. Version 1."""

    version: int = 1
    forms: set[int] = set()
    """Hashes of those that were judged."""
    probes: int = 0


class Kept(msgspec.Struct, array_like=True):
    """What is kept of one form that is tried. Version 1."""

    version: int
    depth: int
    """Of its answers."""
    probe: Probe
    dropped: int = 0


@dataclass(slots=True)
class _Host:
    """A host in memory."""

    judged: Judged
    kept: list[Kept]
    glimpsed: set[int] = field(default_factory=set)
    """Hashes of tags of forms that were looked at in this run."""


class Forms:
    """Looks for forms, and drives their probes. One for each agent."""

    def __init__(
        self, queues: Queues, rules: Rules, permits: Callable[[Url], bool], *, post: bool = False, budget: int = BUDGET
    ) -> None:
        """``permits`` says what robots.txt allows; ``post`` allows POST; ``budget`` are requests of one form."""
        self._queues, self._rules, self._permits = queues, rules, permits
        self.post = post
        self._budget = budget
        self._hosts: OrderedDict[str, _Host] = OrderedDict()
        self.told: Callable[[Url, str], None] = lambda url, said: None
        """Told what was decided of a page, in words."""
        page_words(b"warm")  # its kernel is loaded before the loop runs

    def sift(self, entry: Entry, processed: Processed) -> Processed:
        """Return what came with the links that are followed by themselves: of an answer, none to further pages."""
        kept = self._of(entry)
        if kept is None or processed.redirected or not processed.links:
            return processed
        here, links = Url(kept.probe.target), Links.of(processed.links)
        stay = [i for i, url in enumerate(links.targets) if url.path != here.path or url.host != here.host]
        some = Links([links.hrefs[i] for i in stay], [links.texts[i] for i in stay], [links.rels[i] for i in stay])
        keys = processed.keys[np.array(stay, np.int64)] if processed.keys is not None else None
        return replace(processed, links=some, keys=keys)

    def take(self, batch: Batch, entry: Entry, processed: Processed, offers: list[Offer], now: float) -> None:
        """Take in a page: an answer to a form, or a page that may have some. What is asked for next is queued.

        ``offers`` are its links that will be; a redirect of an answer is taken out of them, as it is the form's.
        """
        if is_form(entry.kind):
            if (kept := self._of(entry)) is not None:
                self._answered(batch, entry, kept, processed, offers, now)
        elif not entry.kind:
            self._look(batch, entry, processed, now)

    # ---- answers

    def _answered(
        self, batch: Batch, entry: Entry, kept: Kept, processed: Processed, offers: list[Offer], now: float
    ) -> None:
        probe = kept.probe
        hops = entry.kind.rpartition(":")[2]
        if probe.pending is None or (not hops and probe.pending.href != entry.href):
            return  # of an earlier life
        onward = [each for each in offers if is_form(each.kind)]
        if processed.redirected and onward:
            offers[:] = [each for each in offers if not is_form(each.kind)]
            same_host = Url(onward[0].href).host == entry.url.host
            if same_host and not self._enqueue(batch, onward[0], now):
                return  # the answer comes from there
        new = probe.took(_read(entry, processed))
        batch.count("forms:requests")
        batch.count("forms:results", new)
        self.told(entry.url, f"an answer of the form {probe.target}: {new} new results, {len(probe.seen)} so far")
        self._ask(batch, entry.url, _number(entry.kind), kept, now)

    def _ask(self, batch: Batch, page: Url, number: int, kept: Kept, now: float) -> None:
        """Queue the next request of a form, and write its state."""
        probe = kept.probe
        may = self.post or probe.method != "POST"  # of a run that was allowed to
        while may and (ask := probe.next()) is not None:
            url = Url(ask.href)
            why = self._rules.belongs(url)
            if why is None and self._queues.unseen([url]):
                if not self._enqueue(batch, self._offer(ask, number, kept), now):
                    self.told(url, f"asked for by the form {probe.target}, for {ask.worth:.1f} new results")
                    break
                kept.dropped += 1
            elif why is not None:
                batch.count("dropped:" + why)
                kept.dropped += 1
            probe.skip()
            if kept.dropped >= MAX_DROPPED:
                probe.over = "not wanted by the crawl"
        if probe.over:
            self.told(page, f"the form {probe.target} is done: {probe.over}, {probe.requests} requests")
        batch.put("host", _key(page, b"form " + bytes((number,))), msgspec.msgpack.encode(kept))

    def _enqueue(self, batch: Batch, offer: Offer, now: float) -> int:
        """Queue a request; return whether it was dropped."""
        self._rules.budgeted.add(offer.href)
        dropped = self._queues.enqueue(batch, [offer], now)
        self._rules.budgeted.discard(offer.href)
        return dropped

    def _offer(self, ask: Ask, number: int, kept: Kept) -> Offer:
        posts = kept.probe.method == "POST" and bool(ask.values)
        kind = f"{'post' if posts else 'form'}{number}:"
        return Offer(ask.href, kept.depth, min(1.0, ask.worth / PAGE), kind)

    # ---- pages

    def _look(self, batch: Batch, entry: Entry, processed: Processed, now: float) -> None:
        """Judge the forms of a page that nobody has seen yet."""
        cell, meta = processed.change.page, processed.change.meta
        if cell is None or meta.error or not 200 <= meta.status < 300 or meta.type not in MARKUP:
            return
        tags = {
            _hash(tag + (b"" if b"action" in tag.lower() else entry.href.encode())) for tag in _TAG.findall(cell.body)
        }
        if not tags:
            return
        host = self._host(entry.url)
        if tags <= host.glimpsed:
            return
        if len(host.judged.forms) >= MAX_JUDGED:
            note("forms-judged")
            return
        host.glimpsed |= tags
        content_type = parse_head(cell.response_head).get("content-type")
        before = len(host.judged.forms)
        for form in forms(cell.body, content_type, entry.url):
            identity = _hash(repr((form.target.path, form.method, [(f.name, f.kind) for f in form.fields])).encode())
            if identity in host.judged.forms or len(host.judged.forms) >= MAX_JUDGED:
                continue
            host.judged.forms.add(identity)
            why = self._refusal(form, entry.url, host, private=meta.private, nofollow=_nofollow(processed))
            batch.count(f"forms:{why or 'tried'}")
            self.told(entry.url, f"the form {form.target.href}: {f'not sent ({why})' if why else 'safe'}")
            if why is None:
                links = Links.of(processed.change.links or processed.links).targets
                text = page_words(cell.body, content_type)
                kept = Kept(1, entry.depth + 1, Probe.of(form, [entry.url, *links], text, self._budget))
                host.kept.append(kept)
                host.judged.probes = len(host.kept)
                self._ask(batch, entry.url, len(host.kept) - 1, kept, now)
        if len(host.judged.forms) > before:
            batch.put("host", _key(entry.url, b"forms"), msgspec.msgpack.encode(host.judged))

    def _refusal(self, form: Form, page: Url, host: _Host, *, private: bool, nofollow: bool) -> Unsafe | None:
        why = refusal(form, page, post=self.post)
        if why is not None:
            return why
        if private:
            return Unsafe.PRIVATE
        if self._rules.belongs(form.target) is not None:
            return Unsafe.SCOPE
        if nofollow or not self._permits(form.target):
            return Unsafe.ROBOTS
        return Unsafe.TOO_MANY if len(host.kept) >= MAX_FORMS else None

    # ---- what is kept

    def _of(self, entry: Entry) -> Kept | None:
        """The form that an answer belongs to."""
        if not is_form(entry.kind):
            return None
        kept, number = self._host(entry.url).kept, _number(entry.kind)
        return kept[number] if 0 <= number < len(kept) else None

    def _host(self, url: Url) -> _Host:
        known = self._hosts.get(url.host)
        if known is None:
            known = self._hosts[url.host] = self._load(url)
            if len(self._hosts) > HOSTS:
                self._hosts.popitem(last=False)
        self._hosts.move_to_end(url.host)
        return known

    def _load(self, url: Url) -> _Host:
        tablet = self._queues.tablet(url)
        stored = tablet.get("host", _key(url, b"forms"))
        host = _Host(msgspec.msgpack.decode(stored, type=Judged) if stored else Judged(), [])
        for number in range(host.judged.probes):
            value = tablet.get("host", _key(url, b"form " + bytes((number,))))
            if value is None:
                break
            kept = msgspec.msgpack.decode(value, type=Kept)
            pending = kept.probe.pending
            if pending is not None and tablet.version(Url(pending.href).key) is not None:
                kept.probe.skip()  # it was answered in a run that did not look
            host.kept.append(kept)
        return host


def _read(entry: Entry, processed: Processed) -> Answer | None:
    """What an answer shows; None where there is none."""
    cell, meta = processed.change.page, processed.change.meta
    if cell is None or meta.error or processed.redirected or not 200 <= meta.status < 300 or meta.type not in MARKUP:
        return None
    return read_answer(cell.body, parse_head(cell.response_head).get("content-type"), entry.url)


def _nofollow(processed: Processed) -> bool:
    signals = processed.change.meta.signals
    return signals is not None and "nofollow" in signals.robots


def _number(kind: str) -> int:
    found = _KIND.match(kind)
    return int(found[1]) if found else -1


def _key(url: Url, name: bytes) -> bytes:
    """Where that stands in the family ``host``, behind the record of its host."""
    return host_key(url.host) + name


def _hash(data: bytes) -> int:
    return xxhash.xxh3_64_intdigest(data)
