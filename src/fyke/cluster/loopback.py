"""Machines of a cluster that are all on this one, at 127.0.1.1, .2, …: for `fyke cluster try`, tests and benches."""

from __future__ import annotations

import contextlib
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fyke.cluster import machine as machines
from fyke.cluster.machine import Machine


class Loopback:
    """Starts, kills and stops machines; a context manager that ends them all."""

    def __init__(self, folder: Path) -> None:
        """``folder`` is for all that they write; a short path, as sockets lie in it."""
        self._folder = folder
        self._head = f"127.0.1.1:{machines.free_port()}"
        self.machines: dict[int, Machine] = {}

    def start(self, place: int) -> Machine:
        """Start machine 127.0.1.``place``, the first as the head; each takes one task of a job at a time."""
        token = self._folder / "token"
        machines.make_token(token)
        folder = str(self._folder / f"machine-{place}")
        wanted = Machine(f"127.0.1.{place}", self._head, str(token), folder=folder, cores=1)
        started, _ = machines.start(wanted)
        self.machines[place] = started
        return started

    def processes(self, place: int) -> list[int]:
        """Every process of a machine."""
        first = self.machines[place].process
        return [first, *machines.descendants(first)]

    def kill(self, place: int) -> None:
        """End every process of a machine at once, as a power cut would."""
        machines.kill(self.processes(place))

    def freeze(self, processes: list[int], frozen: bool) -> None:
        """Stop processes where they are, as a machine that hangs would, or let them go on."""
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGSTOP if frozen else signal.SIGCONT)

    def __enter__(self) -> Loopback:
        return self

    def __exit__(self, *reason: object) -> None:
        head, others = self.machines.pop(1, None), list(self.machines.values())
        with ThreadPoolExecutor(max(len(others), 1)) as pool:
            list(pool.map(machines.stop, others))
        if head is not None:
            machines.stop(head)
