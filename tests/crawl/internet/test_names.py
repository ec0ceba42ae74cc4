"""Names on a real network: the resolver is a small one, and other people's."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from itertools import pairwise
from typing import Any

from fyke.clock import SystemClock
from fyke.fetch.dns import Resolver
from tests.crawl.internet.net import SERVFAIL, Internet, Names, run_inside, site

SMALL = 150
"""Questions that a small resolver works at, as dnsmasq does by default; it drops the rest."""
HOSTS = 400


def test_a_small_resolver_loses_no_host() -> None:
    found = run_inside(asked_at_once)
    assert found["resolved"] == HOSTS
    assert found["dropped"] == 0


class Slow(Names):
    """Answers a little later, and drops what is too much for it."""

    def __init__(self, net: Internet) -> None:
        super().__init__(net)
        self.open: Counter[str] = Counter()

    def datagram_received(self, data: bytes, client: Any) -> None:
        if self.open["questions"] >= SMALL:
            self.open["dropped"] += 1
            return
        self.open["questions"] += 1
        asyncio.get_running_loop().call_later(0.05, self._answer, data, client)

    def _answer(self, data: bytes, client: Any) -> None:
        self.open["questions"] -= 1
        super().datagram_received(data, client)


async def asked_at_once(net: Internet) -> Any:
    names = Slow(net)
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: names, local_addr=("127.0.0.1", 53)
    )
    hosts = [f"h{i}.example" for i in range(HOSTS)]
    net.names = {host: f"93.184.1.{i % 250}" for i, host in enumerate(hosts)}
    resolver = Resolver(SystemClock())
    found = await asyncio.gather(*map(resolver.resolve, hosts))
    await resolver.close()
    transport.close()
    return {"resolved": sum(bool(each.addresses) for each in found), "dropped": names.open["dropped"]}


def test_an_outage_of_the_name_server_alone_loses_no_host() -> None:
    found = run_inside(names_alone)
    assert found["missing"] == []
    assert found["errors"] == {}


async def names_alone(net: Internet) -> Any:
    """One host is being crawled all the while; those that it links to cannot be resolved for as long as a try takes."""
    down, others = [False], [f"h{i}.example" for i in range(4)]
    net.host("first.example", lambda: SERVFAIL if down[0] else "93.184.1.1", site(80, [f"http://{h}/" for h in others]))
    for i, name in enumerate(others):
        net.host(name, lambda i=i: SERVFAIL if down[0] else f"93.184.1.{i + 2}", site(1))
    await net.open()
    words = ("--scope", "any", "--store", str(net.store), "--json", "--delay", "0.5", "--agents", "1", "--no-sitemaps")
    process = await net.start("crawl", "http://first.example/", *words)
    while not net.log:
        await asyncio.sleep(0.05)
    down[0] = True
    while min(tries(net, name) for name in others) < 3:  # after which a host would be given up
        await asyncio.sleep(0.1)
    await asyncio.sleep(1.0)  # until the last has failed
    down[0] = False
    out, _ = await process.communicate()
    wanted = {f"http://{name}/" for name in others}
    return {"missing": sorted(wanted - net.pages()), "errors": json.loads(out.splitlines()[-1])["errors"]}


def tries(net: Internet, name: str) -> int:
    """How often a name was asked for, questions in quick succession being one."""
    times = [at for at, asked in net.questions if asked == name]
    return len(times) and 1 + sum(later - at > 3.0 for at, later in pairwise(times))
