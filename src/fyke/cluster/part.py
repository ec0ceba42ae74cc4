"""One tablet of a depot as a store that is read, on any machine: what the jobs over tablets work on.

Where this machine has a working copy that is what the depot holds, that is read, also beside the agents that write it;
else the tablet is fetched. Rows of one tablet may name others: the original of a copy, the body that it shares. Their
tablets come when they are asked for, once for all parts of a job on a machine.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fyke.cluster.copies import WorkingCopy, is_current
from fyke.errors import StorageError
from fyke.store import manifest
from fyke.store.depot import Depot
from fyke.store.fetching import fetch_tablet
from fyke.store.row import PARTS, Row
from fyke.store.tablet import Tablet
from fyke.workers.rows import Store


class PartStore(Store):
    """A store of which one tablet is scanned, and all can be asked. Use ``part_of``."""

    depot: Depot
    number: int
    """The tablet that is scanned."""
    copies: Path
    """The working copy of this machine, if there is one."""

    def tablets(self) -> Iterator[Tablet]:
        """Yield the one tablet, where it was ever written to."""
        if self.exists(self.number):
            yield self.tablet(self.number)

    def scan(self, prefix: str = "", host: str = "", parts: Sequence[str] = PARTS) -> Iterator[Row]:
        """Yield the documents of the one tablet, as ``Store.scan``."""
        for row in super().scan(prefix, host, parts):
            if self.tablet_of(row.url) != self.number:
                return  # all of them are of another
            yield row

    def exists(self, number: int) -> bool:
        """Whether a tablet was ever written to; it is here then."""
        if number not in self._tablets:
            self._bring(number)
        return super().exists(number)

    def _bring(self, number: int) -> None:
        path = manifest.tablet_path(self.path, number)
        done = self.path / f"{path.name}.here"
        with _locked(self.path / f"{path.name}.coming"):
            if done.exists():
                return
            if is_current(self.depot, number, self.copies):
                path.rmdir()
                path.symlink_to(manifest.tablet_path(self.copies, number))
            else:
                self._fetch(number)
            done.touch()

    def _fetch(self, number: int) -> None:
        head = fetch_tablet(self.depot, number, self.path).head
        if head is None:
            return
        with Store.open(self.path, tablets=(number,)) as opened:  # its logs are replayed
            if opened.tablet(number).sequence < head.sequence:
                raise StorageError(
                    f"tablet {number} of {self.depot.url} cannot be replayed; run `fyke store check` with the depot"
                )


def part_of(depot: Depot, number: int, folder: Path, copies: Path) -> PartStore:
    """Open tablet ``number`` as a store in ``folder``, which several parts may share; it has the depot's name."""
    copy = WorkingCopy(folder / depot.url.rstrip("/").rpartition("/")[2], depot)
    with _locked(folder / "lock"):
        if not (copy.path / manifest.NAME).exists():
            copy.make()
    found = manifest.read(copy.path)
    store = PartStore(copy.path, found.settings, "r", range(found.settings.tablets), found.secret)
    store.depot, store.number, store.copies = depot, number, copies
    return store


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock between the processes of a machine."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
