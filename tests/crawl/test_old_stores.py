"""Stores of earlier versions are opened, resumed, kept fresh and exported.

``tests/store/made/store-2.tar.zst`` was made by the first edition (store format 2, queues by host): a crawl of the
world below that was stopped after thirty pages. Nothing in it is ever written anew; a later format adds another file.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fyke.cli import run as fyke_command
from fyke.clock import VirtualClock
from fyke.crawl.revisit.budget import RevisitSettings
from fyke.crawl.run import plan
from fyke.frontier.revisit import DAY
from fyke.store import Store, manifest
from fyke.store.maintenance import check
from fyke.world.config import START, WorldConfig
from fyke.world.transport import WorldTransport
from fyke.world.world import World
from tests.crawl import continuous
from tests.crawl.test_engine import crawl
from tests.store.old import unpack

LATER = START + 3600.0


@pytest.fixture
def world() -> World:
    return World(WorldConfig(seed=5, hosts=5, pages=60, formats=False))


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return unpack(2, tmp_path)


def documents(path: Path) -> set[str]:
    with Store.open(path, "r") as store:
        return {row.url for row in store.scan() if row.meta.status == 200 and not row.meta.error}


def test_it_is_whole(old: Path) -> None:
    assert manifest.read(old).version == 2
    with Store.open(old) as store:
        assert check(store).faults == 0
    assert len(documents(old)) >= 25
    assert manifest.read(old).version == manifest.VERSION, "one that knows no queues by site must not write it"
    found = plan.read(old)
    assert found is not None
    assert found.settings.scope == "any"


def test_it_is_resumed_where_it_stopped(old: Path, world: World) -> None:
    before = documents(old)
    _, transport = crawl(old, world, VirtualClock(LATER), tablets=2)
    expected = world.expected(world.seeds, sitemaps=True)
    assert expected.pages <= documents(old), "nothing that was queued by host is lost"
    fetched = {f"http://{visit.host}{visit.target}" for visit in transport.log}
    assert not fetched & before, "and nothing is fetched again"


def test_it_is_kept_fresh(old: Path, world: World) -> None:
    clock = VirtualClock(LATER)
    settings = RevisitSettings(budget=400 / DAY)
    ended = continuous.crawl(old, WorldTransport(world, clock), list(world.seeds), clock, 3.0, settings)
    assert ended.agent.tally.revisits > 100


@pytest.mark.parametrize("name", ["out.warc.gz", "out.jsonl.zst", "out.trec.gz"])
def test_it_is_exported(old: Path, tmp_path: Path, name: str) -> None:
    assert fyke_command(["export", str(tmp_path / name), "--store", str(old)]) == 0
    assert (tmp_path / name).stat().st_size > 1000


def test_it_is_split_with_its_queues(old: Path, world: World) -> None:
    assert fyke_command(["store", "split", "--tablets", "5", "--store", str(old)]) == 0
    crawl(old, world, VirtualClock(LATER), tablets=5)
    assert world.expected(world.seeds, sitemaps=True).pages <= documents(old)
