"""What an agent has done, in numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Tally:
    """What an agent has done since it started."""

    pages: int = 0
    """Documents fetched."""
    bytes: int = 0
    contacts: int = 0
    """Requests sent, robots.txt included."""
    revisits: int = 0
    """Pages asked for again."""
    changed: int = 0
    """Of these, those that had changed."""
