"""Jobs over the tablets of a depot: one task for each tablet, on any machine; the results are those of one machine.

A task reads its tablet (fyke.cluster.part) and writes files, which become objects of the depot::

    jobs/1763370000-6f3a/0003/part-00003.jsonl.zst       when the job began, which, the tablet, the file

Whoever asked for the job fetches these, puts them together and deletes them. A task that dies is done again: it writes
the same objects. Ray (fyke.cluster.actors) only says where tasks run: ``here`` runs them all in this process.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from fyke.archive.combine import Coding
from fyke.archive.preprocess import Preprocessing
from fyke.archive.run import scan
from fyke.cluster.copies import is_current, machine_folder
from fyke.cluster.part import part_of
from fyke.collection import build
from fyke.collection.pages import pages_of
from fyke.dedupe import methods
from fyke.errors import StorageError
from fyke.graph.rank import pagerank
from fyke.outputs import making
from fyke.reading.stored import documents_of
from fyke.scratch import Scratch
from fyke.store import Store
from fyke.store.depot import Depot
from fyke.store.exporting import export, parts_needed
from fyke.store.exports.dataset import FORMATS, Dataset, rows_of, write_dataset
from fyke.store.where import Where

FOLDER = "jobs"
"""Of a depot, and of a machine's folder."""
OLD = 7 * 86_400
"""Seconds after which what a job left that was killed is deleted."""
_NAME = re.compile(r"(\d{10,})-[0-9a-f]{4,}")
_PART = re.compile(r"part-\d{5}\..+")


class Work(Protocol):
    """What a task does with its tablet; sent to its machine."""

    def __call__(self, store: Store, number: int, out: Path) -> dict[str, int]:
        """Read ``store``, which is tablet ``number`` alone, write files into ``out``, and return what there was."""
        ...


@dataclass(frozen=True, slots=True)
class Job:
    """Work for every tablet of a depot."""

    depot: str
    name: str
    work: Work


@dataclass(frozen=True, slots=True)
class Done:
    """What a task has come to."""

    tablet: int
    files: tuple[str, ...]
    facts: dict[str, int]


RunTasks = Callable[[Job, list[int]], Iterable[Done]]
"""Runs the tasks of a job, in any order, on any machines."""


# ---- on a machine


def do(job: Job, number: int) -> Done:
    """Do the task of one tablet, on this machine."""
    depot, home = Depot.open(job.depot), machine_folder()
    with part_of(depot, number, home / FOLDER / job.name, home / depot.about.identity) as store, Scratch("job") as out:
        facts = job.work(store, number, out)
        files = tuple(str(path.relative_to(out)) for path in sorted(out.rglob("*")) if path.is_file())
        for file in files:
            depot.objects.put(f"{FOLDER}/{job.name}/{number:04}/{file}", out / file)
    return Done(number, files, facts)


def held(depot: str) -> list[int]:
    """The tablets of which this machine has a copy that is what the depot holds: their tasks are best done here."""
    opened = Depot.open(depot)
    path = machine_folder() / opened.about.identity
    return [number for number in range(opened.about.tablets) if is_current(opened, number, path)]


def forget(name: str) -> None:
    """Remove what this machine has fetched for a job, and for those that were killed long ago."""
    folder = machine_folder() / FOLDER
    for path in folder.glob("*"):
        if path.name == name or _is_old(path.name):
            shutil.rmtree(path, ignore_errors=True)


def here(job: Job, numbers: list[int]) -> Iterator[Done]:
    """Run all tasks in this process."""
    try:
        for number in numbers:
            yield do(job, number)
    finally:
        forget(job.name)


# ---- for whoever asks


@contextmanager
def parts(url: str, work: Work, run: RunTasks, progress: Callable[[int], None] = lambda done: None) -> Iterator[Parts]:
    """Have ``work`` done with every tablet of a depot; gives what came of it, in the order of tablets."""
    depot = Depot.open(url)
    job = Job(url, f"{time.time():.0f}-{secrets.token_hex(4)}", work)
    _sweep(depot, "")
    try:
        done = []
        for each in run(job, list(range(depot.about.tablets))):
            done.append(each)
            progress(len(done))
        with Scratch("parts") as folder:
            yield Parts(depot, job.name, sorted(done, key=lambda each: each.tablet), folder)
    finally:
        with contextlib.suppress(StorageError):  # then it goes with a later job
            _sweep(depot, job.name)


class Parts:
    """The parts of a job."""

    def __init__(self, depot: Depot, name: str, done: list[Done], scratch: Path) -> None:
        self._depot, self._name, self.done, self._scratch = depot, name, done, scratch

    def fetch(self, each: Done, folder: Path) -> Path:
        """Fetch the files of a part into ``folder``."""
        for file in each.files:
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            if not self._depot.objects.download(f"{FOLDER}/{self._name}/{each.tablet:04}/{file}", path):
                raise StorageError(f"{file} of tablet {each.tablet} is gone from {self._depot.url}; run the job again")
        return folder

    def folders(self) -> Iterator[Path]:
        """Fetch each part into a folder of its own."""
        for each in self.done:
            folder = self._scratch / f"{each.tablet:04}"
            folder.mkdir()
            yield self.fetch(each, folder)

    def total(self, fact: str) -> int:
        """The sum of what tasks say."""
        return sum(each.facts.get(fact, 0) for each in self.done)


def _sweep(depot: Depot, name: str) -> None:
    """Delete what a job has left in the depot, and what was left long ago."""
    left = [path for path, _ in depot.objects.list(f"{FOLDER}/")]
    gone = [path for path in left if (of := path.split("/")[1]) == name or _is_old(of)]
    depot.objects.delete(gone)


def _is_old(name: str) -> bool:
    found = _NAME.match(name)
    return found is not None and int(found[1]) < time.time() - OLD


# ---- export


class Export(msgspec.Struct, frozen=True):
    """Writes a tablet's rows to one file, as ``fyke export`` does."""

    kind: str
    """The ending."""
    where: Where = Where()
    columns: tuple[str, ...] = ()
    schema: str = "fyke"
    text: str = "main"
    raw: bool = False

    def __call__(self, store: Store, number: int, out: Path) -> dict[str, int]:
        """Write one file."""
        path = out / f"part-{number:05}.{self.kind}"
        if self.kind in FORMATS:
            dataset = Dataset.of(list(self.columns), self.where, schema=self.schema, text=self.text, raw=self.raw)
            count, _ = write_dataset(rows_of(dataset, store, store.derived()), list(dataset.columns), path, self.kind)
        else:
            count = export(self.where.rows(store, parts_needed(path), store.derived().signals), path)
        return {"documents": count}


def export_to(folder: Path, url: str, work: Export, run: RunTasks, progress: Callable[[int], None]) -> int:
    """Write a depot's rows into ``folder``, a file for each tablet that has any; return how many documents."""
    with making(folder, "dataset", _own_parts) as new, parts(url, work, run, progress) as found:
        for each in found.done:
            if each.facts["documents"]:
                found.fetch(each, new)
        return found.total("documents")


def _own_parts(folder: Path) -> frozenset[str]:
    if not folder.is_dir():
        return frozenset()
    return frozenset(entry.name for entry in folder.iterdir() if _PART.fullmatch(entry.name))


# ---- archive, rank


class Scan(msgspec.Struct, frozen=True):
    """Makes the first pass of an archive over a tablet; without ``texts`` only of its graph."""

    preprocessing: Preprocessing
    memory: int = 256 << 20
    texts: bool = True

    def __call__(self, store: Store, number: int, out: Path) -> dict[str, int]:
        """Write runs."""
        return {"pages": max(scan(pages_of(store, self.texts), out, self.preprocessing, self.memory), default=0)}


def archive(folder: Path, url: str, work: Scan, coding: Coding, run: RunTasks, progress: Callable[[int], None]) -> int:
    """Make the collection of a depot in ``folder``; return how many pages."""
    with parts(url, work, run, progress) as found:
        build.combine(list(found.folders()), folder, coding)
        return found.total("pages")


def ranks(url: str, run: RunTasks, damping: float, progress: Callable[[int], None]) -> Iterator[tuple[str, float]]:
    """Yield the pages of a depot and their PageRank, the greatest first."""
    with parts(url, Scan(Preprocessing(), texts=False), run, progress) as found, Scratch("rank") as folder:
        graph = build.links_of(list(found.folders()), folder)
        values = pagerank(graph, damping)
        for node in (-values).argsort(kind="stable").tolist():
            yield graph.urls[node].decode(), float(values[node])


# ---- duplicates


class Prepare(msgspec.Struct, frozen=True):
    """Makes the sketches and the bands of a tablet's documents."""

    settings: methods.Settings

    def __call__(self, store: Store, number: int, out: Path) -> dict[str, int]:
        """Write prepared batches."""
        return {"documents": methods.prepare(documents_of(store), self.settings, out)}


def duplicates(url: str, settings: methods.Settings, run: RunTasks, progress: Callable[[int], None]) -> methods.Named:
    """Return the near-duplicates of a depot's documents, as ``methods.find`` does of a store's."""
    with parts(url, Prepare(settings), run, progress) as found:
        return methods.find_prepared(found.folders(), settings)
