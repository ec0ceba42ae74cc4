"""OPIC: online page importance by cash (Abiteboul, Preda, Cobena 2003), in arrays.

A page that is fetched banks its cash and hands it on to the pages that it links to; a page is worth fetching for the
cash that waits for it. A page without links pays to the virtual page. Nothing is made or lost: what waits, what the
virtual page holds and what is in the mail is what was ever endowed.

Of what a page hands on, links to its own site get ``OWN_SITE`` each for 1 that a link to another gets, so that a site
cannot make itself important; a stuffed page's cash goes to the virtual page.

A page is its 64-bit key of the seen-set; a slot holds key, cash, bank and links seen: 28 bytes, at most 0.7 full.

Checkpoint: ``Checkpoint``, sealed (topic/sealed.py) as "fyke-cash" (docs/focused.md).
"""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from fyke.errors import StorageError
from fyke.topic.sealed import seal, unseal
from fyke.topic.table import KeyTable

Keys = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

MAGIC = b"fyke-cash\0"
VERSION = 1
OWN_SITE = 0.5
MAX_FILE = 8 << 30
"""Bytes of a checkpoint: 300 million pages, more than a tablet's table could hold in memory."""


class Checkpoint(msgspec.Struct, frozen=True, array_like=True):
    """A checkpoint: the slots in use, as little-endian u64, f64, f64, u32."""

    sequence: int
    endowed: float
    virtual_page: float
    keys: bytes
    cash: bytes
    bank: bytes
    links: bytes


class Cash:
    """The accounts of the pages of one tablet, or of all."""

    def __init__(self) -> None:
        self._table = KeyTable(cash=np.float64, bank=np.float64, links=np.uint32)
        self.endowed = 0.0
        """What came from outside: seeds' endowments and, of one tablet, what the mail brought less what it took."""
        self.virtual_page = 0.0
        self.sequence = 0
        """Of the last movement; a checkpoint names it, and later movements are made again."""

    def __len__(self) -> int:
        return len(self._table)

    @property
    def waiting(self) -> float:
        """All cash of all pages."""
        return float(self._table.columns["cash"].sum())

    @property
    def mean(self) -> float:
        """Cash of a page that has any, on average."""
        return self.waiting / max(1, int(np.count_nonzero(self._table.columns["cash"])))

    def endow(self, keys: Keys, amounts: Floats) -> None:
        """Give cash from outside: to seeds, or from another tablet's pages."""
        self.endowed += float(amounts.sum())
        self._give(keys, amounts)

    def visit(self, key: int, links: Keys, shares: Floats, here: Bools) -> Floats:
        """Fetch a page: bank its cash, hand it on by ``shares`` (they sum to 1, or to 0 for the virtual page).

        Links that are not ``here`` belong to other tablets; return what each link gets.
        """
        slot = self._table.slots(np.array([key], np.uint64))[0]
        columns = self._table.columns
        cash = float(columns["cash"][slot])
        columns["cash"][slot] = 0.0
        columns["bank"][slot] += cash
        if not len(links) or not shares.any():
            self.virtual_page += cash
            return np.zeros(len(links))
        gifts: Floats = cash * shares
        self.endowed -= float(gifts[~here].sum())
        self._give(links[here], gifts[here])
        return gifts

    def of(self, keys: Keys) -> tuple[Floats, npt.NDArray[np.int64]]:
        """Return the cash of pages and the links seen to them."""
        slots = self._table.slots(keys)
        return self._table.columns["cash"][slots], self._table.columns["links"][slots].astype(np.int64)

    def _give(self, keys: Keys, amounts: Floats) -> None:
        slots = self._table.slots(keys)
        np.add.at(self._table.columns["cash"], slots, amounts)
        np.add.at(self._table.columns["links"], slots, 1)

    def encode(self) -> bytes:
        """Return this as a checkpoint."""
        keys, used = self._table.items()
        columns = self._table.columns
        kept = Checkpoint(
            self.sequence, self.endowed, self.virtual_page, keys.astype("<u8").tobytes(),
            columns["cash"][used].astype("<f8").tobytes(), columns["bank"][used].astype("<f8").tobytes(),
            columns["links"][used].astype("<u4").tobytes(),
        )  # fmt: skip
        return seal(MAGIC, VERSION, kept, level=1)

    @classmethod
    def decode(cls, data: bytes) -> Cash:
        """Read a checkpoint. Raises ``StorageError``."""
        try:
            kept = unseal(data, MAGIC, VERSION, Checkpoint, MAX_FILE)
            cash = cls()
            slots = cash._table.slots(np.frombuffer(kept.keys, "<u8").astype(np.uint64))
            columns = cash._table.columns
            columns["cash"][slots] = np.frombuffer(kept.cash, "<f8")
            columns["bank"][slots] = np.frombuffer(kept.bank, "<f8")
            columns["links"][slots] = np.frombuffer(kept.links, "<u4")
        except ValueError as error:
            raise StorageError(f"OPIC's checkpoint cannot be read ({error}); delete it and cash starts anew") from None
        cash.endowed, cash.virtual_page, cash.sequence = kept.endowed, kept.virtual_page, kept.sequence
        return cash


def shares_of(own_site: Bools, honest: bool = True) -> Floats:
    """Return how a page divides what it hands on among its links; all 0 where it is not honest."""
    weights = np.where(own_site, OWN_SITE, 1.0)
    return weights / weights.sum() if honest and len(weights) else np.zeros(len(weights))
