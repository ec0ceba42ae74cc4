"""Facts of one store: what its crawl reports, what it holds; each question bounded in time, no writer disturbed."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from fyke.crawl.run import history, status, steering, steps
from fyke.crawl.run.history import Moment
from fyke.dashboard.facts import Choice, Found, HostFacts, Hosts, Now, Sample
from fyke.errors import UNREADABLE, FykeError, UserError
from fyke.frontier.keys import QUEUED, Entry, SiteRecord, host_of, is_record_key
from fyke.store import Anchor, Row, Store, Tablet
from fyke.store.cells import ANCHOR, host_prefix_known, unpack_anchors
from fyke.url import Url, host_key

PAGE = 100
"""Rows of a page of a listing."""
BUDGET = 0.25
"""Seconds for which one question looks through rows."""
MAX_TRACE = 5 << 20
MAX_ANCHORS = 300
_LOG_END, _EVENTS = 16_384, 20  # bytes of the log that are read, and lines that are shown

T = TypeVar("T")


class Cached(Generic[T]):
    """A value that costs something: made anew when it is old, at most a two-hundredth of the time."""

    def __init__(self, make: Callable[[], T], least: float = 10.0) -> None:
        self._make, self._least = make, least
        self._value: T | None = None
        self._next = 0.0

    def get(self) -> T:
        """Return the value, as it is or made anew."""
        began = time.monotonic()
        if self._value is None or began >= self._next:
            self._value = self._make()
            ended = time.monotonic()
            self._next = ended + max(self._least, 200 * (ended - began))
        return self._value


class _Plan(msgspec.Struct):
    """What is needed of ``crawl.json``: its whole reader loads what fetches."""

    settings: dict[str, object] = {}


class StoreFacts:
    """Facts of a store, read beside its writer. REQUIRES: one thread at a time."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        """Raises ``StorageError`` where there is no store."""
        self.name = str(path)
        self._path, self._clock = path, clock
        self._store = Store.open(path, "r")
        self._hosts = Cached(self._read_hosts)
        self._sample = Cached(self._read_sample)
        self._past = Cached(lambda: history.together(history.read(path)))

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def now(self) -> Now:
        """What the agents said last; what cannot be read is told."""
        now = self._clock()
        agents, problems = status.read_whole(self._path)
        asked = steering.Steering()
        try:
            asked = steering.read(self._path)
        except FykeError as error:
            problems.append(str(error))
        if not agents:
            return Now(None, (), tuple(problems), asked.paused)
        found = status.total(agents, now)
        if found.running:
            problems += [
                f"agent {each.agent} has not reported for {now - each.when:.0f} s"
                for each in agents
                if now - each.when > 30
            ]
        return Now(found, tuple(agents), tuple(problems), asked.paused and found.running)

    def past(self) -> list[Moment]:
        """The crawl over time, with now as its end."""
        return self._past.get()

    def hosts(self) -> Hosts:
        """The hosts, by what waits, then by what is stored."""
        return self._hosts.get()

    def sample(self) -> Sample:
        """What the rows are."""
        return self._sample.get()

    def rows(self, choice: Choice, after: bytes = b"") -> Found:
        """A page of rows; fewer than a page where looking took too long."""
        start, end = choice.bounds()
        until = time.monotonic() + BUDGET
        found: list[Row] = []
        looked = 0
        for row in self._scan(max(start, after), end):
            if len(found) == PAGE or (looked and looked % 64 == 0 and time.monotonic() > until):
                return Found(tuple(found), looked, row.key)
            looked += 1
            if choice.wants(row):
                found.append(row)
        return Found(tuple(found), looked)

    def row(self, url: str, stamp: int = 0) -> Row | None:
        """A document."""
        return self._store.get(url, at=stamp / 1e6 if stamp > 0 else None)

    def anchors(self, row: Row) -> list[Anchor]:
        """Texts of links that point at a document; of a page that millions point at, the first."""
        tablet = self._store.tablet(self._store.tablet_of(row.key))
        newest: dict[str, Anchor] = {}
        for _, value in islice(tablet.items(ANCHOR, row.key + b"\0", row.key + b"\1"), MAX_ANCHORS):
            for anchor in unpack_anchors(value):
                if len(newest) >= MAX_ANCHORS:
                    break
                newest[anchor.source] = anchor
        return list(newest.values())

    def queue(self, host: str) -> list[Entry]:
        """What waits of a host, or of any."""
        start, end = QUEUED
        if host:
            start = start + host_key(Url.parse(f"http://{host}/").host)
            end = start + b"\xff"
        found: list[Entry] = []
        for tablet in self._tablets(start[1:] if host else b""):
            found += [Entry.decode(value) for _, value in islice(tablet.items("queue", start, end), PAGE - len(found))]
            if len(found) >= PAGE:
                break
        return found

    def trace(self, url: str) -> list[steps.Step]:
        """The steps of a URL; none where the file is large or damaged."""
        try:
            if os.path.getsize(self._path / steps.FILE) > MAX_TRACE:  # noqa: PTH202 - one call
                return []
            return [step for step in steps.read(self._path) if step.url == url]
        except (OSError, FykeError):
            return []

    def events(self) -> list[str]:
        """The last lines of ``fyke.log``."""
        try:
            with (self._path / "fyke.log").open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _LOG_END))
                lines = file.read().decode("utf-8", "replace").splitlines()
        except OSError:
            return []
        return [line[:500] for line in reversed(lines[-_EVENTS:])]

    def limit(self) -> int:
        """``max_pages`` of the crawl."""
        found = self._settings().get("max_pages")
        return found if isinstance(found, int) else 0

    def _settings(self) -> dict[str, object]:
        try:
            return msgspec.json.decode((self._path / "crawl.json").read_bytes(), type=_Plan).settings
        except (OSError, *UNREADABLE):
            return {}

    def _tablets(self, key: bytes) -> Iterator[Tablet]:
        """The tablet of a host key, or all."""
        if key and host_prefix_known(key):
            number = self._store.tablet_of(key)
            if self._store.exists(number):
                yield self._store.tablet(number)
            return
        yield from self._store.tablets()

    def _scan(self, start: bytes, end: bytes) -> Iterator[Row]:
        """Rows from a key on, over tablets, without their parts."""
        first = self._store.tablet_of(start) if start else 0
        last = self._store.tablet_of(start) if end and host_prefix_known(start) else self._store.owned[-1]
        for number in self._store.owned:
            if first <= number <= last and self._store.exists(number):
                yield from self._store.tablet(number).scan(start, end, parts=())

    def _read_sample(self) -> Sample:
        found = Sample()
        tablets = list(self._store.tablets())
        for tablet in tablets:
            until = time.monotonic() + 0.15 / len(tablets)
            for number, row in enumerate(tablet.scan(parts=())):
                if number % 64 == 63 and time.monotonic() > until:
                    found.complete = False
                    break
                meta = row.meta
                found.looked += 1
                if meta.error:
                    examples = found.examples.setdefault(meta.error, [])
                    if len(examples) < 3:
                        examples.append(row.url)
                    continue
                if meta.duplicate_of:
                    found.copies[meta.duplicate_of] += 1
                found.types[meta.type or "unknown"] += 1
                found.languages[meta.language or "unknown"] += 1
        return found

    def _read_hosts(self) -> Hosts:
        settings = self._settings()
        given = settings.get("delay")
        base = float(given) if isinstance(given, int | float) else 1.0
        slow: dict[str, float] = {}
        with contextlib.suppress(FykeError):
            slow = steering.read(self._path).slow
        found: dict[str, HostFacts] = {}
        until = time.monotonic() + BUDGET
        complete = True
        for tablet in self._store.tablets():
            for number, (name, change) in enumerate(_host_facts(tablet)):
                host = found.get(name)
                if host is None:
                    delay = max(_own_delay(settings, name, base), slow.get(name, 0.0))
                    host = found[name] = HostFacts(name, delay=delay)
                change(host)
                if number % 256 == 255 and time.monotonic() > until:
                    complete = False
                    break
        hosts = sorted(found.values(), key=lambda host: (-host.queued, -host.rows, host.name))
        return Hosts(tuple(hosts), complete)


def _own_delay(settings: dict[str, object], host: str, base: float) -> float:
    """The delay that the crawl's settings have for a host."""
    hosts = settings.get("hosts")
    own = hosts.get(host) if isinstance(hosts, dict) else None
    delay = own.get("delay") if isinstance(own, dict) else None
    return float(delay) if isinstance(delay, int | float) else base


def _host_facts(tablet: Tablet) -> Iterator[tuple[str, Callable[[HostFacts], None]]]:
    """Each record of a host in a tablet, and what it adds to what is known of it."""
    for key, value in tablet.items("host"):
        if is_record_key(key):
            record = SiteRecord.decode(value)
            yield host_of(record.site), lambda host, record=record: _add_site(host, record)  # type: ignore[misc]
    for stats in tablet.ledger.hosts():

        def add(host: HostFacts, rows: int = stats.rows, pages: int = stats.pages, size: int = stats.size) -> None:
            host.rows, host.pages, host.size = rows, pages, size

        yield stats.name, add


def _add_site(host: HostFacts, record: SiteRecord) -> None:
    host.queued += sum(max(0, tail - low) for _, low, tail in record.lanes)
    host.delay = max(host.delay, record.crawl_delay)
    host.due = max(host.due, record.due)
    host.backoff = max(host.backoff, record.failures)
    if record.until > host.closed:
        host.closed, host.why = record.until, record.why


def cursor(text: str) -> bytes:
    """Return the key that ``after`` of an address names. Raises ``UserError``."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise UserError("`after` is no place in a listing; go back to its beginning") from None
