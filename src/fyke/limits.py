"""Limits that were met: how often something of a document was not read, by the name of what there was too much of.

Who leaves something out because of a limit says so here, and ``fyke status`` tells (docs/limits.md lists them all).
The counts are this process's; those of a converter come with its answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

_met: Counter[str] = Counter()


def note(name: str, count: int = 1) -> None:
    """A limit was met."""
    _met[name] += count


def add(counts: Mapping[str, int]) -> None:
    """Another process met these."""
    _met.update(counts)


def counted() -> dict[str, int]:
    """How often each limit was met so far."""
    return dict(_met)


def take() -> dict[str, int]:
    """The same, and begin anew."""
    found = dict(_met)
    _met.clear()
    return found
