"""Where copies come from: hosts that mirror others, and templates that breed copies; both lose priority.

Counts only: `note` a page with what it is a copy of, ask `verdict` what that makes of the place it came from. A place
is a host, or a host and a template of its paths (digits as 0, query values left out).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container
from dataclasses import dataclass, field
from functools import lru_cache

LEAST_PAGES = 20
"""Pages of a place before it is judged: with fewer, chance copies weigh too much."""
MIRROR_SHARE = 0.8
"""A host that has this share of its pages in common with one other host is its mirror, or mirrored by it."""
BREEDING_SHARE = 0.5
"""A template of which this share are copies of whatever breeds copies."""
MAX_PLACES = 100_000
"""Places that are counted; beyond, the rarest half is forgotten."""

_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Verdict:
    """A place whose pages are worth less than others, and why."""

    place: str
    """A host, or a host and a template."""
    reason: str
    """``mirror of HOST`` or ``breeds copies``; what status shows."""


@lru_cache(maxsize=64)  # a page is noted, and then judged
def template(path: str) -> str:
    """Return the pattern of a path with query: numbers are 0, values of parameters are left out."""
    before, _, query = path.partition("?")
    names = "&".join(sorted(part.partition("=")[0] for part in query.split("&"))) if query else ""
    return _DIGITS.sub("0", before) + (f"?{names}" if names else "")


def is_demoted(places: Container[str], host: str, path: str) -> bool:
    """Return whether a URL belongs to one of the places of verdicts."""
    return host in places or host + template(path) in places


@dataclass(slots=True)
class Breeding:
    """Counts of pages and copies by place."""

    pages: Counter[str] = field(default_factory=Counter)
    copies: Counter[str] = field(default_factory=Counter)
    copied: dict[str, Counter[str]] = field(default_factory=dict)
    """Host to other hosts and how many of its pages are copies of theirs."""
    mirrors: dict[str, str] = field(default_factory=dict)
    """Host to what it mirrors: once found it stays so, else the two would change places as they grow."""

    def note(self, host: str, path: str, copy_of_host: str = "") -> None:
        """Count a page; ``copy_of_host`` is the host of its original, if it is a copy."""
        for place in (host, host + template(path)):
            self.pages[place] += 1
            if copy_of_host:
                self.copies[place] += 1
        if copy_of_host and copy_of_host != host:
            self.copied.setdefault(host, Counter())[copy_of_host] += 1
        if len(self.pages) > MAX_PLACES:
            self._forget()

    def verdict(self, host: str, path: str) -> Verdict | None:
        """Return why the next page of this place is worth less; None where it is not."""
        if host in self.mirrors or self._is_mirror(host):
            return Verdict(host, f"mirror of {self.mirrors[host]}")
        place = host + template(path)
        if self.pages[place] >= LEAST_PAGES and self.copies[place] >= BREEDING_SHARE * self.pages[place]:
            return Verdict(place, "breeds copies")
        return None

    def _is_mirror(self, host: str) -> bool:
        """Of two that are fetched at once each has copies of the other; the one with more of them is the mirror."""
        others = self.copied.get(host)
        if not others or self.pages[host] < LEAST_PAGES:
            return False
        other, mine = min(others.items(), key=lambda item: (-item[1], item[0]))
        theirs = self.copied.get(other, Counter())[host]
        found = mine + theirs >= MIRROR_SHARE * self.pages[host] and (mine, host) > (theirs, other)
        if found and self.mirrors.get(other) != host:
            self.mirrors[host] = other
        return host in self.mirrors

    def _forget(self) -> None:
        kept = dict(self.pages.most_common(MAX_PLACES // 2))
        self.pages = Counter(kept)
        self.copies = Counter({place: count for place, count in self.copies.items() if place in kept})
        self.copied = {host: counts for host, counts in self.copied.items() if host in kept}
