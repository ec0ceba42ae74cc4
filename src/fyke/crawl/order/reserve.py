"""The front queues of a crawl that goes for the best first: all that waits, by worth; the frontier gets the best of it.

Mercator's frontier serves every host in its turn, whatever its pages are worth. So a crawl with an order keeps what it
finds here, in L levels of worth, and hands the frontier only as much as it can soon fetch: the best level first, but
never more than a few URLs of one host; what is worth less than half of the best waits until the best has gone. On
disk, per tablet, beside the queue::

    queue   "w" ‖ level (1 byte) ‖ sequence (8)      → Entry      one FIFO for each level, 1 the best

A URL whose worth has grown is appended to the better level, and its older entry is stale: dropped when it is met. What
level a URL waits at is kept in memory, nine bytes for each; a restart reads it from the keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import msgspec
import numpy as np
import numpy.typing as npt

from fyke.frontier.frontier import Frontier
from fyke.frontier.keys import Entry
from fyke.frontier.seen import url_keys
from fyke.sites.traps import seen_form
from fyke.store import Batch, Store
from fyke.topic.table import KeyTable

LEVELS = 32
"""Of worth: steps of 3 %, finer than any prediction is."""
FED = 127
"""The level of a URL that is with the frontier, fetched or refused: never again."""
LEAST_AHEAD = 8
"""Hosts with URLs at the frontier: enough to begin with."""
SHARE_AHEAD = 0.25
"""Of the pages fetched, at most so many hosts are served at once: what is chosen early is chosen knowing less."""
HOST_AHEAD = 3
"""URLs of one host with the frontier, so that it does not hold up better ones of others."""
WORTH_AHEAD = 0.5
"""While the hosts of the best are busy, what is at least half as good goes ahead; the rest waits with the best."""
_LOOK = 64
WAITING = b"w"
ALL_WAITING = (WAITING, bytes((WAITING[0] + 1,)))
"""The bounds of the keys of what waits."""


def level_of(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return the level, 1 … L, of scores in [0, 1]."""
    return 1 + np.clip(((1.0 - scores) * LEVELS).astype(np.int64), 0, LEVELS - 1)


def keys_of(entries: Iterable[Entry], secret: int) -> npt.NDArray[np.uint64]:
    """Return the keys of entries in the seen-set of a store with that secret."""
    return url_keys((seen_form(entry.url) for entry in entries), secret)


def _key(level: int, sequence: int) -> bytes:
    return WAITING + bytes((level,)) + sequence.to_bytes(8, "big")


class _Lane:
    """A FIFO on disk, of which a few entries are looked at: those of busy hosts stay where they are."""

    __slots__ = ("at", "busy_since", "low", "tail", "window")

    def __init__(self) -> None:
        self.low = self.tail = 0
        self.at = 0  # what is read next
        self.window: list[tuple[int, Entry]] = []
        self.busy_since: tuple[int, ...] = ()  # when all that was looked at was of busy hosts


class Reserve:
    """What waits in the tablets that ``store`` owns."""

    def __init__(self, store: Store, frontier: Frontier, write_site: Callable[[Batch, str], None], most: int) -> None:
        """``most`` hosts are served at once at the very most: the agent's concurrency."""
        self._store, self._frontier, self._write_site, self._most = store, frontier, write_site, most
        self._levels = KeyTable(level=np.int8)
        self._lanes = {number: [_Lane() for _ in range(LEVELS + 1)] for number in store.owned}
        self.again: Callable[[int, Entry, npt.NDArray[np.uint64]], int] | None = None
        """Says of an entry of a tablet whose turn has come at which level it belongs by now, given its key."""
        self._ended = 0  # visits, so that a host may be free again
        self._ahead: Counter[str] = Counter()  # URLs of a host that were handed to the frontier and not visited yet
        self.waiting = 0
        """URLs, the stale ones not counted."""

    def restore(self) -> None:
        """Take up what earlier runs left. REQUIRES: what was fetched or is queued was passed to ``refuse`` before."""
        for number, lanes in self._lanes.items():
            for key, value in self._store.tablet(number).items("queue", *ALL_WAITING):
                level, sequence = key[1], int.from_bytes(key[2:], "big")
                lane = lanes[level]
                if lane.tail == 0:
                    lane.low = lane.at = sequence
                lane.tail = sequence + 1
                slot = self._levels.slots(keys_of([Entry.decode(value)], self._store.secret))
                if self._levels.columns["level"][slot[0]] == 0:  # the best comes first
                    self._levels.columns["level"][slot] = level
                    self.waiting += 1

    def levels(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.int8]:
        """Return the level at which URLs wait; 0 for those never met, ``FED`` for those that do not wait any more."""
        slots = self._levels.slots(keys)
        return self._levels.columns["level"][slots]

    def refuse(self, keys: npt.NDArray[np.uint64]) -> None:
        """Note URLs that are never to wait."""
        slots = self._levels.slots(keys)
        self._levels.columns["level"][slots] = FED

    def put(self, batch: Batch, number: int, entry: Entry, key: npt.NDArray[np.uint64], level: int) -> None:
        """Let a URL wait, or wait at a better level. REQUIRES: ``batch`` is of tablet ``number``, and written."""
        slot = self._levels.slots(key)
        column = self._levels.columns["level"]
        self.waiting += int(column[slot[0]] == 0)
        column[slot] = level
        lane = self._lanes[number][level]
        batch.put("queue", _key(level, lane.tail), msgspec.structs.replace(entry, priority=level).encode())
        lane.tail += 1

    def ended(self, host: str, *, again: bool) -> None:
        """Note the end of a visit; ``again``: it was a revisit, which nobody waited for here."""
        self._ended += 1
        if not again and self._ahead[host]:
            self._ahead[host] -= 1
        if not self._ahead[host]:
            del self._ahead[host]

    def feed(self, now: float, pages: int) -> None:
        """Hand the best to the frontier while few hosts are being served; ``pages`` were fetched so far."""
        counts = self._frontier.counts()
        most = min(self._most, max(LEAST_AHEAD, int(SHARE_AHEAD * pages)))
        room = most - counts.back_queues
        state = (self._ended, counts.queued, counts.leased, counts.back_queues, counts.parked)
        worst = 0
        for level in range(1, LEVELS + 1):
            if room <= 0 or not self.waiting or 0 < worst < level:
                return
            for number, lanes in self._lanes.items():
                lane = lanes[level]
                if self._look(number, level, lane):
                    worst = worst or int(LEVELS - WORTH_AHEAD * (LEVELS - level))
                    while room > 0 and lane.busy_since != state and self._look(number, level, lane):
                        room -= self._feed_lane(number, level, lane, room, now, state)

    def _look(self, number: int, level: int, lane: _Lane) -> bool:
        """Have some entries of a lane in its window, where there are any: the next, or the first again."""
        while not lane.window and lane.low < lane.tail:
            first, begins = lane.at, lane.at <= lane.low
            for key, value in self._store.tablet(number).items("queue", _key(level, first), _key(level, lane.tail)):
                sequence = int.from_bytes(key[2:], "big")
                lane.low = sequence if begins and not lane.window else lane.low
                lane.window.append((sequence, Entry.decode(value)))
                lane.at = sequence + 1
                if len(lane.window) == _LOOK:
                    break
            if not lane.window:
                lane.at = lane.low
                if begins:
                    lane.low = lane.at = lane.tail
        return bool(lane.window)

    def _feed_lane(self, number: int, level: int, lane: _Lane, room: int, now: float, state: tuple[int, ...]) -> int:
        """Hand what is in a lane's window to the frontier, as far as there is room; return for how many hosts."""
        tablet = self._store.tablet(number)
        batch = tablet.batch()
        window, lane.window = lane.window, []
        fed = busy = 0
        for sequence, entry in window:
            host = entry.url.host
            parked = self._frontier.sites.is_parked(host)
            if fed >= room or (not parked and self._ahead[host] >= HOST_AHEAD):
                busy += fed < room
                lane.window.append((sequence, entry))
                continue
            batch.delete("queue", _key(level, sequence))
            own = keys_of([entry], self._store.secret)
            slot = self._levels.slots(own)
            if self._levels.columns["level"][slot[0]] != level:
                continue  # stale
            if self.again is not None and (now_at := self.again(number, entry, own)) > level:
                self.put(batch, number, entry, own, now_at)
                continue
            self._levels.columns["level"][slot] = FED
            self.waiting -= 1
            self._ahead[host] += 1
            fed += not parked  # a parked host keeps what is its own until it is due; it holds up nobody
            priority = 1 + (level - 1) * self._frontier.priorities // LEVELS
            site = entry.url.site
            for k, v in self._frontier.add(site, [msgspec.structs.replace(entry, priority=priority)], now):
                batch.put("queue", k, v)
            self._write_site(batch, site)
        if busy and not fed:
            lane.busy_since = state
            lane.window = []  # others stand behind it; these are on disk
        if len(batch):
            tablet.write(batch)
        return fed
