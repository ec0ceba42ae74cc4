"""What pages need to be shown, joined to the crawl (``--requisites``): offered beside their links, on any host.

A requisite is queued, leased, asked of robots.txt and past the gate like a page, but apart from the pages of its site
(``frontier.keys.REQUISITE``). It is kept as it came: no text, no links, no page of ``--max-pages``. Of a style or
script, what it needs itself is offered, ``MAX_NESTING`` deep. ``Entry.kind`` is ``requisite:`` (``requisite1:``, …: so
deep), behind the colon how often it was redirected; ``Entry.clue`` is the page that needs it.
"""

from __future__ import annotations

import re

from fyke.crawl.capture import Processed
from fyke.crawl.mail.outbox import Offer
from fyke.crawl.politeness.rules import Rules
from fyke.crawl.queue.queues import Queues
from fyke.formats.http import parse_head
from fyke.frontier.keys import REQUISITE, Entry, is_requisite
from fyke.limits import note
from fyke.reading.conversion import MARKUP
from fyke.reading.requisites import needed_by
from fyke.store import Batch
from fyke.url import Url
from fyke.values import Drop

MAX_NESTING = 5
"""Styles that import styles, and scripts that load scripts: no deeper."""
MAX_HOPS = 10
"""Redirects of a requisite."""
_KIND = re.compile(r"requisite(\d*):(\d*)")


class Requisites:
    """Finds what pages need. One for each agent."""

    def __init__(self, queues: Queues, rules: Rules) -> None:
        self._queues, self._rules = queues, rules

    def offers(self, batch: Batch, entry: Entry, processed: Processed) -> list[Offer]:
        """Return what a document that came needs and nobody has asked for; what is refused is counted in ``batch``."""
        level, hops = _levels(entry.kind)
        page = entry.clue.decode() if entry.clue else entry.url.href
        found: list[Url] = []
        if processed.redirected:
            found, hops = [link.target for link in processed.links if is_requisite(entry.kind)], hops + 1
        elif level < MAX_NESTING:
            found, level, hops = _needed(entry, processed, Url(page)), level + 1, 0
        elif _needed(entry, processed, Url(page)):
            note("requisite-nesting")
        if hops > MAX_HOPS:
            batch.count("dropped:" + Drop.REDIRECTS)
        if not found or hops > MAX_HOPS:
            return []
        kind, offers = f"requisite{level or ''}:{hops or ''}", []
        for url in self._queues.unseen([Url(REQUISITE + each.href) for each in found]):
            why = self._rules.refuses(Url(url.href.removeprefix(REQUISITE)))
            if why is None:
                offers.append(Offer(url.href, entry.depth + 1, kind=kind, clue=page.encode()))
            else:
                batch.count("dropped:" + why)
        return offers


def _levels(kind: str) -> tuple[int, int]:
    """How deep a requisite is, and how often it was redirected; −1 of a page."""
    found = _KIND.match(kind)
    return (int(found[1] or 0), int(found[2] or 0)) if found else (-1, 0)


def _needed(entry: Entry, processed: Processed, page: Url) -> list[Url]:
    """What a page, or a style or script of one, needs."""
    cell, meta = processed.change.page, processed.change.meta
    if cell is None or not cell.body or meta.error or not 200 <= meta.status < 300:
        return []
    if is_requisite(entry.kind) and meta.type in MARKUP:  # shown in a page; the page's links are followed, not these
        return []
    return needed_by(cell.body, parse_head(cell.response_head), entry.url, meta.type, page)
