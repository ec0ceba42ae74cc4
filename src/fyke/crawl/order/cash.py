"""OPIC's cash over tablets: every movement is written with what caused it, so a crash neither makes nor loses any.

Each tablet has the accounts of its own pages (fyke.topic.opic). A page's batch holds its visit as a movement; gifts to
pages of other tablets travel in the letters of the same batch, and are a movement of the receiver in the batch that
applies them, once. From time to time a checkpoint takes the place of the movements; a restart reads the checkpoint and
makes the later movements again. In the family ``outbox``::

    "c"                    → checkpoint (fyke.topic.opic), which names the last sequence in it
    "j" ‖ sequence (8)     → MessagePack [Movement]
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
import numpy.typing as npt

from fyke.store import Batch, Store
from fyke.topic.opic import Cash, shares_of

Keys = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

CHECKPOINT_EVERY = 2000
"""Movements between checkpoints, or a fifth of the accounts where that is more: both cost about the same then."""
_CHECKPOINT, _MOVEMENT = b"c", b"j"
_NONE = b""


class Movement(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """A visit (``page`` is not 0) or gifts from elsewhere; keys are little-endian u64."""

    keys: bytes
    page: int = 0
    own_site: bytes = _NONE
    here: bytes = _NONE
    honest: bool = True
    amounts: bytes = _NONE
    """Gifts, as little-endian f64."""
    host: int = 0
    """Of the page that was visited; a key as ``url_keys`` makes it."""
    hosts: bytes = _NONE
    """Of the links to other sites."""


class Accounts:
    """The cash of the tablets that ``store`` owns."""

    def __init__(self, store: Store, note: Callable[[int, int, Movement], None] = lambda *visit: None) -> None:
        """``note(tablet, sequence, movement)`` is told of every visit, of those made again too."""
        self._store, self._note = store, note
        self._cash: dict[int, Cash] = {}
        self._since: dict[int, int] = {}
        for number in store.owned:
            tablet = store.tablet(number)
            kept = tablet.get("outbox", _CHECKPOINT)
            cash = self._cash[number] = Cash.decode(kept) if kept else Cash()
            first = _MOVEMENT + (cash.sequence + 1).to_bytes(8, "big")
            self._since[number] = 0
            for key, value in tablet.items("outbox", first, bytes((_MOVEMENT[0] + 1,))):
                movement = msgspec.msgpack.decode(value, type=Movement)
                _make(cash, movement)
                cash.sequence = int.from_bytes(key[1:], "big")
                if movement.page:
                    note(number, cash.sequence, movement)
                self._since[number] += 1

    def of(self, number: int) -> Cash:
        """The accounts of a tablet."""
        return self._cash[number]

    @property
    def total(self) -> float:
        """All cash here: what waits, and the purses."""
        return sum(cash.waiting + cash.virtual_page for cash in self._cash.values())

    def visit(self, batch: Batch, number: int, visit: Movement) -> Floats:
        """A page was fetched: bank its cash and hand it on; return what each link gets, those elsewhere included."""
        gifts = self._move(batch, number, visit)
        self._note(number, self._cash[number].sequence, visit)
        return gifts

    def receive(self, batch: Batch, number: int, keys: Keys, amounts: Floats) -> None:
        """Cash came by mail, or with a seed."""
        movement = Movement(keys.astype("<u8").tobytes(), amounts=amounts.astype("<f8").tobytes())
        self._move(batch, number, movement)

    def _move(self, batch: Batch, number: int, movement: Movement) -> Floats:
        cash = self._cash[number]
        gifts = _make(cash, movement)
        cash.sequence += 1
        self._since[number] += 1
        batch.put("outbox", _MOVEMENT + cash.sequence.to_bytes(8, "big"), msgspec.msgpack.encode(movement))
        return gifts

    def checkpoint(self, *, force: bool = False) -> None:
        """Write checkpoints where they are due. REQUIRES: every batch with a movement has been written."""
        for number, cash in self._cash.items():
            if self._since[number] and (force or self._since[number] > max(CHECKPOINT_EVERY, len(cash) // 5)):
                tablet = self._store.tablet(number)
                batch = tablet.batch()
                batch.put("outbox", _CHECKPOINT, cash.encode())
                end = _MOVEMENT + (cash.sequence + 1).to_bytes(8, "big")
                batch.delete_range("outbox", _MOVEMENT, end)
                tablet.write(batch)
                self._since[number] = 0


def visit_of(
    page: int, host: int, links: Keys, own_site: Bools, here: Bools, other_hosts: Keys, honest: bool = True
) -> Movement:
    """A visit of ``page``; ``other_hosts`` are those of the links that are not to its own site."""
    return Movement(
        links.astype("<u8").tobytes(), page, own_site.astype("u1").tobytes(), here.astype("u1").tobytes(), honest,
        host=host, hosts=other_hosts.astype("<u8").tobytes(),
    )  # fmt: skip


def _make(cash: Cash, movement: Movement) -> Floats:
    keys = np.frombuffer(movement.keys, "<u8").astype(np.uint64)
    if not movement.page:
        amounts = np.frombuffer(movement.amounts, "<f8")
        cash.endow(keys, amounts)
        return amounts
    own_site, here = (np.frombuffer(flags, "u1").astype(np.bool_) for flags in (movement.own_site, movement.here))
    return cash.visit(movement.page, keys, shares_of(own_site, movement.honest), here)
