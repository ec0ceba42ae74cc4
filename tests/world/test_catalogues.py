"""Catalogues: records that a form alone leads to, with ground truth; and canaries."""

from __future__ import annotations

import http.client
from urllib.parse import urlencode

import lxml.html
import pytest

from fyke.clock import VirtualClock
from fyke.url import Url
from fyke.values import Fetched, Request
from fyke.world import World, WorldConfig
from fyke.world.catalogue import CANARIES, RECORDS, SHAPES, Catalogue
from fyke.world.config import START
from fyke.world.serve import serve
from fyke.world.transport import WorldTransport
from tests.world.conftest import ask

CONFIG = WorldConfig(seed=3, hosts=2, pages=20, catalogues=len(SHAPES))


@pytest.fixture(scope="module")
def world() -> World:
    return World(CONFIG)


def shaped(world: World, name: str) -> Catalogue:
    return next(each for each in world.catalogues if each.shape.name == name)


def found(world: World, catalogue: Catalogue, **values: str) -> list[str]:
    answer = ask(world, f"{catalogue.base}/search?{urlencode(values)}", START)
    return list(lxml.html.fromstring(answer.body).xpath("//ol//a/@href"))


def test_there_are_none_unless_asked_for(world: World) -> None:
    plain = World(WorldConfig(seed=3, hosts=2, pages=20))
    assert not plain.catalogues
    assert plain.seeds == world.seeds[:2]
    assert plain.expected(plain.seeds) == world.expected(plain.seeds)


def test_every_record_is_found_by_words_of_it_and_by_no_link(world: World) -> None:
    catalogue = shaped(world, "words")
    for record in catalogue.records[::50]:
        assert record.path in found(world, catalogue, q=f"{record.title} {record.text.split()[3].strip('.,')}")
        truth = world.truth(catalogue.base + record.path)
        assert (truth.status, truth.title) == (200, record.title)
    assert len(catalogue.urls) == RECORDS
    expected = world.expected([f"{catalogue.base}/"]).pages
    assert expected == {f"{catalogue.base}/", f"{catalogue.base}/about"}


def test_caps_orders_and_what_is_refused(world: World) -> None:
    capped, both = shaped(world, "selects-50"), shaped(world, "both-50")
    pages = [found(world, capped, sort="title", page=str(n)) for n in range(1, 7)]
    assert [len(page) for page in pages] == [10, 10, 10, 10, 10, 0]
    assert sorted(found(world, capped, sort="date")) != sorted(found(world, capped, sort="price"))
    assert found(world, both, topic="law") == []
    assert found(world, both, topic="law", q="the")
    assert found(world, shaped(world, "words-10"), q="the", page="2") == []


def test_both_faces_take_a_form_and_tell_of_it() -> None:
    target, data = "/search", b"q=the&lang=en"
    with serve(CONFIG) as served:
        catalogue, port = shaped(served.world, "posted"), served.port
        pages: list[bytes] = []
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        for method, where, body in (("POST", target, data), ("GET", target, None), ("POST", "/login", b"user=x")):
            connection.request(method, where, body, {"Host": catalogue.name})
            answer = connection.getresponse()
            assert answer.status == (405 if method == "GET" else 200)
            pages.append(answer.read())
        connection.close()
        log = served.log()
    assert [(visit.method, visit.target) for visit in log] == [("POST", target), ("GET", target), ("POST", "/login")]
    assert [visit.target for visit in log if visit.target in CANARIES] == ["/login"]
    clock = VirtualClock()
    transport = WorldTransport(World(CONFIG, port), clock)
    outcome = clock.run(transport.fetch(Request(Url(catalogue.base + target), "POST", form=data)))
    assert isinstance(outcome, Fetched)
    assert outcome.exchange.body == pages[0]
    assert transport.log[0].method == "POST"
