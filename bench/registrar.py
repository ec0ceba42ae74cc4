"""The registrar with a thousand virtual nodes, and what the mail between so many costs: pure code, no network.

``python -m bench.registrar [--nodes 1000] [--tablets 4096]``. Seconds of the story are virtual; CPU is the registrar's
own, on this machine. Mail is counted, not sent: frames and bytes of a node that crawls at a given rate, whose links
lead to hosts anywhere, gathered for a while for each other node.
"""

from __future__ import annotations

import argparse
import random
import resource
from dataclasses import dataclass

import numpy as np

from bench.measure import figure, table
from tests.cluster.virtual import VirtualCluster

OFFER = 92
"""Bytes of an offer, as MessagePack."""
FRAME_CPU, BYTE_CPU, OFFER_CPU = 1.9e-3, 1.0 / 100e6, 1.02e-6
"""Seconds of CPU, at both ends together: of a frame between Ray's actors, of a byte of it, of an offer."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--tablets", type=int, default=4096)
    options = parser.parse_args()
    tell_the_story(options.nodes, options.tablets)
    count_mail()


def tell_the_story(nodes: int, tablets: int) -> None:
    """What happens to a cluster, and how long it takes until every tablet is served by an even share."""
    chance = random.Random(1)
    cluster = VirtualCluster(tablets, chance, lossy=False)
    rows: list[list[object]] = []
    drained: set[str] = set()

    def until_even(what: str, limit: float = 120.0) -> float:
        began, spent, beats, opened = cluster.now, cluster.spent, cluster.beats, cluster.opened.total()
        while not is_even(cluster, drained) and cluster.now - began < limit:
            cluster.run(0.5)
        took = cluster.now - began
        moved = cluster.opened.total() - opened
        rate = (cluster.spent - spent) / max(cluster.beats - beats, 1)
        rows.append([what, f"{took:.1f}", moved, cluster.beats - beats, f"{1e6 * rate:.0f}"])
        return took

    for _ in range(nodes):
        cluster.join()
    until_even(f"{nodes:,} nodes start")
    spent, beats = cluster.spent, cluster.beats
    cluster.run(30)
    quiet = (cluster.spent - spent) / (cluster.beats - beats)
    rows.append(["30 quiet seconds", "30.0", 0, cluster.beats - beats, f"{1e6 * quiet:.0f}"])
    figure("registrar: a beat", "µs CPU", 1e6 * quiet, size=f"{nodes:,} nodes, {tablets:,} tablets")
    cluster.kill(chance.choice(list(cluster.nodes.values())))
    took = until_even("one node dies")
    figure("registrar: a dead node's tablets taken over", "s", took, size=f"{nodes:,} virtual nodes")
    for node in chance.sample(list(cluster.nodes.values()), nodes // 10):
        cluster.kill(node)
    until_even("a tenth dies at once")
    for _ in range(nodes // 10):
        cluster.join()
    until_even("as many join")
    leaving = next(iter(cluster.nodes.values()))
    cluster.drain(leaving)
    drained.add(leaving.name)
    until_even("one is drained")
    cluster.leave(leaving)
    rows.append(lose_the_registrar(cluster, drained))
    print(f"{nodes:,} nodes, {tablets:,} tablets; even: shares differ by one at most, and every tablet is served")
    print(table(["what happens", "s until even", "tablets opened", "beats", "µs CPU a beat"], rows))
    print(f"memory of the whole simulation: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB\n")


def lose_the_registrar(cluster: VirtualCluster, drained: set[str]) -> list[object]:
    """The row of a cluster whose registrar is lost for 3 s."""
    cluster.lose_registrar()
    cluster.run(3)
    cluster.restart_registrar()
    opened, beats, spent, pause = cluster.opened.total(), cluster.beats, cluster.spent, 0.0
    for _ in range(60):
        cluster.run(0.5)
        pause += 0.0 if is_even(cluster, drained) else 0.5
    rate = (cluster.spent - spent) / (cluster.beats - beats)
    moved = cluster.opened.total() - opened
    return ["the registrar is lost for 3 s", f"{pause:.1f}", moved, cluster.beats - beats, f"{1e6 * rate:.0f}"]


def is_even(cluster: VirtualCluster, drained: set[str]) -> bool:
    """Whether every tablet may be contacted for, and shares are even."""
    sizes = [0 if node.name in drained else len(node.holds) for node in cluster.nodes.values()]
    most, least = max(sizes), min(size for node, size in zip(cluster.nodes, sizes, strict=True) if node not in drained)
    return most - least <= 1 and sum(sizes) == len(cluster.contacting()) == cluster.tablets


@dataclass(frozen=True)
class Mail:
    nodes: int
    gather: float
    rate: float = 4000.0
    """Pages a second of a node."""
    links: int = 25
    """Offers and notes of a page that go to other tablets."""


def count_mail() -> None:
    """Frames of one node, counted by drawing where its links lead."""
    draw = np.random.default_rng(1)
    rows = []
    for mail in (Mail(10, 0.1), Mail(100, 0.1), Mail(100, 2.0), Mail(1000, 0.1), Mail(1000, 2.0), Mail(1000, 10.0)):
        offers = int(mail.rate * mail.links * mail.gather)
        # A host's name decides: hosts are met by a power law, so that some nodes get more.
        hosts = np.minimum(draw.zipf(1.3, offers), 10**6).astype(np.uint64)
        node = (hosts * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(32)) % np.uint64(mail.nodes)
        frames = np.bincount(node.astype(np.int64), minlength=mail.nodes)
        sent = int((frames > 0).sum())
        size = offers * OFFER / max(sent, 1)
        cpu = (sent * FRAME_CPU + offers * OFFER * BYTE_CPU + offers * OFFER_CPU) / mail.gather
        rows.append(
            [
                *(f"{mail.nodes:,}", mail.gather, f"{sent / mail.gather:,.0f}", f"{size / 1000:,.1f}"),
                *(f"{frames.max() * OFFER / 1000:,.0f}", f"{offers * OFFER / mail.gather / 1e6:,.1f}", f"{cpu:.2f}"),
            ]
        )
    print(
        f"mail of a node at {Mail(1, 1).rate:,.0f} pages/s, {Mail(1, 1).links} offers and notes a page of {OFFER} bytes"
    )
    print(table(["nodes", "gather s", "frames/s", "KB a frame", "largest KB", "MB/s out", "cores, both ends"], rows))


if __name__ == "__main__":
    main()
