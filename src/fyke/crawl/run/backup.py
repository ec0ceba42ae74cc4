"""A crawl that is backed up while it runs (``--depot``): its tablets are shipped beside the agents that write them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from fyke.crawl.run.status import AgentStatus, DepotStatus
from fyke.store import Store
from fyke.store.depot import About, Depot
from fyke.store.lineage import Committed
from fyke.store.manifest import read
from fyke.store.objects import open_objects
from fyke.store.shipping import LOG_TTL, SILENT, Shipping, prepare


class Backup(msgspec.Struct, frozen=True):
    """The depot of a run; sent to the agents' processes. Without a URL there is none."""

    url: str = ""
    about: About | None = None

    @classmethod
    def begin(cls, store: Path, url: str) -> Backup:
        """Make the depot ready for a run. Raises ``StorageError`` where it is silent, or another copy has gone on."""
        return cls(url, prepare(store, url).about) if url else cls()

    @property
    def log_ttl(self) -> int:
        """How long the store keeps its logs (``Store.open``)."""
        return LOG_TTL if self.url else 0

    @contextmanager
    def of(self, store: Store) -> Iterator[Shipping | None]:
        """Ship the tablets of ``store``, which was opened with our ``log_ttl``; None where there is no depot."""
        if self.about is None:
            yield None
            return
        with Shipping(store, Depot(open_objects(self.url, make=True), self.about)) as shipping:
            yield shipping

    def is_whole(self, store: Path) -> bool:
        """Whether the depot has everything of a store that is closed."""
        if self.about is None:
            return True
        committed = Committed(store, read(store).settings.tablets)
        try:
            return committed.least() == float("inf")
        finally:
            committed.close()

    def tell(self, told: AgentStatus, shipping: Shipping | None) -> AgentStatus:
        """Add to an agent's report how its depot does. Raises ``FencedError`` where somebody else has taken over."""
        if shipping is None:
            return told
        shipping.check()
        found = shipping.report()
        silent = found.behind > SILENT
        state = DepotStatus(self.url, round(found.behind, 1), found.backlog, silent, found.error)
        return msgspec.structs.replace(told, depot=state)
