"""Folders of sketches that others made: whatever number they hold, they are read or refused in a sentence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fyke.dedupe.disk import SketchFolder
from fyke.dedupe.index import DuplicateIndex, candidates
from fyke.dedupe.sketch import Parameters
from fyke.errors import FykeError

TEXTS = [" ".join(f"word{i}x{j}" for j in range(40)) for i in range(60)]
PARAMETERS = Parameters(num_perm=16)
ROOT = Path(__file__).parents[2]


def make(path: Path) -> None:
    """A folder with a run of slots on disk and records after it."""
    with DuplicateIndex(path, parameters=PARAMETERS) as index:
        for i, text in enumerate(TEXTS[:40]):
            index.seen(text, f"name {i}")
        assert index._folder is not None
        index._spill(index._folder, 40)
        for i, text in enumerate(TEXTS[40:]):
            index.seen(text, f"later {i}")
    assert list(path.glob("bands-*-40"))


MOST = 200 << 20
"""Bytes that no file of a few texts grows to."""


def use(path: Path) -> int:
    """All that reads and writes a folder, where a ``FykeError`` is an answer; return the size of its largest file."""
    try:
        with DuplicateIndex(path) as index:
            for text in TEXTS:
                index.similar(text, "name 7")
            index.seen("another text of a few words that nobody has seen", "new")
    except FykeError:
        pass
    try:
        candidates(path, TEXTS[3], 0.8)
        with_all = SketchFolder.open(path.parent / "merged", SketchFolder.open(path).parameters, create=True)
        with_all.merge(SketchFolder.open(path))
        with_all.close()
    except FykeError:
        pass
    return max(file.stat().st_size for folder in (path, path.parent / "merged") for file in folder.glob("*"))


NUMBERS = [0, 1, 59, 60, 61, 2**16, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**63, 2**64 - 1]


def header(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    said = json.loads((path / "header.json").read_bytes())
    change(said)
    (path / "header.json").write_text(json.dumps(said))


def mutations() -> dict[str, Callable[[Path], None]]:
    """One change to one place each, of every header field, offset array and file size."""
    made: dict[str, Callable[[Path], None]] = {}

    def words(name: str, at: int, value: int) -> Callable[[Path], None]:
        def change(path: Path) -> None:
            file = next(path.glob(name))
            data = np.fromfile(file, np.uint64)
            data[at % len(data)] = np.uint64(value)
            data.tofile(file)

        return change

    for value in [*NUMBERS, -1, -(2**63), 2**200, 1.5, "x", None]:
        made[f"records {value}"] = lambda p, v=value: header(p, lambda said: said.update(records=v))  # type: ignore[misc]
        for name in ("n", "permutations"):
            made[f"{name} {value}"] = lambda p, n=name, v=value: header(  # type: ignore[misc]
                p, lambda said: said["parameters"].update({n: v})
            )
    for value in NUMBERS:
        for record in (0, 1, 30, 39, 58, 59):
            for column in range(4):
                made[f"facts {record} {column} {value}"] = words("facts", 4 * record + column, value)
        for at in (0, 1, 100, -1):
            made[f"slot {at} {value}"] = words("bands-*", at, value)
    for name in ("facts", "names", "signatures", "bands-*"):
        for size in (0, 1, 33, 10_000_000):
            made[f"size of {name} {size}"] = lambda p, n=name, s=size: os.truncate(next(p.glob(n)), s)  # type: ignore[misc]
        made[f"no {name}"] = lambda p, n=name: next(p.glob(n)).unlink()  # type: ignore[misc]
    for name in ("0", "59", "60", "61", "99999999999999999999", "-1", "٤٠", "4_0"):
        made[f"run called {name}"] = lambda p, n=name: rename(p, n)  # type: ignore[misc]
    return made


def rename(path: Path, end: str) -> None:
    run = next(path.glob("bands-*"))
    run.rename(run.with_name(run.name.rpartition("-")[0] + f"-{end}"))


def main(folder: Path) -> None:
    """Try every change, in a process of its own: a kernel that follows a wrong number ends it."""
    import shutil

    make(folder / "whole")
    for name, change in mutations().items():
        print(name, flush=True)
        shutil.copytree(folder / "whole", folder / "one" / "sketches")
        change(folder / "one" / "sketches")
        assert use(folder / "one" / "sketches") < MOST, name
        shutil.rmtree(folder / "one")


def test_no_number_is_followed_blindly(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.dedupe.test_hostile", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    last = done.stdout.splitlines()[-1:]
    assert done.returncode == 0, f"{last} ended with {done.returncode}: {done.stderr[-2000:]}"
    assert len(done.stdout.splitlines()) == len(mutations())


@pytest.mark.parametrize("what", ["records -1", "permutations 1099511627776", "facts 30 0 1099511627776", "slot 100 1"])
def test_a_wrong_number_is_refused_in_a_sentence(tmp_path: Path, what: str) -> None:
    make(tmp_path / "sketches")
    mutations()[what](tmp_path / "sketches")
    with pytest.raises(FykeError, match=r"sketch the texts anew|remove this file"):
        DuplicateIndex(tmp_path / "sketches").close()


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=8), st.integers(0, 4))
@settings(max_examples=30, deadline=None)
def test_damage_of_any_kind_is_survived(
    tmp_path_factory: pytest.TempPathFactory, bytes_: list[tuple[int, int]], part: int
) -> None:
    """Any bytes of any file."""
    path = tmp_path_factory.mktemp("damaged") / "sketches"
    make(path)
    file = sorted(file for file in path.iterdir() if file.stat().st_size)[part % 5]
    data = bytearray(file.read_bytes())
    for at, value in bytes_:
        data[at % len(data)] = value
    file.write_bytes(data)
    assert use(path) < MOST


if __name__ == "__main__":
    main(Path(sys.argv[1]))
