"""Traps: endless pages of no worth, recognised by their addresses and by what came from the addresses like them.

``TrapJudge.judge(url, depth, now, host)`` is asked once for each URL that was not seen before; it returns None or a
reason to drop it. What it needs to know of a host is in a ``HostHistory``, which the judge and ``report`` update; it is
bounded, and may be forgotten.

- growing paths: a cycle of segments three times over, two repeated segments, or over 24 segments;
- exploding queries: one path with many parameters, counted by their number: 5,000 URLs with two, 1,000 with three,
  500 with four, 100 with more, and never more than 24;
- calendars: a date in a place called calendar (month, year, day, events…), beyond a year from now or before 1990; and
  200 dates of one such place: sixteen years of months;
- the same content: a *template* (the address with digits and values blanked) of which nine of ten pages were
  duplicates, after 30 of them; soft errors: a text that came for 20 addresses of a host;
- session ids: not a drop but another name. ``seen_form`` is what the seen-set is asked for, so each page is fetched
  under one session id. (The engine follows a redirect between two names of one page nevertheless.)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import xxhash

from fyke.url import PATH_SESSION, SESSION_PARAMETER, Url
from fyke.values import Drop

_SESSION = re.compile(r"(?:^|(?<=&))" + SESSION_PARAMETER + r"[^&]*&?", re.IGNORECASE)
_CALENDAR = re.compile(r"calend|\bcal\b|month|\byear|\bday\b|\bdate\b|week|agenda|schedule|event", re.IGNORECASE)
_DATE = re.compile(
    r"(?<!\d)(\d{4})(?:[-/_.]|&\w+=)(?:0?[1-9]|1[0-2])(?!\d)|\b(?:year|yr|y|date|month)=(\d{4})(?!\d{4})"
)
_DIGITS = re.compile(r"\d+")
_VALUE = re.compile(r"=[^&]*")
_YEAR = 365.25 * 86_400
_TABLE = 512  # templates, paths and texts of a host worth remembering; 50 kB at the most


@dataclass(frozen=True, slots=True)
class TrapLimits:
    """How much of each kind is too much."""

    max_depth: int = 0
    """Links from a seed; 0: any."""
    max_host_pages: int = 0
    """URLs of one host; 0: any."""
    host_pages: Mapping[str, int] = field(default_factory=dict)
    """The same for single hosts."""
    max_length: int = 2_048
    """Characters of a URL: no browser or sitemap protocol takes more."""
    max_segments: int = 24
    """Of a path: real ones stay below ten."""
    max_parameters: int = 24
    """Of a query: large search forms have as many."""
    query_budgets: tuple[int, ...] = (5_000, 1_000, 500, 100)
    """URLs of one path with 2, 3, 4 and more parameters. Pages by one parameter are a catalogue, not a trap."""
    calendar_budget: int = 200
    """Dates of one calendar: sixteen years of months."""
    earliest_year: int = 1990
    """Before the web there was nothing to put into its calendars."""
    template_pages: int = 30
    """Pages of a template before it can be given up."""
    template_duplicates: float = 0.9
    """Share of them that must be duplicates."""
    same_text: int = 20
    """Addresses of one text that make it an error page."""


@dataclass(slots=True)
class HostHistory:
    """What the judge knows of a host. Tables keep what was used last, ``_TABLE`` entries each."""

    urls: int = 0
    """URLs let through."""
    budgets: dict[int, int] = field(default_factory=dict)
    """Hash of a path with its number of parameters, or of a calendar: URLs so far."""
    templates: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Hash of a template: pages, duplicates among them."""
    texts: dict[int, int] = field(default_factory=dict)
    """Fingerprint of a text: addresses it came for."""


class TrapJudge:
    """Drops URLs by reason. One for all hosts; what differs is in their histories."""

    def __init__(self, limits: TrapLimits = TrapLimits()) -> None:  # noqa: B008 - frozen
        self.limits = limits

    def judge(self, url: Url, depth: int, now: float, host: HostHistory, *, budgeted: bool = False) -> Drop | None:
        """Return why ``url`` is not worth queueing, or None, and count it. REQUIRES: it was not seen before.

        ``budgeted``: somebody else bounds how many values are asked of its query.
        """
        reason = self._judge(url, depth, now, host, budgeted)
        if reason is None:
            host.urls += 1
        return reason

    def report(self, url: Url, host: HostHistory, text: int, duplicate: bool) -> Drop | None:
        """Learn from a page that came: the fingerprint of its text, and whether it duplicates another page.

        Returns ``SOFT_ERROR`` where the text is the host's way to say "not found", ``SAME_CONTENT`` where its
        template has just been given up; None otherwise.
        """
        times = host.texts.get(text, 0) + 1
        _keep(host.texts, text, times)
        template = _template(url)
        pages, duplicates = host.templates.get(template, (0, 0))
        _keep(host.templates, template, (pages + 1, duplicates + duplicate))
        if times >= self.limits.same_text:
            return Drop.SOFT_ERROR
        return Drop.SAME_CONTENT if self._given_up(host.templates[template]) else None

    def _judge(self, url: Url, depth: int, now: float, host: HostHistory, budgeted: bool) -> Drop | None:
        limits = self.limits
        if len(url.href) > limits.max_length:
            return Drop.LENGTH
        if limits.max_depth and depth > limits.max_depth:
            return Drop.DEPTH
        most = limits.host_pages.get(url.host, limits.max_host_pages) if limits.host_pages else limits.max_host_pages
        if most and host.urls >= most:
            return Drop.HOST_PAGES
        target = url.target
        path, _, query = target.partition("?")
        segments = [segment for segment in path.split("/") if segment]
        if len(segments) > limits.max_segments:
            return Drop.PATH_DEPTH
        if repeats(segments):
            return Drop.REPETITION
        if query and (reason := self._judge_query(path, query, host, budgeted)):
            return reason
        date = _DATE.search(target)
        if date and _CALENDAR.search(target) and (reason := self._judge_calendar(target, date, now, host)):
            return reason
        if host.templates and self._given_up(host.templates.get(_template(url), (0, 0))):
            return Drop.SAME_CONTENT
        return None

    def _judge_query(self, path: str, query: str, host: HostHistory, budgeted: bool) -> Drop | None:
        count = query.count("&") + query.count(";") + 1
        if count > self.limits.max_parameters:
            return Drop.QUERY
        if count < 2 or budgeted:
            return None
        budgets = self.limits.query_budgets
        step = min(count - 2, len(budgets) - 1)
        return None if _spend(host, f"q{step}{path}", budgets[step]) else Drop.QUERY

    def _judge_calendar(self, target: str, date: re.Match[str], now: float, host: HostHistory) -> Drop | None:
        year = int(date[1] or date[2])
        if not self.limits.earliest_year <= year <= 1970 + (now + _YEAR) / _YEAR:
            return Drop.CALENDAR
        place = _DIGITS.sub("0", target)
        return None if _spend(host, "c" + place, self.limits.calendar_budget) else Drop.CALENDAR

    def _given_up(self, template: tuple[int, int]) -> bool:
        pages, duplicates = template
        return pages >= self.limits.template_pages and duplicates >= self.limits.template_duplicates * pages


def repeats(segments: list[str]) -> bool:
    """Return whether a path goes round: /a/b/a/b/a/b, or two segments that were there before. Numbers may repeat."""
    if len(set(segments)) == len(segments):
        return False
    words = [segment for segment in segments if not segment.isdigit()]
    if len(words) - len(set(words)) >= 2:
        return True
    size = len(segments)
    return any(
        segments[at : at + period]
        == segments[at + period : at + 2 * period]
        == segments[at + 2 * period : at + 3 * period]
        for period in range(1, size // 3 + 1)
        for at in range(size - 3 * period + 1)
        if period > 1 or not segments[at].isdigit()
    )


def seen_form(url: Url) -> str:
    """Return what the seen-set is asked for: the URL without session ids, so that a page has one name."""
    href = url.href
    if "=" not in href and "(" not in href:
        return href
    path, mark, query = href.partition("?")
    if ";" in path or "(" in path:
        path = PATH_SESSION.sub("", path)
    if query:
        query = _SESSION.sub("", query).rstrip("&")
    return path + mark + query if query else path


def seen_key(url: Url, seed: int = 0) -> int:
    """Return the key of ``seen_form`` in the seen-set. A secret ``seed`` keeps strangers from choosing keys."""
    return xxhash.xxh3_64_intdigest(seen_form(url).encode(), seed) or 1


def _template(url: Url) -> int:
    """Hash of an address with its numbers and values blanked: /item/12?ref=a and /item/7?ref=b share it."""
    path, _, query = url.target.partition("?")
    names = _VALUE.sub("=", query) if query else ""
    return xxhash.xxh3_64_intdigest(f"{_DIGITS.sub('0', path)}?{names}".encode())


def _spend(host: HostHistory, place: str, budget: int) -> bool:
    key = xxhash.xxh3_64_intdigest(place.encode())
    spent = host.budgets.get(key, 0)
    _keep(host.budgets, key, spent + 1)
    return spent < budget


def _keep(table: dict[int, int] | dict[int, tuple[int, int]], key: int, value: object) -> None:
    table.pop(key, None)
    table[key] = value  # type: ignore[assignment]  # each table has one kind of value
    if len(table) > _TABLE:
        del table[next(iter(table))]
