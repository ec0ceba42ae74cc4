"""Feeds: delay of new items for the polls spent, against the optimum and fixed schedules; parsing beside two peers.

Run: python -m bench.feeds [--feeds 300] [--days 40]

The delay: feeds post by Poisson processes whose rates spread over three decades. Each policy polls them for the given
days; the first quarter is for learning and not counted. "best" is the least mean delay that anyone who knows the rates
could reach with the polls that this policy spent: intervals in proportion to 1/√λ, so (Σ√λ)²·T / (2·polls·Σλ).
"""

from __future__ import annotations

import argparse
import heapq
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from bench.measure import best_cpu, figure
from fyke.sites.feed import Rhythm, parse_feed
from fyke.sites.polling import DAY, PollSettings, Posting, next_poll
from fyke.sites.sitemap import parse_sitemap

START = 1_700_000_000.0
Policy = Callable[[Posting, float], float]


def posts(rates: npt.NDArray[np.float64], days: float, seed: int) -> list[npt.NDArray[np.float64]]:
    """When the items of each feed come."""
    chance = np.random.default_rng(seed)
    return [np.sort(START + chance.random(chance.poisson(rate * days)) * days * DAY) for rate in rates]


def run(policy: Policy, items: list[npt.NDArray[np.float64]], days: float) -> tuple[float, int]:
    """Return the mean delay of the items of the last three quarters, and the polls spent there."""
    counted, end = START + days * DAY / 4, START + days * DAY
    queue = [(START + 60.0 * number, number) for number in range(len(items))]
    postings = [Posting() for _ in items]
    taken = [0] * len(items)
    delays, polls = 0.0, 0
    count = 0
    heapq.heapify(queue)
    while queue:
        now, number = heapq.heappop(queue)
        if now > end:
            continue
        times = items[number]
        upto = int(np.searchsorted(times, now))
        new = times[taken[number] : upto]
        late = new[new > counted]
        delays += float((now - late).sum())
        count += len(late)
        polls += now > counted
        postings[number] = postings[number].after(now, len(new), times[max(0, upto - 15) : upto].tolist())
        taken[number] = upto
        heapq.heappush(queue, (policy(postings[number], now), number))
    return delays / max(count, 1), polls


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--feeds", type=int, default=300)
    parser.add_argument("--days", type=float, default=40.0)
    arguments = parser.parse_args()
    rates = np.exp(np.random.default_rng(1).uniform(np.log(0.05), np.log(50.0), arguments.feeds))
    items = posts(rates, arguments.days, 2)
    counted = arguments.days * DAY * 0.75
    settings = PollSettings(shortest=1.0)  # the optimum knows no floor, so the policy has none here
    policies: dict[str, Policy] = {
        "fyke": lambda posting, now: next_poll(posting, Rhythm(), now, settings=settings),
        "every hour": lambda posting, now: now + 3600.0,
        "proportional": lambda posting, now: now + min(0.4 / posting.rate, DAY),
    }
    print(f"{len(rates)} feeds, {sum(map(len, items))} items, {arguments.days:g} days")
    print(f"{'policy':14}{'polls/day':>10}{'delay min':>11}{'best min':>10}{'ratio':>7}")
    ratios = {}
    for name, policy in policies.items():
        delay, polls = run(policy, items, arguments.days)
        per_second = rates / DAY
        best = np.sqrt(per_second).sum() ** 2 * counted / (2 * polls * per_second.sum())
        ratios[name] = float(delay / best)
        print(f"{name:14}{polls / (counted / DAY):>10.0f}{delay / 60:>11.1f}{best / 60:>10.1f}{delay / best:>7.2f}")
    figure("delay of new items ÷ the least possible at as many polls", "ratio", ratios.pop("fyke"), ratios)
    _parsing()


def _parsing() -> None:
    import fastfeedparser
    import feedparser

    words = "Words of a story. " * 20
    rows = "".join(
        f"<item><title>Story {k} &amp; more</title><link>https://a.example/{k}</link><guid>https://a.example/{k}</guid>"
        f"<pubDate>Sun, 15 Nov 2026 0{k % 10}:00:00 GMT</pubDate><description>{words}</description></item>"
        for k in range(30)
    )
    feed = f'<?xml version="1.0"?><rss version="2.0"><channel><title>t</title>{rows}</channel></rss>'.encode()
    entries = "".join(
        f"<url><loc>https://a.example/{k}?a=1&amp;b={k}</loc><lastmod>2026-11-{k % 28 + 1:02}</lastmod></url>"
        for k in range(50_000)
    )
    sitemap = f'<?xml version="1.0"?><urlset>{entries}</urlset>'.encode()
    ours = best_cpu(lambda: parse_feed(feed), 20)
    print(f"\nfeed of 30 items: fyke {ours * 1e3:.2f} ms of CPU")
    peers = {}
    for name, parse in (("fastfeedparser", fastfeedparser.parse), ("feedparser", feedparser.parse)):
        theirs = best_cpu(lambda parse=parse: parse(feed), 10)  # type: ignore[misc]
        peers[name] = theirs * 1e3
        print(f"  {name} {theirs * 1e3:.2f} ms, {theirs / ours:.1f} × fyke")
    figure("a feed of 30 items, parsed", "ms", ours * 1e3, peers)
    entire = best_cpu(lambda: parse_sitemap(sitemap), 3) * 1e3
    figure("a sitemap of 50,000 entries, parsed", "ms", entire)
    print(f"sitemap of 50,000 entries: fyke {entire:.0f} ms of CPU")


if __name__ == "__main__":
    main()
