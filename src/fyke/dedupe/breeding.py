"""Where copies come from: hosts that mirror others, and templates that breed copies; both lose priority.

Counts only: `note` a page with what it is a copy of, ask `verdict` before the next page of that place is queued. A
place is a host, or a host and a template of its paths (digits as 0, query values left out).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

LEAST_PAGES = 20
"""Pages of a place before it is judged: with fewer, chance copies weigh too much."""
MIRROR_SHARE = 0.8
"""A host of which this share are copies of one other host is its mirror."""
BREEDING_SHARE = 0.5
"""A template of which this share are copies of whatever breeds copies."""
MAX_PLACES = 100_000
"""Places that are counted; beyond, the rarest half is forgotten."""

_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a place's copies cost it."""

    factor: float
    """To multiply a priority with: 1 keeps it, 0.1 puts it behind nearly everything."""
    reason: str = ""
    """``mirror of HOST`` or ``template breeds copies``; what status shows."""


KEEP = Verdict(1.0)


def template(path: str) -> str:
    """Return the pattern of a path with query: numbers are 0, values of parameters are left out."""
    before, _, query = path.partition("?")
    names = "&".join(sorted(part.partition("=")[0] for part in query.split("&"))) if query else ""
    return _DIGITS.sub("0", before) + (f"?{names}" if names else "")


@dataclass(slots=True)
class Breeding:
    """Counts of pages and copies by place."""

    pages: Counter[tuple[str, str]] = field(default_factory=Counter)
    copies: Counter[tuple[str, str]] = field(default_factory=Counter)
    mirrored: dict[str, Counter[str]] = field(default_factory=dict)

    def note(self, host: str, path: str, copy_of_host: str = "") -> None:
        """Count a page; ``copy_of_host`` is the host of its original, if it is a copy."""
        for place in ((host, ""), (host, template(path))):
            self.pages[place] += 1
            if copy_of_host:
                self.copies[place] += 1
        if copy_of_host and copy_of_host != host:
            self.mirrored.setdefault(host, Counter())[copy_of_host] += 1
        if len(self.pages) > MAX_PLACES:
            self._forget()

    def verdict(self, host: str, path: str) -> Verdict:
        """Return what the next page of this place is worth."""
        pages = self.pages[host, ""]
        if pages >= LEAST_PAGES and (others := self.mirrored.get(host)):
            other, count = min(others.items(), key=lambda item: (-item[1], item[0]))
            if count >= MIRROR_SHARE * pages:
                return Verdict(0.1, f"mirror of {other}")
        place = host, template(path)
        if self.pages[place] >= LEAST_PAGES and self.copies[place] >= BREEDING_SHARE * self.pages[place]:
            return Verdict(0.1, "template breeds copies")
        return KEEP

    def _forget(self) -> None:
        kept = dict(self.pages.most_common(MAX_PLACES // 2))
        self.pages = Counter(kept)
        self.copies = Counter({place: count for place, count in self.copies.items() if place in kept})
        hosts = {host for host, _ in kept}
        self.mirrored = {host: counts for host, counts in self.mirrored.items() if host in hosts}
