"""A folder changed at random, scans that are killed, disks that are not mounted: the store ends equal to a walk."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from fyke.desktop import plan as plans
from fyke.desktop import state
from fyke.desktop.files import Files
from fyke.desktop.run import Desktop, root_of
from fyke.errors import UserError
from fyke.store.imports.files import path_of
from fyke.store.maintenance import check as verify
from fyke.url import Url
from tests.desktop.helpers import CONVERTER, refuse

NAMES = st.sampled_from(["a.txt", "b.txt", "d.csv", "ü"])
FOLDERS = st.sampled_from(["", "x", "x/y", "z"])
WORDS = st.text("abc \n", min_size=1, max_size=12).map(lambda text: "word " + text.strip())


WHICH = st.integers(0, 7)
ACTIONS = st.one_of(
    st.tuples(st.just("write"), FOLDERS, NAMES, WORDS),
    st.tuples(st.just("write"), FOLDERS, NAMES, WORDS),
    st.tuples(st.just("append"), WHICH, WORDS),
    st.tuples(st.just("rename"), WHICH, FOLDERS, NAMES),
    st.tuples(st.just("move"), FOLDERS, st.sampled_from(["x", "z", "moved", "moved/in"])),
    st.tuples(st.just("delete"), WHICH),
    st.tuples(st.just("remove"), FOLDERS),
    st.tuples(st.just("ignore"), st.sampled_from(["a.txt", "x", "y", "ü"])),
)


class Killed(Exception):  # noqa: N818
    """What kill -9 does to a scan."""


class Machine(RuleBasedStateMachine):
    @initialize(racy=st.booleans())
    def begin(self, racy: bool) -> None:
        """``racy``: files are looked at so soon that they are read again; else their times tell, as on a calm day."""
        self.race, state.RACE = state.RACE, 0.02 if racy else 0.0
        self.clock = 1_700_000_000
        self.folder = Path(tempfile.mkdtemp(prefix="fyke-machine-"))
        self.root = self.folder / "root"
        self.root.mkdir()
        self.ignored: set[str] = set()
        self.store = plans.open_store(self.folder / "store")
        self.plan = plans.read(self.folder / "store").extended([root_of(str(self.root))], self.store.secret)
        for folder in ("", "x", "x/y", "z"):
            for name in ("a.txt", "b.txt", "ü"):
                self._write(folder, name, f"word {name} of {folder}")
        self.scan()

    def teardown(self) -> None:
        if hasattr(self, "store"):
            state.RACE = self.race
            self.scan()
            assert verify(self.store).named == []
            self.store.close()
            shutil.rmtree(self.folder)

    def files(self) -> list[Path]:
        return sorted(path for path in self.root.rglob("[!.]*") if path.is_file())

    def nth(self, which: int) -> list[Path]:
        found = self.files()
        return [found[which % len(found)]] if found else []

    def touch(self, path: Path) -> None:
        """No two writes have one time."""
        self.clock += 1
        os.utime(path, (self.clock, self.clock))

    def desktop(self) -> Desktop:
        return Desktop(self.store, self.plan, CONVERTER)

    # ---- what a user does

    @rule(actions=st.lists(ACTIONS, min_size=1, max_size=5), kills=st.lists(st.integers(0, 3), max_size=2))
    def change(self, actions: list[tuple[Any, ...]], kills: list[int]) -> None:
        """What a user does between two scans, some of which are killed."""
        for what, *how in actions:
            getattr(self, f"_{what}")(*how)
        for after in kills:
            self.kill(after)
        self.scan()

    def _write(self, folder: str, name: str, text: str) -> None:
        path = self.root / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.touch(path)

    def _append(self, which: int, text: str) -> None:
        for path in self.nth(which):
            with path.open("a") as file:
                file.write(" " + text)
            self.touch(path)

    def _rename(self, which: int, folder: str, name: str) -> None:
        (self.root / folder).mkdir(parents=True, exist_ok=True)
        for path in self.nth(which):
            path.rename(self.root / folder / name)

    def _move(self, old: str, new: str) -> None:
        source, target = self.root / old, self.root / new
        if old and source.is_dir() and not target.exists() and not str(target).startswith(f"{source}/"):
            target.parent.mkdir(parents=True, exist_ok=True)
            source.rename(target)

    def _delete(self, which: int) -> None:
        for path in self.nth(which):
            path.unlink()

    def _remove(self, folder: str) -> None:
        if folder and (self.root / folder).is_dir():
            shutil.rmtree(self.root / folder)

    def _ignore(self, name: str) -> None:
        self.ignored ^= {name}
        (self.root / ".fykeignore").write_text("".join(f"{each}\n" for each in sorted(self.ignored)))
        self.touch(self.root / ".fykeignore")

    # ---- what we do

    def scan(self) -> None:
        report = self.desktop().scan(self.plan.roots, lambda question: True)
        assert report.errors == {}
        self.equal()

    def kill(self, after: int) -> None:
        """A scan that dies before, between or behind its batches."""
        desktop = self.desktop()
        desktop.files = _Dying(self.store, after)
        with suppress(Killed):
            desktop.scan(self.plan.roots, lambda question: True)

    @rule()
    def unmount(self) -> None:
        known = self.live()
        self.root.rename(self.folder / "away")
        try:
            self.desktop().scan(self.plan.roots, refuse)
            assert not known
        except UserError:
            pass
        assert self.live() == known
        (self.folder / "away").rename(self.root)

    # ---- what is true

    def live(self) -> dict[str, str]:
        return {str(path_of(Url(row.url))): row.whole or "" for row in self.store.scan() if row.meta.error != "gone"}

    def equal(self) -> None:
        expected = {}
        for path in self.files():
            parts = path.relative_to(self.root).parts
            if not self.ignored & set(parts) and not any(part.startswith(".") for part in parts):
                expected[str(path)] = path.read_text()
        assert {path: text.split() for path, text in self.live().items()} == {
            path: text.split() for path, text in expected.items()
        }
        states = Files(self.store).known(str(self.root))
        known = {f"{folder}/{name}" for folder, names in states.items() for name in names}
        assert known == set(expected)


class _Dying(Files):
    def __init__(self, store: object, after: int) -> None:
        super().__init__(store)  # type: ignore[arg-type]
        self._left = after

    def write(self) -> None:
        if not len(self._batch):
            return
        if not self._left:
            raise Killed
        self._left -= 1
        super().write()


Machine.TestCase.settings = settings(max_examples=20, stateful_step_count=12, deadline=None)
TestMachine = Machine.TestCase
