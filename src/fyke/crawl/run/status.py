"""What a crawl is doing: a small file for each agent, replaced each second, and their sum for ``fyke status``."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec

from fyke.crawl.revisit.reading import Reading
from fyke.errors import UNREADABLE, StorageError

VERSION = 1
_FOLDER = "status"
MAX_DEMOTED = 20
"""Demoted places that a report names."""


class DepotStatus(msgspec.Struct, frozen=True):
    """How a crawl's depot does."""

    url: str
    behind: float
    """Seconds: what was written before is in the depot."""
    backlog: int
    """Bytes that wait for it."""
    silent: bool
    """Whether it has taken nothing for a minute; the crawl goes on, and it gets what it lacks later."""
    error: str
    """What it last complained of; empty while it answers."""


class AgentStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """An agent's report; counts are those of its tablets since the store was made."""

    version: int
    agent: int
    process: int
    when: float
    started: float
    pages: int = 0
    """Documents fetched since the agent started."""
    bytes: int = 0
    counters: dict[str, int] = {}
    queued: int = 0
    in_flight: int = 0
    hosts: int = 0
    mail: int = 0
    """Letters that are not delivered yet."""
    demoted: dict[str, str] = {}
    """Hosts and templates whose pages come last, and why; the first few."""
    waiting: str = ""
    """Why it is idle: what the next host waits for; empty while it is busy."""
    waiting_host: str = ""
    waiting_until: float = 0.0
    waiting_detail: str = ""
    """Of a site that cannot be had, why."""
    troubles: dict[str, str] = {}
    """Sites that could not be reached, and why; the first few."""
    steering: int = 0
    """The last change that was asked for (fyke.crawl.run.steering) and is followed."""
    lag: float = 0.0
    """Seconds that its loop has lost since it started: held, starved or suspended."""
    fresh: Reading | None = None
    """How fresh its pages are, in a continuous crawl."""
    fresh_hosts: dict[str, Reading] = {}
    """The same of its largest hosts."""
    depot: DepotStatus | None = None
    """How the depot of its tablets does, where there is one."""


class Status(msgspec.Struct, frozen=True):
    """The whole crawl."""

    running: bool
    agents: int
    pages: int
    bytes: int
    queued: int
    in_flight: int
    hosts: int
    mail: int
    errors: dict[str, int]
    dropped: dict[str, int]
    duplicates: dict[str, int]
    """Copies found: exact ones, and near ones."""
    demoted: dict[str, str]
    """Hosts and templates whose pages come last, and why; the first few of each agent."""
    relevant: int
    """Documents about the crawl's topic."""
    harvest: float
    """Relevant documents, of those that were classified; 0 without a topic."""
    moved: int
    rate: float
    """Pages a second since the agents started."""
    idle: list[str]
    """For each idle agent, what it waits for."""
    updated: float
    revisits: dict[str, int]
    """What visits to known pages found, in a continuous crawl."""
    freshness: float | None = None
    """The share of copies that are right, as expected."""
    age: float | None = None
    """Days for which a copy has been wrong, as expected and on average."""
    fresh_hosts: dict[str, Reading] = {}
    """The same of the largest hosts."""
    troubles: dict[str, str] = {}
    """Sites that could not be reached, and why; the first few of each agent."""
    requisites: int = 0
    """Images, styles, scripts and fonts of pages that were fetched with them."""
    forms: dict[str, int] = {}
    """Forms that were tried, their requests and new results; and why others were not, by reason."""
    depot: DepotStatus | None = None
    """How the depot does, where there is one: the worst of what agents say."""
    limits: dict[str, int] = {}
    """How often something was left out because of a limit (docs/limits.md), by its name, since the agents started."""


def write(store: Path, status: AgentStatus) -> None:
    """Replace an agent's file."""
    folder = store / _FOLDER
    folder.mkdir(exist_ok=True)
    path = folder / f"agent-{status.agent}.json"
    fresh = path.with_suffix(".new")
    fresh.write_bytes(msgspec.json.encode(status))
    fresh.replace(path)


def remove(store: Path, agent: int) -> None:
    """Forget an agent that is gone."""
    (store / _FOLDER / f"agent-{agent}.json").unlink(missing_ok=True)


def clear(store: Path) -> None:
    """Forget the agents of an earlier run."""
    for path in (store / _FOLDER).glob("agent-*.json"):
        path.unlink()


def read(store: Path) -> list[AgentStatus]:
    """The last report of each agent of the last run, in their order."""
    found, damaged = read_whole(store)
    if damaged:
        raise StorageError(damaged[0])
    return found


def read_whole(store: Path) -> tuple[list[AgentStatus], list[str]]:
    """The last report of each agent whose file is whole; and of each other file, in words, what is wrong with it."""
    found, damaged = [], []
    for path in sorted((store / _FOLDER).glob("agent-*.json")):
        try:
            found.append(msgspec.json.decode(path.read_bytes(), type=AgentStatus))
        except FileNotFoundError:  # a new run has begun
            continue
        except UNREADABLE as error:
            damaged.append(f"{path} is not a status file of this version ({error}); start the crawl again")
    return found, damaged


def total(agents: Iterable[AgentStatus], now: float) -> Status:
    """The sum of the agents' reports."""
    reports = list(agents)
    counters: Counter[str] = Counter()
    for report in reports:
        counters.update(report.counters)
    rate = sum(r.pages / (r.when - r.started) for r in reports if r.when > r.started)
    idle = [_why_idle(r, now) for r in reports if r.waiting and not r.in_flight]
    return Status(
        running=any(_alive(r.process) and now - r.when < 30 for r in reports),
        agents=len(reports),
        pages=counters["pages"],
        bytes=counters["bytes"],
        queued=sum(r.queued for r in reports),
        in_flight=sum(r.in_flight for r in reports),
        hosts=sum(r.hosts for r in reports),
        mail=sum(r.mail for r in reports),
        errors=_named(counters, "errors:"),
        dropped=_named(counters, "dropped:"),
        limits=_named(counters, "limits:"),
        duplicates=_named(counters, "duplicates:"),
        demoted={place: reason for report in reports for place, reason in report.demoted.items()},
        relevant=counters["relevant"],
        harvest=counters["relevant"] / max(1, counters["judged"]),
        moved=counters["moved"],
        rate=rate,
        idle=idle,
        updated=max((r.when for r in reports), default=0.0),
        revisits=_named(counters, "revisits:"),
        freshness=_mean(reports, "freshness"),
        age=_mean(reports, "age"),
        fresh_hosts={host: reading for r in reports for host, reading in r.fresh_hosts.items()},
        troubles={site: why for r in reports for site, why in r.troubles.items()},
        requisites=counters["requisites"],
        forms=_named(counters, "forms:"),
        depot=_depot(reports),
    )


def _depot(reports: list[AgentStatus]) -> DepotStatus | None:
    told = [r.depot for r in reports if r.depot is not None]
    if not told:
        return None
    return DepotStatus(
        told[0].url,
        max(each.behind for each in told),
        sum(each.backlog for each in told),
        any(each.silent for each in told),
        next((each.error for each in told if each.error), ""),
    )


_WORDS = {
    "delay": "the gap between two requests to {0.waiting_host}",
    "backoff": "{0.waiting_host}, which wants fewer requests or is silent",
    "closed": "{0.waiting_host}, which cannot be had now ({0.waiting_detail})",
    "outage": "our own network, which seems to be down: nobody can be reached",
    "in-flight": "fetches that are under way",
    "refill": "its queues to be read",
    "later": "pages that are due later",
    "budget": "the next request of its budget",
    "paused": "`fyke control resume`: it is paused",
    "limit": "the last of as many pages as are wanted",
    "empty": "new links: nothing is queued",
    "starting": "everything to be loaded",
    "no-room": "room on the disk, which is full",
    "resuming": "the queues of the last run to be taken up",
}
"""What an agent waits for (``frontier.leases.Why``), in words."""


def _why_idle(report: AgentStatus, now: float) -> str:
    words = _WORDS.get(report.waiting, report.waiting).format(report)
    more = f", {report.waiting_until - now:.1f} s more" if now < report.waiting_until < now + 1e8 else ""
    return f"agent {report.agent} waits for {words}{more}"


def _mean(reports: list[AgentStatus], name: str) -> float | None:
    """The mean over all pages of the agents; None where nobody measures."""
    readings = [r.fresh for r in reports if r.fresh is not None and r.fresh.pages]
    pages = sum(reading.pages for reading in readings)
    return sum(reading.pages * getattr(reading, name) for reading in readings) / pages if pages else None


def _named(counters: Counter[str], prefix: str) -> dict[str, int]:
    named = ((name.removeprefix(prefix), count) for name, count in counters.items() if name.startswith(prefix))
    return dict(sorted(named, key=lambda pair: -pair[1]))


def _alive(process: int) -> bool:
    if not 0 < process < 1 << 31:  # no process has such a number
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
