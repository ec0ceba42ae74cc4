"""The registrar: which node has which tablet. A pure state machine: beats and the time in, answers out.

A node beats about once a second and tells what it holds; the answer says which tablets are its own. Each answered beat
is a lease of ``LEASE`` seconds from when the beat was *sent*, by the node's own clock (fyke.cluster.lease); the
registrar counts from when it *received* it, and ``GRACE`` longer. So a node's lease is over before anybody else gets
one, however clocks are set, as long as none runs 20 % faster than another.

::

    free ──given──▶ owned ──asked back──▶ releasing ──no longer held──▶ free
      ▲               │                       │
      └── silent for LEASE + GRACE, goodbye, known exit ──┘

Every tablet is at every moment in one of these states, with one node at most. Leases serve politeness: a tablet's data
is safe without them, since whoever writes it has claimed it in the depot. All of this is in memory: a registrar that is
started anew gives nothing away until every lease of the former one is over, and learns meanwhile who holds what.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fyke.errors import UserError

LEASE = 10.0
"""Seconds for which an answered beat lets a node contact hosts. Longer: a dead node's hosts rest longer; shorter: a
hiccup of the network stops everybody."""
GRACE = 2.0
"""Seconds more that the registrar waits: clocks may run at paces that differ by so much in a lease."""


@dataclass(frozen=True, slots=True)
class Beat:
    """What a node tells."""

    node: str
    incarnation: int
    """Drawn when the node's process starts."""
    number: int
    """Of the beat, counting up: what arrives after a later one is not heeded."""
    seen: tuple[int, int] = (0, 0)
    """Term and version of the last answer that it follows."""
    holds: Mapping[int, int] = field(default_factory=dict)
    """The tablets that it has open, and the epochs of their claims."""
    version: str = ""
    """Of fyke."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a node is told."""

    version: tuple[int, int]
    """The registrar's term, and the version of the map: it grows with each change. What comes with a smaller one than
    was seen is not heeded."""
    tablets: frozenset[int]
    """Those that it is to have: it opens what it lacks, and releases what is not among them."""
    leased: frozenset[int] = frozenset()
    """Those that no other node has: these, and what it was asked for and has not released."""
    waiting: bool = False
    """The registrar has been started anew, and gives no leases yet."""


@dataclass(slots=True)
class _Node:
    incarnation: int
    heard: float
    number: int = 0
    owned: set[int] = field(default_factory=set)
    releasing: dict[int, tuple[int, int]] = field(
        default_factory=dict
    )  # and the version with which each was asked back
    holds: Mapping[int, int] = field(default_factory=dict)
    draining: bool = False


class Registrar:
    """Deals ``tablets`` tablets out to the nodes that beat: even shares, that differ by one at most.

    Times are seconds of one clock that never goes back; every method may find that nodes have died meanwhile.
    """

    def __init__(
        self,
        tablets: int,
        now: float,
        *,
        term: int = 1,
        version: str = "",
        lease: float = LEASE,
        grace: float = GRACE,
    ) -> None:
        """``term`` is greater than that of any registrar before; the first one (1) knows that nobody holds a lease."""
        self._lease, self._grace, self._fyke = lease, grace, version
        self._opens = now if term == 1 else now + lease + grace
        self._open = False
        self._stale = True  # what the nodes have is not what they should have
        self._term, self._changes, self._members = term, 0, 0
        self._nodes: dict[str, _Node] = {}
        self._free = set(range(tablets))
        self._count = tablets
        self._next_look = now

    def begin_at_once(self) -> None:
        """Give leases from now on. REQUIRES: whoever was registrar before has said that all leases are over."""
        self._opens = float("-inf")

    # ---- what nodes say

    def beat(self, beat: Beat, now: float) -> Answer | None:
        """Hear a node; return what it is told, None for a beat that came after a later one.

        Raises ``UserError`` for a node of another fyke.
        """
        if beat.version != self._fyke:
            raise UserError(
                f"node {beat.node} runs fyke {beat.version or 'of an unknown version'}, the head {self._fyke}; "
                "install the same on all machines"
            )
        self.look(now)
        node = self._nodes.get(beat.node)
        if node is not None and node.incarnation != beat.incarnation:
            if now - node.heard <= self._lease + self._grace:  # its former process may be at work yet
                return Answer(self.version, frozenset(), waiting=True)
            self._remove(beat.node)
            node = None
        if node is None:
            node = self._nodes[beat.node] = _Node(beat.incarnation, now)
            self._members += 1
            self._changed()
        elif beat.number <= node.number:
            return None
        node.heard, node.number, node.holds = now, beat.number, beat.holds
        if not self._open:
            return Answer(self.version, frozenset(), waiting=True)
        released = [t for t, asked in node.releasing.items() if beat.seen >= asked and t not in beat.holds]
        for tablet in released:
            del node.releasing[tablet]
            self._free.add(tablet)
        if released or self._stale:
            self._deal()
        return Answer(self.version, frozenset(node.owned), frozenset(node.owned.union(node.releasing)))

    def goodbye(self, name: str, incarnation: int, now: float) -> None:
        """A node has closed all its tablets and ends, or somebody who knows says that its process has ended."""
        node = self._nodes.get(name)
        if node is not None and node.incarnation == incarnation:
            self._remove(name)
        self.look(now)

    def drain(self, name: str, now: float) -> bool:
        """Ask a node for all its tablets back; return whether there is such a node."""
        node = self._nodes.get(name)
        if node is not None:
            node.draining = True
            self._changed()
        self.look(now)
        return node is not None

    def look(self, now: float) -> None:
        """See who has died. About once a second is right; a beat does it too."""
        if not self._open and now >= self._opens:
            self._open = True
            self._take_up()
        if now >= self._next_look:
            silent = now - self._lease - self._grace
            for name in [name for name, node in self._nodes.items() if node.heard < silent]:
                self._remove(name)
            self._next_look = now + self._grace / 4
        if self._open and self._stale:
            self._deal()

    # ---- what is known

    @property
    def version(self) -> tuple[int, int]:
        """Term and version of the map."""
        return self._term, self._changes

    @property
    def members(self) -> int:
        """The number of the set of nodes: it grows with each that comes or goes."""
        return self._term << 32 | self._members

    @property
    def nodes(self) -> dict[str, frozenset[int]]:
        """The nodes that are alive, and their tablets, those that they were asked for included."""
        return {name: frozenset(node.owned.union(node.releasing)) for name, node in self._nodes.items()}

    @property
    def free(self) -> frozenset[int]:
        """The tablets that nobody has."""
        return frozenset(self._free)

    def owners(self) -> dict[int, str]:
        """The map: who is to have each tablet, and so where its mail goes. Those that are free or on the move lack."""
        return {tablet: name for name, node in self._nodes.items() for tablet in node.owned}

    # ---- dealing

    def _changed(self) -> None:
        self._stale = True
        self._changes += 1

    def _remove(self, name: str) -> None:
        """A node is gone: what it had is free."""
        node = self._nodes.pop(name)
        self._members += 1
        self._free |= node.owned
        self._free.update(node.releasing)
        self._changed()

    def _take_up(self) -> None:
        """After a start: whoever holds a tablet by the newest claim keeps it, as its copy is the newest."""
        newest: dict[int, tuple[int, str]] = {}
        for name, node in self._nodes.items():
            for tablet, epoch in node.holds.items():
                if tablet in self._free:
                    newest[tablet] = max(newest.get(tablet, (-1, "")), (epoch, name))
        for tablet, (_, name) in newest.items():
            self._free.discard(tablet)
            self._nodes[name].owned.add(tablet)
        self._changed()

    def _deal(self) -> None:
        """Give away what is free, and ask for what somebody has too much of, so that all have their share."""
        self._stale = False
        working = [node for node in self._nodes.values() if not node.draining]
        for node in self._nodes.values():
            if node.draining:
                self._ask_back(node, sorted(node.owned))
        if not working:
            return
        share, more = divmod(self._count, len(working))
        # Those that have most get one more where shares are not equal: so least is moved.
        working.sort(key=lambda node: -len(node.owned))
        shares = [share + (place < more) for place in range(len(working))]
        for node, due in zip(working, shares, strict=True):
            self._ask_back(node, sorted(node.owned, reverse=True)[: max(len(node.owned) - due, 0)])
        self._give(working, shares)

    def _ask_back(self, node: _Node, tablets: Iterable[int]) -> None:
        for tablet in tablets:
            self._changes += 1
            node.owned.discard(tablet)
            node.releasing[tablet] = self.version

    def _give(self, working: list[_Node], shares: list[int]) -> None:
        """Give what is free to nodes that have less than their share, first to those that hold it already."""
        room = {id(node): due - len(node.owned) for node, due in zip(working, shares, strict=True)}
        given = 0
        for node in working:
            for tablet in [t for t in node.holds if t in self._free][: room[id(node)]]:
                self._free.discard(tablet)
                node.owned.add(tablet)
                room[id(node)] -= 1
                given += 1
        free = sorted(self._free, reverse=True)
        for node in working:
            while free and room[id(node)] > 0:
                node.owned.add(free.pop())
                room[id(node)] -= 1
                given += 1
        self._free = set(free)
        self._changes += bool(given)
