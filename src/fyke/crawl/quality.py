"""A crawl for quality: a page's cash is handed on to what it links to; the formula of fyke.topic.quality decides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fyke.crawl.cash import Accounts
from fyke.crawl.mail import Offer
from fyke.crawl.order import Floats, Keys, Visit, belonging
from fyke.crawl.process import Processed
from fyke.crawl.reserve import FED, Reserve
from fyke.frontier.keys import Entry
from fyke.frontier.seen import url_keys
from fyke.sites.traps import seen_form
from fyke.store import Batch, Store
from fyke.topic.features import Hasher
from fyke.topic.model import honesty
from fyke.topic.quality import Quality
from fyke.url import Url
from fyke.values import NOT_KEPT, Candidates

HONEST = 0.5
"""Pages whose words are new less than half as often as in prose hand nothing on."""
_MEANS_EVERY = 200


class ByQuality:
    """The order of a crawl for important pages; one for each agent."""

    def __init__(self, store: Store, reserve: Reserve) -> None:
        self.reserve = reserve
        self.accounts = Accounts(store)
        self._store = store
        self._quality = Quality()
        self._hasher = Hasher()
        self._honest = True
        self._hosts: dict[str, list[float]] = {}
        self._asked = 0
        self._mean_cash = self._mean_links = 0.0

    def restore(self) -> None:
        """Nothing but the accounts, which read themselves."""

    def checkpoint(self, *, force: bool = False) -> None:
        """Write the accounts."""
        self.accounts.checkpoint(force=force)

    def read(self, batch: Batch, entry: Entry, processed: Processed) -> Processed:
        """See whether a page is stuffed."""
        text = processed.change.text
        self._honest = not text or honesty(self._hasher.page(text)) >= HONEST
        host = self._hosts.setdefault(entry.url.host, [0.0, 0.0])
        host[0] += 1
        host[1] += not self._honest
        return processed

    def offers(self, visit: Visit) -> list[Offer]:
        """Hand the page's cash on, and offer every link that belongs here, with its gift."""
        first = dict.fromkeys(belonging(visit))
        seen: set[int] = set()
        chosen = [i for i in first if not (int(visit.keys[i]) in seen or seen.add(int(visit.keys[i])))]  # type: ignore[func-returns-value]
        keys, host = visit.keys[chosen], visit.entry.url.host
        here = np.array([self._store.tablet_of(visit.targets[i].key) == visit.tablet for i in chosen], np.bool_)
        own = np.array([visit.targets[i].host == host for i in chosen], np.bool_)
        page = int(url_keys([seen_form(visit.entry.url)])[0])
        gifts = self.accounts.visit(visit.batch, visit.tablet, page, keys, own, here, self._honest)
        known = self.reserve.levels(keys)
        return [
            Offer(visit.targets[i].href, visit.depth, kind=visit.kind, cash=0.0 if here[k] else float(gifts[k]))
            for k, i in enumerate(chosen)
            if not (here[k] and known[k] == FED)
        ]

    def scores(self, batch: Batch, tablet: int, offers: Sequence[Offer], keys: Keys) -> Floats:
        """Take in what came by mail, and return the formula's scores."""
        seeds = np.array([each.depth == 0 and not each.kind for each in offers], np.bool_)
        gifts = np.where(seeds, 1.0, [each.cash for each in offers])
        if gifts.any():
            self.accounts.receive(batch, tablet, keys[gifts > 0], gifts[gifts > 0])
        cash, links = self.accounts.of(tablet).of(keys)
        self._measure(tablet, links)
        hosts = [self._hosts.get(Url(each.href).host, (1.0, 0.0)) for each in offers]
        return self._quality.priority(
            Candidates(
                depth=np.array([each.depth for each in offers], np.int32),
                inlinks=links.astype(np.int32),
                parent_score=np.zeros(len(offers), np.float32),
                sitemap_priority=np.array(
                    [-1.0 if seed else each.worth for each, seed in zip(offers, seeds, strict=True)], np.float32
                ),
                is_seed=seeds,
                change_rate=np.zeros(len(offers), np.float32),
                cash=cash,
                rank=NOT_KEPT,
                authority=NOT_KEPT,
                spam=np.array([known[1] / max(1.0, known[0]) for known in hosts]),
                mean_cash=self._mean_cash,
                mean_inlinks=self._mean_links,
            )
        )

    def _measure(self, tablet: int, links: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
        """Keep the means about right: all tablets are alike."""
        if self._asked % _MEANS_EVERY == 0:
            self._mean_cash = self.accounts.of(tablet).mean
        self._asked += 1
        mean = float(links.mean()) if len(links) else 0.0
        self._mean_links += (mean - self._mean_links) / min(self._asked, 1000)
