"""What a document may be used for: the signals of its head and its elements, and those of its site.

- Content-Usage (IETF aipref: ``train-ai=n, search=y``) and Content-Signal (``search=yes, ai-train=no``), as headers, as
  meta elements, and as lines of a robots.txt (fyke.sites.robots);
- the W3C community's TDMRep: ``tdm-reservation`` and ``tdm-policy`` as headers and meta elements, and a site's
  ``/.well-known/tdmrep.json``, of which the first rule that matches a path holds.

Nothing is decided here: who uses a document reads what is said. Nothing raises, whatever a site sends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from fyke.description import NO_SIGNALS, Signals, Usage
from fyke.errors import UNREADABLE
from fyke.limits import note

if TYPE_CHECKING:
    from fyke.formats.http import Head
    from fyke.url import Url

MAX_USES = 32
"""Statements that are kept of one document: vocabularies have a handful of purposes."""
MAX_RULES = 1_000
"""Rules of a tdmrep.json that are read."""
MAX_POLICY = 2_000
"""Characters of a policy's address."""

_PREFERENCES = ("content-usage", "content-signal")
_RESERVATION, _POLICY = "tdm-reservation", "tdm-policy"
_SPOKEN = frozenset({*_PREFERENCES, _RESERVATION, _POLICY})
_PURPOSE = re.compile(r"[a-z*][a-z0-9_.*-]{0,63}")
_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_VALUES = {"y": True, "yes": True, "?1": True, "1": True, "n": False, "no": False, "?0": False, "0": False}


def read_signals(robots: tuple[str, ...], head: Head, metas: Iterable[tuple[str, str]] = ()) -> Signals:
    """Return what a response says: ``robots`` directives as they were read, its head, its meta elements by name."""
    said = [(name, content) for name, content in metas if name in _SPOKEN] if metas else []
    if head.has(_SPOKEN):
        said += [(name, value) for name in _SPOKEN for value in head.get_all(name)]
    if not said:
        return Signals(robots) if robots else NO_SIGNALS
    usage: list[Usage] = []
    policy = ""
    for name, value in said:
        if name in _PREFERENCES:
            usage += [Usage(purpose, allowed, name) for purpose, allowed in preferences(value)]
        elif name == _POLICY:
            policy = policy or _cut(value.strip())
        elif (reserved := _reserved(value)) is not None:
            usage.append(Usage("tdm", not reserved, _RESERVATION))
    kept = tuple(sorted(set(usage)))
    if len(kept) > MAX_USES:
        note("usages")
    return Signals(robots, kept[:MAX_USES], policy)


def preferences(value: str) -> Iterator[tuple[str, bool]]:
    """Yield purpose and whether it is allowed, of ``train-ai=n, search=y``; what says neither is left out."""
    for part in _cut(value).lower().split(","):
        purpose, _, answer = part.partition(";")[0].partition("=")
        allowed = _VALUES.get(answer.strip())
        if allowed is not None and _PURPOSE.fullmatch(purpose.strip()):
            yield purpose.strip(), allowed


def joined(own: Signals, site: Signals) -> Signals:
    """Return a document's signals with those of its site: of one purpose, what the document says holds."""
    if not (site.usage or site.policy):
        return own
    known = {use.purpose for use in own.usage}
    more = tuple(use for use in site.usage if use.purpose not in known)
    return Signals(own.robots, (own.usage + more)[:MAX_USES], own.policy or site.policy)


def _cut(said: str) -> str:
    if len(said) > MAX_POLICY:
        note("usage-text")
    return said[:MAX_POLICY]


def _reserved(value: object) -> bool | None:
    return {"1": True, "0": False}.get(str(value).strip())


@dataclass(frozen=True, slots=True)
class _Rule:
    location: re.Pattern[str]
    signals: Signals


class TdmRules:
    """A site's ``/.well-known/tdmrep.json``: ``signals`` is what it says of a URL."""

    def __init__(self, rules: tuple[_Rule, ...] = ()) -> None:
        self._rules = rules

    @classmethod
    def parse(cls, body: bytes | str) -> TdmRules:
        """Read the file. Never raises; what is no rule is skipped."""
        try:
            entries = msgspec.json.decode(body)
        except UNREADABLE:
            return cls()
        if isinstance(entries, list) and len(entries) > MAX_RULES:
            note("usage-rules")
        found = (_rule(entry) for entry in entries[:MAX_RULES]) if isinstance(entries, list) else ()
        return cls(tuple(rule for rule in found if rule is not None))

    def __len__(self) -> int:
        return len(self._rules)

    def signals(self, url: Url) -> Signals:
        """Return what the first rule that matches says; nothing where none does."""
        target = _unescaped(url.target)
        return next((rule.signals for rule in self._rules if rule.location.match(target)), NO_SIGNALS)


def _rule(entry: object) -> _Rule | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("location"), str):
        return None
    reserved = _reserved(entry.get(_RESERVATION))
    if reserved is None:
        return None
    policy = entry.get(_POLICY)
    policy = _cut(policy.strip()) if isinstance(policy, str) else ""
    return _Rule(_pattern(entry["location"]), Signals((), (Usage("tdm", not reserved, "tdmrep.json"),), policy))


def _unescaped(path: str) -> str:
    return _ESCAPES.sub(lambda found: bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "replace"), path)


def _pattern(location: str) -> re.Pattern[str]:
    """A location as robots.txt writes paths: ``*`` is any run, ``$`` the end, else a prefix; atomic, so linear."""
    path = _unescaped(location if location.startswith(("/", "*")) else f"/{location}")
    end = "$" if path.endswith("$") else ""
    first, *rest = path.removesuffix("$").split("*")
    # Each piece at its leftmost place after the one before; the last one of an anchored pattern at the end.
    last = f".*{re.escape(rest.pop())}\\Z" if end and rest else "\\Z" if end else ""
    return re.compile(re.escape(first) + "".join(f"(?>.*?{re.escape(piece)})" for piece in rest) + last, re.DOTALL)
