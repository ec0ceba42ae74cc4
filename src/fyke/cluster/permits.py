"""Permits for documents (``--max-pages``) over machines: handed out in blocks, counted so that none is used twice.

A node is granted a number in all, which only grows; it tells how many are taken, how many have come to documents and
how many it has given back. What a node that is gone had been granted counts as used, since nobody knows; what there is
in truth is counted once nothing is outstanding. So there are never more documents than are wanted, and in the end as
many.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

ANY = sys.maxsize
"""Granted where nothing is limited."""
_BLOCKS = 20
"""Blocks for each node in what is left: fewer, and some hoard; more, and nodes run dry between two beats."""


@dataclass(frozen=True, slots=True)
class Spending:
    """What a node tells of its permits, all since it began."""

    granted: int = 0
    taken: int = 0
    """Under way, documents, or given back."""
    documents: int = 0
    returned: int = 0
    counted: bool = True
    """What its agents say that there is in the store is newer than the last use of a permit."""

    @property
    def outstanding(self) -> int:
        """Permits that may yet come to documents."""
        return self.granted - self.documents - self.returned


class Permits:
    """The permits of a crawl. Without ``wanted`` there are as many as anybody likes."""

    def __init__(self, wanted: int, documents: int) -> None:
        """``documents`` are in the depot already."""
        self._wanted = wanted
        self._left = max(wanted - documents, 0)
        self._granted: dict[str, int] = {}
        self._told: dict[str, Spending] = {}

    def grant(self, node: str, told: Spending) -> int:
        """Hear what a node has used; return what it is granted in all."""
        if not self._wanted:
            return ANY
        returned = told.returned - self._told.get(node, Spending()).returned
        self._left += returned
        self._told[node] = told
        granted = self._granted.setdefault(node, 0)
        block = max(1, self._left // (_BLOCKS * len(self._granted)))
        if granted - told.taken < block and not returned:  # else it would get what it has just given back for others
            more = min(self._left, block)
            self._left -= more
            self._granted[node] = granted + more
        return self._granted[node]

    def wants_back(self, node: str) -> bool:
        """Whether a node is to give back what it has not taken: others have none."""
        if not self._wanted or self._left or self._told[node].granted == self._told[node].taken:
            return False
        return any(told.granted == told.taken for name, told in self._told.items() if name != node)

    def forget(self, node: str) -> None:
        """A node is gone, or has begun anew: what it was granted is used."""
        self._granted.pop(node, None)
        self._told.pop(node, None)

    def reached(self, documents: int) -> bool:
        """Whether as many documents have come as are wanted; ``documents`` are all that there are.

        REQUIRES: no tablet is on the move, and that count came with what nodes told of their permits.
        """
        if not self._wanted or self._left:
            return False
        for node, told in self._told.items():
            if self._granted[node] != told.granted or told.outstanding or not told.counted:
                return False
        self._left = max(self._wanted - documents, 0)
        return not self._left
