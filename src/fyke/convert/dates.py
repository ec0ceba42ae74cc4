"""Dates: when a page was published and last changed, from what it says, by rank of trust.

``read_date`` understands a value that is a date, ``dates_in`` finds dates in running text, in the words of many
languages (months). A date is ISO 8601 with the precision and the zone of its source: ``2008``, ``2008-09``,
``2008-09-28``, ``2008-09-28T23:41:50+02:00``; its first ten characters are the day where the page was made. Linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import accumulate, islice
from typing import NamedTuple

import numpy as np

from fyke.convert.date_kernels import AROUND, MAX_YEARS, find_years, may_hold_years
from fyke.convert.months import MONTHS

EARLIEST, LATEST = 1990, 2049
"""Years of a web page: the other numbers of four digits are something else."""

_NAME = r"[^\W\d_]{3,14}"
_CLOCK = (
    r"(?:(?:T|,?\s{1,3}(?:at\s|um\s|à\s|às\s|-\s|–\s)?|\s?[-–|,]\s?)(?P<hour>\d{1,2})(?::|h)(?P<minute>\d{2})"
    r"(?::(?P<second>\d{2})(?:[.,]\d{1,9})?)?\s?(?P<half>[ap]\.?m\b\.?)?\s?(?P<zone>Z\b|UTC|GMT|[+-]\d{2}:?\d{2}\b)?)?"
)
_ISO = rf"(?P<y1>(?:19|20)\d\d)(?P<s1>[-/.])(?P<m1>\d{{1,2}})(?P=s1)(?P<d1>\d{{1,2}})(?!\d){_CLOCK}"
_DAY = r"(?P<{}>\d{{1,2}})(?:st|nd|rd|th|er|\.|º|ª)?"
_WORDS = (
    rf"{_DAY.format('d2')}(?:\s{{1,3}}(?:(?:of|de|di)\s|d[’'])|[\s\-/]{{0,3}})(?P<n2>{_NAME})\b\.?,?"
    r"(?:\s(?:de|del)\s|[\s\-/’']{0,3})"
    r"(?P<y2>(?:19|20)\d\d)(?!\d)"
)
_AMERICAN = rf"\b(?P<n3>{_NAME})\b\.?[\s\-]{{0,3}}{_DAY.format('d3')}\s?,?\s{{0,3}}(?P<y3>(?:19|20)\d\d)(?!\d)"
_PLAIN = r"(?P<d4>\d{1,2})(?P<s4>[./-])\s?(?P<m4>\d{1,2})(?P=s4)\s?(?P<y4>(?:19|20)\d\d|\d\d)(?![\d.:/-]\d)"
_HAN = r"(?P<y5>(?:19|20)\d\d)\s?[年년]\s?(?P<m5>\d{1,2})\s?[月월]\s?(?P<d5>\d{1,2})\s?[日일]"
_DATE = re.compile(
    rf"(?<![\d.:/-])(?:{_ISO}|(?:{_WORDS}|{_PLAIN}|{_HAN}){_CLOCK.replace('P<', 'P<x')})"
    rf"|{_AMERICAN}{_CLOCK.replace('P<', 'P<z')}",
    re.IGNORECASE,
)
_COMPACT = re.compile(r"((?:19|20)\d\d)(\d\d)(\d\d)(?:T?(\d\d)(\d\d)(\d\d)?(Z|[+-]\d{2}:?\d{2})?)?")
_MONTH = re.compile(rf"(?:(?P<name>{_NAME})\.?,?\s)?(?P<year>(?:19|20)\d\d)(?:-(?P<month>\d\d))?", re.IGNORECASE)
_EPOCH = re.compile(r"1\d{9}(?:\d{3})?")
_DAY_ALONE = re.compile(r"(?<!\d)(?:\d{1,2}|\d{5,6})(?!\d)")
"""What every date holds: the number of its day, by itself or right before the year; and either of these."""
_NUMBERS = re.compile(r"\d[./-]\s?\d{1,2}[./-]|\d\s?[年년]")
_LETTERS = re.compile(rf"(?:(?<=\d)(?:st|nd|rd|th|er|º|ª))?({_NAME})", re.IGNORECASE)
MAX_VALUE = 120
_LEAST_LOOKED, MAX_LOOKED = 8 * AROUND, 20_000
"""Bytes above and up to which it is told of a text beforehand that it names no date."""


class Date(NamedTuple):
    """A date that was found in text, and where."""

    iso: str
    start: int
    end: int


def read_date(text: str, american: bool = False) -> str:
    """Return the date that a value says; empty where it says none. ``american``: 3/4/2020 is in March."""
    return _read(" ".join(text[:MAX_VALUE].split()), american)


@lru_cache(maxsize=4096)
def _read(text: str, american: bool) -> str:
    if match := _COMPACT.fullmatch(text):
        return _iso(match[1], match[2], match[3], (match[4], match[5], match[6], None, match[7]))
    if _EPOCH.fullmatch(text):
        moment = datetime.fromtimestamp(int(text[:10]), UTC)
        return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
    if found := next(dates_in(text, american), None):
        return found.iso
    if match := _MONTH.fullmatch(text):
        number = match["month"] or (f"{MONTHS.get(match['name'].lower(), 0):02d}" if match["name"] else "")
        if number and not 1 <= int(number) <= 12:
            return ""
        return f"{match['year']}-{number}" if number else match["year"]
    return ""


def dates_in(text: str, american: bool = False) -> Iterator[Date]:
    """Yield the dates of running text that name a day, in order. Only what is around a year is looked at closely."""
    if len(text) <= 2 * AROUND:
        yield from _dates(text, 0, len(text), american)
        return
    start = end = 0
    for first, last in _years(text):
        if first - AROUND > end:
            yield from _dates(text, start, end, american)
            start = first - AROUND
        end = last + AROUND
    if end:
        yield from _dates(text, start, end, american)


def undated(texts: Sequence[bytes | memoryview]) -> list[bool]:
    """Return of each text, which is UTF-8 with entities, whether ``dates_in`` surely finds no date in it.

    Of a very short one, of a long one, and of one with entities nothing is said.
    """
    some = [text if _LEAST_LOOKED < len(text) <= MAX_LOOKED else b"" for text in texts]
    bounds = np.array([0, *accumulate(map(len, some))], np.int32)
    found = np.empty(len(some), np.bool_)
    may_hold_years(np.frombuffer(b"".join(some) or b" ", np.uint8), bounds, found)
    return [not held and bool(text) for held, text in zip(found.tolist(), some, strict=True)]


def _years(text: str) -> list[list[int]]:
    """Return where years and short dates of a text stand that may be a date's: 1990 … 2049, 3.4.20."""
    if not text:
        return []
    found = np.empty((MAX_YEARS, 3), np.int32)
    count = find_years(np.frombuffer(text.encode("utf-8", "replace"), np.uint8), found)
    return found[:count, :2].tolist() if count else []


def _dates(text: str, start: int, end: int, american: bool) -> Iterator[Date]:
    if not _may_hold_date(text, start, end):
        return
    for match in _DATE.finditer(text, start, end):
        said = match.groupdict()
        if said["y1"]:
            found = _iso(said["y1"], said["m1"], said["d1"], _clock(said, ""))
        elif said["y5"]:
            found = _iso(said["y5"], said["m5"], said["d5"], _clock(said, "x"))
        elif said["n2"]:
            found = _iso(said["y2"], _month(said["n2"]), said["d2"], _clock(said, "x"))
        elif said["n3"]:
            found = _iso(said["y3"], _month(said["n3"]), said["d3"], _clock(said, "z"))
        else:
            found = _numbers(said, american)
        if found:
            yield Date(found, match.start(), match.end())


def _may_hold_date(text: str, start: int, end: int) -> bool:
    """Whether it is worth the time of ``_DATE``: there is a day, and a month by number or by name."""
    if not _DAY_ALONE.search(text, start, end):
        return False
    if _NUMBERS.search(text, start, end):
        return True
    return not MONTHS.keys().isdisjoint(map(str.lower, _LETTERS.findall(text, start, end)))


def _month(name: str | None) -> str:
    return str(MONTHS.get((name or "").lower(), 0))


def _numbers(said: dict[str, str | None], american: bool) -> str:
    day, month, year = (said[key] or "" for key in ("d4", "m4", "y4"))
    if len(year) == 2:
        if said["s4"] == "-" or int(year) > 40:
            return ""
        year = f"20{year}"
    if int(month) > 12 or (american and said["s4"] != "." and int(day) <= 12):
        day, month = month, day
    return _iso(year, month, day, _clock(said, "x"))


Clock = tuple[str | None, ...]


def _clock(said: dict[str, str | None], mark: str) -> Clock:
    return tuple(said[mark + key] for key in ("hour", "minute", "second", "half", "zone"))


def _iso(year: str | None, month: str | None, day: str | None, clock: Clock) -> str:
    """Put a date together; empty where there is no such day."""
    hour, minute, second, half, zone = clock
    try:
        moment = datetime(int(year or 0), int(month or 0), int(day or 0))
    except ValueError:
        return ""
    if not EARLIEST <= moment.year <= LATEST:
        return ""
    written = f"{moment:%Y-%m-%d}"
    hours = int(hour or 0)
    if half:
        hours = hours % 12 + (12 if half[0] in "pP" else 0)
    if hour is None or minute is None or hours > 23 or int(minute) > 59 or int(second or 0) > 59:
        return written
    written += f"T{hours:02d}:{int(minute):02d}" + (f":{int(second):02d}" if second else "")
    return written + _zone(zone)


def _zone(zone: str | None) -> str:
    if not zone:
        return ""
    if zone[0] not in "+-":
        return "Z"
    hours, minutes = int(zone[1:3]), int(zone[-2:])
    if hours > 14 or minutes > 59:
        return ""
    return "Z" if timedelta(hours=hours, minutes=minutes) == timedelta() else f"{zone[0]}{hours:02d}:{minutes:02d}"


_IN_URL = re.compile(
    r"[/=_.-](?P<y>(?:19[9]|20[0-4])\d)(?P<s>[/_.-]?)(?P<m>0[1-9]|1[0-2]|[1-9](?=\D))(?P=s)(?P<d>0[1-9]|[12]\d|3[01]|(?<=\D)[1-9])"
    r"(?!\d)"
)
_NAMED_URL = re.compile(
    r"/(?P<y>20[0-4]\d)/(?P<m>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*/(?P<d>\d{1,2})(?!\d)"
)


def date_in_url(url: str) -> str:
    """Return the day that a URL names, as news sites have it; empty where it names none."""
    if "20" not in url and "199" not in url:
        return ""
    for match in islice(_IN_URL.finditer(url[:500]), 3):
        if found := _iso(match["y"], match["m"], match["d"], (None,) * 5):
            return found
    named = _NAMED_URL.search(url[:500].lower())
    return _iso(named["y"], _month(named["m"]), named["d"], (None,) * 5) if named else ""
