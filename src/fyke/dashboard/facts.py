"""What the pages ask for, and the answers: ``Facts`` is the seam, one machine's store now (``read.StoreFacts``)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from fyke.crawl.run import steps
from fyke.crawl.run.history import Moment
from fyke.crawl.run.status import AgentStatus, Status
from fyke.frontier.keys import Entry
from fyke.store import Anchor, Row
from fyke.store.cells import row_range


@dataclass(frozen=True, slots=True)
class Now:
    """What the agents said last."""

    status: Status | None
    """None where the store holds no crawl."""
    agents: tuple[AgentStatus, ...] = ()
    problems: tuple[str, ...] = ()
    """What is wrong with the reports: torn files, agents that are gone."""
    paused: bool = False


@dataclass(slots=True)
class HostFacts:
    """What is known of a host."""

    name: str
    rows: int = 0
    pages: int = 0
    size: int = 0
    queued: int = 0
    delay: float = 0.0
    """Least seconds between two requests."""
    due: float = 0.0
    """When it may be asked next."""
    backoff: int = 0
    """Steps of back-off: it wants fewer requests, or is silent."""
    closed: float = 0.0
    """Until when nobody is asked."""
    why: str = ""

    @property
    def needs(self) -> float:
        """Seconds that politeness alone wants for what is queued."""
        return self.queued * self.delay


@dataclass(frozen=True, slots=True)
class Hosts:
    """The hosts of a store."""

    hosts: tuple[HostFacts, ...] = ()
    complete: bool = True
    """False where there are more than could be looked at in time."""


@dataclass(slots=True)
class Sample:
    """Counts over the rows that could be looked at in time: all, or the first of each tablet."""

    looked: int = 0
    complete: bool = True
    types: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)
    """A few URLs for each error."""
    copies: Counter[str] = field(default_factory=Counter)
    """Of the documents that others are copies of, how many."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which rows are asked for."""

    prefix: str = ""
    """A URL, or a host where it has no scheme."""
    words: str = ""
    """All of these are in the title or the URL, in any case."""
    error: str = ""
    copies: bool = False
    """Only duplicates."""

    def bounds(self) -> tuple[bytes, bytes]:
        """The range of row keys. Raises ``UserError`` for what is no URL."""
        if not self.prefix:
            return b"", b""
        return row_range(self.prefix) if "://" in self.prefix else row_range(host=self.prefix.strip("/"))

    def wants(self, row: Row) -> bool:
        """Whether a row is one of them, as far as its range does not tell."""
        meta = row.meta
        if (self.error and meta.error != self.error) or (self.copies and not meta.duplicate_of):
            return False
        told = f"{meta.title} {row.url}".lower() if self.words else ""
        return all(word in told for word in self.words.lower().split())


@dataclass(frozen=True, slots=True)
class Found:
    """A page of rows."""

    rows: tuple[Row, ...]
    looked: int
    after: bytes = b""
    """The key from which to go on; empty where there is no more."""


class Facts(Protocol):
    """What the pages ask for. Each answer comes within about half a second."""

    name: str

    def now(self) -> Now:
        """What the agents said last."""

    def past(self) -> list[Moment]:
        """The crawl over time."""

    def hosts(self) -> Hosts:
        """The hosts, at most half a minute old."""

    def sample(self) -> Sample:
        """What the rows are, at most half a minute old."""

    def rows(self, choice: Choice, after: bytes = b"") -> Found:
        """A page of rows, in the order of their keys. Raises ``UserError`` and ``StorageError``."""

    def row(self, url: str, stamp: int = 0) -> Row | None:
        """A document as it is, or as it was at a stamp. Raises ``UserError``."""

    def anchors(self, row: Row) -> list[Anchor]:
        """Texts of links that point at a document, the first few hundred."""

    def queue(self, host: str) -> list[Entry]:
        """What waits of a host, the first few."""

    def trace(self, url: str) -> list[steps.Step]:
        """The way of a URL through the crawl, where somebody asked for it."""

    def events(self) -> list[str]:
        """What was logged last, the newest first."""

    def limit(self) -> int:
        """The pages at which the crawl ends; 0 for none."""
