"""``purge``: all of a path taken out of a store, so that no file of the store holds a byte of it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from fyke.desktop import plan as plans
from fyke.desktop.files import Files
from fyke.desktop.ignore import purge_mark
from fyke.desktop.state import is_inside
from fyke.desktop.walk import true_path
from fyke.store import Store
from fyke.store.maintenance import scrub


def count(store: Path, said: str) -> int:
    """Return how many rows ``purge`` would take out."""
    with Store.open(store, mode="r") as opened:
        if not said:
            return sum(1 for _ in opened.scan(parts=()))
        return Files(opened).count_below(true_path(said))


def purge(store: Path, said: str) -> None:
    """Take out a file or folder, or with an empty path everything, and rewrite the store's files.

    The path is left out from now on; it is known by a mark that does not tell it.
    """
    path = true_path(said) if said else ""
    plan = plans.read(store)
    with plans.open_store(store) as opened:
        Files(opened).forget_below(path or "/")
        mark = frozenset({purge_mark(path, opened.secret)}) if path else frozenset()
        roots = tuple(root for root in plan.roots if path and not is_inside(root.path, path))
        mounts = tuple(point for point in plan.mounts if path and not is_inside(point, path))
        purged = plan.purged | mark if path else frozenset()
        plans.write(store, msgspec.structs.replace(plan, roots=roots, mounts=mounts, purged=purged))
    (store / plans.STATUS).unlink(missing_ok=True)
    scrub(store)
