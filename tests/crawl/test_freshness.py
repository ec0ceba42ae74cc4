"""What a continuous crawl knows of its freshness, and of hosts that say sorry."""

from __future__ import annotations

from pathlib import Path

import pytest

from fyke.crawl.revisit import freshness
from fyke.crawl.revisit.memory import HostMemory
from fyke.frontier.revisit import DAY, ChangeState
from fyke.world.config import START


def test_soft_errors_are_told_from_copies() -> None:
    memory = HostMemory()
    memory.turned(b"page one", b"sorry")
    assert not memory.regretted(b"sorry")
    memory.turned(b"page one", b"sorry")  # two addresses of the same page
    assert not memory.regretted(b"sorry")
    memory.turned(b"page two", b"sorry")
    assert memory.regretted(b"sorry")
    for number in range(100):
        memory.turned(b"%d" % number, b"new %d" % number)
    assert len(memory.regrets) <= 8


def test_the_sample_is_fair() -> None:
    found = freshness.FreshnessSample(sample=500)
    for number in range(20_000):
        found.note(f"http://h{number % 3}/{number}", f"h{number % 3}", ChangeState(START, 1.0 if number % 2 else 1e-9))
    reading = found.read(START + 50 * DAY)
    assert reading.pages == pytest.approx(20_000, rel=0.3)
    assert reading.freshness == pytest.approx(0.5, abs=0.1)
    assert set(found.hosts(START)) == {"h0", "h1", "h2"}


def test_a_torn_line_is_left_out(tmp_path: Path) -> None:
    freshness.append(tmp_path, freshness.Line(1, 0, START, 5, 0.5, 1.0, 3, 1, 0.1))
    with (tmp_path / freshness.FILE).open("ab") as file:
        file.write(b'{"version":1,"agent"')
    assert len(freshness.read(tmp_path)) == 1
