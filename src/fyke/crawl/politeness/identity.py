"""As whom a crawl goes: headers, cookies, accounts and proxy, from settings whose secrets are looked up once."""

from __future__ import annotations

import netrc
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from fyke.crawl.politeness.auth import Account, Login, read_auth
from fyke.crawl.politeness.login import ends_session
from fyke.crawl.run.settings import CrawlSettings
from fyke.errors import UserError
from fyke.fetch.proxy import Proxies, Proxy, environment_proxy, without_password
from fyke.fetch.sessions import (
    REDACTED,
    Credentials,
    Sessions,
    basic,
    header_line,
    is_secret,
    parse_header,
    read_cookies,
)
from fyke.url import Url
from fyke.values import Drop


@dataclass(frozen=True, slots=True)
class Identity:
    """What an agent is given; sent to the processes of agents, and written nowhere."""

    headers: tuple[tuple[str, str], ...] = ()
    credentials: Mapping[str, Credentials] = field(default_factory=dict)
    cookies: tuple[str, ...] = field(default=(), repr=False)
    logins: tuple[Login, ...] = ()
    proxies: Proxies = field(default_factory=Proxies)
    origins: frozenset[str] = frozenset()
    """With an account: what is had from there is private, and links that would end it are not followed."""
    avoid: tuple[str, ...] = ()

    def refuses(self, url: Url) -> Drop | None:
        """Why a link is not followed: it leads out of an account, or to its end."""
        if url.site not in self.origins:
            return None
        if any(url.href.partition("?")[0] == login.page.partition("?")[0] for login in self.logins):
            return Drop.LOGIN
        return Drop.LOGOUT if ends_session(url) or url.href.startswith(self.avoid) else None

    def sessions(self, kept: Iterable[str] = ()) -> Sessions:
        """Return the sessions of one transport, with the cookies that an earlier run kept."""
        return Sessions(self.headers, self.credentials, self.cookies, self.origins, kept)


def identity_of(settings: CrawlSettings, seeds: Iterable[str]) -> Identity:
    """Look up all that a crawl's settings name. Raises ``UserError`` before anybody is contacted."""
    named = list(seeds)
    origins = {Url.parse(seed).site for seed in named}
    headers = [_given(text) for text in (*settings.header, *settings.from_header())]
    credentials = dict(_in_seeds(named))
    secret = tuple(header_line(name, value) for name, value in headers if is_secret(name))
    if settings.netrc:
        credentials = {**_in_netrc(origins), **credentials}
    accounts: list[Account] = read_auth(Path(settings.auth)) if settings.auth else []
    credentials |= {each.origin: each.credentials for each in accounts if each.credentials is not None}
    if secret:
        for origin in origins:
            known = credentials.get(origin, Credentials())
            credentials[origin] = replace(known, lines=known.lines + secret)
    cookies = [line for each in accounts for line in each.cookies]
    if settings.cookies:
        cookies += read_cookies(Path(settings.cookies))
    return Identity(
        tuple((name, value) for name, value in headers if not is_secret(name)),
        credentials,
        tuple(cookies),
        tuple(each.login for each in accounts if each.login is not None),
        _proxies(settings),
        frozenset([*credentials, *(each.origin for each in accounts)]),
        tuple(each.origin + path for each in accounts for path in each.avoid),
    )


def without_secrets(settings: CrawlSettings) -> CrawlSettings:
    """Return settings as they may be kept: a resume asks for what is missing, and finds what is named."""
    headers = tuple(
        f"{name}: {REDACTED}" if is_secret(name) else f"{name}: {value}"
        for name, value in map(parse_header, settings.header)
    )
    return replace(
        settings,
        header=headers,
        proxy=without_password(settings.proxy),
        hosts={name: replace(own, proxy=without_password(own.proxy)) for name, own in settings.hosts.items()},
        auth=_absolute(settings.auth),
        cookies=_absolute(settings.cookies),
        ca_file=_absolute(settings.ca_file),
    )


def _absolute(path: str) -> str:
    return str(Path(path).absolute()) if path else ""


def _given(text: str) -> tuple[str, str]:
    name, value = parse_header(text)
    if value == REDACTED:
        raise UserError(f"the value of {name} is not kept in a store; give --header '{name}: …' again")
    return name, value


def _proxies(settings: CrawlSettings) -> Proxies:
    def proxy(said: str) -> Proxy | None:
        address = environment_proxy() if said == "env" else said
        return Proxy.parse(address, settings.proxy_resolves) if address not in ("", "none") else None

    return Proxies(proxy(settings.proxy), {host: proxy(said) for host, said in settings.host_proxies().items()})


def _in_seeds(seeds: list[str]) -> Iterable[tuple[str, Credentials]]:
    """The credentials that stand in URLs: ``https://user:password@host/``."""
    for seed in seeds:
        try:
            parts = urlsplit(seed)
            if parts.username:
                yield Url.parse(seed).site, basic(unquote(parts.username), unquote(parts.password or ""))
        except ValueError:
            continue


def _in_netrc(origins: Iterable[str]) -> dict[str, Credentials]:
    try:
        known = netrc.netrc()
    except (OSError, netrc.NetrcParseError) as error:
        raise UserError(f"--netrc: {error}") from None
    found = {}
    for origin in origins:
        host = Url.parse(origin + "/").host
        if host in known.hosts and (login := known.authenticators(host)):
            found[origin] = basic(login[0] or "", login[2] or "")
    return found
