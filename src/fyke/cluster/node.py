"""A node: one for each machine, an actor of Ray's. It beats, holds tablets, runs their agents and carries their mail.

::

    beat ──▶ orders: the tablets that are its own
      what it has too much is released: its agents stop cleanly, and all is in the depot
      what it lacks is adopted: claimed, fetched, opened by agents that are started anew with the new list

A node without a lease contacts nobody; one that hears nothing for three leases ends its agents. Agents that fail for
what their machine lacks (a disk) are tried a few times; then the node leaves, and others get its tablets.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import secrets
import time
from collections.abc import Iterable
from typing import Any

import msgspec

import fyke
from fyke.clock import boot_time
from fyke.cluster import near
from fyke.cluster.copies import WorkingCopy, machine_folder
from fyke.cluster.crawler import Crawler, LeaseFile
from fyke.cluster.ending import NEVER, Quiet
from fyke.cluster.lease import Lease
from fyke.cluster.messages import Final, Job, Orders, Report
from fyke.cluster.near import Routing
from fyke.cluster.office import Bundles, Office
from fyke.cluster.permits import ANY, Spending
from fyke.cluster.shift import Shift
from fyke.crawl.politeness.addresses import AddressUse
from fyke.crawl.run import plan as plans
from fyke.crawl.run import status as statuses
from fyke.crawl.run import steering
from fyke.crawl.run.backup import Backup
from fyke.crawl.run.ending import failed_seeds
from fyke.crawl.run.limit import Bounds
from fyke.crawl.run.plan import Plan
from fyke.crawl.run.processes import Run
from fyke.crawl.run.report import has_room
from fyke.crawl.run.steering import Steering
from fyke.errors import DepotError, FykeError, StorageError
from fyke.scratch import Scratch
from fyke.spawning import cores
from fyke.store import Store
from fyke.store.depot import Depot
from fyke.store.objects import open_objects
from fyke.url import Url

MAX_FAILURES = 5
"""Failures of its agents, one after another, after which a node leaves."""
STEADY = 30.0
"""Seconds after which agents count as at work: those of a full disk begin, and see then that there is no room."""


def _with(plan: Plan, asked: Steering) -> Plan:
    return msgspec.structs.replace(plan, seeds=tuple(dict.fromkeys([*plan.seeds, *asked.add])))


class Node:
    """The node of a machine. ``head`` is the head's actor."""

    def __init__(self, name: str, head: Any, job: Job) -> None:
        self._name, self._head, self._job = name, head, job
        self._lease = Lease(name, secrets.randbits(62), boot_time(), version=fyke.__version__, lease=job.lease)
        self._orders = Orders(None)
        self._depot = Depot(open_objects(job.depot, make=True), job.about)
        self._copy = WorkingCopy(machine_folder() / job.about.identity, self._depot)
        self._scratch = Scratch("node")
        self._file = self._scratch.path / "lease"
        self._permits = LeaseFile(self._file)
        self._addresses = AddressUse(self._scratch.path / "addresses")
        self._office = Office(self._scratch.path / "office.sock", self._owner_of, self._carry, self._ask)
        self._routing = Routing(())
        self._crawler: Crawler | None = None
        self._shift: Shift | None = None
        self._took: dict[str, float] = {}  # seconds that the last change of tablets took, by step
        self._holds: dict[int, int] = {}
        self._quiet = Quiet()
        self._documents = 0  # of earlier shifts
        self._used = 0.0, 0, 0  # permits that are taken and documents in this shift, and when that was new
        self._returned = self._kept = 0  # permits that went back, in all and in this shift: its board has them as taken
        self._trouble, self._failures = "", 0
        self._steered = 0
        self._moving: asyncio.Task[None] | None = None

    # ---- for other nodes

    async def carry(self, bundles: Bundles) -> list[bytes]:
        """Take mail for tablets of this node; return an acknowledgement for each bundle once its effect is durable."""
        shift = self._shift
        return await shift.take(bundles) if shift is not None else [b""] * len(bundles)

    async def look_up(self, sketches: bytes) -> bytes:
        """Look near copies up in this node's index, and remember them; empty where it is not at work."""
        shift = self._shift
        return await shift.look_up(sketches) if shift is not None else b""

    async def _ask(self, sketches: bytes) -> bytes:
        """Ask the indices that an agent's sketches name."""
        return await near.ask(sketches, self._routing, self._ask_node) if self._routing.nodes else b""

    async def _ask_node(self, node: str, sketches: bytes) -> bytes:
        if node == self._name:
            return await self.look_up(sketches)
        try:
            answer: bytes = await self._orders.peers[node].look_up.remote(sketches)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # whatever Ray says
            raise OSError(f"node {node} cannot be had: {error}") from None
        return answer

    def _owner_of(self, tablet: int) -> str | None:
        return self._orders.owners.get(tablet)

    async def _carry(self, node: str, bundles: Bundles) -> list[bytes]:
        peer = self._orders.peers.get(node)
        if peer is None:
            raise OSError(f"node {node} is not known")
        call = asyncio.ensure_future(peer.carry.remote(bundles))
        try:
            while not call.done():
                await asyncio.wait({call}, timeout=self._job.beat_every)
                # Ray takes its time to say that a machine is gone; the registrar may know before.
                if not call.done() and any(self._owner_of(tablet) != node for tablet, _ in bundles):
                    raise OSError(f"tablets of node {node} have moved")
            answers: list[bytes] = call.result()
        except (asyncio.CancelledError, OSError):
            call.cancel()
            raise
        except Exception as error:  # whatever Ray says: the letters stay where they are
            raise OSError(f"node {node} cannot be had: {error}") from None
        return answers

    # ---- living

    async def run(self) -> str:
        """Beat until the crawl ends; return why this node ended, empty where all is well."""
        self._crawler = Crawler(self._file)
        await asyncio.to_thread(self._copy.make)
        await self._office.open()
        why = ""
        try:
            while not (why or self._orders.ending):
                began = boot_time()
                why = await self._beat()
                await asyncio.sleep(max(began + self._job.beat_every - boot_time(), 0.01))
        finally:
            await self._finish(ended=not why)
        return why

    async def _beat(self) -> str:
        """Tell the head how things stand, and begin to follow what it says; return why this node must end."""
        now = boot_time()
        beat = self._lease.beat(now, self._holds)
        try:
            async with asyncio.timeout(self._job.lease / 2):
                report = self._report(beat)
                orders: Orders = await self._head.beat.remote(report)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # the head is gone, or slow
            if self._lease.is_lost(boot_time()):
                return f"the head was not heard of for {3 * self._job.lease:g} s ({type(error).__name__})"
            return ""
        if orders.refused:
            return orders.refused
        if orders.ending:
            self._orders = orders
            return ""
        if orders.answer is not None:
            self._lease.answered(beat.number, orders.answer, boot_time())
            self._orders = orders
            # Who has no tablets has no index.
            indices = orders.peers.keys() & set(orders.owners.values())
            self._routing = self._routing.follow(indices, orders.members)
            if orders.addresses:
                self._addresses.learn(report.addresses, orders.addresses)
        used = self._documents + self._returned - self._kept
        granted = ANY if orders.granted == ANY else orders.granted - used
        self._permits.write(self._lease.until(self._holds), granted, self._routing.number)
        if orders.give_back:
            self._give_back()
        self._steer(orders.steering)
        self._look_after()
        if self._failures > MAX_FAILURES:
            return self._trouble
        return ""

    def _steer(self, asked: Steering) -> None:
        """Have the agents follow what is asked for."""
        if asked.number > self._steered:
            plan = plans.read(self._copy.path)
            if plan is not None:
                plans.write(self._copy.path, _with(plan, asked))
            steering.write(self._copy.path, asked)
            self._steered = asked.number

    def _report(self, beat: Any) -> Report:
        shift = self._shift
        signs = shift.signs() if shift is not None else []
        works = bool(signs) and all(sign.beat for sign in signs)
        ready = self._holds.keys() == self._lease.tablets and (works or not self._holds)
        quiet = self._quiet.look(signs, self._orders.round) if ready else NEVER
        told, used = tuple(self._statuses()), self._addresses.recent()
        return Report(
            beat, ready, quiet, told, self._spending(told), self._trouble, used, time.time(), dict(self._took)
        )

    def _statuses(self) -> Iterable[statuses.AgentStatus]:
        if self._shift is None:
            return ()
        with contextlib.suppress(StorageError):
            return statuses.read(self._copy.path)
        return ()

    def _spending(self, told: tuple[statuses.AgentStatus, ...]) -> Spending:
        board = self._shift.board() if self._shift is not None else None
        taken, documents = board.used if board is not None else (self._kept, 0)
        if (taken, documents) != self._used[1:]:
            self._used = time.time(), taken, documents
        counted = all(status.when > self._used[0] for status in told)
        taken += self._documents + self._returned - self._kept
        return Spending(self._orders.granted, taken, self._documents + documents, self._returned, counted)

    def _give_back(self) -> None:
        """Take what permits there are, so that no agent does, and say that they are not used."""
        board = self._shift.board() if self._shift is not None else None
        if board is None and self._shift is not None:
            return
        _, granted = self._permits.read()
        free = granted - (board.used[0] if board is not None else self._kept)
        if free > 0 and (board is None or board.permits(free, Bounds(granted))):
            self._returned += free
            self._kept += free

    # ---- tablets

    def _look_after(self) -> None:
        """Begin to move tablets where what is held is not what should be, and see whether the agents are alive."""
        if self._moving is not None and not self._moving.done():
            return
        if self._moving is not None and self._moving.exception() is not None:
            self._fail(self._moving.exception())
        self._moving = None
        shift = self._shift
        died = shift is not None and shift.has_ended()
        if died or self._holds.keys() != self._lease.tablets or (self._holds and shift is None):
            self._moving = asyncio.create_task(self._move(frozenset(self._lease.tablets)))
        elif shift is not None and boot_time() > shift.began + STEADY and any(sign.beat for sign in shift.signs()):
            self._failures, self._trouble = 0, ""

    def _fail(self, error: BaseException | None) -> None:
        self._failures += not isinstance(error, DepotError)  # one that is silent now may answer later
        self._trouble = str(error) if isinstance(error, FykeError | OSError) else f"{type(error).__name__}: {error}"

    async def _move(self, tablets: frozenset[int]) -> None:
        """Release what is not wanted, adopt what is, and start the agents anew."""
        if self._trouble:
            await asyncio.sleep(min(1 + self._failures, 5))
        # What is new is fetched while the agents stop.
        began = boot_time()
        coming = asyncio.create_task(asyncio.to_thread(self._copy.adopt, sorted(tablets - self._holds.keys())))
        if self._shift is not None:
            await self._end_shift()
        stopped = boot_time()
        self._holds = {number: epoch for number, epoch in self._holds.items() if number in tablets}
        adopted = await coming
        if not tablets:
            return
        # Those that were here already, too: others may have had them while nobody looked.
        self._holds |= adopted | await asyncio.to_thread(self._copy.adopt, sorted(self._holds))
        if not self._lease.covers(tablets):  # orders have changed meanwhile: they are followed next
            return
        plan = _with(self._job.plan, self._orders.steering)
        run = Run(
            self._copy.path, plan, min(plan.settings.agents or cores(), len(tablets)),
            identity=self._job.identity, backup=Backup(self._job.depot, self._job.about), verbose=self._job.verbose,
            owned=tuple(sorted(tablets)), addresses=self._scratch.path / "addresses",
            office=self._scratch.path / "office.sock",
        )  # fmt: skip
        committed = self._copy.begin(tablets)
        self._quiet.moved()
        if self._crawler is None or not self._crawler.process.is_alive():
            self._crawler = await asyncio.to_thread(Crawler, self._file)
        self._took = {"stop": round(stopped - began, 2), "fetch": round(boot_time() - stopped, 2)}
        self._shift = Shift(run, self._crawler, committed, self._job.about.tablets)

    async def _end_shift(self) -> None:
        shift, self._shift = self._shift, None
        assert shift is not None
        self._quiet.moved()
        died = shift.has_ended()
        self._documents += (await shift.end())[1]
        self._kept = 0
        if died:
            self._fail(StorageError(f"its agents ended: {shift.over}"))

    # ---- the end

    async def _finish(self, ended: bool) -> None:
        if self._moving is not None and not self._moving.done():
            with contextlib.suppress(Exception):
                await self._moving
        held, last = sorted(self._holds), tuple(self._statuses())
        if self._shift is not None:
            await self._end_shift()
            with contextlib.suppress(StorageError):
                last = tuple(statuses.read(self._copy.path))
        if self._crawler is not None:
            await asyncio.to_thread(self._crawler.close)
        await self._office.close()
        final = await asyncio.to_thread(self._final, held, last)
        with contextlib.suppress(Exception):
            async with asyncio.timeout(self._job.lease):
                await self._head.finished.remote(self._name, self._lease.incarnation, final if ended else None)
        self._scratch.close()

    def _final(self, held: list[int], last: tuple[statuses.AgentStatus, ...]) -> Final:
        failed: dict[str, str] = {}
        path, plan = self._copy.path, self._job.plan
        whole = True
        if held:
            with contextlib.suppress(FykeError), Store.open(path, "r", tablets=held) as store:
                mine = [href for href in plan.seeds if store.tablet_of(Url(href)) in store.owned]
                failed = failed_seeds(store, mine, statuses.total(last, 0.0).troubles)
            whole = Backup(self._job.depot, self._job.about).is_whole(path)
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        cpu = sum(each.ru_utime + each.ru_stime for each in used)
        return Final(last, failed, whole, cpu, has_room(path, plan.settings.min_free_disk))
