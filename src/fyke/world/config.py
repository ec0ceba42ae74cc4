"""The settings of a world: its seed, its size, and which difficulties it has."""

from __future__ import annotations

from dataclasses import dataclass

from fyke.config import option

START = 1_700_000_000.0
"""When a world begins, in seconds since 1970: what ``VirtualClock`` starts at. Nothing changes before."""

DAY = 86_400.0
SMALLEST_HOST = 6
"""Pages: a home page, a section, and something in it."""


@dataclass(frozen=True, slots=True)
class WorldConfig:
    """Equal settings are equal worlds, in every process and every version of Python."""

    seed: int = option(1, "What the whole world is drawn from; another seed is another web.")
    hosts: int = option(50, "Number of hosts, mirrors included; 25 are enough to meet every kind of host.")
    pages: int = option(3000, "Pages, mirrors not counted; made when asked for, so 100,000 cost no memory.")
    languages: bool = option(True, "Ten languages in seven scripts; without, everything is English.")
    encodings: bool = option(True, "Legacy, 16-bit and mislabelled character encodings; without, UTF-8.")
    formats: bool = option(True, "PDF, DOCX, ODT, EPUB, RTF, CSV and plain text beside HTML.")
    copies: bool = option(True, "Exact copies and near copies of known Jaccard.")
    mirrors: bool = option(True, "Hosts that are byte for byte another host.")
    changes: bool = option(True, "Pages that change as Poisson processes, appear and go.")
    robots: bool = option(True, "robots.txt with rules, delays, redirects and errors; without, 404 everywhere.")
    redirects: bool = option(True, "Redirects: chains, loops, to other hosts.")
    errors: bool = option(True, "Dead links, and hosts that answer 200 with a page of regrets.")
    traps: bool = option(True, "Hosts with an endless calendar, session ids and ever growing paths.")
    slow: bool = option(True, "Hosts that take their time.")
    flaky: bool = option(True, "Hosts that fail one time in six, for ten seconds each time, never twice in a row.")

    scripted: bool = option(False, "Every fifth host is made by scripts, in five manners: its server sends shells.")
    catalogues: int = option(0, "Further hosts: 500 records behind a form each, and forms that nobody may send.")

    def __post_init__(self) -> None:
        """Refuse what makes no world."""
        if not 1 <= self.hosts <= 100_000:
            raise ValueError(f"hosts: {self.hosts} is not between 1 and 100,000")
        if not 0 <= self.catalogues <= 1_000:
            raise ValueError(f"catalogues: {self.catalogues} is not between 0 and 1,000")
        if not SMALLEST_HOST * self.hosts <= self.pages <= 100_000_000:
            raise ValueError(
                f"pages: {self.pages} is not between {SMALLEST_HOST} for each of the {self.hosts} hosts and 100,000,000"
            )
