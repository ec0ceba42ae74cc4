"""What a crawl is limited to: documents (``--max-pages``), bytes of them (``--max-bytes``), time (``--max-time``).

A permit is taken before a visit begins, and then spent on a document or given back where it came to none. So no more
are under way than are wanted, and dead links cost none: there are exactly as many documents as were asked for. Where
the bytes have come, or the time is over, there are no further permits; what is under way is finished.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

_ANY = sys.maxsize


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a run may still come to."""

    documents: int = _ANY
    bytes: int = _ANY
    until: float = float("inf")
    """The time at which it is over."""

    def __bool__(self) -> bool:
        """Whether anything is bounded."""
        return self != Bounds()


class PageLimit(Protocol):
    """The permits of a crawl; several agents share them."""

    fetched: Callable[[], int]
    """How many bytes have come to an agent; whoever makes it sets this."""

    def take(self) -> bool:
        """Take a permit for a visit; return whether there was one."""
        ...

    def give_back(self) -> None:
        """Give back the permit of a visit that came to no document."""
        ...

    def spend(self) -> None:
        """Note that a visit with a permit came to a document."""
        ...

    @property
    def reached(self) -> bool:
        """Whether as many documents or bytes have come as are wanted, or the time is over."""
        ...


class Unlimited:
    """No limit."""

    reached = False
    fetched: Callable[[], int] = staticmethod(lambda: 0)

    def take(self) -> bool:
        """There is always a permit."""
        return True

    def give_back(self) -> None:
        """Nothing to do."""

    def spend(self) -> None:
        """Nothing to do."""


class Limit:
    """The limits of one agent: documents, bytes of them, and a time."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds, self._taken, self._spent = bounds, 0, 0
        self.fetched: Callable[[], int] = lambda: 0
        """How many bytes have come; its agent tells."""

    def take(self) -> bool:
        """Take a permit for a visit; return whether there was one."""
        granted = self._taken < self._bounds.documents and not self._over
        self._taken += granted
        return granted

    def give_back(self) -> None:
        """Give back the permit of a visit that came to no document."""
        self._taken -= 1

    def spend(self) -> None:
        """Note that a visit with a permit came to a document."""
        self._spent += 1

    @property
    def reached(self) -> bool:
        """Whether as many documents or bytes have come as are wanted, or the time is over."""
        return self._spent >= self._bounds.documents or self._over

    @property
    def _over(self) -> bool:
        return self.fetched() >= self._bounds.bytes or time.time() >= self._bounds.until
