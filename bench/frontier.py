"""Frontier and sites: memory, seen-set, decisions; robots.txt beside Protego, links beside Scrapy."""

from __future__ import annotations

import logging
import tempfile
import warnings
from functools import partial
from pathlib import Path
from urllib.robotparser import RobotFileParser

import numpy as np
import psutil

from bench.measure import best_cpu, figure, table
from fyke.formats.html import parse
from fyke.frontier.frontier import Frontier
from fyke.frontier.keys import Entry, SiteRecord, sequence_of
from fyke.frontier.leases import Lease
from fyke.frontier.politeness import Contact, Politeness
from fyke.frontier.seen import SeenSet, sorted_run, url_keys
from fyke.sites.links import LinkMemo, find_links
from fyke.sites.robots import Robots
from fyke.sites.traps import HostHistory, TrapJudge, seen_form
from fyke.url import Url

LINKS = 51
KEYS = 2_000_000


def seen_set() -> None:
    """80 % of the keys asked for were seen before, as in a crawl."""
    draw = np.random.default_rng(1)
    old = draw.integers(1, 2**64 - 1, 4 * KEYS, dtype=np.uint64)
    asked = np.concatenate([draw.choice(old, KEYS * 4 // 5), draw.integers(1, 2**64 - 1, KEYS // 5, dtype=np.uint64)])
    draw.shuffle(asked)
    seen = SeenSet(limit=len(old))
    for batch in np.array_split(old, 50):
        seen.add(batch)
    rows: list[list[object]] = []

    def row(name: str, seconds: float, count: int) -> None:
        rows.append([name, count / seconds / 1e6, seconds / count * 1e9])

    row("check, in memory, in batches of 2 M", best_cpu(lambda: seen.contains(asked), 3), KEYS)
    row("check and add to an empty set, in batches of 2 M", best_cpu(lambda: SeenSet().add(asked), 3), KEYS)
    pages = np.array_split(asked[: LINKS * 4000], 4000)
    row(
        f"check and add, in memory, a page of {LINKS} at a time",
        best_cpu(lambda: [seen.add(p) for p in pages], 3),
        LINKS * 4000,
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "seen.run"
        sorted_run(seen.spill()).tofile(path)
        run = np.memmap(path, np.uint64, "r")
        over = SeenSet(runs=[run])
        assert over.contains(old[:LINKS]).all()
        row("check, sorted run of 8 M keys on disk, in batches of 2 M", best_cpu(lambda: over.contains(asked), 3), KEYS)
        row(
            f"check, the same, a page of {LINKS} at a time",
            best_cpu(lambda: [over.contains(p) for p in pages], 3),
            LINKS * 4000,
        )
    hrefs = [f"http://host{i % 50}.test/section/page-{i}.html" for i in range(20_000)]
    row("keys of URLs", best_cpu(lambda: url_keys(hrefs), 3), len(hrefs))
    row("names without session ids", best_cpu(lambda: [seen_form(u) for u in map(Url, hrefs)], 3), len(hrefs))
    print(table(["seen-set", "M keys/s", "ns each"], rows), "\n")


def crawl(hosts: int, urls: int, fresh: int) -> int:
    """Drive a frontier with a dict for a disk until ``urls`` are done; every page finds ``fresh`` new URLs."""
    frontier = Frontier(Politeness(delay=0.0), back_queues=min(hosts, 768))
    disk: dict[bytes, bytes] = {}
    names = [f"host{i}.test" for i in range(hosts)]
    serial = done = 0
    for name in names:
        disk.update(frontier.add(name, [Entry(f"http://{name}/", 1)], 0.0))
    while done < urls:
        for wish in frontier.refills():
            found = []
            for sequence in range(wish.start, wish.start + wish.count):
                key = wish.key[:-8] + sequence.to_bytes(8, "big")
                found.append((sequence_of(key), Entry.decode(disk[key])))
            frontier.supply(wish, found, 0.0)
        lease = frontier.next(0.0)
        assert isinstance(lease, Lease)
        name = names[done % hosts]
        entries = [Entry(f"http://{name}/{serial + i}", 1 + (serial + i) % 8) for i in range(fresh)]
        serial += fresh
        disk.update(frontier.add(name, entries, 0.0))
        frontier.done(lease, 0.0, Contact(0.0, 0.001))
        frontier.record(lease.host).encode()
        del disk[lease.key]
        done += 1
    return done


def decisions() -> None:
    rows: list[list[object]] = []
    for hosts, urls, fresh in ((50, 5_000, 1), (50, 5_000, 10), (5_000, 20_000, 1)):
        seconds = best_cpu(partial(crawl, hosts, urls, fresh), 3)
        rows.append([f"{hosts:,} hosts, {fresh} new URL(s) a page", urls / seconds, seconds / urls * 1e6])
    judge, history = TrapJudge(), HostHistory()
    asked = [Url(f"http://host.test/section{i % 9}/page-{i}.html?id={i}") for i in range(10_000)]
    seconds = best_cpu(lambda: [judge.judge(url, 1, 1.7e9, history) for url in asked], 3)
    rows.append(["is this URL a trap?", len(asked) / seconds, seconds / len(asked) * 1e6])
    figure("a decision of the frontier: next, done, add, record", "µs", rows[0][2], size=str(rows[0][0]))
    print(table(["decisions: next, done, add, record, refill", "per second", "µs each"], rows), "\n")


def memory(hosts: int = 100_000, urls: int = 100) -> None:
    process = psutil.Process()
    before = process.memory_info().rss
    frontier = Frontier()
    for i in range(hosts):
        lanes = tuple((priority, 0, urls // 2) for priority in (3, 1 + i % 8))
        frontier.restore(SiteRecord(1, f"www.host-number-{i}.example.org", lanes, 0.0, 0.0, 0.1, 0), 0.0)
    frontier.next(1e6)
    wishes = frontier.refills()
    for wish in wishes:
        href = f"http://{wish.host}/a/path/of/some/length/page-number-"
        entries = [(s, Entry(f"{href}{s}.html", wish.priority)) for s in range(wish.start, wish.start + wish.count)]
        frontier.supply(wish, entries, 1e6)
    used = (process.memory_info().rss - before) / 1e6
    counts = frontier.counts()
    print(f"memory: {used:.0f} MB for {counts.hosts:,} hosts, {counts.queued:,} queued URLs, {len(wishes):,} chunks\n")


def robots() -> None:
    from protego import Protego

    rules = [f"Disallow: /section{i}/private/" for i in range(30)] + [f"Allow: /section{i}/*.html$" for i in range(10)]
    rules += ["Disallow: /*?print=", "Disallow: /search", "Allow: /search/about"]
    body = "User-agent: other\nDisallow: /\n\nUser-agent: *\n" + "\n".join(rules) + "\nSitemap: http://h.test/s.xml\n"
    urls = [f"http://h.test/section{i % 50}/page-{i}.html?id={i}" for i in range(2_000)]
    own, peer, library = Robots.parse(body), Protego.parse(body), RobotFileParser()
    library.parse(body.splitlines())
    as_urls = [Url(url) for url in urls]
    agree = sum(own.allows("fyke", url) == peer.can_fetch(url, "fyke") for url in urls)

    def read() -> None:
        RobotFileParser().parse(body.splitlines())

    runs = {
        "fyke": (lambda: Robots.parse(body), lambda: [own.allows("fyke", url) for url in as_urls]),
        "Protego": (lambda: Protego.parse(body), lambda: [peer.can_fetch(url, "fyke") for url in urls]),
        "urllib.robotparser (no * and $)": (read, lambda: [library.can_fetch("fyke", url) for url in urls]),
    }
    rows: list[list[object]] = []
    for name, (make, ask) in runs.items():
        cost = best_cpu(make, 20) * 1e6, best_cpu(ask, 5) / len(urls) * 1e6
        rows.append([name, *cost, cost[1] / rows[0][2] if rows else 1.0])  # type: ignore[operator]
    figure("robots.txt: may this URL be fetched?", "µs", rows[0][2], {str(r[0]): r[2] for r in rows[1:]})
    print(table(["robots.txt of 43 rules", "parse µs", "allows µs", "× fyke"], rows))
    print(f"fyke and Protego agree on {agree} of {len(urls)}\n")


def links() -> None:
    from scrapy.http import HtmlResponse
    from scrapy.linkextractors import LinkExtractor

    anchors = "".join(f'<li><a href="/section{i % 7}/page-{i}.html" class=x>Link number {i}</a>' for i in range(LINKS))
    filler = "<p>Twenty kilobytes of text without any meaning, <b>as pages are</b>.</p>" * 220
    body = f"<html><head><title>t</title><meta name=robots content=index></head><body><ul>{anchors}</ul>{filler}</html>"
    url, memo = Url("http://site.test/a/b.html"), LinkMemo()
    hrefs = parse(body).links().hrefs
    response = HtmlResponse(url.href, body=body.encode(), encoding="utf-8")
    extractor = LinkExtractor()
    response.selector  # noqa: B018 - parsed once, as the tree is
    runs = {
        "fyke find_links, warm": lambda: find_links(parse(body), url, memo, agent="fyke"),
        "fyke find_links, nothing known": lambda: find_links(parse(body), url, LinkMemo(), agent="fyke"),
        "  of which reading the page": lambda: parse(body).links(),
        "  what joining would cost": lambda: [url.join(href) for href in hrefs],
        "Scrapy LinkExtractor": lambda: extractor.extract_links(response),
    }
    rows: list[list[object]] = []
    for name, work in runs.items():
        cost = best_cpu(lambda w=work: [w() for _ in range(20)], 20) / 20 * 1e6  # type: ignore[misc]
        rows.append([name, cost, cost / rows[0][1] if rows else 1.0])  # type: ignore[operator]
    peers = {"Scrapy, of a parsed page": rows[-1][1]}
    figure("links of a page, found and joined", "µs", rows[0][1], peers, f"{LINKS} links, hrefs known")
    print(table([f"links of a page of {len(body) // 1000} kB, {LINKS} links", "µs", "× fyke"], rows))


def main() -> None:
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    memory()
    seen_set()
    decisions()
    robots()
    links()


if __name__ == "__main__":
    main()
