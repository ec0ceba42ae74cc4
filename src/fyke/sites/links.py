"""The links of a page: joined, normalised, judged by what the page says of them, and counted where dropped.

``find_links`` reads one parsed page (fyke.formats.html). What it returns may be followed as far as page and response
are concerned: anchors, areas, frames, embedded documents, meta refresh, and of ``<link>`` canonical, alternates, feeds,
next and prev. rel=nofollow, ``<meta name=robots>`` and X-Robots-Tag are obeyed. Scope, robots.txt and traps are not
asked here.

Joining fifty links costs more than anything else about a page, and most hrefs of a site come again on its other pages.
``LinkMemo`` keeps what they lead to: absolute ones (``https://…``) once for all, rooted ones (``/x``) for their site,
relative ones (``x.html``) for their directory, each with its key in the seen-set. It is bounded; the places not met
lately go first.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from fyke.errors import UrlError
from fyke.formats.html import Page, References, parse_refresh
from fyke.formats.http import NO_HEAD, Head
from fyke.sites.traps import seen_key
from fyke.sites.usage import read_signals
from fyke.url import Url
from fyke.values import NO_SIGNALS, Drop, Links, Signals

MAX_LINKS = 20_000
"""Links taken from one page: the largest real index pages have a few thousand."""
_MEMO_ENTRIES = 50_000  # about 17 MB: the links of the pages of one depth on a thousand sites
_MEMO_HREF = 512  # a longer href is hardly met twice

_FOLLOWED_RELATIONS = frozenset(
    {"canonical", "alternate", "next", "prev", "previous", "feed", "contents", "index", "start", "first", "last", "up"}
)
# In X-Robots-Tag "name: rule" is addressed to an agent, unless the name is itself a rule that takes a value.
_RULES_WITH_VALUES = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
_MAX_RULES, _MAX_RULE = 32, 100  # directives that are kept, and characters of each
_OF_THE_DIRECTORY = re.compile(r"[\w.~%#-]")  # not "" and "?x", which depend on the page itself
_NO_DOCUMENTS = {"javascript": Drop.JAVASCRIPT, "mailto": Drop.MAILTO, "data": Drop.DATA}
_WHITE = re.compile(r"[\x00-\x20]+")


Target = tuple[Url, bytes] | tuple[Drop, bytes]
"""What an href leads to: a URL with its key in the seen-set (8 bytes), or nowhere for a reason (no bytes)."""
Table = dict[str, Target]


@dataclass(frozen=True, slots=True)
class PageLinks:
    """What a page points to."""

    links: Links
    """To be followed, in the order of the page, repetitions included; ``rel`` tells what is no anchor."""
    keys: npt.NDArray[np.uint64]
    """Their keys in the seen-set (``traps.seen_key``)."""
    canonical: Url | None = None
    """Where the page says that it belongs."""
    feeds: tuple[Url, ...] = ()
    refresh: Url | None = None
    """Where a browser would be sent."""
    signals: Signals = NO_SIGNALS
    """What page and response say of its use."""
    dropped: tuple[tuple[Drop, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Directives:
    """What robots meta elements and headers say."""

    noindex: bool = False
    nofollow: bool = False
    said: tuple[str, ...] = field(default=(), compare=False)
    """All of it, in order; ``none`` as what it stands for."""


_NO_DIRECTIVES = Directives()


def read_directives(metas: Iterable[str], headers: Iterable[str], agent: str) -> Directives:
    """Return what holds for ``agent`` (a product token in lower case).

    ``metas`` are contents of robots meta elements that concern it, ``headers`` all values of X-Robots-Tag.
    """
    said: dict[str, None] = {}  # a set that keeps its order
    for content in metas:
        said.update(dict.fromkeys(rule.strip() for rule in content.lower().split(",")))
    for header in headers:
        addressed = True
        for part in header.lower().split(","):
            name, colon, rule = part.partition(":")
            if colon and name.strip() not in _RULES_WITH_VALUES:
                addressed = name.strip() in (agent, "*", "robots")
                part = rule  # noqa: PLW2901 - the rest of the part is the rule
            if addressed:
                said[part.strip()] = None
    if "none" in said:
        said.update({"noindex": None, "nofollow": None})
    named = tuple(rule[:_MAX_RULE] for rule in said if rule and rule != "none")[:_MAX_RULES]
    return Directives("noindex" in said, "nofollow" in said, named)


class LinkMemo:
    """What hrefs lead to, by site and directory. One for each agent; bounded by ``entries``."""

    def __init__(self, entries: int = _MEMO_ENTRIES, seed: int = 0) -> None:
        self.seed = seed
        """Of the keys in the seen-set."""
        self._limit = entries
        self._held = 0
        self._places: OrderedDict[str, Table] = OrderedDict()
        self.everywhere: Table = {}
        """The table of absolute hrefs."""

    def tables(self, url: Url) -> tuple[Table, Table]:
        """Return the tables for hrefs that depend on the site of ``url`` alone, and on its directory."""
        if len(self.everywhere) > self._limit // 2:
            self._held -= len(self.everywhere)
            self.everywhere.clear()
        while self._held > self._limit:
            self._held -= len(self._places.popitem(last=False)[1])
        href = url.href
        query = href.find("?")
        return self._table(url.site), self._table(href[: href.rindex("/", 0, query if query > 0 else None) + 1])

    def keep(self, table: Table, href: str, found: Target) -> None:
        """Remember what ``href`` leads to. REQUIRES: ``table`` is ``everywhere`` or of the last call of ``tables``."""
        table[href] = found
        self._held += 1

    def _table(self, place: str) -> Table:
        table = self._places.get(place)
        if table is None:
            table = self._places[place] = {}
        else:
            self._places.move_to_end(place)
        return table


def find_links(
    page: Page,
    url: Url,
    memo: LinkMemo,
    *,
    agent: str = "",
    head: Head = NO_HEAD,
) -> PageLinks:
    """Return the links of the page at ``url``, which came with ``head``."""
    said, robots_tags = page.robots(agent) if agent else page.robots(), head.get_all("x-robots-tag")
    directives = read_directives(said, robots_tags, agent) if said or robots_tags else _NO_DIRECTIVES
    refresh_header = head.get("refresh")
    join = _Joiner(url, page.base, memo)
    dropped: dict[Drop, int] = {}
    references = page.links()
    if directives.nofollow and references.hrefs:
        dropped[Drop.NOFOLLOW] = len(references.hrefs)
        for column in references:
            column.clear()
    elif len(references.hrefs) > MAX_LINKS:
        _shorten(references, dropped)
    refresh = page.refresh or (parse_refresh(refresh_header) if refresh_header else None)
    for relation in page.relations[:MAX_LINKS]:
        if not _FOLLOWED_RELATIONS.isdisjoint(relation.rel.split()):
            references.add(relation.href, relation.title, relation.rel)
    if refresh is not None and refresh.href:
        references.add(refresh.href, "", "refresh")
    links, keys = _follow(references, join, dropped)
    return PageLinks(
        links,
        np.frombuffer(b"".join(keys), "<u8"),
        join.url(page.canonical) if page.relations else None,
        tuple(feed for relation in page.feeds if (feed := join.url(relation.href))) if page.relations else (),
        join.url(refresh.href) if refresh is not None else None,
        read_signals(directives.said, head, page.metas),
        tuple(dropped.items()),
    )


def _shorten(references: References, dropped: dict[Drop, int]) -> None:
    """Leave the first link to each address, up to ``MAX_LINKS``: a page may name few of them very often."""
    first: dict[str, int] = {}
    for at, href in enumerate(references.hrefs):
        first.setdefault(href.partition("#")[0], at)
    first.pop("", None)  # to the page itself
    if len(first) > MAX_LINKS:
        dropped[Drop.TOO_MANY_LINKS] = len(first) - MAX_LINKS
    kept = list(first.values())[:MAX_LINKS]
    for column in references:
        column[:] = [column[at] for at in kept]


def _follow(references: References, join: _Joiner, dropped: dict[Drop, int]) -> tuple[Links, Sequence[bytes]]:
    """Return where references lead, and the keys of that in the seen-set; count those that lead nowhere."""
    hrefs, texts, rels = references
    if not hrefs:
        return Links(), ()
    known: Iterable[Target | None] = map(join.site.get, hrefs, map(join.memo.everywhere.get, hrefs))  # most are
    found = [target or join(href) for target, href in zip(known, hrefs, strict=True)]
    targets: list[Any] = [target for target, _ in found]  # URLs, once what leads nowhere is left out
    keys = [key for _, key in found]
    if any(rels) and "nofollow" in " ".join(rels):
        refused = [bool(key) and "nofollow" in rel.split() for key, rel in zip(keys, rels, strict=True)]
        if any(refused):
            dropped[Drop.NOFOLLOW] = dropped.get(Drop.NOFOLLOW, 0) + sum(refused)
        keys = [b"" if no else key for key, no in zip(keys, refused, strict=True)]
    if not all(keys):
        for reason, count in Counter(target for target in targets if isinstance(target, Drop)).items():
            dropped[reason] = dropped.get(reason, 0) + count
        texts, rels = list(compress(texts, keys)), list(compress(rels, keys))
        targets, keys = list(compress(targets, keys)), list(filter(None, keys))
    return Links(targets, texts, rels), keys


class _Joiner:
    """Joins the hrefs of one page, with the memo's tables for its site and its directory."""

    __slots__ = ("base", "local", "memo", "site")

    def __init__(self, url: Url, base_href: str, memo: LinkMemo) -> None:
        self.memo = memo
        self.base = url
        if base_href:
            try:
                base = url.join(base_href)
                if base.scheme in ("http", "https"):
                    self.base = base
            except UrlError:
                pass  # a browser ignores such a base too
        self.site, self.local = memo.tables(self.base)

    def __call__(self, href: str) -> Target:
        found = self.site.get(href) or self.local.get(href) or self.memo.everywhere.get(href)
        if found is None:
            found = _judge(self.base, href, self.memo.seed)
            if len(href) <= _MEMO_HREF:
                if href.startswith("/"):
                    self.memo.keep(self.site, href, found)
                elif href.startswith(("http://", "https://")):
                    self.memo.keep(self.memo.everywhere, href, found)
                elif _OF_THE_DIRECTORY.match(href):
                    self.memo.keep(self.local, href, found)
        return found

    def url(self, href: str) -> Url | None:
        """Where ``href`` leads, if it is anywhere; None where it is empty."""
        target = self(href)[0] if href else None
        return target if isinstance(target, Url) else None


def _judge(base: Url, href: str, seed: int) -> Target:
    if not href.startswith(("/", "http")):
        start = _WHITE.sub("", href[:64])
        if start.startswith("#"):
            return Drop.FRAGMENT, b""
        if reason := _NO_DOCUMENTS.get(start[:11].partition(":")[0].lower()) if ":" in start else None:
            return reason, b""
    try:
        url = base.join(href)
    except UrlError as error:
        return (Drop.SCHEME if "names no document" in str(error) else Drop.INVALID), b""
    if not url.href.startswith(("http://", "https://")):
        return Drop.SCHEME, b""
    return url, seen_key(url, seed).to_bytes(8, "little")
