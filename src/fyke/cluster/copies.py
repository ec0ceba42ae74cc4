"""A node's working copy of a depot: an ordinary store on its own disk, of which it holds some tablets.

A tablet is made ready by a claim, which fences whoever had it, and by what the depot has of it; nothing is fetched
where the copy on the disk is what the depot holds. The agents that open it claim it once more, as any crawl with a
depot does.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from fyke.crawl.run.plan import Plan
from fyke.errors import StorageError
from fyke.store import Settings, manifest
from fyke.store.depot import NAME, STORE_FILES, Depot
from fyke.store.fetching import fetch_tablet
from fyke.store.lineage import Committed, Lineage
from fyke.store.objects import open_objects

FOLDER = "FYKE_NODE_FOLDER"
"""The environment variable that names the folder of a machine's working copies."""
AT_ONCE = 4
"""Tablets that are fetched at once."""


def machine_folder() -> Path:
    """The folder of this machine."""
    return Path(os.environ.get(FOLDER) or Path(tempfile.gettempdir(), "fyke-node"))


def is_current(depot: Depot, number: int, path: Path) -> bool:
    """Whether the copy of a tablet in the store at ``path`` is what the depot holds, or newer."""
    lineage = Lineage.read(path, number)
    if lineage.depot != depot.about.identity or not manifest.tablet_path(path, number).is_dir():
        return False
    _, head = depot.chain(number).head()
    return head is not None and head.owner in lineage.owners


def make_depot(url: str, settings: Settings, plan: Plan) -> Depot:
    """Make a depot ready for a crawl over machines; one that is there keeps its tablets. Raises ``StorageError``."""
    objects = open_objects(url, make=True)
    depot = Depot.open(objects) if objects.get(NAME) is not None else Depot.create(objects, settings.tablets)
    if depot.store_file(manifest.NAME) is None:
        with tempfile.TemporaryDirectory(prefix="fyke-manifest-") as folder:
            settings = msgspec.structs.replace(settings, tablets=depot.about.tablets)
            manifest.create(Path(folder, "store"), settings)
            depot.objects.create(manifest.NAME, Path(folder, "store", manifest.NAME).read_bytes())
    depot.objects.put("crawl.json", msgspec.json.format(msgspec.json.encode(plan), indent=1))
    return depot


def known_plan(url: str) -> Plan | None:
    """The plan of the crawl that a depot holds."""
    objects = open_objects(url, make=True)
    data = objects.get("crawl.json") if objects.get(NAME) is not None else None
    return None if data is None else msgspec.json.decode(data, type=Plan)


class WorkingCopy:
    """The store of a node at ``path``."""

    def __init__(self, path: Path, depot: Depot) -> None:
        self.path = path
        self._depot = depot

    def make(self) -> None:
        """Make the store, with what the depot holds beside the tablets."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        for number in range(self._depot.about.tablets):
            manifest.tablet_path(self.path, number).mkdir(exist_ok=True)
        for name in STORE_FILES:
            data = self._depot.store_file(name)
            if data is not None:
                (self.path / name).write_bytes(data)
            elif name == manifest.NAME:
                raise StorageError(f"{self._depot.url} holds no {name}; start the crawl anew")

    def adopt(self, tablets: Iterable[int]) -> dict[int, int]:
        """Claim tablets and fetch those that are not here; return their epochs. REQUIRES: nobody here has them open."""
        wanted = list(tablets)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return dict(zip(wanted, pool.map(self._adopt, wanted), strict=True))

    def _adopt(self, number: int) -> int:
        chain, lineage = self._depot.chain(number), Lineage.read(self.path, number)
        _, head = chain.head()
        if head is None:
            return 0
        if lineage.depot == self._depot.about.identity and head.owner in lineage.owners:
            return head.epoch
        # Noted before anything is overwritten: a copy that is half fetched is nobody's.
        Lineage().write(self.path, number)
        epoch = chain.claim(f"{os.uname().nodename}:{os.getpid()}:{secrets.token_hex(8)}")
        fetch_tablet(self._depot, number, self.path)
        return epoch

    def begin(self, tablets: Iterable[int]) -> Committed:
        """Say which tablets are written here from now on; what is not here is as good as committed."""
        committed = Committed(self.path, self._depot.about.tablets)
        committed.begin()
        for number in set(range(self._depot.about.tablets)).difference(tablets):
            committed.note(number)
        return committed
