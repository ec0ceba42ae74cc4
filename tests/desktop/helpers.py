"""What the tests of this room share: a store, a scan, and what is live in it."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fyke.desktop import plan as plans
from fyke.desktop.converter import Converter
from fyke.desktop.run import Desktop, Report, root_of
from fyke.errors import UserError
from fyke.store import Row, Store
from fyke.store.imports.files import path_of
from fyke.url import Url

CONVERTER = Converter()
"""One for all tests of a process: a worker takes a second to start."""
atexit.register(CONVERTER.close)


def refuse(question: str) -> bool:
    raise UserError(question)


def scan(store: Path, *roots: Path, yes: bool = False, **settings: object) -> Report:
    """Scan folders into a store, as the command does."""
    with plans.open_store(store, 1) as opened:
        found = [root_of(str(root)) if root.exists() else _known(store, root) for root in roots]
        plan = plans.read(store).extended(found, opened.secret, **settings)
        plans.write(store, plan)
        desktop = Desktop(opened, plan, CONVERTER)
        return desktop.scan(found or plan.roots, (lambda question: True) if yes else refuse)


def _known(store: Path, root: Path) -> plans.Root:
    return next(each for each in plans.read(store).roots if each.path == str(root))


def live(store: Path) -> dict[str, Row]:
    """The rows of files that are there, by path; members by their address."""
    with Store.open(store, mode="r") as opened:
        rows = [row for row in opened.scan() if row.meta.error != "gone"]
        return {row.url if "!/" in row.url else str(path_of(Url(row.url))): row for row in rows}


def texts(store: Path) -> dict[str, str]:
    """The texts of these."""
    with Store.open(store, mode="r") as opened:
        rows = [row for row in opened.scan() if row.meta.error != "gone"]
        return {row.url if "!/" in row.url else str(path_of(Url(row.url))): (row.whole or "").strip() for row in rows}


_heard: dict[str, list[tuple[Any, ...]]] = {}
sys.addaudithook(lambda name, args: _heard[name].append(args) if name in _heard else None)


@contextmanager
def audited(*names: str) -> Iterator[list[tuple[Any, ...]]]:
    """What Python tells its auditors of these, while the block runs: files that are opened, sockets."""
    said: list[tuple[Any, ...]] = []
    _heard.update(dict.fromkeys(names, said))
    try:
        yield said
    finally:
        _heard.clear()
