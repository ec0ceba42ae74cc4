"""Which URLs belong to a crawl: the seeds' hosts or domains, a prefix, a suffix, patterns, endings of no document.

A ``Scope`` is a policy object: ``judge(url)`` returns None for a URL that belongs, else the reason why it does not.
Patterns are searched in URLs of bounded length only (``MAX_LENGTH``), since Python's regular expressions can take time
exponential in it; the user who writes them is trusted, the sites whose URLs they meet are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Protocol

from fyke.errors import ConfigError, UrlError
from fyke.patterns import Pattern
from fyke.url import Url
from fyke.values import Drop

MAX_LENGTH = 2_048
"""Longest URL that is judged: no browser or sitemap protocol takes more."""

NO_DOCUMENT = re.compile(
    r"(?<!\.xml)\.(?:avi|bmp|bin|bz2|css|deb|dmg|eot|exe|flac|flv|gif|gz|ico|iso|jar|jpe?g|js|mjs|m4[av]|mkv|mov|mp[34]|mpe?g|msi|"
    r"ogg|og[av]|otf|png|rar|rpm|svg|swf|tar|tgz|tiff?|ttf|wav|web[mp]|wm[av]|woff2?|xz|7z|zip|zst)$",
    re.IGNORECASE,
)
"""Endings of what no converter reads. What has another ending is asked for, and judged by its type then."""

_SUFFIX = re.compile(r"(?:\.[^\s./:?#@\[\]\\]+)+")


class Span(StrEnum):
    """How far a crawl goes from its seeds (``--scope``), if not to a URL prefix or a domain suffix."""

    HOST = "host"
    DOMAIN = "domain"
    ANY = "any"


def span_of(text: str) -> str:
    """Return a span in normal form: a ``Span``, a URL prefix (``https://example.org/docs/``) or a suffix (``.edu``).

    Raises ``ConfigError`` for anything else.
    """
    if text in tuple(Span):
        return Span(text)
    try:
        if text.startswith(("http://", "https://")):
            return Url.parse(text).href
        if _SUFFIX.fullmatch(text):
            return Url.parse(f"http://any{text}/").host.removeprefix("any")
    except UrlError:
        pass
    raise ConfigError(
        f"--scope {text!r} is not host, domain or any, no URL prefix such as https://example.org/docs/ "
        "and no domain suffix such as .edu; give one of these"
    )


class Scope(Protocol):
    """Which URLs belong."""

    def judge(self, url: Url) -> Drop | None:
        """Return None where ``url`` belongs, else why it does not."""
        ...


class SeedScope:
    """The seeds' hosts or registered domains, a prefix, a suffix, or the whole web; then ``exclude``, ``include``."""

    def __init__(
        self,
        seeds: Iterable[Url],
        span: str = Span.HOST,
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
        *,
        all_types: bool = False,
        endings: Iterable[str] = (),
    ) -> None:
        """``endings`` are those of names (``.png``) that are wanted though no converter reads them."""
        self._span = span_of(span)
        self._hosts: set[str] = set()
        self._domains: set[str] = set()
        for seed in seeds:
            self.admit(seed)
        self._include = [_compile("--include", pattern) for pattern in include]
        self._exclude = [_compile("--exclude", pattern) for pattern in exclude]
        self._all_types = all_types
        self._endings = tuple(endings)

    def admit(self, url: Url) -> None:
        """Count ``url`` among the seeds: where a seed redirects to, say (``example.org`` to ``www.example.org``).

        A prefix or suffix does not ask for seeds: what it leaves out stays out.
        """
        self._hosts.add(url.host)
        if self._span is Span.DOMAIN:
            self._domains.add(url.domain)

    def judge(self, url: Url, anywhere: bool = False) -> Drop | None:
        """Return None where ``url`` belongs, else why it does not; with ``anywhere`` it need not be where seeds are."""
        href = url.href
        if len(href) > MAX_LENGTH:
            return Drop.LENGTH
        if not anywhere and not self._spans(url):
            return Drop.SCOPE
        if not self._all_types and NO_DOCUMENT.search(url.path) and not self._wants(url.path):
            return Drop.TYPE
        if any(pattern.search(href) for pattern in self._exclude):
            return Drop.EXCLUDED
        if self._include and not any(pattern.search(href) for pattern in self._include):
            return Drop.NOT_INCLUDED
        return None

    def excludes(self, href: str) -> bool:
        """Return whether the user does not want it, wherever it is."""
        return any(pattern.search(href) for pattern in self._exclude)

    def _wants(self, path: str) -> bool:
        return bool(self._endings) and path.lower().endswith(self._endings)

    def _spans(self, url: Url) -> bool:
        match self._span:
            case Span.ANY:
                return True
            case Span.HOST:
                return url.host in self._hosts
            case Span.DOMAIN:
                return url.host in self._hosts or url.domain in self._domains
            case suffix if suffix.startswith("."):
                return f".{url.host}".endswith(suffix)
            case prefix:
                return url.href.startswith(prefix)


def _compile(option: str, pattern: str) -> Pattern:
    try:
        return Pattern(pattern)
    except ValueError as error:
        raise ConfigError(f"{option} {pattern!r} is not a regular expression: {error}; escape signs with \\") from None
