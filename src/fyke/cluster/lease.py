"""A node's side of its leases: what it may contact, what it is to open and to release, when it must end.

Pure: the node's own clock in, decisions out. A lease counts from when the beat was sent, so that it is over here before
the registrar (fyke.cluster.registrar) gives the tablet to another node.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import inf

from fyke.cluster.registrar import LEASE, Answer, Beat

GIVE_UP = 3
"""Leases without an answer after which a node ends its agents."""


class Lease:
    """The leases of one node's process."""

    def __init__(self, node: str, incarnation: int, now: float, *, version: str = "", lease: float = LEASE) -> None:
        self._node, self._incarnation, self._fyke, self._lease = node, incarnation, version, lease
        self._number = 0
        self._sent: dict[int, float] = {}
        self._seen = (0, 0)
        self._until = now
        self._heard = now
        self.tablets: frozenset[int] = frozenset()
        """Those that the node is to have."""
        self._leased: frozenset[int] = frozenset()

    @property
    def incarnation(self) -> int:
        """Tells this process of the node from others."""
        return self._incarnation

    def beat(self, now: float, holds: Mapping[int, int]) -> Beat:
        """Return the next beat; ``holds`` are the tablets that are open, and the epochs of their claims."""
        self._number += 1
        self._sent[self._number] = now
        for old in [number for number, sent in self._sent.items() if sent < now - GIVE_UP * self._lease]:
            del self._sent[old]
        return Beat(self._node, self._incarnation, self._number, self._seen, dict(holds), self._fyke)

    def answered(self, number: int, answer: Answer, now: float) -> None:
        """Take in the answer to beat ``number``; one that others have overtaken changes nothing."""
        sent = self._sent.pop(number, None)
        if sent is None or answer.version < self._seen:
            return
        self._heard = now
        self._seen = answer.version
        if not answer.waiting:
            self.tablets, self._leased = answer.tablets, answer.leased
            self._until = max(self._until, sent + self._lease)

    def covers(self, tablets: Collection[int]) -> bool:
        """Whether no other node has any of these tablets, while there is a lease."""
        return self._leased.issuperset(tablets)

    def until(self, holds: Collection[int]) -> float:
        """Until when agents that have these tablets open may contact hosts; -inf where another node has one of them.

        That is so after a sleep in which the registrar gave tablets away: agents know of no tablet that is not theirs,
        so they contact nobody until they are started anew.
        """
        return self._until if self.covers(holds) else -inf  # a node's clock may be below 0

    def is_lost(self, now: float) -> bool:
        """Whether nothing was heard for so long that the agents are to end."""
        return now > self._heard + GIVE_UP * self._lease
