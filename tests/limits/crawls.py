"""Trials of limits: what the parts of a crawl do, each by itself."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pycurl
import pytest

from fyke.clock import SystemClock
from fyke.convert import html
from fyke.crawl.agent import MAX_FETCH
from fyke.crawl.discovery import forms, requisites, subrequests
from fyke.crawl.mail import frames
from fyke.crawl.politeness import login, permissions
from fyke.crawl.politeness.auth import Login
from fyke.crawl.politeness.gate import Gate
from fyke.fetch import dns, driver, http, sessions
from fyke.fetch.address import AddressPolicy
from fyke.formats.html import parse
from fyke.frontier.politeness import MAX_FACTOR_DELAY, MAX_GROWTH, Contact, Pace, Politeness, after
from fyke.reading.requisites import MAX_READ, needed_by
from fyke.sites import forms as parts
from fyke.sites import probing, results, scripted, usage, websub
from fyke.url import Url
from fyke.values import Drop, Exchange, Moved, Request
from tests.limits.trial import HERE, HTML, trial
from tests.little_site import Answer, serving


class Leading:
    """A server that always leads elsewhere."""

    def __init__(self) -> None:
        self.asked = 0

    async def __call__(self, request: Request, **_: object) -> Moved:
        self.asked += 1
        exchange = Exchange(b"", b"HTTP/1.1 302 x\r\n\r\n", b"", 302, 0.0, 0.0)
        return Moved(request.url, HERE.join(f"/{self.asked}"), False, exchange)


@trial("robots-redirects")
def _() -> object:
    server = Leading()
    asyncio.run(permissions.Permissions("fyke").ask(HERE, server))
    return server.asked == 1 + permissions._REDIRECTS


@trial("login-redirects")
def _() -> object:
    server = Leading()
    asyncio.run(login._follow(Request(HERE), HERE.site, server))
    return server.asked == 1 + login.MAX_HOPS


@trial("login-wait")
def _() -> object:
    account = Login(HERE.site, HERE.href, (("user", "a"),))
    logins = login.Logins([account])
    logins._states[HERE.site].failures = 5000
    wait, _ = asyncio.run(logins.log_in(HERE.site, Leading()))
    return wait == login.MAX_WAIT


@trial("subrequest-redirects")
def _() -> object:
    server = Leading()
    site = SimpleNamespace(refuses=lambda url: None, contact=server, clock=SystemClock())
    page: Any = SimpleNamespace(_site=site, asked=0, came=[], _page=SimpleNamespace(url=Url("http://b.test/")))
    found = asyncio.run(subrequests.Serving._follow(page, HERE, SimpleNamespace(headers=())))  # type: ignore[arg-type]
    return server.asked == subrequests.MAX_HOPS and str(Drop.REDIRECTS) in str(found)


def _offers(kind: str, **processed: object) -> tuple[list[object], Counter[str]]:
    counts: Counter[str] = Counter()
    batch: Any = SimpleNamespace(count=lambda name: counts.update([name]))
    entry: Any = SimpleNamespace(kind=kind, clue=b"http://a.test/", url=HERE, href=HERE.href, depth=1)
    queues: Any = SimpleNamespace(unseen=list)
    made = requisites.Requisites(queues, SimpleNamespace(refuses=lambda url: None))  # type: ignore[arg-type]
    return list(made.offers(batch, entry, SimpleNamespace(**processed))), counts  # type: ignore[arg-type]


@trial("requisite-redirects")
def _() -> object:
    links = [SimpleNamespace(target=HERE)]
    first, _ = _offers(f"requisite:{requisites.MAX_HOPS - 1}", redirected=True, links=links)
    last, counts = _offers(f"requisite:{requisites.MAX_HOPS}", redirected=True, links=links)
    return len(first) == 1 and not last and counts == {"dropped:redirects": 1}


@trial("requisite-nesting")
def _() -> object:
    cell = SimpleNamespace(body=b"@import 'x.css';", response_head=b"HTTP/1.1 200 OK\r\nContent-Type: text/css\r\n\r\n")
    change = SimpleNamespace(page=cell, meta=SimpleNamespace(error="", status=200, type="text/css"))
    first, _ = _offers(f"requisite{requisites.MAX_NESTING - 1}:", redirected=False, change=change)
    last, _ = _offers(f"requisite{requisites.MAX_NESTING}:", redirected=False, change=change)
    return len(first) == 1 and not last


@trial("requisite-bytes")
def _() -> object:
    style = b"a{}" * (MAX_READ // 3 + 1) + b"b{c:url(late.png)}"
    return needed_by(style, HTML, HERE, "text/css", HERE) == []


@trial("slow-gap")
def _() -> object:
    wanted = Politeness(delay=1.0, factor=10.0)
    rest = after(Pace(usual=1.0), Contact(1000.0, 900.0), wanted)
    return rest.due - 1000.0 == MAX_FACTOR_DELAY * MAX_GROWTH


@trial("claim")
def _() -> object:
    gate = Gate(Politeness(delay=1.0), MAX_FETCH)
    assert gate.enter("a.test", 100.0) == 0.0  # and never leaves
    return gate.enter("a.test", 100.0 + MAX_FETCH + 2.0) == 0.0


@trial("resolution-age")
def _() -> object:
    class Names:
        async def getaddrinfo(self, host: str) -> Any:
            node = SimpleNamespace(family=2, ttl=10**9, addr=("93.184.0.1", 0))
            return SimpleNamespace(nodes=[node])

    async def ask() -> float:
        resolver = dns.Resolver(SystemClock())
        resolver._aiodns = Names()  # type: ignore[assignment]
        return (await resolver._look_up("a.test")).expires - SystemClock().now()

    return asyncio.run(ask()) <= dns.MAX_TTL


@trial("connections")
def _() -> object:
    """So many hosts one after the other, and so many connections stay."""

    async def fetch(root: str) -> int:
        port = Url.parse(root).port
        hosts = [f"h{n}.test" for n in range(8)]
        resolver = dns.Resolver(SystemClock(), dict.fromkeys(hosts, "127.0.0.1"))
        veto = AddressPolicy(hosts, False, {(host, port) for host in hosts})
        transport = http.HttpTransport(http.FetchSettings(), resolver, veto, SystemClock(), sessions.Sessions())
        try:
            for host in hosts:
                await transport.fetch(Request(Url.parse(f"http://{host}:{port}/")))
            lines = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
            return sum(words[2].endswith(f":{port:04X}") and words[3] == "01" for words in lines)
        finally:
            await transport.close()

    usual, driver.MAX_CONNECTIONS = driver.MAX_CONNECTIONS, 2
    try:
        with serving({"/": Answer(b"x")}) as site:
            return 1 <= asyncio.run(fetch(site.root)) <= 2
    finally:
        driver.MAX_CONNECTIONS = usual


@trial("faults-remembered")
def _() -> object:
    table: OrderedDict[str, int] = OrderedDict()
    for n in range(http._MAX_REMEMBERED + 5):
        http._remember(table, str(n), n)
    return len(table) == http._MAX_REMEMBERED


@trial("cookie-bytes")
def _() -> object:
    jar, handle = sessions.Sessions(), pycurl.Curl()
    share = jar.attach(handle, Url("http://a.test/"), None)
    jar.met_cookies(handle, share, ["a=b", "c=" + "v" * sessions.MAX_COOKIE])
    return True


@trial("frame")
def _() -> object:
    async def read() -> bool:
        reader = asyncio.StreamReader()
        reader.feed_data((frames._MAX_FRAME + 1).to_bytes(4, "big"))
        try:
            await frames.take_frame(reader)
        except OSError:
            return True
        return False

    return asyncio.run(read())


# ---- what sites say of themselves


@trial("hub-query")
def _() -> object:
    known = websub.Subscription("http://a.test/feed", "http://hub.test/", "token", "secret")
    return websub.verify(known, "x=" + "y" * 20_000 + "&hub.topic=http://a.test/feed", 0.0).status == 404


@trial("usages")
def _() -> object:
    said = ", ".join(f"use{chr(97 + n % 26)}{chr(97 + n // 26)}=n" for n in range(100))
    head = b"HTTP/1.1 200 OK\r\nContent-Usage: " + said.encode() + b"\r\n\r\n"
    from fyke.formats.http import parse_head

    return len(usage.read_signals((), parse_head(head)).usage) == usage.MAX_USES


@trial("usage-text")
def _() -> object:
    said = [{"location": "/", "tdm-reservation": 1, "tdm-policy": "http://a.test/" + "x" * 9_000}]
    import msgspec

    rules = usage.TdmRules.parse(msgspec.json.encode(said))
    return len(rules.signals(HERE).policy) == usage.MAX_POLICY


@trial("form-text")
def _() -> object:
    page = b"<form><label for=q>" + b"word " * 500 + b"</label><input name=q id=q></form>"
    [form] = parts.forms(page, "text/html", HERE)
    return len(form.fields[0].label) <= parts.MAX_TEXT


def _judge(host: Any, *pages: bytes) -> Counter[str]:
    counts: Counter[str] = Counter()
    batch: Any = SimpleNamespace(count=lambda name: counts.update([name]), put=lambda *given: None)
    made: Any = SimpleNamespace(
        _host=lambda url: host, told=lambda *said: None, _budget=10, post=False, _ask=lambda *given: None,
        _rules=SimpleNamespace(belongs=lambda url: None), _permits=lambda url: True,
    )  # fmt: skip
    made._refusal = lambda *given, **more: forms.Forms._refusal(made, *given, **more)
    for n, body in enumerate(pages):
        cell = SimpleNamespace(body=body, response_head=b"HTTP/1.1 200 OK\r\n\r\n")
        meta = SimpleNamespace(error="", status=200, type="text/html", private=False, signals=None)
        change = SimpleNamespace(page=cell, meta=meta, links=())
        entry: Any = SimpleNamespace(url=HERE.join(f"/{n}"), href=HERE.join(f"/{n}").href, depth=0)
        processed: Any = SimpleNamespace(change=change, links=())
        forms.Forms._look(made, batch, entry, processed, 0.0)
    return counts


def _host(judged: set[int]) -> Any:
    return SimpleNamespace(judged=forms.Judged(forms=judged), kept=[], glimpsed=set())


def _searches(count: int) -> bytes:
    return b"".join(b"<form action=/s%d><input type=search name=q></form>" % n for n in range(count))


@trial("forms-tried")
def _() -> object:
    host = _host(set())
    counts = _judge(host, _searches(forms.MAX_FORMS + 3))
    return len(host.kept) == forms.MAX_FORMS and counts["forms:too-many"] == 3


@trial("forms-judged")
def _() -> object:
    host = _host(set(range(forms.MAX_JUDGED)))
    return not _judge(host, _searches(1)) and len(host.judged.forms) == forms.MAX_JUDGED


@trial("form-requests")
def _() -> object:
    [form] = parts.forms(_searches(1), "text/html", HERE)
    machine = probing.Probe.of(form, [], [f"word{n}" for n in range(2000)], 10_000)
    asked = 0
    while (ask := machine.next()) is not None:
        found = tuple(results.Result(f"http://a.test/r{asked}-{n}", (f"new{asked}x{n}",)) for n in range(5))
        machine.took(results.Answer(found))
        asked += bool(ask.values)
    return machine.queries <= probing.MAX_QUERIES and asked <= probing.MAX_QUERIES


@trial("form-results")
def _() -> object:
    page = b"".join(b"<a href=/r%d>result</a>" % n for n in range(results.MAX_RESULTS + 50))
    return len(results.read_answer(page, "text/html", HERE.join("/s?q=x")).results) == results.MAX_RESULTS


@trial("scripted-data")
def _() -> object:
    body = b'<script type="application/json">["' + b"x" * scripted.MAX_DATA + b' y"]</script>'
    return scripted.embedded(body).text == ""


@trial("scripted-strings")
def _() -> object:
    said = b",".join(b'"http://a.test/%d"' % n for n in range(scripted.MAX_STRINGS + 500))
    found = scripted.embedded(b'<script type="application/json">[' + said + b"]</script>")
    return len(found.links) <= scripted.MAX_STRINGS


# ---- markup that is written


@trial("long-attributes")
def _() -> object:
    page = b'<a href="/' + b"x" * 3000 + b'">one</a> <a href=/y title="' + b"y" * 3000 + b'">two</a>'
    made = html.tagged(parse(page))
    return len(made.html) < 200 and "two" in made.text


@trial("markup-bytes")
def _() -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(html, "MAX_MARKUP", 1000)
        source, _ = html._plan(b"<p>words " * 1000, 0)
    return source.size == 1000
