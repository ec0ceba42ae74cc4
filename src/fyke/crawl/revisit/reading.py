"""How fresh some pages are, as a value: reports carry it, also to those who load no kernel."""

from __future__ import annotations

import msgspec


class Reading(msgspec.Struct, frozen=True):
    """How fresh pages are."""

    pages: int
    freshness: float
    age: float
    """Days."""
