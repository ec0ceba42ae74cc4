"""The queue on disk: keys in the order in which they are read, and their values (docs/frontier.md).

::

    queue   "s" ‖ host key ‖ site ‖ 0x00 ‖ priority (1 byte) ‖ sequence (8)   → Entry        a site's FIFO by priority
    later   "t" ‖ due in µs (8) ‖ row key of the URL                          → Entry        revisits, retries
    host    host key ‖ "queue " ‖ site                                        → SiteRecord   what a restart needs

Numbers are big-endian, so keys sort by them. The host key is that of fyke.url: hash, host, 0x00; a site is written
``https://example.org:8443``, without the port where it is the scheme's own. Queue and later keys share the family
``queue``, records have the family ``host``. Version 2; version 1 queued by host ("q" ‖ host key ‖ priority ‖ sequence,
its record at the host key itself) and is read once, at the first start (``fyke.crawl.queue.queues``).
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from fyke.url import Url, host_key
from fyke.values import Meta

VERSION = 2

_QUEUE = b"s"
_LATER = b"t"
_RECORD = b"queue "
QUEUED = (b"s", b"u")
"""Bounds of what is queued, now or for later."""
REQUISITE = "requisite+"
"""Stands before the address of what a page needs to be shown (an image, a style), as long as it waits: so it has a seen
key and a site of its own, ``requisite+https://example.org``, whose queue is served beside that of the site's pages."""
BY_HOST = (b"q", b"r")
"""Bounds of the queues of version 1."""
_MICRO = 1_000_000


class Entry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A queued URL."""

    href: str
    priority: int
    """1 (first) … K (last)."""
    depth: int = 0
    tries: int = 0
    """Failed fetches so far."""
    generation: int = 0
    """A changed priority appends a new entry with a higher generation; older ones are dropped when popped."""
    kind: str = ""
    """What is expected there: a page, or a sitemap or feed (fyke.crawl.discovery); and how often it was redirected."""
    from_feed: Meta | None = None
    """What a feed said of it."""
    clue: bytes = b""
    """What the link that led here looked like, for a crawl that learns from it (fyke.topic.links)."""
    worth: float = -1.0
    """What a sitemap says of its priority; negative where none does."""
    off: int = 0
    """Links since the last page within the scope, where it is outside (``--hops-off``)."""

    @property
    def url(self) -> Url:
        """The URL; it was in normal form when it was queued."""
        return Url(self.href) if not self.kind else Url(self.href.removeprefix(REQUISITE))

    def encode(self) -> bytes:
        """Return this as MessagePack; ``decode`` is the inverse."""
        return _encoder.encode(self)

    @classmethod
    def decode(cls, value: bytes) -> Entry:
        """Return the entry that ``encode`` wrote."""
        return _entries.decode(value)


class SiteRecord(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of a site's queue over restarts. Entries ``low ≤ sequence < tail`` of a lane are queued."""

    version: int
    site: str
    """In version 1 a host."""
    lanes: tuple[tuple[int, int, int], ...]
    """(priority, low, tail) for each priority that was ever used."""
    due: float = 0.0
    """Of its host, as are the delay, the usual duration of a fetch and the steps of back-off."""
    crawl_delay: float = 0.0
    usual: float = 0.0
    failures: int = 0
    until: float = 0.0
    """The site is closed until then."""
    unreached: int = 0
    """Failures in a row to connect."""
    why: str = ""

    def encode(self) -> bytes:
        """Return this as MessagePack; ``decode`` is the inverse."""
        return _encoder.encode(self)

    @classmethod
    def decode(cls, value: bytes) -> SiteRecord:
        """Return the record that ``encode`` wrote."""
        return _records.decode(value)


_encoder = msgspec.msgpack.Encoder()
_entries = msgspec.msgpack.Decoder(Entry)
_records = msgspec.msgpack.Decoder(SiteRecord)


def is_requisite(kind: str) -> bool:
    """Return whether an entry is for what a page needs to be shown (fyke.crawl.discovery.requisites)."""
    return kind.startswith("requisite")


def is_form(kind: str) -> bool:
    """Return whether an entry is an answer to a form (fyke.crawl.discovery.forms)."""
    return kind.startswith(("form", "post"))


def is_posted(kind: str) -> bool:
    """Return whether an entry is asked for by POST; what it is redirected to is not."""
    return kind.startswith("post") and kind.endswith(":")


@lru_cache(maxsize=65_536)
def host_of(site: str) -> str:
    """Return the host of a site; what names no scheme is a host itself."""
    authority = site.rpartition("://")[2]
    return authority.rpartition(":")[0] if not authority.endswith("]") and ":" in authority else authority


@lru_cache(maxsize=65_536)
def _lane_prefix(site: str) -> bytes:
    return b"".join((_QUEUE, host_key(host_of(site)), site.encode(), b"\0"))


@lru_cache(maxsize=65_536)
def record_key(site: str) -> bytes:
    """Return the key of a site's record."""
    return b"".join((host_key(host_of(site)), _RECORD, site.encode()))


def is_record_key(key: bytes) -> bool:
    """Return whether a key of the family ``host`` is that of a site's record."""
    return key[key.index(b"\0", 2) + 1 :].startswith(_RECORD)


def queue_key(site: str, priority: int, sequence: int) -> bytes:
    """Return the key of a queue entry."""
    return b"".join((_lane_prefix(site), bytes((priority,)), sequence.to_bytes(8, "big")))


def sequence_of(key: bytes) -> int:
    """Return the sequence of a queue key."""
    return int.from_bytes(key[-8:], "big")


def later_key(due: float, url: Url) -> bytes:
    """Return the key of an entry that is to be queued at ``due``. REQUIRES: ``due`` ≥ 0."""
    return b"".join((_LATER, int(due * _MICRO).to_bytes(8, "big"), url.key))


def later_due(key: bytes) -> float:
    """Return when the entry of a later key is due."""
    return int.from_bytes(key[1:9], "big") / _MICRO


def later_from(due: float) -> bytes:
    """Return a key before which no entry that is due at ``due`` or after it stands."""
    return _LATER + int(due * _MICRO).to_bytes(8, "big")


def later_range(now: float) -> tuple[bytes, bytes]:
    """Return the bounds [first, end) of the later keys that are due at ``now``."""
    return _LATER, _LATER + (int(now * _MICRO) + 1).to_bytes(8, "big")
