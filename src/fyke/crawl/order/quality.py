"""A crawl for quality: a page's cash is handed on to what it links to, and what is crawled is ranked as it grows.

The formula of fyke.topic.quality decides. A URL is judged whenever a link to it is found, which may move it up, and
once more when its turn comes, since means and ranks have changed: where it is worth less by then, it waits on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fyke.crawl.capture import Processed
from fyke.crawl.mail.outbox import Offer
from fyke.crawl.order.cash import Accounts, visit_of
from fyke.crawl.order.order import Floats, Keys, Visit, belonging
from fyke.crawl.order.ranking import Ranking
from fyke.crawl.order.reserve import FED, Reserve, level_of
from fyke.frontier.keys import Entry
from fyke.frontier.seen import url_keys
from fyke.sites.traps import seen_form
from fyke.store import Batch, RowMeta, Store
from fyke.topic.features import Hasher
from fyke.topic.model import honesty
from fyke.topic.quality import Quality, path_depth
from fyke.url import Url
from fyke.values import Candidates

HONEST = 0.5
"""Pages whose words are new less than half as often as in prose hand nothing on."""
MOST_IMPORTANT = 4.0
"""Of pages in revisits, and one by this the least."""
_MEANS_EVERY = 200
_NO_PAGES = (0.0, 0.0)
_MOST_HOSTS = 100_000  # of whose keys a copy is kept


class ByQuality:
    """The order of a crawl for important pages; one for each agent."""

    def __init__(self, store: Store, reserve: Reserve, *, beside: bool = True) -> None:
        """``beside``: see ``Ranking``."""
        self.reserve = reserve
        self.ranking = Ranking(store.path, store.owned, beside=beside)
        self.accounts = Accounts(store, self.ranking.note)
        reserve.again = self._again
        self._store = store
        self._quality = Quality()
        self._hasher = Hasher()
        self._honest = True
        self._hosts: dict[str, list[float]] = {}
        self._asked = 0
        self._mean_cash = self._mean_links = 0.0
        self._host_keys: dict[str, int] = {}

    def restore(self) -> None:
        """Count the pages of hosts; the accounts and the ranks read themselves."""
        for number in self._store.owned:
            for key, _ in self._store.tablet(number).items("meta"):
                self._hosts.setdefault(Url.from_key(key).host, [0.0, 0.0])[0] += 1

    def checkpoint(self, *, force: bool = False) -> None:
        """Write the accounts; have the pages ranked anew where that is due."""
        self.ranking.flush()
        self.accounts.checkpoint(force=force)
        if force:
            self.ranking.close()
        else:
            self.ranking.step()

    def read(self, batch: Batch, entry: Entry, processed: Processed, anchors: str = "") -> Processed:
        """See whether a page is stuffed."""
        text = processed.change.text
        self._honest = not text or honesty(self._hasher.page(text)) >= HONEST
        host = self._hosts.setdefault(entry.url.host, [0.0, 0.0])
        host[0] += 1
        host[1] += not self._honest
        return processed

    def importance(self, entry: Entry, meta: RowMeta) -> float:
        """By its rank, damped: nine times the rank of an ordinary page is three times as important."""
        ranks = self.ranking.ranks
        known = ranks.rank(url_keys([seen_form(entry.url)], self._store.secret))
        damped = math.sqrt(float(known[0]) / ranks.mean) if len(known) else 1.0
        return min(max(damped, 1 / MOST_IMPORTANT), MOST_IMPORTANT)

    def offers(self, visit: Visit) -> list[Offer]:
        """Hand the page's cash on, and offer every link that belongs here, with its gift."""
        first = dict.fromkeys(belonging(visit))
        seen: set[int] = set()
        chosen = [i for i in first if not (int(visit.keys[i]) in seen or seen.add(int(visit.keys[i])))]  # type: ignore[func-returns-value]
        keys, host = visit.keys[chosen], visit.entry.url.host
        hosts = [visit.targets[i].host for i in chosen]
        here = np.array([self._store.tablet_of(visit.targets[i].key) == visit.tablet for i in chosen], np.bool_)
        own = np.array([each == host for each in hosts], np.bool_)
        page = int(url_keys([seen_form(visit.entry.url)], self._store.secret)[0])
        others = self._keys_of([each for each in hosts if each != host])
        moved = visit_of(page, int(self._keys_of([host])[0]), keys, own, here, others, self._honest)
        gifts = self.accounts.visit(visit.batch, visit.tablet, moved)
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
        sitemap = [-1.0 if seed else each.worth for each, seed in zip(offers, seeds, strict=True)]
        hrefs, depths = [each.href for each in offers], [each.depth for each in offers]
        return self._priority(tablet, keys, seeds, hrefs, depths, sitemap)

    def _again(self, tablet: int, entry: Entry, key: Keys) -> int:
        """The level that a URL whose turn has come deserves now."""
        seed = np.array([entry.depth == 0 and not entry.kind])
        return int(level_of(self._priority(tablet, key, seed, [entry.href], [entry.depth], [-1.0]))[0])

    def _priority(
        self, tablet: int, keys: Keys, seeds: npt.NDArray[np.bool_], hrefs: list[str], depths: list[int],
        sitemap: list[float],
    ) -> Floats:  # fmt: skip
        cash, links = self.accounts.of(tablet).of(keys)
        self._measure(tablet, links)
        names = [Url(href).host for href in hrefs]
        hosts = np.array([self._hosts.get(name, _NO_PAGES) for name in names]).T
        ranks = self.ranking.ranks
        return self._quality.priority(
            Candidates(
                depth=np.array(depths, np.int32),
                inlinks=links.astype(np.int32),
                parent_score=np.zeros(len(hrefs), np.float32),
                sitemap_priority=np.array(sitemap, np.float32),
                is_seed=seeds,
                change_rate=np.zeros(len(hrefs), np.float32),
                cash=cash,
                rank=ranks.rank(keys),
                authority=ranks.authority(self._keys_of(names)),
                spam=hosts[1] / np.maximum(1.0, hosts[0]),
                host_pages=hosts[0],
                path_depth=np.array([path_depth(href) for href in hrefs], np.float64),
                mean_cash=self._mean_cash,
                mean_rank=ranks.mean,
                mean_inlinks=self._mean_links,
            )
        )

    def _keys_of(self, hosts: Sequence[str]) -> Keys:
        """The keys of hosts."""
        known = self._host_keys
        if len(known) > _MOST_HOSTS:
            known.clear()
        for host in hosts:
            if host not in known:
                known[host] = int(url_keys([host], self._store.secret)[0])
        return np.array([known[host] for host in hosts], np.uint64)

    def _measure(self, tablet: int, links: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
        """Keep the means about right: all tablets are alike."""
        if self._asked % _MEANS_EVERY == 0:
            self._mean_cash = self.accounts.of(tablet).mean
        self._asked += 1
        mean = float(links.mean()) if len(links) else 0.0
        self._mean_links += (mean - self._mean_links) / min(self._asked, 1000)
