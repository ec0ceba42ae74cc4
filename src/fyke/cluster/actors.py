"""Nodes and the head as actors of Ray's, and how to reach them. Ray is imported here alone.

The head's process imports this module, and whoever crawls: what only nodes or jobs need is imported where it is used.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import ray
from ray._private import worker as ray_worker
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from fyke.cluster.head import Head
from fyke.cluster.messages import Job
from fyke.errors import FykeError, UserError

if TYPE_CHECKING:
    from fyke.cluster import jobs
    from fyke.cluster.office import Bundles

NAMESPACE = "fyke"
HEAD = "fyke-head"


def machines() -> dict[str, str]:
    """The machines that are alive: Ray's ids and addresses."""
    found = ray.nodes()  # type: ignore[no-untyped-call]
    return {each["NodeID"]: each["NodeManagerAddress"] for each in found if each["Alive"]}


class RayHead(Head):
    """The head in an actor."""

    def __init__(self, job: Job) -> None:
        super().__init__(job, machines, self._make_node)

    def _make_node(self, machine: str, name: str) -> Any:
        me = ray.get_runtime_context().current_actor
        place = NodeAffinitySchedulingStrategy(machine, soft=False)
        made = ray.remote(RayNode).options(num_cpus=0, max_restarts=0, scheduling_strategy=place)
        return made.remote(name, me, self._job)


class RayNode:
    """A node in an actor."""

    def __init__(self, name: str, head: Any, job: Job) -> None:
        from fyke.cluster.node import Node

        self._node = Node(name, head, job)

    async def run(self) -> str:
        """As ``Node.run``."""
        return await self._node.run()

    async def carry(self, bundles: Bundles) -> list[bytes]:
        """As ``Node.carry``."""
        return await self._node.carry(bundles)

    async def look_up(self, sketches: bytes) -> bytes:
        """As ``Node.look_up``."""
        return await self._node.look_up(sketches)


def connect(address: str, own: str) -> None:
    """Connect with a cluster. Raises ``UserError`` where there is none."""
    # Ray prints to stdout when a machine dies, whatever its logging is told; that is where JSON goes.
    ray_worker.print_to_stdstream = lambda *data, **more: None
    try:
        ray.init(
            address=address, namespace=NAMESPACE, _node_ip_address=own,
            log_to_driver=False, logging_level=logging.ERROR, configure_logging=False,
        )  # fmt: skip
    except Exception as error:  # Ray says many things
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(
            f"no cluster answers at {address} ({said}); start one with `fyke cluster up`, or give its --token"
        ) from None


def disconnect() -> None:
    """Hang up; a head that was started here ends."""
    ray.shutdown()


def start_head(job: Job) -> Any:
    """Start the head of a crawl, which ends with this process. Raises ``UserError`` where there is one."""
    if find_head() is not None:
        raise UserError("a crawl is under way on this cluster; see `fyke cluster status`")
    context = ray.get_runtime_context()
    place = NodeAffinitySchedulingStrategy(context.get_node_id(), soft=False)
    made = ray.remote(RayHead).options(name=HEAD, num_cpus=0, max_restarts=0, scheduling_strategy=place)
    return made.remote(job)


def find_head() -> Any | None:
    """The head of the crawl that is under way, if any."""
    try:
        return ray.get_actor(HEAD)
    except ValueError:
        return None


def call(method: Any, *arguments: Any, timeout: float = 60.0) -> Any:
    """Call a method of an actor, and wait for what it returns. Raises ``FykeError`` where the actor is gone."""
    try:
        return ray.get(method.remote(*arguments), timeout=timeout)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        raise (cause if isinstance(cause, FykeError) else FykeError(f"the head failed: {cause!r}")) from None
    except ray.exceptions.RayError as error:
        said = str(error).splitlines()[0]
        raise FykeError(f"the crawl's head is gone ({said}); start the crawl anew: it goes on") from None


def run_tasks(job: jobs.Job, numbers: list[int]) -> Iterator[jobs.Done]:
    """Run the tasks of a job on the machines of the cluster (``jobs.RunTasks``), each where its tablet is, if it may.

    Raises ``FykeError`` where a task fails; those whose machine dies are done elsewhere.
    """
    places = _places(job.depot)
    try:
        waiting = [_task(places.get(number)).remote(job, number) for number in numbers]
        while waiting:
            ready, waiting = ray.wait(waiting)
            for each in ready:
                yield _got(each)
    finally:
        for machine in machines():
            with contextlib.suppress(ray.exceptions.RayError):
                ray.get(_forget.options(scheduling_strategy=_at(machine)).remote(job.name), timeout=60)


@ray.remote
def _held(depot: str) -> list[int]:
    from fyke.cluster import jobs

    return jobs.held(depot)


@ray.remote
def _forget(name: str) -> None:
    from fyke.cluster import jobs

    jobs.forget(name)


@ray.remote(max_retries=3)
def _do(job: jobs.Job, number: int) -> jobs.Done:
    from fyke.cluster import jobs

    return jobs.do(job, number)


def _at(machine: str, soft: bool = False) -> NodeAffinitySchedulingStrategy:
    return NodeAffinitySchedulingStrategy(machine, soft=soft)


def _task(machine: str | None) -> Any:
    return _do.options(scheduling_strategy=_at(machine, soft=True) if machine is not None else "SPREAD")


def _places(depot: str) -> dict[int, str]:
    """The machine of each tablet of which one has a copy."""
    asked = {machine: _held.options(scheduling_strategy=_at(machine)).remote(depot) for machine in machines()}
    return {number: machine for machine, held in asked.items() for number in _got(held)}


def _got(result: Any) -> Any:
    try:
        return ray.get(result)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        raise (cause if isinstance(cause, FykeError) else FykeError(f"a task failed: {cause!r}")) from None
    except ray.exceptions.RayError as error:
        raise FykeError(f"a task failed ({str(error).splitlines()[0]}); run the job again") from None


def wait(running: Any, timeout: float = 60.0) -> None:
    """Wait for the end of a call."""
    ray.wait([running], timeout=timeout)
