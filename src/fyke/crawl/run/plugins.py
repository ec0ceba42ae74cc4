"""Code of one's own, named by where it can be imported from: ``--plugin KIND=MODULE:NAME``, in TOML ``[plugins]``.

Every agent imports it by itself, so it works with several, too. A name without a colon is an entry point of the group
``fyke.plugins``. Modules in the current folder are found.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fyke.errors import UserError

GROUP = "fyke.plugins"
KINDS = {
    "before-fetch": "called with a URL before it is fetched: returns None, headers to send, or why not to",
    "after-reading": "called with a page that was read: returns None, or a dict with annotate, links, drop",
    "prioritizer": "which URL first (fyke.interfaces.Prioritizer)",
    "scope": "which URLs belong (judge(url): None, or why not)",
    "transport": "how documents are had (fyke.interfaces.Transport)",
    "converter": "called with a Source that is no page: returns its Document, or None for the usual way",
}


def parse(text: str) -> tuple[str, str]:
    """Return kind and place of ``KIND=MODULE:NAME``. Raises ``ValueError``."""
    kind, equals, place = text.partition("=")
    if kind not in KINDS or not equals or not place:
        raise ValueError(f"plugin: {text!r} is not KIND=MODULE:NAME with a KIND of {', '.join(KINDS)}")
    return kind, place


class Plugins:
    """What a crawl's settings name."""

    def __init__(self, named: Iterable[str]) -> None:
        self._places = dict(map(parse, named))

    def place(self, kind: str) -> str:
        """Where that kind comes from; empty where the crawl has none."""
        return self._places.get(kind, "")

    def load(self, kind: str) -> Any:
        """Return the code of that kind, an object where it is a class; None where the crawl has none."""
        place = self._places.get(kind)
        if place is None:
            return None
        try:
            found = _imported(place)
            return found() if isinstance(found, type) else found
        except Exception as error:  # it is somebody's code
            raise UserError(f"the plugin {kind}={place} cannot be had: {type(error).__name__}: {error}") from None

    def check(self) -> None:
        """Load all of them, so that a mistake is known before anybody is contacted. Raises ``UserError``."""
        for kind in self._places:
            self.load(kind)


def _imported(place: str) -> Any:
    module, colon, name = place.partition(":")
    if not colon:
        from importlib.metadata import entry_points

        for each in entry_points(group=GROUP, name=place):
            return each.load()
        raise LookupError(f"no package has an entry point {place!r} in the group {GROUP}; write MODULE:NAME")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    found = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found
