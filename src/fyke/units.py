"""How durations and sizes are written, everywhere: ``90s``, ``15m``, ``1h30m``, ``2d``; ``500MB``, ``2GB``, ``1GiB``.

A bare number is seconds, or bytes. A field that is ``Seconds`` or ``Bytes`` is a number to who reads it, and may be
written either way on the command line, in TOML and from Python (fyke.config).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, get_args

from fyke.errors import UserError

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
_NAMES = {
    name: unit
    for unit, names in {"s": "sec second", "m": "min minute", "h": "hr hour", "d": "day", "w": "week"}.items()
    for name in names.split()
}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)\s*")
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e\d{1,2})?")


def parse_duration(words: str) -> float:
    """Return the seconds of ``2h``, ``1h30m``, ``90 s``, ``500ms`` or ``45``. Raises ``UserError``."""
    text = words.strip().lower()
    if _NUMBER.fullmatch(text):
        return float(text)
    seconds, at = 0.0, 0
    while at < len(text) and (found := _DURATION.match(text, at)):
        unit = found[2] if found[2] in _SECONDS else _NAMES.get(found[2].removesuffix("s"), "")
        if not unit:
            break
        seconds, at = seconds + float(found[1]) * _SECONDS[unit], found.end()
    if not text or at < len(text):
        raise UserError(f"{words!r} is no duration; write 90s, 15m, 2h, 1h30m or 2d")
    return seconds


def parse_size(words: str) -> int:
    """Return the bytes of ``2GB``, ``500 MB``, ``1GiB`` or ``4096``. Raises ``UserError``."""
    match = _SIZE.fullmatch(words.lower())
    if match is None:
        raise UserError(f"{words!r} is no size; write 500MB or 2GB")
    return int(float(match[1]) * (1024 if match[3] else 1000) ** " kmgt".index(match[2] or " "))


def write_duration(seconds: float) -> str:
    """Return seconds as ``parse_duration`` reads them, in the largest unit that they are whole in."""
    for unit in ("w", "d", "h", "m"):
        if seconds and seconds % _SECONDS[unit] == 0:
            return f"{seconds / _SECONDS[unit]:.0f}{unit}"
    return f"{seconds:.3f}".rstrip("0").rstrip(".") + "s"


def write_size(size: int) -> str:
    """Return bytes as ``parse_size`` reads them, in the largest unit that they are whole in."""
    for power, unit in ((4, "TB"), (3, "GB"), (2, "MB"), (1, "kB")):
        if size and size % 1000**power == 0:
            return f"{size // 1000**power}{unit}"
    return f"{size}B"


@dataclass(frozen=True, slots=True)
class Unit:
    """What a number of a configuration measures; its name is the metavar of its flag."""

    name: str
    parse: Callable[[str], float]
    write: Callable[[float], str]


DURATION = Unit("DURATION", parse_duration, write_duration)
SIZE = Unit("SIZE", parse_size, lambda size: write_size(int(size)))
Seconds = Annotated[float, DURATION]
"""A duration; as text ``2h``."""
Bytes = Annotated[int, SIZE]
"""A size; as text ``50GB``."""


def unit_of(hint: object) -> Unit | None:
    """Return the unit of a type hint (with its extras), where it has one; that of ``Seconds | None`` is its own."""
    for part in (hint, *get_args(hint)):
        for each in getattr(part, "__metadata__", ()):
            if isinstance(each, Unit):
                return each
    return None
