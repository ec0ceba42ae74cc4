"""The links of a page: joined, normalised, judged by what the page says of them, and counted where dropped.

``find_links`` reads one parsed page (fyke.formats.html). What it returns may be followed as far as page and response
are concerned: anchors, areas, frames, embedded documents, meta refresh, and of ``<link>`` canonical, alternates, feeds,
next and prev. rel=nofollow, ``<meta name=robots>`` and X-Robots-Tag are obeyed. Scope, robots.txt and traps are not
asked here.

Joining fifty links costs more than anything else about a page, and most hrefs of a site come again on its other pages:
``memo.LinkMemo`` keeps what they lead to, and ``find_many`` looks up those of many pages in one call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fyke.errors import UrlError
from fyke.formats.html import Page, References, parse_refresh
from fyke.formats.http import NO_HEAD, Head
from fyke.sites.memo import UNKNOWN, Join, Known, Target
from fyke.sites.memo import LinkMemo as LinkMemo  # noqa: PLC0414 - handed on
from fyke.sites.usage import read_signals
from fyke.url import Url
from fyke.values import NO_SIGNALS, Drop, Links, Signals

MAX_LINKS = 20_000
"""Links taken from one page: the largest real index pages have a few thousand."""

_FOLLOWED_RELATIONS = frozenset(
    {"canonical", "alternate", "next", "prev", "previous", "feed", "contents", "index", "start", "first", "last", "up"}
)
# In X-Robots-Tag "name: rule" is addressed to an agent, unless the name is itself a rule that takes a value.
_RULES_WITH_VALUES = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
_MAX_RULES, _MAX_RULE = 32, 100  # directives that are kept, and characters of each


class PageLinks(NamedTuple):
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
_NO_OTHERS = References([], [], [])


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


def find_links(page: Page, url: Url, memo: LinkMemo, *, agent: str = "", head: Head = NO_HEAD) -> PageLinks:
    """Return the links of the page at ``url``, which came with ``head``."""
    return next(find_many([(page, url, head)], memo, agent=agent))


def find_many(given: Sequence[tuple[Page, Url, Head]], memo: LinkMemo, *, agent: str = "") -> Iterator[PageLinks]:
    """Yield the links of pages, each with its address and its head. REQUIRES: they were cut in one call."""
    bases = [_base(url, page.base) if page.base else url for page, url, _ in given]
    said = [_directives(page, head, agent) for page, _, head in given]
    known = memo.look_up(
        [page.cut for page, _, _ in given],
        [None if each.nofollow else base for base, each in zip(bases, said, strict=True)],
        MAX_LINKS,
    )
    for (page, _, head), base, directives, anchors in zip(given, bases, said, known, strict=True):
        if anchors is None or page.speaks or directives is not _NO_DIRECTIVES or head.get("refresh"):
            yield _page_links(page, head, directives, anchors, memo.joiner(base))
        else:  # all that it says of links is its anchors
            dropped: dict[Drop, int] = {}
            links, keys = _follow(page, anchors, _NO_OTHERS, (), dropped)
            yield PageLinks(links, keys, signals=read_signals((), head), dropped=tuple(dropped.items()))


def _base(url: Url, href: str) -> Url:
    """Return what the hrefs of a page with a base are joined with; a browser ignores one that is no address, too."""
    try:
        base = url.join(href)
    except UrlError:
        return url
    return base if base.scheme in ("http", "https") else url


def _directives(page: Page, head: Head, agent: str) -> Directives:
    said = (page.robots(agent) if agent else page.robots()) if page.metas else ()
    robots_tags = head.get_all("x-robots-tag")
    return read_directives(said, robots_tags, agent) if said or robots_tags else _NO_DIRECTIVES


def _page_links(page: Page, head: Head, directives: Directives, anchors: Known | None, join: Join) -> PageLinks:
    dropped: dict[Drop, int] = {}
    others = References([], [], [])
    page.add_frames(others)
    if directives.nofollow or anchors is None or len(anchors.keys) + len(others.hrefs) > MAX_LINKS:
        anchors, others = None, page.links()
        if directives.nofollow:
            if others.hrefs:
                dropped[Drop.NOFOLLOW] = len(others.hrefs)
            others = References([], [], [])
        else:
            _shorten(others, dropped)
    refresh_header = head.get("refresh")
    refresh = page.refresh or (parse_refresh(refresh_header) if refresh_header else None)
    relations = page.relations
    for relation in relations[:MAX_LINKS]:
        if not _FOLLOWED_RELATIONS.isdisjoint(relation.rel.split()):
            others.add(relation.href, relation.title, relation.rel)
    if refresh is not None and refresh.href:
        others.add(refresh.href, "", "refresh")
    links, keys = _follow(page, anchors, others, [join(href) for href in others.hrefs], dropped)
    return PageLinks(
        links,
        keys,
        _url(join, page.canonical) if relations else None,
        tuple(feed for relation in page.feeds if (feed := _url(join, relation.href))) if relations else (),
        _url(join, refresh.href) if refresh is not None else None,
        read_signals(directives.said, head, page.metas),
        tuple(dropped.items()),
    )


def _url(join: Join, href: str) -> Url | None:
    """Where ``href`` leads, if it is anywhere; None where it is empty."""
    target = join(href)[0] if href else None
    return target if isinstance(target, Url) else None


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


def _follow(
    page: Page, anchors: Known | None, others: References, more: Sequence[Target], dropped: dict[Drop, int]
) -> tuple[Links, npt.NDArray[np.uint64]]:
    """Return where anchors and other references lead, and the keys of that; count those that lead nowhere.

    ``more`` is where the others lead.
    """
    targets, keys, some_dropped, plain = anchors or UNKNOWN
    if plain is not None:
        if not more:
            return plain, keys
        targets, texts, rels = plain.hrefs, plain.texts, plain.rels
    else:
        texts, rels = (page.anchor_texts(), page.anchor_rels()) if targets else ([], [])
    if more:
        some_dropped = some_dropped or not all(key for _, key in more)
        rels = [*(rels or [""] * len(targets)), *others.rels]
        texts = [*texts, *others.texts]
        targets = [*targets, *(target.href if isinstance(target, Url) else target for target, _ in more)]
        keys = np.concatenate([keys, np.array([key for _, key in more], np.uint64)])
    nowhere = compress(targets, (keys == 0).tolist()) if some_dropped else ()
    if not rels:
        rels = [""] * len(targets)
    elif "nofollow" in " ".join(rels):
        refused = [
            "nofollow" in rel and bool(key) and "nofollow" in rel.split()
            for key, rel in zip(keys.tolist(), rels, strict=True)
        ]
        if any(refused):
            dropped[Drop.NOFOLLOW] = dropped.get(Drop.NOFOLLOW, 0) + sum(refused)
            keys, some_dropped = np.where(refused, np.uint64(0), keys), True
    if some_dropped:
        for said, count in Counter(nowhere).items():
            reason = Drop(said)
            dropped[reason] = dropped.get(reason, 0) + count
        kept = keys.tolist()
        targets, texts, rels = list(compress(targets, kept)), list(compress(texts, kept)), list(compress(rels, kept))
        keys = keys[keys != 0]
    return Links(targets, texts, rels), keys  # URLs, now that what leads nowhere is left out
