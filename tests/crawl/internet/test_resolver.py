"""A hostile resolver: whatever it answers, the crawl ends, goes on elsewhere, and reaches no private address."""

from __future__ import annotations

from itertools import chain, repeat
from typing import Any

from tests.crawl.internet.net import SERVFAIL, SILENT, Chain, Internet, answer, page, run_inside, site

PRIVATE = ("127.0.0.1", "10.0.0.5", "169.254.169.254", "::1")
HOSTILE = ("changing", "mixed", "chain", "endless", "loop", "huge", "private", "mute", "failing", "garbage")


def test_a_hostile_resolver_leads_nowhere() -> None:
    found = run_inside(hostile_names)
    assert found["status"] == 0
    assert found["fine"] == 2, "the host that is fine was had"
    assert found["private"] == [], "no private address was contacted"
    assert "private-address" in found["errors"]
    assert found["asked"] == sorted(HOSTILE)


async def hostile_names(net: Internet) -> Any:
    names = {name: f"{name}.example" for name in HOSTILE}
    turns = chain(["93.184.6.1"] * 2, repeat(PRIVATE))
    net.ttl = 0
    net.host("fine.example", "93.184.6.9", site(2, [f"http://{name}/" for name in names.values()]))
    net.host(names["changing"], lambda: next(turns), lambda request: answer(page("moving", ["/again", "/more"])))
    net.host(names["mixed"], ("127.0.0.1", "93.184.6.2"), site(1))
    net.host(names["chain"], Chain(10, "169.254.169.254"), site(1))
    net.host(names["endless"], Chain(1_000, "10.0.0.5"), site(1))
    net.host(names["loop"], Chain(0), site(1))
    net.host(names["huge"], ("10.0.0.5", *(f"93.184.7.{n % 250}" for n in range(2_000))), site(1))
    net.host(names["private"], PRIVATE, site(1))
    net.names |= {names["mute"]: SILENT, names["failing"]: SERVFAIL, names["garbage"]: b"\xff" * 300}
    await net.open()
    ran = await net.crawl(
        *("http://fine.example/", "--scope", "any", "--delay", "0.05", "--agents", "1", "--no-sitemaps"),
        *("--patience", "3s", "--connect-timeout", "3s", "--max-host-pages", "10"),
    )
    asked = {host.partition(".")[0] for _, host in net.questions}
    return {
        "status": ran.status,
        "fine": sum(url.startswith("http://fine.example/") for url in net.pages()),
        "private": [request.url for request in net.log if not request.address.startswith("93.184.")],
        "errors": ran.summary["errors"],
        "asked": sorted(asked & set(HOSTILE)),
    }
