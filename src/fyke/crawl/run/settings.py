"""What a crawl is asked to do: every field is a flag of ``fyke crawl`` and a key of its TOML file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from fyke.config import option, tables
from fyke.crawl.revisit.weights import parse_weight
from fyke.crawl.run.plugins import parse as parse_plugin
from fyke.errors import UrlError, UserError
from fyke.fetch.http import USER_AGENT, FetchSettings
from fyke.formats.media_types import TypeFilter
from fyke.patterns import Pattern
from fyke.sites.scope import span_of
from fyke.units import Bytes, Seconds
from fyke.url import Url

_NOT_BELOW_0 = (
    *("delay", "patience", "max_pages", "max_bytes", "max_time", "max_depth", "max_host_pages", "hops_off"),
    *("agents", "keep_versions", "request_rate", "min_free_disk", "wait_for_room", "render_scroll"),
)
FETCH_OPTIONS = (
    *("delay", "user_agent", "contact", "resolve", "no_robots", "allow_private", "connect_timeout", "stall_timeout"),
    *("fetch_timeout", "max_body", "header", "cookies", "netrc", "proxy", "proxy_resolves", "tls", "ca_file"),
)
"""Those that one fetch has, too (``fyke fetch``)."""
RENDER_OPTIONS = ("render_timeout", "render_requests", "render_scroll", "browser")
"""Those that one rendered page has, too (``fyke render``)."""
_MAIL = re.compile(r"[!-~]+@[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)+")
_ABOUT = re.compile(r"https?://[0-9A-Za-z\[][!-~]*")
_ABOVE_0 = (
    *("concurrency", "form_requests", "max_body", "connect_timeout", "stall_timeout", "fetch_timeout"),
    *("render_timeout", "render_requests"),
)


@dataclass(frozen=True, slots=True)
class HostSettings:
    """What holds for one host, where that is another thing than for all."""

    max_pages: int | None = option(None, "Pages of this host at most; 0 for no limit.")
    delay: Seconds | None = option(None, "Least seconds between two contacts; its own Crawl-delay can lengthen it.")
    proxy: str = option("", "The proxy it is asked through, as in --proxy; none: directly.")
    content: str = option("", "A CSS selector of its pages' content; where it finds nothing, content is found as ever.")


@dataclass(frozen=True, slots=True)
class CrawlSettings:
    """The settings of a crawl; kept in the store, so that ``fyke resume`` goes on with them."""

    max_pages: int = option(0, "Stop when the store holds this many pages; 0 for no limit.")
    max_bytes: Bytes = option(0, "End when pages of this many bytes are in the store: 50GB; 0 for no limit.")
    max_time: Seconds = option(0.0, "End after this long: 2h; a resume has as long again. 0 for no limit.")
    max_depth: int = option(0, "Follow links at most this far from the seeds; 0 for no limit.")
    max_host_pages: int = option(0, "Pages of one host at most; 0 for no limit.")
    scope: str = option(
        "host",
        "Which URLs belong: host or domain (those of the seeds), any, a URL prefix (https://example.org/docs/) or a "
        "domain suffix (.edu).",
    )
    hops_off: int = option(0, "Follow so many links out of the scope, counted from the last page within it.")
    topic: str = option("", "Go for a topic first: a topic file, a folder of examples, or a model (`fyke topic`).")
    order: Literal["breadth", "quality"] = option(
        "breadth", "Which page first where there is no topic: near the seeds, or important by the links seen so far."
    )
    types: tuple[str, ...] = option(
        (), "Store documents of these types alone: text/html,application/pdf or text/*. Other pages are read for links."
    )
    include: tuple[str, ...] = option((), "Follow only URLs that match this regular expression; repeatable.")
    exclude: tuple[str, ...] = option((), "Do not follow URLs that match this regular expression; repeatable.")
    sitemaps: bool = option(
        True, "Read sitemaps: named by robots.txt or at /sitemap.xml. Not with --max-depth: their pages have none."
    )
    forms: Literal["off", "get", "post"] = option(
        "off", "Ask safe forms for what is behind them, by GET; or by POST too, which asks for confirmation."
    )
    form_requests: int = option(200, "Requests of one form at most.")
    websub: int = option(0, "Have feeds pushed by their hubs to this port; needs --public-url, runs until stopped.")
    public_url: str = option("", "Where hubs reach --websub: https://you.example/hooks.")
    delay: Seconds = option(1.0, "Least seconds between two contacts of a host; its own Crawl-delay can lengthen it.")
    agents: int = option(0, "Processes; 0 for one, and one per core once that one is busy.")
    concurrency: int = option(256, "Fetches at once for each agent.")
    continuous: bool = option(False, "Go on for ever: revisit pages so that the copies stay fresh, until stopped.")
    revisit_policy: Literal["uniform", "proportional", "freshness-optimal", "age-optimal"] = option(
        "age-optimal", "Which page again first; age-optimal keeps the mean age of copies least."
    )
    revisit_share: float = option(0.5, "Of the requests that revisits get while new pages wait; else they get all.")
    weights: tuple[str, ...] = option(
        (), "PATTERN=WEIGHT: pages whose address matches matter so much more when they are revisited; repeatable."
    )
    request_rate: float = option(
        0.0, "Requests a second of a continuous crawl; 0: revisits get a tenth of what politeness allows."
    )
    patience: Seconds = option(60.0, "End when nothing is due within this long.")
    keep_versions: int = option(0, "Versions kept of a page; 0 for all.")
    user_agent: str = option(USER_AGENT, "How the crawler names itself to servers; --contact is added.")
    contact: str = option(
        "",
        "Your mail address, or a URL about your crawl, for the owners of sites: in the User-Agent, a mail in From too.",
    )
    header: tuple[str, ...] = option(
        (), "Send 'Name: value' with every request; a secret one to the seeds' sites alone; repeatable."
    )
    cookies: str = option("", "Send the cookies of this file (Netscape, or a browser's storage state as JSON).")
    auth: str = option("", "Log in to the sites of this TOML file, which names where the secrets are.")
    netrc: bool = option(False, "Take user names and passwords for the seeds' sites from ~/.netrc.")
    proxy: str = option("", "Go through a proxy: http://, https://, socks5://HOST:PORT; env: the environment's.")
    proxy_resolves: bool = option(False, "Trust the proxy to resolve names, as socks5h:// does.")
    tls: Literal["verify", "accept"] = option("verify", "accept: take certificates that are wrong; rows say what was.")
    ca_file: str = option("", "Certificate authorities to trust instead of the system's.")
    plugins: tuple[str, ...] = option(
        (), "KIND=MODULE:NAME: code of your own, before-fetch, after-reading, prioritizer, …; repeatable."
    )
    resolve: tuple[str, ...] = option((), "HOST:ADDRESS to use instead of asking DNS; repeatable.")
    no_robots: bool = option(False, "Ignore robots.txt (your own site only); asks for confirmation.")
    allow_private: bool = option(False, "Fetch from private, loopback and link-local addresses whatever links there.")
    connect_timeout: Seconds = option(10.0, "Time to connect.")
    stall_timeout: Seconds = option(20.0, "Time at under 50 bytes/s, waiting for the first byte included.")
    fetch_timeout: Seconds = option(120.0, "Time for a whole document.")
    max_body: Bytes = option(10_000_000, "Bytes of a document that are kept; the rest is cut off and marked.")
    requisites: bool = option(
        False, "Fetch the images, styles, scripts and fonts of pages too, from any host, so that an archive replays."
    )
    render: Literal["never", "auto", "always"] = option(
        "never", "Show pages in a browser: those that are proven to gain by it (auto), or all; fyke[browser]."
    )
    render_timeout: Seconds = option(15.0, "A rendered page's own time; what it waits for our answers is not counted.")
    render_requests: int = option(60, "Requests of a rendered page that are answered.")
    render_scroll: int = option(0, "Scroll a rendered page so often to its end, as long as it grows.")
    browser: str = option("", "The browser's program; else the system's Chromium, or Playwright's own.")
    keep_subresources: bool = option(
        False, "Store what rendered pages load, images and styles too, so that an archive replays them."
    )
    depot: str = option("", "Back the crawl up while it runs, to a directory elsewhere or to s3://bucket/prefix.")
    warc_dir: str = option("", "Write every exchange to WARC files in this folder as well, while the crawl goes on.")
    trace: tuple[str, ...] = option((), "Tell the way of this URL: each room, what it decided, how long; repeatable.")
    log_format: Literal["text", "json"] = option("text", "Lines of fyke.log in the store, and of -v: text or JSON.")
    min_free_disk: Bytes = option(500_000_000, "Stop cleanly when the disk has fewer bytes free than this.")
    wait_for_room: Seconds = option(
        600.0, "On a full disk wait so long for somebody to free some, then stop; the crawl goes on by itself."
    )
    hosts: dict[str, HostSettings] = tables(
        "Settings of single hosts, by exact name: max_pages, delay, proxy, content."
    )

    def __post_init__(self) -> None:
        self._check_scope()
        for name in _NOT_BELOW_0:
            if getattr(self, name) < 0:
                raise ValueError(f"{name}: {getattr(self, name)} is below 0")
        for name in _ABOVE_0:
            if getattr(self, name) <= 0:
                raise ValueError(f"{name}: {getattr(self, name)} is not above 0")
        if bool(self.websub) != bool(self.public_url) or not 0 <= self.websub < 65_536:
            raise ValueError("websub and public_url: give a port and the public URL that leads there, or neither")
        if self.public_url and not re.match(r"https?://[^/]", self.public_url):
            raise ValueError(f"public_url: {self.public_url!r} is not like https://you.example/hooks")
        if not 0 < self.revisit_share <= 1:
            raise ValueError(f"revisit_share: {self.revisit_share} is not above 0 and at most 1")
        _ = [parse_plugin(text) for text in self.plugins]
        if not re.fullmatch(r"[\x20-\x7e]*[!-~][\x20-\x7e]*", self.user_agent):
            raise ValueError("user_agent: is empty, or has signs that no header holds; a crawler says who it is")
        if self.contact and not _MAIL.fullmatch(self.contact) and not _ABOUT.fullmatch(self.contact):
            raise ValueError(f"contact: {self.contact!r} is neither a mail address nor a URL")
        _ = [parse_weight(text) for text in self.weights]
        _ = [Url.parse(url) for url in self.trace]  # an UrlError tells what is wrong with it
        self.fixed_addresses()

    def _check_scope(self) -> None:
        span_of(self.scope)  # a ConfigError tells what is wrong with it
        TypeFilter(self.types)
        for name, own in self.hosts.items():
            if _host(name) and min(own.delay or 0, own.max_pages or 0) < 0:
                raise ValueError(f'hosts."{name}": a delay or max_pages is below 0')
        self.host_selectors()
        for name in ("include", "exclude"):
            for pattern in getattr(self, name):
                try:
                    Pattern(pattern)
                except ValueError as error:
                    raise ValueError(f"{name}: {pattern!r} is no regular expression ({error})") from None

    @property
    def agent(self) -> str:
        """The User-Agent that is sent: the name, and how to reach whoever crawls."""
        if not self.contact or self.contact in self.user_agent:
            return self.user_agent
        return f"{self.user_agent} ({'' if _MAIL.fullmatch(self.contact) else '+'}{self.contact})"

    def from_header(self) -> tuple[str, ...]:
        """The From header, where the contact is a mail address."""
        return (f"From: {self.contact}",) if _MAIL.fullmatch(self.contact) else ()

    def host_delays(self) -> dict[str, float]:
        """The delays of single hosts."""
        return {_host(name): own.delay for name, own in self.hosts.items() if own.delay is not None}

    def host_pages(self) -> dict[str, int]:
        """The most pages of single hosts."""
        return {_host(name): own.max_pages for name, own in self.hosts.items() if own.max_pages is not None}

    def host_proxies(self) -> dict[str, str]:
        """The proxies of single hosts."""
        return {_host(name): own.proxy for name, own in self.hosts.items() if own.proxy}

    def host_selectors(self) -> dict[str, str]:
        """Where the content of single hosts is. Raises ``ValueError`` for what is no selector."""
        named = {_host(name): own.content for name, own in self.hosts.items() if own.content}
        if named:
            from fyke.reading.content import check_selector

            for css in named.values():
                try:
                    check_selector(css)
                except UserError as error:
                    raise ValueError(f"hosts: {error}") from None
        return named

    def fixed_addresses(self) -> dict[str, str]:
        """What ``resolve`` says, by host."""
        fixed = {}
        for pair in self.resolve:
            host, colon, address = pair.partition(":")
            if not colon or not host or not address:
                raise ValueError(f"resolve: {pair!r} is not HOST:ADDRESS")
            fixed[host.lower()] = address.strip("[]")
        return fixed

    def fetch(self) -> FetchSettings:
        """The part that concerns one fetch."""
        return FetchSettings(
            user_agent=self.agent,
            connect_timeout=self.connect_timeout,
            stall_timeout=self.stall_timeout,
            fetch_timeout=self.fetch_timeout,
            max_body=self.max_body,
            ca_file=self.ca_file,
            tls=self.tls,
        )


def _host(name: str) -> str:
    """Return the name of a host as URLs have it. Raises ``ValueError`` for what is none."""
    try:
        url = Url.parse(f"http://{name}/")
    except UrlError:
        url = None
    if url is None or url.target != "/" or url.port != 80 or any(sign in name for sign in "/?#@"):
        raise ValueError(f"hosts: {name!r} is no name of a host; write it as in www.example.org") from None
    return url.host
