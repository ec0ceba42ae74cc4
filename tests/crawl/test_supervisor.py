"""Agents that die or hang are started anew; what killed one is quarantined; the end is seen only when it is there."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from fyke.crawl.run import supervisor
from fyke.crawl.run.board import Board, Heartbeat, SharedLimit
from fyke.crawl.run.limit import Bounds
from fyke.crawl.run.supervisor import Death, HelperProcess, Quarantine, supervise
from fyke.errors import FykeError

CONTEXT = multiprocessing.get_context("spawn")


def deadly_once(path: Path, number: int, marker: Path) -> None:
    _deadly(path, number, marker, 1)


def deadly_twice(path: Path, number: int, marker: Path) -> None:
    _deadly(path, number, marker, 2)


def _deadly(path: Path, number: int, marker: Path, deaths: int) -> None:
    """Dies in its first lives while it works on a page, then rests."""
    board = Board(path, 2)
    lives = len(marker.read_bytes()) if marker.exists() else 0
    if number == 0 and lives < deaths:
        marker.write_bytes(bytes(lives + 1))
        board.work_on(0, ["http://deadly.test/"])
        os.kill(os.getpid(), signal.SIGKILL)
    while not board.stopping:
        board.show(number, Heartbeat(time.time(), time.time() + 1000, 5, 5))
        time.sleep(0.02)


def always_dying(path: Path, number: int, marker: Path) -> None:
    os._exit(3)


def run(tmp_path: Path, target: object) -> tuple[list[Death], Quarantine]:
    board = Board(tmp_path / "board", 2)
    board.clear()
    quarantine = Quarantine(tmp_path)
    deaths: list[Death] = []

    def start(number: int) -> BaseProcess:
        process = CONTEXT.Process(target=target, args=(board.path, number, tmp_path / "marker"), daemon=True)  # type: ignore[arg-type]
        process.start()
        return process

    try:
        supervise(board, start, quarantine, lambda: True, deaths.append)
    finally:
        board.close()
    return deaths, quarantine


def test_what_kills_an_agent_twice_is_quarantined_and_the_crawl_goes_on(tmp_path: Path) -> None:
    deaths, quarantine = run(tmp_path, deadly_twice)
    assert deaths == [Death(0, -signal.SIGKILL, ("http://deadly.test/",))] * 2
    assert quarantine.read() == {"http://deadly.test/"}
    assert not quarantine.suspects()


def test_one_death_is_no_proof(tmp_path: Path) -> None:
    """People and machines kill agents, too: the page is met again."""
    deaths, quarantine = run(tmp_path, deadly_once)
    assert len(deaths) == 1
    assert not quarantine.read()
    assert quarantine.suspects() == {"http://deadly.test/"}
    quarantine.acquit("http://deadly.test/")
    assert not quarantine.suspects()
    quarantine.blame(["http://deadly.test/"])
    assert not quarantine.read(), "it was read between the two"


def test_an_agent_that_keeps_dying_ends_the_crawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "MAX_DEATHS", 1)
    with pytest.raises(FykeError, match="died 2 times"):
        run(tmp_path, always_dying)


def test_permits_are_given_once(tmp_path: Path) -> None:
    one, other = Board(tmp_path / "board", 2), Board(tmp_path / "board", 2)
    mine, yours = SharedLimit(one, Bounds(3)), SharedLimit(other, Bounds(3))
    assert [mine.take(), yours.take(), mine.take(), yours.take()] == [True, True, True, False]
    mine.spend()
    mine.give_back()
    assert [yours.take(), mine.take()] == [True, False]
    yours.spend()
    found = [(mine.reached, one.stopping)]  # one is still under way, and may come to nothing
    yours.spend()
    found.append((mine.reached, other.stopping))
    assert found == [(False, False), (True, True)]
    one.close()
    other.close()


def test_a_long_url_fits_on_the_board(tmp_path: Path) -> None:
    board = Board(tmp_path / "board", 1)
    board.work_on(0, ["http://a/" + "x" * 10_000])
    assert board.working_on(0)[0].startswith("http://a/xxx")
    board.work_on(0, ["http://a/é", "http://b/"])
    assert board.working_on(0) == ("http://a/é", "http://b/")
    board.work_on(0, ())
    assert board.working_on(0) == ()
    board.close()


def test_a_helper_that_dies_is_started_anew_until_it_dies_too_often() -> None:
    started: list[BaseProcess] = []

    def start() -> BaseProcess:
        started.append(multiprocessing.get_context("fork").Process(target=os._exit, args=(1,)))
        started[-1].start()
        return started[-1]

    kept = HelperProcess(start, "the helper")
    for _ in range(supervisor.MAX_DEATHS):
        started[-1].join()
        kept.keep()
    started[-1].join()
    with pytest.raises(FykeError, match="the helper died 11 times"):
        kept.keep()
    kept.end()
    assert len(started) == 11
    assert not any(process.is_alive() for process in started)
