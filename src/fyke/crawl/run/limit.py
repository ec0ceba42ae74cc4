"""How many documents a crawl is limited to (``--max-pages``): exactly so many, whatever comes of the fetches.

A permit is taken before a visit begins, and then spent on a document or given back where it came to none. So no more
are under way than are wanted, and dead links cost none.
"""

from __future__ import annotations

from typing import Protocol


class PageLimit(Protocol):
    """The permits of a crawl; several agents share them."""

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
        """Whether as many documents have come as are wanted."""
        ...


class Unlimited:
    """No limit."""

    reached = False

    def take(self) -> bool:
        """There is always a permit."""
        return True

    def give_back(self) -> None:
        """Nothing to do."""

    def spend(self) -> None:
        """Nothing to do."""


class Limit:
    """A limit for one agent."""

    def __init__(self, documents: int) -> None:
        self._taken, self._spent, self._documents = 0, 0, documents

    def take(self) -> bool:
        """Take a permit for a visit; return whether there was one."""
        granted = self._taken < self._documents
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
        """Whether as many documents have come as are wanted."""
        return self._spent >= self._documents
