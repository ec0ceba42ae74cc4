"""The head: an actor of Ray's over the registrar. It makes a node of every machine, and knows when all is done.

It belongs to whoever crawls (``fyke cluster crawl``), and ends with them; the crawl is in the depot, and goes on from
there. Each head has a *term*, an object ``head/000001`` of the depot that is made once: who finds a greater one than
its own has been replaced, and stops.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

import fyke
from fyke.clock import boot_time
from fyke.cluster.ending import Rounds
from fyke.cluster.messages import Final, Job, Orders, Report
from fyke.cluster.permits import Permits
from fyke.cluster.registrar import Answer, Registrar
from fyke.crawl.politeness.addresses import count, counts_for
from fyke.crawl.run import status as statuses
from fyke.crawl.run.ending import End
from fyke.crawl.run.steering import Steering
from fyke.errors import StorageError, UserError
from fyke.store.depot import Depot
from fyke.store.objects import open_objects

GATHERING = 60.0
"""Seconds that the head waits at the start for the machines that there are, before it deals tablets out."""
PATIENCE = 150.0
"""Seconds that it waits at the end for nodes to bring everything to the depot."""
AGAIN = 15.0
"""Seconds until a machine whose node has ended gets another: by then Ray knows whether the machine is gone. Four times
as long each time that a node leaves since it cannot work (a full disk): its tablets move twice each time."""
LONGEST = 3600.0
MAX_CLOCK = 60.0
"""Seconds by which the clocks of machines may differ: a host rests so much longer at most when it moves."""
_LOOK = 1.0
_ENDED = b"ended"

MakeNode = Callable[[str, str], Any]
"""Makes the actor of a node on the machine with Ray's id and address."""
Machines = Callable[[], dict[str, str]]
"""The machines that are alive: Ray's ids and addresses."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that people want to know."""

    when: float
    what: str


@dataclass(frozen=True, slots=True)
class Overview:
    """How a crawl over machines stands."""

    status: statuses.Status
    nodes: dict[str, dict[str, Any]]
    free: int
    """Tablets that nobody has."""
    owners: dict[int, str]
    """The map: whose each tablet is."""
    agents: dict[str, tuple[statuses.AgentStatus, ...]]
    """What the agents of each node said last."""
    events: tuple[Event, ...]
    """Those since the last one that was asked for."""
    end: str = ""
    """Why it has ended (fyke.crawl.run.ending), once it has."""
    failed: dict[str, str] | None = None
    whole: bool = True
    cpu: float = 0.0


def new_term(depot: Depot) -> int:
    """Become the newest head of a depot; return the term, negative where the one before has not said that it ended."""
    while True:
        names = [name.rpartition("/")[2] for name, _ in depot.objects.list("head/")]
        last = max((int(name) for name in names if name.isdecimal()), default=0)
        if depot.objects.create(f"head/{last + 1:06}", b""):
            return last + 1 if not last or f"{last:06}.{_ENDED.decode()}" in names else -(last + 1)


class Head:
    """The head of one crawl."""

    def __init__(self, job: Job, machines: Machines, make: MakeNode) -> None:
        self._job, self._machines, self._make = job, machines, make
        self._depot = Depot(open_objects(job.depot, make=True), job.about)
        term = new_term(self._depot)
        self._term = abs(term)
        now = boot_time()
        self._registrar = Registrar(
            job.about.tablets, now, term=self._term, version=fyke.__version__, lease=job.lease, grace=job.grace
        )
        if term > 0:
            self._registrar.begin_at_once()
        self._gathering = now + GATHERING
        self._expected: set[str] = set()
        self._nodes: dict[str, tuple[str, Any]] = {}  # machine and actor, by name
        self._refused: dict[str, str] = {}
        self._again: dict[str, float] = {}  # when a machine whose node has ended gets another
        self._left: Counter[str] = Counter()  # how often the node of a machine has left since it could not work
        self._reports: dict[str, Report] = {}
        self._finals: dict[str, Final] = {}
        self._rounds = Rounds()
        # Those of a crawl that is limited are counted once all tablets are open, and say what there is already.
        self._permits = None if job.plan.settings.max_pages else Permits(0, 0)
        self._events: list[Event] = []
        self._steering = Steering()
        self._agents: dict[str, tuple[statuses.AgentStatus, ...]] = {}  # the last that each node said, also at its end
        self._had: dict[str, frozenset[int]] = {}
        self._end: End | None = None
        self._ends = 0.0
        self._over = asyncio.Event()
        self._began = time.time()
        self._tasks: set[asyncio.Task[None]] = set()

    # ---- for nodes

    async def beat(self, report: Report) -> Orders:
        """Hear a node; return what it is told."""
        beat, now = report.beat, boot_time()
        if self._end is not None:
            return Orders(None, ending=True)
        self._reports[beat.node] = report
        if report.statuses or not report.beat.holds:  # agents that are started anew have said nothing yet
            self._agents[beat.node] = report.statuses
        if not self._gathered(now):
            return Orders(Answer((0, 0), frozenset(), waiting=True))
        try:
            _check_clock(report)
            answer = self._registrar.beat(beat, now)
        except UserError as error:
            self._refuse(beat.node, str(error))
            return Orders(None, refused=str(error))
        if self._permits is not None and self._is_quiet():
            self._end, self._ends = End.DONE, now + PATIENCE
            return Orders(None, ending=True)
        permits = self._permits
        granted = permits.grant(beat.node, report.spending) if permits is not None else 0
        back = permits.wants_back(beat.node) if permits is not None else False
        # One that was made anew and has not beaten yet may be on a machine that is gone, and never answer.
        peers = {name: actor for name, (_, actor) in self._nodes.items() if name in self._reports}
        shared = counts_for(report.addresses, count([each.addresses for each in self._reports.values()]))
        owners = self._registrar.owners()
        members = self._registrar.members
        return Orders(
            answer,
            self._rounds.now,
            granted,
            back,
            addresses=shared,
            owners=owners,
            peers=peers,
            members=members,
            steering=self._steering,
        )

    async def finished(self, name: str, incarnation: int, final: Final | None) -> None:
        """A node has ended, with all its tablets closed."""
        if final is not None:
            self._finals[name] = final
            self._agents[name] = final.statuses
        self._registrar.goodbye(name, incarnation, boot_time())

    def _gathered(self, now: float) -> bool:
        """Whether all machines that were there at the start have been heard."""
        if self._gathering and self._expected and (self._expected <= self._reports.keys() or now > self._gathering):
            self._gathering = 0.0
        return not self._gathering

    def _refuse(self, name: str, why: str) -> None:
        if name not in self._refused:
            self._refused[name] = why
            self._tell(f"node {name} is refused: {why}")

    # ---- for whoever crawls

    async def run(self) -> None:
        """Look after the nodes until the crawl has ended."""
        while not self._over.is_set():
            await self._look()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK):
                    await self._over.wait()
        await asyncio.to_thread(self._depot.objects.put, f"head/{self._term:06}.{_ENDED.decode()}", _ENDED)

    async def stop(self, why: str = End.INTERRUPTED) -> None:
        """End the crawl; what is queued stays so."""
        if self._end is None:
            self._end, self._ends = End(why), boot_time() + PATIENCE

    async def steer(self, asked: Steering) -> None:
        """Have all nodes follow what is asked for; a stop ends the crawl."""
        self._steering = msgspec.structs.replace(asked, stop=False)
        if asked.stop:
            await self.stop()

    async def drain(self, name: str) -> bool:
        """Have a node give up its tablets; return whether there is such a node."""
        return self._registrar.drain(name, boot_time())

    async def overview(self, since: int = 0) -> Overview:
        """How things stand, with the events from number ``since`` on."""
        told = [status for each in self._agents.values() for status in each]
        over = self._over.is_set()
        held = self._registrar.nodes
        nodes = {
            name: {
                "tablets": len(held.get(name, ())),
                "ready": self._is_ready(name),
                "agents": len(report.statuses),
                "pages": sum(status.counters.get("pages", 0) for status in report.statuses),
                "trouble": report.trouble,
                "took": dict(report.took),
            }
            for name, report in self._reports.items()
        }
        return Overview(
            _running(statuses.total(told, time.time()), not over), nodes, len(self._registrar.free),
            self._registrar.owners(), dict(self._agents),
            tuple(self._events[since:]), str(self._end) if over and self._end else "",
            {seed: why for final in self._finals.values() for seed, why in final.failed.items()},
            bool(self._finals) and all(final.whole for final in self._finals.values()),
            sum(final.cpu for final in self._finals.values()),
        )  # fmt: skip

    async def actors(self) -> dict[str, Any]:
        """The actors of the nodes, by name."""
        return {name: actor for name, (_, actor) in self._nodes.items()}

    # ---- looking

    async def _look(self) -> None:
        now = boot_time()
        try:
            alive = await asyncio.to_thread(self._machines)
        except Exception:  # Ray is busy: look again
            return
        if self._end is None:
            self._make_nodes(alive)
        self._registrar.look(now)
        self._note_changes()
        if self._end is None:
            self._end, self._ends = await self._has_ended(), now + PATIENCE
        elif not self._nodes or now > self._ends:
            self._over.set()

    def _make_nodes(self, alive: dict[str, str]) -> None:
        for machine, address in alive.items():
            name = address
            known = self._nodes.get(name)
            if name in self._refused or (known is not None and known[0] in alive):
                continue
            if boot_time() < self._again.get(machine, 0.0):
                continue
            self._expected.add(name)
            actor = self._make(machine, name)
            self._nodes[name] = machine, actor
            task = asyncio.ensure_future(self._follow(name, machine, actor))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _follow(self, name: str, machine: str, actor: Any) -> None:
        """Wait for the end of a node, and forget its actor: where its machine is alive it gets another."""
        try:
            why = await actor.run.remote()
            self._left[machine] += bool(why)
        except Exception as error:  # what Ray says of a process or a machine that is gone
            why = type(error).__name__
        if why and self._end is None:
            self._tell(f"the process of node {name} has ended: {why}")
        if self._nodes.get(name) == (machine, actor):
            self._again[machine] = boot_time() + min(AGAIN * 4 ** max(self._left[machine] - 1, 0), LONGEST)
            del self._nodes[name]

    def _is_ready(self, name: str) -> bool:
        """Whether a node is at work on all the tablets that it is to have, and on no others."""
        report, due = self._reports.get(name), self._registrar.nodes.get(name, frozenset())
        return report is not None and report.ready and report.beat.holds.keys() == due

    def _note_changes(self) -> None:
        """Tell who has come and gone, and forget who is gone."""
        held = self._registrar.nodes
        for name in held.keys() - self._had.keys():
            self._tell(f"node {name} has come")
        for name in self._had.keys() - held.keys():
            if self._permits is not None:
                self._permits.forget(name)
            if self._end is None:
                self._reports.pop(name, None)
                self._agents.pop(name, None)
                self._tell(f"node {name} is gone: {len(self._had[name])} tablets go to others")
        self._had = held

    def _tell(self, what: str) -> None:
        self._events.append(Event(time.time(), what))

    async def _has_ended(self) -> End | None:
        """Why the crawl has ended; None while it goes on."""
        held, settings = self._registrar.nodes, self._job.plan.settings
        settled = not self._registrar.free and not self._gathering
        settled = settled and all(map(self._is_ready, held))
        if not settled or not held:
            return await self._replaced()
        told = [status for name in held for status in self._reports[name].statuses]
        status = statuses.total(told, time.time())
        if self._permits is None:
            if len(told) < sum(bool(tablets) for tablets in held.values()):
                return None  # not all agents have counted what there is
            self._permits = Permits(settings.max_pages, status.pages)
        if self._permits.reached(status.pages):
            return End.LIMIT
        if settings.max_bytes and status.bytes >= settings.max_bytes:
            return End.LIMIT
        if settings.max_time and time.time() > self._began + settings.max_time:
            return End.LIMIT
        if self._is_quiet():
            return End.DONE
        return await self._replaced()

    def _is_quiet(self) -> bool:
        """Whether nobody has anything to do; each report may bring that a round further."""
        held = self._registrar.nodes
        if self._registrar.free or self._gathering or not all(map(self._is_ready, held)):
            return False
        return self._rounds.look([self._reports[name].quiet for name in held])

    async def _replaced(self) -> End | None:
        """Whether another head has begun."""
        try:
            newer = await asyncio.to_thread(self._depot.objects.get, f"head/{self._term + 1:06}")
        except StorageError:
            return None
        if newer is None:
            return None
        self._tell("another head has begun with this depot; this one ends")
        return End.INTERRUPTED


def _check_clock(report: Report) -> None:
    """Raise ``UserError`` where the clock of a node says something else: what is due when is in the tablets."""
    ahead = report.clock - time.time()
    if report.clock and abs(ahead) > MAX_CLOCK:
        way = "ahead of" if ahead > 0 else "behind"
        raise UserError(f"the clock of node {report.beat.node} is {abs(ahead):,.0f} s {way} the head's; set it (NTP)")


def _running(status: statuses.Status, running: bool) -> statuses.Status:
    return msgspec.structs.replace(status, running=running)
