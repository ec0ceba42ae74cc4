"""A cluster of virtual nodes on a virtual clock: beats and answers that are late, lost or doubled, and nodes that die.

Each node has a clock of its own, set anyhow and running at its own pace. A node that is stopped (SIGSTOP) does nothing
and believes what it believed; what was sent to it lies there when it wakes.
"""

from __future__ import annotations

import heapq
import itertools
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from fyke.cluster.lease import Lease
from fyke.cluster.registrar import LEASE, Answer, Beat, Registrar


@dataclass(slots=True)
class Node:
    """A node, as the world sees it."""

    name: str
    offset: float
    pace: float
    lease: Lease
    incarnation: int
    holds: dict[int, int] = field(default_factory=dict)
    releasing: set[int] = field(default_factory=set)
    alive: bool = True
    stopped: bool = False
    cut: bool = False
    inbox: list[tuple[int, Answer]] = field(default_factory=list)

    def clock(self, now: float) -> float:
        return self.offset + now * self.pace


class VirtualCluster:
    """Nodes that beat a registrar. ``run`` lets time pass; everything else happens at the present moment."""

    def __init__(
        self,
        tablets: int,
        chance: random.Random,
        *,
        lease: float = LEASE,
        every: float = 1.0,
        lossy: bool = True,
        release: float = 3.0,
        pace: float = 0.05,
    ) -> None:
        """``release`` is the most seconds that a node needs to close a tablet, ``pace`` how much clocks may be off."""
        self.now = 0.0
        self.tablets, self.every = tablets, every
        self.nodes: dict[str, Node] = {}
        self.watch: Callable[[], None] = lambda: None
        """Called after every event."""
        self.beats = 0
        self.spent = 0.0
        """CPU-seconds of the registrar."""
        self.opened: Counter[str] = Counter()
        """How often tablets were opened, by node."""
        self._chance, self._lossy, self._release, self._pace, self._lease = chance, lossy, release, pace, lease
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order, self._claims, self._names = itertools.count(), itertools.count(1), itertools.count()
        self._term = 1
        self.registrar: Registrar | None = Registrar(tablets, self._time(), lease=lease)

    # ---- what happens

    def join(self) -> Node:
        name = f"node-{next(self._names)}"
        pace = 1 + self._chance.uniform(-self._pace, self._pace)
        node = Node(name, self._chance.uniform(-1e6, 1e6), pace, None, 0)  # type: ignore[arg-type]
        self._start(node)
        return node

    def _start(self, node: Node) -> None:
        node.incarnation = self._chance.getrandbits(60)
        node.lease = Lease(node.name, node.incarnation, node.clock(self.now), lease=self._lease)
        self.nodes[node.name] = node
        self._at(self._chance.uniform(0, self.every), lambda: self._beat(node))

    def kill(self, node: Node) -> None:
        """kill -9 of a machine."""
        node.alive = False
        del self.nodes[node.name]

    def stop(self, node: Node) -> None:
        node.stopped = True

    def wake(self, node: Node) -> None:
        node.stopped = False
        inbox, node.inbox = node.inbox, []
        for number, answer in inbox:
            self._answered(node, number, answer)

    def cut(self, node: Node) -> None:
        """Nothing that it sends arrives any more; what is under way does."""
        node.cut = True

    def mend(self, node: Node) -> None:
        node.cut = False

    def leave(self, node: Node) -> None:
        """A clean end: every tablet is closed, then it says goodbye."""
        self.kill(node)
        if self.registrar is not None:
            self.registrar.goodbye(node.name, node.incarnation, self._time())

    def drain(self, node: Node) -> None:
        if self.registrar is not None:
            self.registrar.drain(node.name, self._time())

    def lose_registrar(self) -> None:
        self.registrar = None

    def restart_registrar(self) -> None:
        self._term += 1
        self.registrar = Registrar(self.tablets, self._time(), term=self._term, lease=self._lease)

    def run(self, seconds: float) -> None:
        """Let time pass."""
        end = self.now + seconds
        while self._events and self._events[0][0] <= end:
            self.now, _, event = heapq.heappop(self._events)
            event()
            self.watch()
        self.now = end
        self.watch()

    # ---- what is seen

    def contacting(self) -> dict[int, list[str]]:
        """For each tablet the nodes that would contact its hosts now, those that are stopped included."""
        found: dict[int, list[str]] = {}
        for node in self.nodes.values():
            if node.clock(self.now) < node.lease.until(node.holds):
                for tablet in node.holds:
                    found.setdefault(tablet, []).append(node.name)
        return found

    # ---- events

    def _time(self) -> float:
        return 500.0 + self.now  # the registrar's clock, which is nobody else's

    def _at(self, seconds: float, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now + seconds, next(self._order), event))

    def _send(self, event: Callable[[], None]) -> None:
        """Over the network: late, never, or twice."""
        fate = self._chance.random() if self._lossy else 0.5
        if fate < 0.05:
            return
        late = self._chance.expovariate(1 / 4.0) if fate < 0.25 else self._chance.uniform(0.0, 0.1)
        self._at(late, event)
        if fate > 0.95:
            self._at(late + self._chance.expovariate(1 / 4.0), event)

    def _beat(self, node: Node) -> None:
        if not node.alive:
            return
        self._at(self.every, lambda: self._beat(node))
        if node.stopped:
            return
        now = node.clock(self.now)
        if node.lease.is_lost(now):
            node.holds.clear()
        beat = node.lease.beat(now, node.holds)
        if not node.cut:
            self._send(lambda: self._hear(node, beat))

    def _hear(self, node: Node, beat: Beat) -> None:
        if self.registrar is None:
            return
        began = time.process_time()
        answer = self.registrar.beat(beat, self._time())
        self.spent += time.process_time() - began
        self.beats += 1
        if answer is not None:
            self._send(lambda: self._receive(node, beat.number, answer))

    def _receive(self, node: Node, number: int, answer: Answer) -> None:
        if node.alive and node.stopped:
            node.inbox.append((number, answer))
        elif node.alive:
            self._answered(node, number, answer)

    def _answered(self, node: Node, number: int, answer: Answer) -> None:
        node.lease.answered(number, answer, node.clock(self.now))
        if answer.waiting:
            return
        for tablet in node.lease.tablets.difference(node.holds):
            node.holds[tablet] = next(self._claims)
            self.opened[node.name] += 1
        for tablet in [t for t in node.holds if t not in node.lease.tablets and t not in node.releasing]:
            node.releasing.add(tablet)
            self._at(self._chance.uniform(0, self._release), lambda tablet=tablet: self._closed(node, tablet))  # type: ignore[misc]

    def _closed(self, node: Node, tablet: int) -> None:
        node.releasing.discard(tablet)
        if tablet not in node.lease.tablets:  # else it was given back meanwhile, and stays open
            node.holds.pop(tablet, None)
