"""Trials of limits: pages, what sites say of themselves, and the network."""

from __future__ import annotations

import asyncio
import gzip
from typing import Any

import pytest

from fyke.clock import SystemClock
from fyke.convert import structured
from fyke.crawl.discovery import discovery
from fyke.errors import UrlError
from fyke.fetch import dns
from fyke.formats import batch_kernels, http, http_body, linked_data, markdown, markup, xml
from fyke.frontier.politeness import MAX_CRAWL_DELAY, Pace, Politeness, base_delay
from fyke.reading.reading import read
from fyke.sites import feed, forms, requisites, robots, sitemap, standing, usage
from fyke.sites.links import MAX_LINKS
from fyke.sites.scope import MAX_LENGTH as LONGEST
from fyke.sites.scope import SeedScope
from fyke.url import MAX_LENGTH, Url
from fyke.values import Drop, Exchange
from tests.limits.trial import HERE, HTML, trial


def _exchange(head: bytes) -> Exchange:
    return Exchange(b"", head, b"", 503, 0.0, 100.0)


# ---- markup


@trial("page-bytes")
def _() -> object:
    return len(markup.cut([b"x" * (markup.MAX_BYTES + 1)])[0].markup.data) == markup.MAX_BYTES


@trial("page-tokens")
def _() -> object:
    return len(markup.cut([b"<b>" * (markup.MAX_TOKENS + 10)])[0].markup) <= markup.MAX_TOKENS


@trial("noted-tags")
def _() -> object:
    page = markup.cut([b"<meta name=a content=b>" * (batch_kernels.MAX_NOTED + 1)])[0].markup
    return len(page.noted_tags()["meta"]) == batch_kernels.MAX_NOTED


@trial("blocks")
def _() -> object:
    found = read(b"<p>Some words of a block that says a little." * 50_100, HTML, HERE)
    return len(found.weights) == 50_000


@trial("too-many-links")
def _() -> object:
    found = read(b"".join(b'<a href="/%d">x</a>' % i for i in range(MAX_LINKS + 7)), HTML, HERE).found
    return len(found.links) == MAX_LINKS and dict(found.dropped) == {Drop.TOO_MANY_LINKS: 7}


@trial("linked-data")
def _() -> object:
    return linked_data.decode('{"a":"' + "x" * linked_data.MAX_SCRIPT + '"}') is None


@trial("json-ld")
def _() -> object:
    return structured.decode_json_ld('{"a":"' + "x" * structured.MAX_SCRIPT + '"}') is None


@trial("linked-things")
def _() -> object:
    return len(list(linked_data.things([[{}] * 3000, [{}] * 3000]))) <= linked_data.MAX_THINGS


@trial("structured-data")
def _() -> object:
    return len(list(structured.things([[{"a": 1}] * 1000]))) <= structured.MAX_THINGS


@trial("table-columns")
def _() -> object:
    written = markdown.markdown("<table><tr>" + "<td>x" * 1000 + "</table>")
    return max(line.count("|") for line in written.splitlines()) <= markdown.MAX_COLUMNS + 1


@trial("xml-attributes")
def _() -> object:
    data = b"<r " + b" ".join(b"a%d='b'" % i for i in range(400)) + b"/>"
    [start] = [event for event in xml.events(data) if isinstance(event, xml.Start)]
    return len(start.attributes) == xml.MAX_ATTRIBUTES


@trial("xml-depth")
def _() -> object:
    return sum(isinstance(event, xml.Start) for event in xml.events(b"<a>" * 5000)) <= 256


@trial("forms")
def _() -> object:
    return len(forms.forms(b"<form></form>" * (forms.MAX_FORMS + 9), "text/html", HERE)) == forms.MAX_FORMS


@trial("form-options")
def _() -> object:
    page = b"<form><select name=s>" + b"<option>x" * (forms.MAX_OPTIONS + 1) + b"</form>"
    return len(forms.forms(page, "text/html", HERE)[0].fields[0].options) == forms.MAX_OPTIONS


@trial("form-tags")
def _() -> object:
    page = b"<form action=/s><input name=q>" + b"<label>x</label>" * (forms.MAX_TAGS // 2 + 1) + b"</form>"
    return not forms.forms(page, "text/html", HERE)[0].whole


@trial("requisites")
def _() -> object:
    style = "".join(f"a{{b:url({n}.png)}}" for n in range(2000))
    return len(requisites.of_style(style, HERE)) == requisites.MAX_REQUISITES


# ---- HTTP


@trial("link-header")
def _() -> object:
    return len(http.header_links(["<x>; rel=a, " * 10_000])) < 2000


@trial("codings")
def _() -> object:
    data = b"x"
    for _ in range(9):
        data = gzip.compress(data)
    head = http.parse_head(b"HTTP/1.1 200 OK\r\nContent-Encoding: " + b", ".join([b"gzip"] * 9) + b"\r\n\r\n")
    return http_body.decode_content(head, data).body == gzip.compress(b"x")


@trial("retry-after")
def _() -> object:
    asked = http.retry_after(_exchange(b"HTTP/1.1 503 x\r\nRetry-After: 999999999\r\n\r\n"))
    return asked == 100.0 + http.MAX_RETRY_AFTER


@trial("addresses")
def _() -> object:
    class Node:
        family, ttl = 2, 1

        def __init__(self, n: int) -> None:
            self.addr = (f"93.184.{n // 250}.{n % 250 + 1}", 0)

    class Names:
        async def getaddrinfo(self, host: str) -> Any:
            return type("Answer", (), {"nodes": [Node(n) for n in range(3000)]})

    async def ask() -> dns.Resolution:
        resolver = dns.Resolver(SystemClock())
        resolver._aiodns = Names()  # type: ignore[assignment]
        return await resolver._look_up("a.test")

    return len(asyncio.run(ask()).addresses) == dns.MAX_ADDRESSES


@trial("resolutions")
def _() -> object:
    resolver = dns.Resolver(SystemClock())
    for n in range(dns.MAX_ENTRIES + 10):
        resolver._keep(str(n), dns.Resolution((), 0.0))
    return len(resolver._cache) == dns.MAX_ENTRIES


# ---- what sites say of themselves


@trial("robots-bytes")
def _() -> object:
    rules = robots.Robots.parse(b"User-agent: *\n" + b"Disallow: /x\n" * 50_000 + b"Disallow: /end\n")
    return rules.allows("fyke", "/end")


@trial("robots-patterns")
def _() -> object:
    lines = b"".join(b"Disallow: /a*%d$\n" % n for n in range(robots.MAX_PATTERNS + 5))
    return not robots.Robots.parse(b"User-agent: *\n" + lines).allows("fyke", "/a0")


@trial("crawl-delay")
def _() -> object:
    return base_delay(Pace(crawl_delay=1e12), Politeness()) == MAX_CRAWL_DELAY


@trial("robots-age")
def _() -> object:
    return standing.lifetime("max-age=99999999") == standing.MAX_AGE


@trial("sitemap-urls")
def _() -> object:
    data = b"<urlset>" + b"<url><loc>http://a.test/x</loc></url>" * (sitemap.MAX_URLS + 5) + b"</urlset>"
    return len(sitemap.parse_sitemap(data).entries) == sitemap.MAX_URLS


@trial("sitemap-bytes")
def _() -> object:
    data = gzip.compress(b"<urlset><url><loc>http://a.test/x</loc></url>" + b" " * sitemap.MAX_BYTES + b"</urlset>", 1)
    return len(sitemap.parse_sitemap(data).entries) == 1


@trial("sitemap-extensions")
def _() -> object:
    images = b"<image:image><image:loc>http://a.test/i</image:loc></image:image>" * (sitemap.MAX_EXTENSIONS + 5)
    name = b"<urlset xmlns:image='http://www.google.com/schemas/sitemap-image/1.1'>"
    [entry] = sitemap.parse_sitemap(name + b"<url><loc>http://a.test/x</loc>" + images + b"</url></urlset>").entries
    return len(entry.images) == sitemap.MAX_EXTENSIONS


@trial("sitemaps-named")
def _() -> object:
    class Standing:
        verdict = standing.Verdict.ALLOW

        def rules(self) -> robots.Robots:
            return robots.Robots({}, tuple(f"http://a.test/{n}.xml" for n in range(discovery.MAX_NAMED + 5)))

    permission: Any = type("Permission", (), {"standing": Standing(), "allows": lambda self, url: True})()
    return len(discovery.places(HERE, permission)) == discovery.MAX_NAMED


@trial("sitemap-nesting")
def _() -> object:
    index = sitemap.parse_sitemap(b"<sitemapindex><sitemap><loc>http://a.test/x.xml</loc></sitemap></sitemapindex>")
    return not list(discovery._parts(index, HERE, discovery.MAX_NESTING))


@trial("feed-items")
def _() -> object:
    data = b"<rss><channel>" + b"<item><link>http://a.test/</link></item>" * (feed.MAX_ITEMS + 5)
    return len(feed.parse_feed(data).items) == feed.MAX_ITEMS


@trial("feed-bytes")
def _() -> object:
    return len(feed.parse_feed(b"<rss><channel>" + b" " * feed.MAX_BYTES + b"<item/></channel></rss>").items) == 0


@trial("feed-enclosures")
def _() -> object:
    inside = b"<enclosure url='http://a.test/e'/>" * 500
    [item] = feed.parse_feed(b"<rss><channel><item>" + inside + b"</item></channel></rss>").items
    return len(item.enclosures) <= feed.MAX_ENCLOSURES


@trial("usage-rules")
def _() -> object:
    rules = b"[" + b",".join([b'{"location": "/", "tdm-reservation": 1}'] * (usage.MAX_RULES + 5)) + b"]"
    return len(usage.TdmRules.parse(rules)) == usage.MAX_RULES


# ---- URLs


@trial("url-length")
def _() -> object:
    with pytest.raises(UrlError):
        Url.parse("http://a.test/" + "x" * MAX_LENGTH)
    return True


@trial("length")
def _() -> object:
    return SeedScope([HERE]).judge(Url.parse("http://a.test/" + "x" * LONGEST)) == Drop.LENGTH
