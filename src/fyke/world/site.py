"""What a host says of itself: robots.txt, sitemaps and their index, RSS and Atom feeds.

The rules of robots.txt are few and fixed, so ``allows`` states what they mean without a matcher: an oracle for
those who write one.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from email.utils import formatdate
from functools import lru_cache
from xml.sax.saxutils import escape

from fyke.world.truth import Host, RobotsKind

URLS_PER_SITEMAP = 200
"""Far below the 50,000 allowed, so that most hosts have an index."""
SITEMAP_EVERY = 600.0
"""Seconds between two makings of a sitemap, as on the web: it lags."""
FEED_ITEMS = 15
REAL_ROBOTS = "/meta/robots.txt"
"""Where a redirected robots.txt stands."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A page as sitemaps and feeds tell it."""

    url: str
    title: str
    modified: float
    published: float
    rate: float
    summary: str = ""


def allows(host: Host, target: str) -> bool:
    """What robots.txt of ``host`` says about ``target`` (path and query), for agents that it does not name."""
    if target == "/robots.txt" or host.robots is RobotsKind.ABSENT:
        return True
    if host.robots in (RobotsKind.BROKEN, RobotsKind.CLOSED):
        return False
    if target.startswith("/private/open/"):
        return "?print=" not in target
    return not (target.startswith(("/private/", "/ad/")) or "?print=" in target or target.endswith(".bak"))


def robots_txt(host: Host, base: str) -> str:
    """The rules of a host."""
    lines = ["# " + host.name, "User-agent: badbot", "Disallow: /", "", "User-Agent: *"]
    if host.robots is RobotsKind.CLOSED:
        lines.append("Disallow: /")
    else:
        lines += ["Disallow: /private/", "Allow: /private/open/", "Disallow: /private/open/*?print="]
        lines += ["Disallow: /*?print=", "Disallow: /ad/ # click counters", "Disallow: /*.bak$"]
    if host.crawl_delay:
        lines.append(f"Crawl-delay: {host.crawl_delay}")
    if host.sitemap:
        lines += ["", f"Sitemap: {base}/sitemap.xml"]
    return "\r\n".join(lines) + "\r\n" if host.number % 2 else "\n".join(lines) + "\n"


def sitemap_count(urls: int) -> int:
    """How many files the sitemap of so many URLs has; more than one means an index."""
    return max(1, -(-urls // URLS_PER_SITEMAP))


def sitemap_index(base: str, files: int, modified: float) -> str:
    """An index of ``files`` sitemaps; every other one is gzipped."""
    names = [f"{base}/sitemap-{k}.xml{'.gz' if k % 2 else ''}" for k in range(files)]
    rows = "".join(f"<sitemap><loc>{name}</loc><lastmod>{iso(modified)}</lastmod></sitemap>" for name in names)
    return f'{_XML}<sitemapindex xmlns="{_SITEMAP}">{rows}</sitemapindex>\n'


def sitemap(entries: Iterable[Entry]) -> str:
    """A sitemap with lastmod, changefreq and priority."""
    rows = "".join(
        f"<url><loc>{escape(e.url)}</loc><lastmod>{iso(e.modified)}</lastmod>"
        f"<changefreq>{_frequency(e.rate)}</changefreq><priority>{'0.8' if e.rate > 1 else '0.5'}</priority></url>\n"
        for e in entries
    )
    return f'{_XML}<urlset xmlns="{_SITEMAP}">\n{rows}</urlset>\n'


def feed(host: Host, base: str, name: str, entries: list[Entry]) -> str:
    """RSS 2.0 with a ttl, or Atom."""
    newest = max((e.published for e in entries), default=0.0)
    if host.atom:
        rows = "".join(
            f'<entry><id>{escape(e.url)}</id><title>{escape(e.title)}</title><link href="{escape(e.url)}"/>'
            f"<published>{iso(e.published)}</published><updated>{iso(e.modified)}</updated>"
            f"<summary>{escape(e.summary)}</summary></entry>\n"
            for e in entries
        )
        return (
            f'{_XML}<feed xmlns="http://www.w3.org/2005/Atom"><id>{base}/</id><title>{escape(name)}</title>'
            f"<updated>{iso(newest)}</updated>\n{rows}</feed>\n"
        )
    rows = "".join(
        f"<item><title>{escape(e.title)}</title><link>{escape(e.url)}</link><guid>{escape(e.url)}</guid>"
        f"<pubDate>{http_date(int(e.published))}</pubDate><description>{escape(e.summary)}</description></item>\n"
        for e in entries
    )
    return (
        f'{_XML}<rss version="2.0"><channel><title>{escape(name)}</title><link>{base}/</link><description>'
        f"{escape(name)}</description><ttl>{ttl(host)}</ttl>\n{rows}</channel></rss>\n"
    )


def ttl(host: Host) -> int:
    """Minutes for which a feed asks to be left alone."""
    return (15, 30, 60, 120)[host.number // 2 % 4]


_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
_SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"


def _frequency(rate: float) -> str:
    """The word of the sitemap protocol for so many changes a day, as a webmaster would choose it."""
    for word, least in (("hourly", 4.0), ("daily", 0.5), ("weekly", 0.07), ("monthly", 0.0)):
        if rate > least:
            return word
    return "yearly"


@lru_cache(maxsize=65_536)
def _iso(t: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(t))


def iso(t: float) -> str:
    """A time as sitemaps and Atom write it."""
    return _iso(int(t))


@lru_cache(maxsize=65_536)
def http_date(t: int) -> str:
    """A time as HTTP and RSS write it."""
    return formatdate(t, usegmt=True)
