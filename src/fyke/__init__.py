"""fyke: find documents, fetch them politely, convert, clean, deduplicate, store, refresh, archive, simulate.

The names below are the whole public face; each is loaded from its room when first used.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_FACE: dict[str, str] = {
    "Robots": "fyke.sites.robots",
    "Row": "fyke.store.row",
    "Store": "fyke.store.store",
}
"""Public name to the module that defines it."""

__all__ = list(_FACE)


def __getattr__(name: str) -> Any:
    if name in _FACE:
        return getattr(importlib.import_module(_FACE[name]), name)
    raise AttributeError(f"module 'fyke' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
