"""The plan of a crawl: its seeds and settings, kept in the store as ``crawl.json`` so that it can be resumed."""

from __future__ import annotations

from pathlib import Path

import msgspec

from fyke.crawl.run.settings import CrawlSettings
from fyke.errors import UNREADABLE, StorageError

FILE = "crawl.json"
FORMAT = "fyke-crawl"
VERSION = 1


class Plan(msgspec.Struct, frozen=True):
    """What is crawled and how."""

    seeds: tuple[str, ...]
    settings: CrawlSettings
    format: str = FORMAT
    version: int = VERSION


def read(store: Path) -> Plan | None:
    """The plan of a store's crawl; None where there was none. Raises ``StorageError`` for a foreign file."""
    path = store / FILE
    try:
        plan = msgspec.json.decode(path.read_bytes(), type=Plan)
    except FileNotFoundError:
        return None
    except UNREADABLE as error:
        raise StorageError(f"{path} is not a crawl's plan ({error}); delete it and start the crawl anew") from None
    if (plan.format, plan.version) != (FORMAT, VERSION):
        raise StorageError(f"{path} is {plan.format} version {plan.version}; this fyke reads version {VERSION}")
    return plan


def write(store: Path, plan: Plan) -> None:
    """Keep the plan."""
    fresh = store / "crawl.json.new"
    fresh.write_bytes(msgspec.json.format(msgspec.json.encode(plan), indent=1))
    fresh.replace(store / "crawl.json")


def changes(old: Plan, new: Plan) -> list[str]:
    """The settings that differ, in words."""
    before, after = msgspec.to_builtins(old.settings), msgspec.to_builtins(new.settings)
    return [f"{name}: {before[name]!r} → {after[name]!r}" for name in after if before.get(name) != after[name]]
