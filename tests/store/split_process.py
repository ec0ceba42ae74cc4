"""Kills a split at each of its steps, writes what may be written, splits again, and compares the rows with a model.

It is a process of its own, and forks for everything that opens RocksDB, so that each step begins without its threads.
Prints one line of JSON for each step: the step, and what is wrong ([] where nothing is).
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fyke.errors import StorageError
from fyke.store import Settings, Store, Tablet
from fyke.store.maintenance import check
from fyke.store.splitting import split

STEPS = ("mkdir", "rename", "link", "fsync", "rmdir", "unlink")
TABLETS = {"more": (2, 3), "fewer": (2, 1)}


def url(number: int) -> str:
    return f"http://h{number % 11}.example/{number}"


def in_fork(work: Callable[[], object]) -> int:
    """Do something in a child; return its exit status."""
    child = os.fork()
    if child == 0:
        try:
            status = 0 if work() in (None, True) else 3
        except BaseException:
            sys.excepthook(*sys.exc_info())
            status = 4
        os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def watch(step: Callable[[str], None]) -> None:
    """Have ``step`` called before everything that changes the disk."""

    def watched(name: str, do: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            step(name)
            return do(*arguments, **named)

        return call

    for name in STEPS:
        setattr(os, name, watched(name, getattr(os, name)))
    Tablet.write = watched("write", Tablet.write)  # type: ignore[method-assign]


def steps_of(store: Path, tablets: int) -> list[str]:
    """What a whole split does, in order."""
    log = store.parent / "log"

    def work() -> None:
        taken: list[str] = []
        watch(taken.append)
        split(store, tablets)
        log.write_text(json.dumps(taken))

    assert in_fork(work) == 0
    return list(json.loads(log.read_text()))


def killed(store: Path, tablets: int, at: int) -> None:
    left = at

    def step(_: str) -> None:
        nonlocal left
        if left == 0:
            os._exit(9)
        left -= 1

    def work() -> None:
        watch(step)
        split(store, tablets)

    assert in_fork(work) == 9


def change(store: Path, rows: dict[str, str]) -> bool:
    """Write, overwrite and delete, if a writer is let in; put the same into the model."""
    try:
        with Store.open(store) as opened:
            for number in (0, 1000):
                opened.put(url(number), text=f"late {number}")
            opened.delete(url(1))
    except StorageError as error:
        if "split" not in str(error):
            raise
        return False
    return True


def faults(store: Path, rows: dict[str, str], tablets: int) -> list[str]:
    with Store.open(store, mode="r") as opened:
        wrong = list(check(opened).named)
        found = {row.url: row.text for row in opened.scan()}
        wrong += [f"lost {href}" for href in rows.keys() - found.keys()]
        wrong += [f"back again {href}" for href in found.keys() - rows.keys()]
        wrong += [f"another text {href}" for href in rows.keys() & found.keys() if rows[href] != found[href]]
        if opened.settings.tablets != tablets:
            wrong.append(f"{opened.settings.tablets} tablets")
    return wrong


def one_step(base: Path, store: Path, tablets: int, at: int) -> list[str]:
    shutil.copytree(base, store)
    rows = {url(n): f"text {n}" for n in range(80)}
    killed(store, tablets, at)
    wrong: list[str] = []
    if any(store.glob("split-*")) and in_fork(lambda: reported(store)):
        wrong.append("check does not tell of the split")
    written = in_fork(lambda: change(store, rows)) == 0
    if written:
        rows |= {url(n): f"late {n}" for n in (0, 1000)}
        del rows[url(1)]
    if written and any(store.glob("split-*")):
        wrong.append("written during a split")
    assert in_fork(lambda: split(store, tablets)) == 0
    answer = store.parent / "answer"
    assert in_fork(lambda: answer.write_text(json.dumps(faults(store, rows, tablets))) and None) == 0
    wrong += json.loads(answer.read_text())
    if left := [p.name for p in store.glob("split-*")]:
        wrong.append(f"left over: {left}")
    shutil.rmtree(store)
    return wrong


def reported(store: Path) -> bool:
    try:
        with Store.open(store, mode="r") as opened:
            return any("split" in fault for fault in check(opened).named)
    except StorageError as error:
        return "split" in str(error)


def main(folder: Path, kind: str) -> None:
    before, after = TABLETS[kind]
    base = folder / "base"

    def fill() -> None:
        with Store.open(base, settings=Settings(tablets=before)) as store:
            for number in range(80):
                store.put(url(number), text=f"text {number}")

    assert in_fork(fill) == 0
    shutil.copytree(base, folder / "whole")
    steps = steps_of(folder / "whole", after)
    for at, name in enumerate(steps):
        if name == "unlink" and at % 7:  # the files of removed tablets are many, and alike
            continue
        print(json.dumps([at, name, one_step(base, folder / "store", after, at)]), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
