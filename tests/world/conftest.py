"""One world for most tests: every kind of host, few pages."""

from __future__ import annotations

import pytest

from fyke.world import World, WorldConfig
from fyke.world.http import Answer

SMALL = WorldConfig(seed=3, hosts=25, pages=1600)


@pytest.fixture(scope="package")
def world() -> World:
    return World(SMALL)


def ask(world: World, url: str, t: float, etag: str = "", since: str = "") -> Answer:
    _, _, host, target = url.split("/", 3)
    return world.answer(host.partition(":")[0], "/" + target, t, etag, since)


def steady(world: World) -> list[str]:
    """The pages of hosts that neither fail nor are closed."""
    return [url for host in world.hosts if not host.flaky for url in world.pages(host.name)]
