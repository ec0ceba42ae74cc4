"""JSON-LD: what the scripts of a page hold, decoded once, and walked in bounded steps.

Sites write JSON by hand: line breaks and tabs in strings, a comma too many, comment marks around the whole are mended.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import msgspec

from fyke.errors import UNREADABLE
from fyke.limits import note

MAX_SCRIPT = 1 << 20
"""Characters of a script: a longer one is a data dump."""
MAX_THINGS = 2000
"""Objects and lists that are looked at: pages have a dozen."""

_CONTROLS = re.compile(r"[\x00-\x1f]+")
_AROUND = re.compile(
    r"^\s*(?:<!--|//\s*<!\[CDATA\[|<!\[CDATA\[|/\*\s*<!\[CDATA\[\s*\*/)|(?:-->|//\s*\]\]>|\]\]>|;)\s*$"
)
_COMMA = re.compile(r",\s*([}\]])")
_decode = msgspec.json.Decoder().decode


def decode_plain(script: str) -> Any:
    """Return what a script says that is JSON as it stands; else None."""
    if len(script) <= MAX_SCRIPT:
        with suppress(*UNREADABLE):
            return _decode(script)
    return None


def decode(script: str) -> Any:
    """Return what a script says; None where that is no JSON, or none that can be mended."""
    if len(script) > MAX_SCRIPT:
        note("linked-data")
        return None
    with suppress(*UNREADABLE):
        return _decode(script)
    mended = _COMMA.sub(r"\1", _AROUND.sub("", _AROUND.sub("", _CONTROLS.sub(" ", script))))
    with suppress(*UNREADABLE):
        return _decode(mended)
    return None


def things(values: Iterable[object]) -> Iterator[dict[str, Any]]:
    """Yield every object in ``values``, however deep, outer ones first; at most MAX_THINGS."""
    waiting: list[object] = list(values)
    for at in range(MAX_THINGS):
        if at >= len(waiting):
            return
        value = waiting[at]
        if isinstance(value, dict):
            yield value
            waiting.extend(inner for inner in value.values() if isinstance(inner, (dict, list)))
        elif isinstance(value, list):
            waiting.extend(inner for inner in value[:MAX_THINGS] if isinstance(inner, (dict, list)))
    if len(waiting) > MAX_THINGS:
        note("linked-data")


def types(thing: dict[str, Any]) -> list[str]:
    """Return what an object says that it is: ``Article``, ``Product``, …, without the vocabulary's address."""
    said = thing.get("@type")
    named = said if isinstance(said, list) else [said]
    return [name.rpartition("/")[2].rpartition("#")[2][:40] for name in named[:10] if isinstance(name, str)]
