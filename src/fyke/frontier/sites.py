"""The sites that the frontier has in memory, and where those that failed wait, closed; the others live on disk.

A site is *closed* for a while where its robots.txt cannot be had, or where it cannot be reached; where that happens
too often it is *dead* for as long, and its URLs are given up without asking. Sites at *rest*, which have nothing to do
or wait in the front queues, are forgotten, but for the last ``RESTING``: their records are read again when they are
needed (``load``). So a million hosts that wait take their names' room, and no more.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator

from fyke.frontier.host import Host, Lane, Site
from fyke.frontier.keys import REQUISITE, SiteRecord, host_of
from fyke.frontier.politeness import Pace, Politeness, base_delay

RESTING = 10_000
"""Sites at rest that stay in memory: about a kilobyte each."""
_LOOKED_AT = 100  # sites that must stay, in one call: each write makes one


class SiteTable:
    """Sites by name, and their hosts."""

    def __init__(self, priorities: int, politeness: Politeness) -> None:
        self.load: Callable[[str], SiteRecord | None] = lambda site: None
        """Reads the record of a site that is not in memory."""
        self.hosts_known = 0
        """Hosts ever met."""
        self._priorities, self._politeness = priorities, politeness
        self._hosts: dict[str, Host] = {}
        self._sites: dict[str, Site] = {}
        self._resting: OrderedDict[str, None] = OrderedDict()
        self._now = self._restored = 0.0
        self._last = ""

    def __getitem__(self, name: str) -> Site:
        return self._sites[name]

    def __iter__(self) -> Iterator[Site]:
        return iter(self._sites.values())

    def __len__(self) -> int:
        return len(self._sites)

    def get(self, name: str) -> Site | None:
        """Return a site that is in memory."""
        return self._sites.get(name)

    def host(self, name: str) -> Host | None:
        """Return a host that is in memory."""
        return self._hosts.get(name)

    def restore(self, record: SiteRecord, now: float) -> Site | None:
        """Take up a site after a restart; None where it has nothing to do, so that it stays on disk."""
        self._restored = now
        if record.site in self._sites:
            return None
        name = host_of(record.site)
        self.hosts_known += name != self._last and name not in self._hosts
        self._last = name  # records of a host stand side by side
        if not any(low < tail for _, low, tail in record.lanes) and record.due <= now and name not in self._hosts:
            return None
        return self.take_up(record)

    def close(self, site: str, until: float, why: str, failures: int = 0) -> bool:
        """Let a site rest until ``until``, for ``why``; call it before ``done`` of the lease that told so.

        ``failures`` to reach it are counted. From ``GIVE_UP`` in a row on it is dead until then, which is returned: its
        URLs are handed out at once, so that each can be told why it is not fetched (``dead``).
        """
        record = self.site(site)
        record.until, record.why = until, why
        record.failures += failures
        return record.is_dead

    def reached(self, site: str) -> None:
        """Note that somebody answered at a site."""
        record = self._sites.get(site)
        if record is not None and record.failures:
            record.failures, record.until, record.why = 0, 0.0, ""

    def failures(self, site: str) -> int:
        """Return how often in a row a site could not be reached."""
        record = self._sites.get(site)
        return record.failures if record is not None else 0

    def dead(self, site: str, now: float) -> str:
        """Return why the URLs of a site are given up without asking; empty where they are not."""
        record = self._sites[site]
        if record.is_dead and record.until <= now:  # it gets another chance
            record.failures -= 1
        return record.why if record.is_dead else ""

    def is_parked(self, host: str) -> bool:
        """Return whether every site of a host that has entries waits longer than ``PARK``."""
        known = self._hosts.get(host)
        return (
            known is not None and any(s.parked for s in known.sites) and all(s.parked for s in known.sites if s.queued)
        )

    def added(self, host: str) -> int:
        """Return how many pages of a host were ever queued; of its usual sites, where it is not in memory."""
        known = self._hosts.get(host)
        if known is not None:
            sites = [site for site in known.sites if not site.name.startswith(REQUISITE)]
            return sum(lane.tail for site in sites for lane in site.lanes if lane)
        records = (self.load(f"{scheme}://{host}") for scheme in ("http", "https"))
        return sum(tail for record in records if record is not None for _, _, tail in record.lanes)

    def closed(self, now: float) -> Iterator[tuple[str, float, str]]:
        """Yield the sites in memory that are closed: name, until when, why."""
        for site in self._sites.values():
            if site.until > now:
                yield site.name, site.until, site.why

    def site(self, name: str) -> Site:
        """Return a site, made or read from disk where it is not in memory."""
        site = self._sites.get(name)
        if site is None:
            record = self.load(name)
            if record is not None:
                site = self.take_up(record)
                for lane in site.lanes:
                    if lane is not None:
                        lane.placed = lane.low < lane.tail  # it was, when it was forgotten
                return site
            host = host_of(name)
            if host not in self._hosts:
                self._hosts[host] = Host(host)
                self.hosts_known += 1
            site = self._sites[name] = Site(name, self._hosts[host], self._priorities)
        return site

    def take_up(self, record: SiteRecord) -> Site:
        """Make a site of its record. After a restart its host waits its full delay: a contact may not be written."""
        name = host_of(record.site)
        host = self._hosts.get(name) or self._hosts.setdefault(name, Host(name))
        site = self._sites[record.site] = Site(record.site, host, self._priorities)
        if record.due >= host.due:
            host.due = record.due
            host.asked = record.due if record.failures or record.crawl_delay else 0.0
            host.pace = Pace(record.crawl_delay, record.usual, record.failures)
        if self._restored:
            host.due = max(host.due, self._restored + base_delay(host.pace, self._politeness.of(name)))
        site.until, site.why, site.failures = record.until, record.why, record.unreached
        for priority, low, tail in record.lanes:
            if 1 <= priority <= self._priorities:
                site.lanes[priority - 1] = Lane(low, tail)
        return site

    def forget(self, site: Site, now: float) -> None:
        """Note whether a site is at rest, so that ``shrink`` may forget it."""
        self._now = now
        if site.is_at_rest:
            self._resting[site.name] = None
            self._resting.move_to_end(site.name)
        else:
            self._resting.pop(site.name, None)

    def hold(self, site: Site) -> None:
        """Keep a site in memory, since its record is not written as it is."""
        self._resting.pop(site.name, None)

    def shrink(self, keep: int = RESTING) -> None:
        """Forget sites at rest, but for the last ``keep``. REQUIRES: the records of all are written as they are.

        One that is closed stays, so that ``open`` finds it, and one of several of a host while that must not be
        contacted: its own record does not tell of it. Of these some are looked at in each call, and no more.
        """
        stay = 0
        while len(self._resting) > keep and stay < _LOOKED_AT:
            site = self._sites[self._resting.popitem(last=False)[0]]
            if not site.is_at_rest:
                continue
            if site.until > self._now or (len(site.host.sites) > 1 and site.host.due > self._now):
                self._resting[site.name] = None
                stay += 1
                continue
            del self._sites[site.name]
            site.host.sites.remove(site)
            if not site.host.sites:
                del self._hosts[site.host.name]
