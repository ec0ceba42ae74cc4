"""Which URLs belong to a crawl: the seeds' hosts or domains, regular expressions, endings of what is no document.

A ``Scope`` is a policy object: ``judge(url)`` returns None for a URL that belongs, else the reason why it does not.
Patterns are searched in URLs of bounded length only (``MAX_LENGTH``), since Python's regular expressions can take time
exponential in it; the user who writes them is trusted, the sites whose URLs they meet are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Protocol

from fyke.errors import ConfigError
from fyke.url import Url
from fyke.values import Drop

MAX_LENGTH = 2_048
"""Longest URL that is judged: no browser or sitemap protocol takes more."""

# Endings of what no converter reads. What has another ending is asked for, and judged by its type then.
_SKIPPED = re.compile(
    r"(?<!\.xml)\.(?:avi|bmp|bin|bz2|css|deb|dmg|eot|exe|flac|flv|gif|gz|ico|iso|jar|jpe?g|js|mjs|m4[av]|mkv|mov|mp[34]|mpe?g|msi|"
    r"ogg|og[av]|otf|png|rar|rpm|svg|swf|tar|tgz|tiff?|ttf|wav|web[mp]|wm[av]|woff2?|xz|7z|zip|zst)$",
    re.IGNORECASE,
)


class Span(StrEnum):
    """How far a crawl goes from its seeds (``--scope``)."""

    HOST = "host"
    DOMAIN = "domain"
    ANY = "any"


class Scope(Protocol):
    """Which URLs belong."""

    def judge(self, url: Url) -> Drop | None:
        """Return None where ``url`` belongs, else why it does not."""
        ...


class SeedScope:
    """The hosts or registered domains of the seeds, or the whole web; then ``exclude``, then ``include``."""

    def __init__(
        self,
        seeds: Iterable[Url],
        span: Span = Span.HOST,
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
        *,
        all_types: bool = False,
    ) -> None:
        self._span = span
        self._hosts: set[str] = set()
        self._domains: set[str] = set()
        for seed in seeds:
            self.admit(seed)
        self._include = [_compile("--include", pattern) for pattern in include]
        self._exclude = [_compile("--exclude", pattern) for pattern in exclude]
        self._all_types = all_types

    def admit(self, url: Url) -> None:
        """Count ``url`` among the seeds: where a seed redirects to, say (``example.org`` to ``www.example.org``)."""
        self._hosts.add(url.host)
        if self._span is Span.DOMAIN:
            self._domains.add(url.domain)

    def judge(self, url: Url) -> Drop | None:
        """Return None where ``url`` belongs, else why it does not."""
        href = url.href
        if len(href) > MAX_LENGTH:
            return Drop.LENGTH
        if self._span is not Span.ANY:
            host = url.host
            if host not in self._hosts and (self._span is Span.HOST or url.domain not in self._domains):
                return Drop.SCOPE
        if not self._all_types and _SKIPPED.search(url.path):
            return Drop.TYPE
        if any(pattern.search(href) for pattern in self._exclude):
            return Drop.EXCLUDED
        if self._include and not any(pattern.search(href) for pattern in self._include):
            return Drop.NOT_INCLUDED
        return None


def _compile(option: str, pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ConfigError(f"{option} {pattern!r} is not a regular expression: {error}; escape signs with \\") from None
