"""What a page is to be, before a word of it is written: a pure function of (seed, host, page).

Pages of a host: 0 is its home page, 1…S are sections (listings), the rest are members of sections in turn:
member k of section s is page S + s + k·S. What member k is, is its class k mod 16: classes 3 and 6 never
change and are what copies are made of; 5, 9 and 11 are copies; 12 appears late, 13 goes one day, 14 is linked
from nowhere; the others change as Poisson processes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from fyke.world.chance import draw, exponential
from fyke.world.change import BORN_WITHIN, GONE_WITHIN, rate_of
from fyke.world.config import DAY, START, WorldConfig
from fyke.world.languages import LANGUAGES, TOPICS
from fyke.world.truth import Host, RobotsKind, Template

CLASSES = 16
STABLE = (3, 6)
EXACT, NEAR, NEAR_ELSEWHERE, LATE, MORTAL, UNLINKED = 5, 9, 11, 12, 13, 14
PRIVATE_SECTION = 3
OPEN_EVERY = 5
"""One page in five of a private section stands under /private/open/, which is allowed."""

FORMATS = ("pdf", "docx", "odt", "epub", "rtf", "csv", "txt")
MEDIA_TYPES = {
    "html": "text/html",
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "odt": "application/vnd.oasis.opendocument.text",
    "epub": "application/epub+zip",
    "rtf": "application/rtf",
    "csv": "text/csv",
    "txt": "text/plain",
}
_PAGE = re.compile(r"/[a-z0-9-]+/(?:open/)?[a-z]+-[a-z]+-(\d{1,9})\.[a-z]+")
_SECTION = re.compile(r"/(?:[a-z]+-)?([a-z0-9]+)/")
_SLUGS = [
    "north", "field", "stone", "paper", "first", "under", "cloud", "late", "small", "water", "glass", "open",
    "round", "second", "green", "winter", "harbor", "table", "bridge", "letter", "morning", "silver", "wide",
    "plain",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Plan:
    """One page of a world that is no mirror."""

    host: int
    index: int
    section: int
    """0 for the home page."""
    member: int
    """Its place in its section; -1 for home and sections."""
    path: str
    topic: str
    language: str
    template: Template
    title_bits: int
    format: str = "html"
    encoding: str = "utf-8"
    declared: str = "utf-8"
    declared_by: str = "header"
    """``header``, ``meta`` or nothing."""
    rate: float = 0.0
    born: float = START
    gone: float = float("inf")
    gone_status: int = 404

    @property
    def kind(self) -> int:
        """Its class; -1 for home and sections."""
        return self.member % CLASSES if self.member >= 0 else -1


def section_of(host: Host, index: int) -> tuple[int, int]:
    """The section and the place in it of page ``index``; (section, -1) for a section itself, (0, -1) for home."""
    if index <= host.sections:
        return index, -1
    member, section = divmod(index - host.sections - 1, host.sections)
    return section + 1, member


def member_index(host: Host, section: int, member: int) -> int:
    """The page that is member ``member`` of ``section``; the inverse of ``section_of``."""
    return host.sections + section + member * host.sections


def section_size(host: Host, section: int) -> int:
    """How many members a section has."""
    return max(0, (host.pages - host.sections - section + host.sections - 1) // host.sections)


def has_private_section(host: Host) -> bool:
    """Whether its third section is closed to robots."""
    return host.robots in (RobotsKind.RULES, RobotsKind.REDIRECT) and host.sections > PRIVATE_SECTION


class Plans:
    """The plans of all pages, kept for a while."""

    def __init__(self, config: WorldConfig, hosts: tuple[Host, ...]) -> None:
        self.config = config
        self.hosts = hosts
        self._cached_plan = lru_cache(maxsize=65_536)(self._plan)
        self._topics: dict[tuple[int, int], str] = {}

    def plan(self, host: int, index: int) -> Plan:
        """The plan of a page. REQUIRES: ``host`` is no mirror, 0 ≤ ``index`` < its pages."""
        return self._cached_plan(host, index)

    def section_topic(self, host: Host, section: int) -> str:
        """The topic of a section: its host's three times in five. Home is section 0."""
        key = (host.number, section)
        if key not in self._topics:
            self._topics[key] = self._section_topic(host, section)
        return self._topics[key]

    def _section_topic(self, host: Host, section: int) -> str:
        bits = draw(self.config.seed, "section", host.number, section)
        return host.topic if section == 0 or bits % 5 < 3 else tuple(TOPICS)[(bits >> 8) % len(TOPICS)]

    def section_path(self, host: Host, section: int) -> str:
        """Where a section stands."""
        if section == PRIVATE_SECTION and has_private_section(host):
            return "/private/"
        return f"/{self.section_topic(host, section)}-{section}/" if section else "/"

    def find_page(self, host: Host, path: str) -> int | None:
        """The page of ``host`` that stands at ``path``."""
        if path == "/":
            return 0
        match = _PAGE.fullmatch(path)
        if match:
            index = int(match[1])
        elif path == "/private/":
            index = PRIVATE_SECTION
        else:
            match = _SECTION.fullmatch(path)
            index = int(match[1]) if match and match[1].isdigit() and len(match[1]) < 9 else -1
        if 0 < index < host.pages and self.plan(host.number, index).path == path:
            return index
        return None

    def _plan(self, number: int, index: int) -> Plan:
        host = self.hosts[number]
        bits = draw(self.config.seed, "page", host.number, index)
        section, member = section_of(host, index)
        topic = self.section_topic(host, section)
        if member < 0:
            path = self.section_path(host, section)
            return Plan(host.number, index, section, member, path, topic, host.language, Template.LISTING, bits)
        kind = member % CLASSES
        doc_format = "html"
        if self.config.formats and kind in (0, 8) and (bits >> 8) % 3 == 0:
            doc_format = FORMATS[(bits >> 12) % len(FORMATS)]
            if doc_format == "pdf" and "iso-8859-1" not in LANGUAGES[host.language].encodings:
                doc_format = "docx"  # a PDF of the standard fonts can write Latin-1 only
        born, gone = START, float("inf")
        if self.config.changes and kind == LATE:
            born = START + exponential(BORN_WITHIN, self.config.seed, "born", host.number, index)
        if self.config.changes and kind == MORTAL:
            gone = START + exponential(GONE_WITHIN, self.config.seed, "gone", host.number, index)
        still = not self.config.changes or doc_format != "html" or kind in (*STABLE, EXACT, NEAR, NEAR_ELSEWHERE)
        first, second = _SLUGS[bits % 24], _SLUGS[(bits >> 16) % 24]
        opened = (
            "open/" if member % OPEN_EVERY == 0 and section == PRIVATE_SECTION and has_private_section(host) else ""
        )
        encoding, declared, by = _encoding(self.config, host, bits >> 20, doc_format)
        path = f"{self.section_path(host, section)}{opened}{first}-{second}-{index}.{doc_format}"
        return Plan(
            host.number, index, section, member, path, topic, host.language, host.template, bits,
            format=doc_format,
            encoding=encoding,
            declared=declared,
            declared_by=by,
            rate=0.0 if still else rate_of(self.config.seed, host.number, index),
            born=born,
            gone=gone,
            gone_status=410 if bits >> 40 & 1 else 404,
        )  # fmt: skip


def _encoding(config: WorldConfig, host: Host, bits: int, doc_format: str) -> tuple[str, str, str]:
    """Encoding, what is declared, and where: mostly UTF-8, one page in four something else."""
    if doc_format not in ("html", "txt", "csv"):
        return "", "", ""
    if not config.encodings or bits % 4:
        return "utf-8", "utf-8", "meta" if bits >> 4 & 3 == 0 and doc_format == "html" else "header"
    legacy = LANGUAGES[host.language].encodings
    choice = (bits >> 8) % 8
    if choice == 0:
        return "utf-16", "", ""  # its byte order mark says it
    if choice == 1 and doc_format == "html":
        return "utf-8", "iso-8859-1", "header"  # mislabelled, as half the world once was
    encoding = legacy[(bits >> 12) % len(legacy)]
    if choice == 2 and doc_format == "html":
        return encoding, "", ""  # to be detected
    return encoding, encoding, "meta" if choice > 5 and doc_format == "html" else "header"


def oldest(seed: int, host: int, index: int) -> float:
    """When a page was last touched before the world began: up to three years earlier, whole seconds."""
    return START - float(draw(seed, "age", host, index) % int(1000 * DAY))
