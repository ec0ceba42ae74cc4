"""Steering a running crawl: what ``fyke control`` asks for is a small file in the store, which every agent looks at.

A file and not a socket: there are as many readers as agents, they come and go, and what was asked for must outlive them
anyway, since a resume keeps it. Each change has a number, which agents report once they follow it::

    steering.json    format, version, number, paused, stop, add, exclude, slow
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fyke.errors import UNREADABLE, StorageError
from fyke.patterns import Pattern
from fyke.url import Url
from fyke.values import Drop

if TYPE_CHECKING:
    from fyke.crawl.agent import Agent

FILE = "steering.json"
FORMAT, VERSION = "fyke-steering", 1


class Steering(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is asked of a crawl."""

    format: str = FORMAT
    version: int = VERSION
    number: int = 0
    paused: bool = False
    stop: bool = False
    add: tuple[str, ...] = ()
    """Further seeds."""
    exclude: tuple[str, ...] = ()
    """Regular expressions of what is neither followed nor fetched any more."""
    slow: dict[str, float] = {}
    """Hosts, and the least seconds between two contacts."""


def read(store: Path) -> Steering:
    """What is asked of the crawl in a store. Raises ``StorageError`` for a foreign file."""
    path = store / FILE
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Steering)
    except FileNotFoundError:
        return Steering()
    except UNREADABLE as error:
        raise StorageError(f"{path} steers no crawl ({error}); delete it") from None
    if (found.format, found.version) != (FORMAT, VERSION):
        raise StorageError(f"{path} is {found.format} version {found.version}; this fyke reads version {VERSION}")
    try:
        excluding(found.exclude)
    except ValueError as error:
        raise StorageError(f"{path} excludes by a pattern that is none ({error}); delete it") from None
    return found


def change(store: Path, make: Callable[[Steering], Steering]) -> Steering:
    """Ask for something else: ``make`` returns it from what is asked for now. Safe beside others who do."""
    with (store / f"{FILE}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = read(store)
        asked = msgspec.structs.replace(make(known), number=known.number + 1)
        _replace(store, asked)
    return asked


def write(store: Path, asked: Steering) -> None:
    """Ask for what was asked for elsewhere, unless something newer is asked for here."""
    with (store / f"{FILE}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if read(store).number < asked.number:
            _replace(store, asked)


def _replace(store: Path, asked: Steering) -> None:
    fresh = store / f"{FILE}.new"
    fresh.write_bytes(msgspec.json.encode(asked))
    fresh.replace(store / FILE)


def merged(known: Steering, **changes: Any) -> Steering:
    """Return ``known`` with fields that are replaced; what is added, excluded or slowed down comes to what there is."""
    for name in ("add", "exclude"):
        if name in changes:
            changes[name] = tuple(dict.fromkeys([*getattr(known, name), *changes[name]]))
    if "slow" in changes:
        changes["slow"] = {**known.slow, **changes["slow"]}
    return msgspec.structs.replace(known, **changes)


def begin(store: Path) -> None:
    """A crawl begins, or goes on: a pause and a stop were for the run before."""
    asked = read(store)
    if asked.paused or asked.stop:
        change(store, lambda known: msgspec.structs.replace(known, paused=False, stop=False))


class SteeringReader:
    """Has an agent follow what is asked for."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._stamp = 0
        self._followed = Steering(add=read(store).add)  # the plan has these seeds already

    @property
    def number(self) -> int:
        """Of the last change that is followed."""
        return self._followed.number

    def look(self, agent: Agent | None = None) -> Steering:
        """See what is asked for now, and have ``agent`` follow it."""
        try:
            stamp = (self._store / FILE).stat().st_mtime_ns
        except OSError:
            return self._followed
        if stamp != self._stamp:
            asked = read(self._store)
            if agent is not None:
                self._follow(agent, asked)
            self._stamp, self._followed = stamp, asked
        if agent is not None:
            for host, seconds in self._followed.slow.items():
                agent.frontier.set_least_delay(host, seconds)  # of hosts that have come meanwhile, too
        return self._followed

    def _follow(self, agent: Agent, asked: Steering) -> None:
        agent.pause(asked.paused)
        if asked.exclude != self._followed.exclude:
            agent.exclude(excluding(asked.exclude))
        if added := [href for href in asked.add if href not in self._followed.add]:
            agent.add([Url(href) for href in added])


def excluding(patterns: tuple[str, ...]) -> Callable[[Url], Drop | None]:
    """Return what says which URLs these regular expressions exclude. Raises ``ValueError``."""
    found = [Pattern(pattern) for pattern in patterns]
    return lambda url: Drop.EXCLUDED if any(each.search(url.href) for each in found) else None
