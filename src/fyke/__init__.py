"""fyke: find documents, fetch them politely, convert, clean, deduplicate, store, refresh, archive, simulate.

The names below are the whole public face; each is loaded from its room when first used.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

__version__ = "0.2.0"

_FACE: dict[str, str] = {
    "Robots": "fyke.sites.robots",
    "parse_sitemap": "fyke.sites.sitemap",
    "parse_feed": "fyke.sites.feed",
    "Store": "fyke.workers.rows",
    "crawl": "fyke.assemble",
    "pages": "fyke.streaming",
    "pages_async": "fyke.streaming",
    "fetch": "fyke.fetching",
    "DuplicateIndex": "fyke.dedupe.index",
    "minhash": "fyke.dedupe.sketch",
    "near_duplicates": "fyke.dedupe.discover",
    "simhash": "fyke.dedupe.sketch",
    "convert": "fyke.workers.conversion",
    "decode": "fyke.formats.encoding",
    "Archive": "fyke.archive.archive",
    "Graph": "fyke.graph.graph",
    "simulate": "fyke.simulate.run",
    "extract": "fyke.reading.content",
}
"""Public name to the module that defines it."""

_ROOMS = ("convert", "crawl", "fetch", "simulate")
"""Public names that are rooms, too."""

__all__ = list(_FACE)


def __getattr__(name: str) -> Any:
    if name in _FACE:
        found = getattr(importlib.import_module(_FACE[name]), name)
        if name in _ROOMS:  # so that `import fyke.crawl.agent as engine` finds its way past the function
            found.__name__ = f"{__name__}.{name}"
        globals()[name] = found
        return found
    raise AttributeError(f"module 'fyke' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


class _Face(ModuleType):
    """The package itself: a public name stays what it is when the room of the same name is imported.

    The import system sets ``fyke.convert`` to the room once anyone imports it; the function is what users call.
    Rooms are reached by ``from fyke.convert import …`` as ever.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _FACE and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Face
