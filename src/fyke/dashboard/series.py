"""Curves and when it ends: Theil–Sen's slope, the points of a polyline, the projected end of a crawl, told honestly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, pairwise
from statistics import median
from typing import NamedTuple

from fyke.crawl.run.history import Moment
from fyke.dashboard.facts import Hosts, Now

WINDOW = 900.0
"""Seconds of the queue's past that its trend is made of."""
_MOST = 90
"""Points of a trend: four thousand pairs."""
WIDTH, HEIGHT = 600, 120
"""Of a curve, in its own units."""


class Curve(NamedTuple):
    """A polyline in a box of WIDTH × HEIGHT."""

    points: str
    top: float
    """The value at the top of the box."""
    last: float
    first_time: float
    last_time: float


def theil_sen(points: Sequence[tuple[float, float]]) -> float:
    """Return the median of the slopes of all pairs: up to 29 % of outliers do not move it. 0 for fewer than two."""
    points = points[:: max(1, math.ceil(len(points) / _MOST))]
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in combinations(points, 2) if b[0] > a[0]]
    return median(slopes) if slopes else 0.0


def curve(points: Sequence[tuple[float, float]]) -> Curve | None:
    """Return the curve of (time, value); None where fewer than two of the values are numbers."""
    points = [(when, value) for when, value in points if math.isfinite(value)]
    if len(points) < 2 or points[-1][0] <= points[0][0]:
        return None
    first, last = points[0][0], points[-1][0]
    top = max(value for _, value in points) or 1.0
    scale = WIDTH / (last - first)
    drawn = (f"{(when - first) * scale:.1f},{HEIGHT * (1 - max(value, 0) / top):.1f}" for when, value in points)
    return Curve(" ".join(drawn), top, points[-1][1], first, last)


def rates(moments: Sequence[Moment]) -> list[tuple[float, float]]:
    """Return pages a second between one moment and the next."""
    return [(b.when, (b.pages - a.pages) / (b.when - a.when)) for a, b in pairwise(moments) if b.when > a.when]


def projected(now: Now, past: Sequence[Moment], hosts: Hosts, limit: int) -> list[str]:
    """Say in sentences when the crawl will end, as far as anybody can know."""
    status = now.status
    if status is None or not status.running:
        return []
    if not status.queued and not status.in_flight:
        return ["Nothing is queued: it ends as soon as what is under way is done."]
    said = []
    slowest = max(hosts.hosts, key=lambda host: host.needs, default=None)
    if slowest is not None and slowest.needs >= 1:
        least = "" if hosts.complete else "at least "
        said.append(
            f"Politeness: {slowest.name} alone needs {least}{duration(slowest.needs)} for the {slowest.queued:,} URLs "
            f"that wait, one every {slowest.delay:g} s."
        )
    recent = [(each.when, float(each.queued)) for each in past if each.when >= status.updated - WINDOW]
    if len(recent) >= 5:
        slope = theil_sen(recent)
        if slope < 0:
            said.append(f"Trend: the queue shrinks by {-slope * 60:,.1f} URLs a minute; empty in "
                        f"{duration(status.queued / -slope)} if that goes on.")  # fmt: skip
        else:
            grows = f"grows by {slope * 60:,.1f} URLs a minute" if slope else "neither grows nor shrinks"
            said.append(f"Trend: the queue {grows}; no end is in sight.")
    if limit and status.rate > 0:
        left = max(0, limit - status.pages)
        said.append(f"Limit: {left:,} pages up to the {limit:,} that are wanted, {duration(left / status.rate)} "
                    "at the mean rate.")  # fmt: skip
    return said or ["Too little is known yet to say when it ends."]


def duration(seconds: float) -> str:
    """Seconds in words: ``3 h 10 min``."""
    if not math.isfinite(seconds) or seconds > 1e10:
        return "ages"
    whole = round(max(seconds, 0))
    for unit, size, below, small in (("d", 86_400, "h", 3_600), ("h", 3_600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            rest = whole % size // small
            return f"{whole // size:,} {unit}" + (f" {rest} {below}" if rest else "")
    return f"{whole} s"
