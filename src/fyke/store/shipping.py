"""Shipping: a store's tablets brought to a depot every two seconds, in a thread beside whoever writes them.

``settle`` waits until all that was written before is in the depot, in every process of the crawl: that is what
*durable* means of a store with a depot. A depot that is silent or fails holds nobody up but those who wait for that;
what was written meanwhile goes to it when it answers again. A tablet that somebody else has claimed ends the shipping
(``check`` raises ``FencedError``), and so must its process.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from fyke.clock import boot_time
from fyke.errors import DepotError
from fyke.store import manifest
from fyke.store.depot import STORE_FILES, Depot
from fyke.store.lineage import Committed, Lineage
from fyke.store.shipper import Shipper
from fyke.store.store import Store

EVERY = 2.0
"""Seconds between commits: what a machine that is lost has fetched in vain. A commit is one request for each tablet
that was written to."""
LOG_TTL = 3600
"""Seconds for which logs are kept that are not shipped yet; after a longer silence the tablet gets a new base."""
SILENT = 60.0
"""Seconds without a commit after which a depot is said not to answer."""
PATIENCE = 60.0
"""Seconds that the end of a crawl waits for the depot."""
AT_ONCE = 4
"""Tablets whose entries are under way at once."""
_SLOWEST = 15.0
_POLL, _LOOK = 0.02, 0.1
_SYNC = 1.0


@dataclass(frozen=True, slots=True)
class Report:
    """How a process's tablets stand with the depot."""

    behind: float
    """Seconds since which something is not in the depot."""
    backlog: int
    """Bytes of log that wait, when they were last looked at."""
    error: str
    """What the depot last complained of; empty while it answers."""


def prepare(store: Path, url: str) -> Depot:
    """Open a depot for the store at ``store``, and make it where there is none.

    Raises ``StorageError`` where the store is not what the depot holds, and ``DepotError`` where it does not answer.
    """
    tablets = manifest.read(store).settings.tablets
    depot = Depot.create(url, tablets)

    def check(tablet: int) -> None:
        Lineage.read(store, tablet).check(store, depot, tablet, depot.chain(tablet).head()[1])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(check, range(tablets)))
    depot.put_store_files(store)
    committed = Committed(store, tablets)
    committed.begin()
    committed.close()
    return depot


class Shipping:
    """Ships the tablets that ``store`` owns. REQUIRES: it was opened with ``log_ttl=LOG_TTL``, after ``prepare``.

    A context manager: at its end it ships what is left, and waits for that for ``PATIENCE`` seconds.
    """

    def __init__(self, store: Store, depot: Depot, every: float = EVERY) -> None:
        self._store = store
        self._depot = depot
        self._every = every
        self._shippers = {n: Shipper(store.path, n, store.tablet(n), depot) for n in store.owned}
        self._committed = Committed(store.path, store.settings.tablets)
        self._own: dict[int, float] = dict.fromkeys(store.owned, boot_time())
        for number in store.owned:
            self._committed.note(number, 0.0)
        self._error = ""
        self._failure: Exception | None = None
        self._files: dict[str, float] = {}
        self._wake = threading.Event()
        self._closing = False
        self._deadline = float("inf")
        self._thread = threading.Thread(target=self._run, name="fyke-shipping", daemon=True)
        self._thread.start()

    # ---- for whoever writes the store

    def settle(self, patience: float = float("inf"), at_once: bool = True) -> bool:
        """Wait until all that was written before, by any process of the crawl, is in the depot; return whether it is.

        ``at_once`` asks for that now, not at the next round. Meanwhile the logs are synced each second, so that a power
        cut loses no more than it does without a depot.
        """
        now = synced = boot_time()
        self._store.sync()
        if at_once:
            self._committed.want(now)
        while self._committed.least() < now:
            if self._failure is not None or not self._thread.is_alive() or boot_time() > now + patience:
                return False
            time.sleep(_POLL)
            if boot_time() - synced > _SYNC:
                synced = boot_time()
                self._store.sync()
        return True

    def check(self) -> None:
        """Raise what has ended the shipping: ``FencedError``, or a disk's error."""
        if self._failure is not None:
            raise self._failure

    def report(self) -> Report:
        """How far the depot is behind."""
        backlog = sum(shipper.backlog for shipper in self._shippers.values())
        return Report(max(boot_time() - min(self._own.values(), default=boot_time()), 0.0), backlog, self._error)

    def close(self, patience: float = PATIENCE) -> bool:
        """Ship what is left, as long as there is patience, and end; return whether everything is in the depot."""
        if self._thread.is_alive():
            self._deadline = boot_time() + patience
            self._closing = True
            self._wake.set()
            self._thread.join()
        whole = not self._error and self._failure is None
        for number, shipper in self._shippers.items():
            shipper.close()
            if whole:
                self._committed.note(number)
        self._committed.close()
        return whole

    def __enter__(self) -> Shipping:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    # ---- the thread

    def _run(self) -> None:
        with ThreadPoolExecutor(AT_ONCE, "fyke-ship") as pool, ThreadPoolExecutor(1, "fyke-upload") as beside:
            pause = self._every
            while True:
                last = self._closing  # what is written before it is set goes with this round
                began = boot_time()
                self._wake.clear()
                try:
                    complaints = [c for c in pool.map(lambda n: self._step(n, beside), self._shippers) if c]
                    self._put_store_files()
                    self._error = complaints[0] if complaints else ""
                except DepotError as error:
                    self._error = str(error)
                except Exception as error:
                    self._failure = error
                if self._failure is not None or (last and (not self._error or boot_time() > self._deadline)):
                    beside.shutdown(wait=False, cancel_futures=True)
                    return
                pause = min(pause * 2, _SLOWEST) if self._error else self._every
                self._rest(began, min(pause, 0.5) if last else pause)

    def _rest(self, began: float, pause: float) -> None:
        """Wait for the next round: ``pause`` seconds after this one began, or until somebody wants it."""
        while not self._wake.is_set() and (left := began + pause - boot_time()) > 0:
            self._wake.wait(min(left, _LOOK))
            if self._committed.wanted > began and not self._error:
                return

    def _step(self, number: int, beside: ThreadPoolExecutor) -> str:
        """Ship one tablet; return what the depot complains of."""
        now = boot_time()
        try:
            self._shippers[number].step(beside)
        except DepotError as error:
            return str(error)
        self._own[number] = now
        self._committed.note(number, now)
        return ""

    def _put_store_files(self) -> None:
        """Copy what has changed of the files beside the tablets; the process of the first tablet does it for all."""
        if 0 not in self._shippers:
            return
        for name in STORE_FILES:
            path = self._store.path / name
            try:
                changed = path.stat().st_mtime
            except OSError:
                continue
            if self._files.get(name) != changed:
                self._depot.put_store_files(self._store.path, [name])
                self._files[name] = changed
