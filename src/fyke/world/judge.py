"""What a crawler did to a world, by the server's log, beside what is true: the public benchmark of crawlers.

Nobody is asked: a page is had where the server answered for it, a request is early where it began before half the
gap was over, counted from the start of the one before. A request for what is
neither a page, nor linked otherwise, nor a file of the site lies in a trap.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from fyke.world.transport import Visit
from fyke.world.truth import Expected, RobotsKind
from fyke.world.world import World

EARLY = 0.5
"""Share of the gap: what begins later counts as kept, since a busy machine shifts a request by as much."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the log says of one run."""

    requests: int
    pages: int
    """Pages that a correct crawl fetches, and this one did."""
    expected: int
    forbidden: int
    """Requests for what robots.txt forbids, on the hosts below not counted."""
    broken: int
    """Requests, beside robots.txt, to hosts whose robots.txt fails with 503: nothing may be fetched there."""
    closed: int
    """The same to hosts that say Disallow: /."""
    early: int
    """Requests that began before half the gap was over, on hosts that set none."""
    early_delay: int
    """Requests that began before half the Crawl-delay of their host was over."""
    trapped: int
    """Requests within traps, beyond their doors."""
    again: int
    """Requests for a page that this run had been given already."""
    flaky: float
    """Share of the pages of flaky hosts that it has in the end."""


def judge(world: World, expected: Expected, visits: Sequence[Visit], delay: float) -> Verdict:
    """Judge a run by its requests, in any order."""
    ordered = sorted(visits, key=lambda visit: visit.started)
    kinds = {host.name: host for host in world.hosts}
    bases = dict(zip(kinds, world.bases, strict=False))
    had: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for visit in ordered:
        host = kinds.get(visit.host)
        if host is None or visit.target == "/robots.txt":
            continue
        url = bases[visit.host] + visit.target
        if host.robots in (RobotsKind.BROKEN, RobotsKind.CLOSED):
            counts[host.robots.value] += 1
        elif url in expected.disallowed:
            counts["forbidden"] += 1
        elif host.traps and url not in expected.pages | expected.others | expected.traps and not is_site_file(visit):
            counts["trapped"] += world.truth(url).trap is not None
        if visit.status == 200 and url in expected.pages:
            had[url] += 1
    early = _early(ordered, {name: max(delay, host.crawl_delay) for name, host in kinds.items()})
    delayed = {name for name, host in kinds.items() if host.crawl_delay > delay}
    flaky = [url for url in expected.pages if kinds[url.split("/")[2].split(":")[0]].flaky]
    return Verdict(
        requests=len(ordered), pages=len(had), expected=len(expected.pages), forbidden=counts["forbidden"],
        broken=counts["broken"], closed=counts["closed"], trapped=counts["trapped"],
        early=sum(n for name, n in early.items() if name not in delayed),
        early_delay=sum(n for name, n in early.items() if name in delayed),
        again=sum(n - 1 for n in had.values()), flaky=sum(url in had for url in flaky) / max(1, len(flaky)),
    )  # fmt: skip


def is_site_file(visit: Visit) -> bool:
    """Whether a site file was asked for: sitemaps, feeds, icons."""
    return any(sign in visit.target for sign in ("sitemap", "feed", "favicon", ".well-known"))


def _early(visits: Iterable[Visit], gaps: dict[str, float]) -> Counter[str]:
    """Requests by host that began sooner after the start of the one before than half the gap."""
    by_host: defaultdict[str, list[Visit]] = defaultdict(list)
    for visit in visits:
        by_host[visit.host].append(visit)
    return Counter({
        name: sum(after.started - before.started < gaps[name] * EARLY for before, after in pairwise(own))
        for name, own in by_host.items() if name in gaps
    })  # fmt: skip
