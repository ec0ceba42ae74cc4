"""What a crawl with an order of its own asks of it: which of a page's links, at what worth, and what to remember."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from fyke.crawl.capture import Processed
from fyke.crawl.mail.outbox import Offer
from fyke.crawl.order.reserve import Reserve
from fyke.frontier.keys import Entry
from fyke.store import Batch, RowMeta
from fyke.url import Url
from fyke.values import Drop, Links

Keys = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Visit:
    """A page that came, or did not: all that follows from it goes into ``batch``."""

    batch: Batch
    tablet: int
    entry: Entry
    processed: Processed
    targets: Sequence[Url]
    """Of its links."""
    keys: Keys
    """Of the targets, in the seen-set."""
    fresh: frozenset[str]
    """Those of the targets that nobody has seen before."""
    depth: int
    """Of the links."""
    kind: str
    """``Offer.kind`` of the links: how often they were redirected."""
    refusal: Callable[[Url], Drop | None]
    """Why a URL does not belong to the crawl."""

    @classmethod
    def of(
        cls, batch: Batch, tablet: int, entry: Entry, processed: Processed, keys: Keys, fresh: Sequence[Url],
        depth: int, kind: str, refusal: Callable[[Url], Drop | None],
    ) -> Visit:  # fmt: skip
        """The visit of a page, of whose links, with these ``keys``, ``fresh`` are new."""
        targets = Links.of(processed.links).targets
        return cls(
            batch, tablet, entry, processed, targets, keys, frozenset(url.href for url in fresh), depth, kind, refusal
        )  # fmt: skip


class Order(Protocol):
    """Which page first; ``Focus`` goes for a topic, ``ByQuality`` for importance."""

    reserve: Reserve

    def restore(self) -> None:
        """Take up what earlier runs left."""
        ...

    def read(self, batch: Batch, entry: Entry, processed: Processed, anchors: str = "") -> Processed:
        """Look at what came, before it is kept; return it with what is to be kept of that.

        ``anchors`` are texts of links that were seen to lead here.
        """
        ...

    def offers(self, visit: Visit) -> list[Offer]:
        """Return what to offer of a page's links."""
        ...

    def scores(self, batch: Batch, tablet: int, offers: Sequence[Offer], keys: Keys) -> Floats:
        """Return the worth of offers to a tablet of this agent, in [0, 1]."""
        ...

    def importance(self, entry: Entry, meta: RowMeta) -> float:
        """Return how much a page that was read matters; 1 is usual. It is a factor of its weight in revisits."""
        ...

    def checkpoint(self, *, force: bool = False) -> None:
        """Write what a restart needs, where it is due. REQUIRES: every batch has been written."""
        ...


def belonging(visit: Visit) -> list[int]:
    """Return which links belong to the crawl; what does not is counted once."""
    kept = []
    for i, url in enumerate(visit.targets):
        why = visit.refusal(url)
        if why is None:
            kept.append(i)
        elif url.href in visit.fresh:
            visit.batch.count("dropped:" + why)
    return kept
