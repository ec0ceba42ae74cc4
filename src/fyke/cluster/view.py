"""The view of a crawl over machines: an ordinary store's folder, without rows, that shows and steers all of them.

Whoever crawls keeps it in the machine's folder. Reports of all agents stand there as one machine's would, so that
``fyke status``, ``fyke dashboard`` and ``fyke control`` need to know nothing of other machines; what is asked for there
(steering.json) goes to every node, and into the depot.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from fyke.cluster.copies import WorkingCopy
from fyke.crawl.run import plan as plans
from fyke.crawl.run import status as statuses
from fyke.crawl.run import steering
from fyke.crawl.run.history import History
from fyke.crawl.run.steering import FILE, Steering
from fyke.errors import StorageError
from fyke.store import manifest
from fyke.store.depot import Depot

NAME = "crawl"
"""Of a machine's folder."""


class View:
    """The view of a crawl, at ``path``."""

    def __init__(self, path: Path, depot: Depot) -> None:
        self.path, self._depot = path, depot
        about = path / manifest.NAME
        if about.exists() and about.read_bytes() != depot.store_file(manifest.NAME):  # of another crawl
            shutil.rmtree(path)
        WorkingCopy(path, depot).make()
        statuses.clear(path)
        steering.begin(path)
        self._stamp = 0
        self._numbers: dict[tuple[str, int], int] = {}
        self._shown: dict[int, float] = {}
        self._histories: dict[int, History] = {}

    def show(self, told: Mapping[str, tuple[statuses.AgentStatus, ...]]) -> None:
        """Show what the agents of each node say. Clocks differ: what is new is of now."""
        now, seen = time.time(), set()
        for node, reports in sorted(told.items()):
            for report in reports:
                number = self._numbers.setdefault((node, report.agent), len(self._numbers))
                seen.add(number)
                if self._shown.get(number) == report.when:
                    continue
                self._shown[number] = report.when
                mine = msgspec.structs.replace(
                    report, agent=number, process=os.getpid(), when=now, started=report.started + now - report.when,
                    waiting_until=report.waiting_until and report.waiting_until + now - report.when,
                )  # fmt: skip
                statuses.write(self.path, mine)
                self._histories.setdefault(number, History(self.path, number)).note(mine)
        for number in [number for number in self._shown if number not in seen]:
            statuses.remove(self.path, number)
            del self._shown[number]

    def asked(self) -> Steering | None:
        """What is asked for, where that is new; the depot has it then, with the seeds that were added."""
        try:
            stamp = (self.path / FILE).stat().st_mtime_ns
        except OSError:
            return None
        if stamp == self._stamp:
            return None
        asked = steering.read(self.path)
        try:
            self._depot.put_store_files(self.path, [FILE, plans.FILE])
        except StorageError:  # the nodes are told all the same, and the depot when it answers
            return asked
        self._stamp = stamp
        return asked
