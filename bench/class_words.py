"""What words say: those of classes of the text under them, those of texts of the block they stand in.

It is the log-odds of content, by votes of pages and, of class words, by what everybody knows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fyke.clean.attribute_kernels import class_words
from fyke.clean.columns import CONTAINER, SAID_END, WORDS
from fyke.clean.container_kernels import subtree_sums
from fyke.clean.elements import Array
from fyke.clean.page import Page

SEEDS = {
    0.85: "article story entry post body articlebody maincontent paragraph prose richtext question answer message "
    "reply topic description summary details",
    0.7: "content main text page document product section copy",
    0.08: "nav navigation navbar menu footer sidebar breadcrumb breadcrumbs cookie cookies consent gdpr banner popup "
    "modal overlay newsletter subscribe signup login share sharing social follow related recommended recommendations "
    "trending popular ads advert advertisement advertising sponsored promo promotion widget widgets pagination pager "
    "toolbar skip search copyright legal masthead topbar dropdown submenu sitemap dialog alertdialog onetrust optanon "
    "cookiebot didomi usercentrics truste cookielaw complianz iubenda ccpa taboola outbrain recirc recirculation mgid "
    "addthis sharethis paywall snackbar toast tooltip megamenu offcanvas",
    0.2: "header meta byline author date tags tag category categories comment comments respond disqus aside caption "
    "credit rating ratings btn button buttons links list form",
}
"""What classes of these names hold, by what every extractor knows: the share of content under them."""
SEED_PAGES = 100.0
"""How many pages a seed counts for."""
SHARE, DOUBT, LEAST_PAGES = 0.35, 0.5, 15
"""Of content under a class word before any page is seen; log-odds that say nothing, and pages that are too few: words
that every page has (wrapper, row) would otherwise add up to a verdict on whole pages."""
STRENGTH = 20.0
"""Of what is thought of a word before any page is seen, in pages."""
TELLING = 0.02
"""A page of which less is content, or less is not, says nothing of its words."""


@dataclass(frozen=True, slots=True)
class Votes:
    """What share of the text at each word of a page is content, and what share was to be expected."""

    words: Array
    shares: Array
    expected: float


NO_VOTES = Votes(np.zeros(0, np.int64), np.zeros(0), SHARE)


def class_votes(page: Page, truth: Array) -> Votes:
    """Return for each class word of a page what share of the text under it is content."""
    if not len(page.blocks):
        return NO_VOTES
    share = (page.blocks[:, WORDS] + 1.0) / (page.blocks[:, WORDS] + 1.0).sum()
    sums = np.zeros((len(page.parent), 2))
    container = page.blocks[:, CONTAINER]
    np.add.at(sums[:, 0], container, share * truth)
    np.add.at(sums[:, 1], container, share)
    subtree_sums(page.parent, sums)
    by_word: dict[int, Array] = {}
    for c in range(1, len(page.parent)):
        for word in set(page.tree.words[page.tree.words_end[c - 1] : page.tree.words_end[c]].tolist()):
            by_word[word] = by_word.get(word, 0.0) + sums[c]
    shares = {word: hit / size for word, (hit, size) in by_word.items() if size > 0}
    return Votes(np.array([*shares], np.int64), np.array([*shares.values()]), SHARE)


def text_votes(page: Page, truth: Array) -> Votes:
    """Return for each word of a page's text what share of it stands in content."""
    if not len(page.blocks):
        return NO_VOTES
    ends = page.blocks[:, SAID_END]
    inside = np.repeat(truth, np.diff(ends, prepend=0))
    if not TELLING < inside.mean() < 1 - TELLING:
        return NO_VOTES
    words, place = np.unique(page.said[: ends[-1]], return_inverse=True)
    shares = np.bincount(place, weights=inside) / np.bincount(place)
    return Votes(words.astype(np.int64), shares, float(inside.mean()))


def class_hashes(names: str) -> list[int]:
    room = np.empty(1, np.uint16)
    hashes = []
    for name in names.split():
        data = np.frombuffer(name.encode(), np.uint8)
        class_words(data, 0, data.size, room, 0)
        hashes.append(int(room[0]))
    return hashes


class WordOdds:
    """Log-odds of content by word, in 1/16: every page has one vote, and a prior speaks against few.

    In training a page sees the odds that the other hosts gave: with its own vote in them, they would promise too much.
    """

    def __init__(self, pages: list[tuple[str, Votes]], seeds: dict[float, str], most: int) -> None:
        """Take the host and the votes of each page; odds are at most ``most``."""
        self.votes, self.pages, self.expected = np.zeros(1 << 16), np.zeros(1 << 16), np.zeros(1 << 16)
        self.most = most
        for share, names in seeds.items():
            for word in class_hashes(names):
                self.votes[word] += share * SEED_PAGES
                self.pages[word] += SEED_PAGES
                self.expected[word] += SHARE * SEED_PAGES
        self.hosts: dict[str, list[Votes]] = {}
        for host, own in pages:
            self.hosts.setdefault(host, []).append(own)
            self.votes[own.words] += own.shares
            self.pages[own.words] += 1
            self.expected[own.words] += own.expected
        self.all = self._odds(self.votes, self.pages, self.expected)

    def odds(self, without: str = "") -> Array:
        out = self.all.copy()
        if without in self.hosts:
            words = np.unique(np.concatenate([own.words for own in self.hosts[without]]))
            votes, pages, expected = self.votes[words], self.pages[words], self.expected[words]
            for own in self.hosts[without]:
                place = np.searchsorted(words, own.words)
                votes[place] -= own.shares
                pages[place] -= 1
                expected[place] -= own.expected
            out[words] = self._odds(votes, pages, expected)
        return out

    def _odds(self, votes: Array, pages: Array, expected: Array) -> Array:
        share = np.where(pages > 0.5, expected / np.maximum(pages, 1), SHARE)
        odds = np.log((votes + STRENGTH * share) / (pages - votes + STRENGTH * (1 - share)))
        odds -= np.log(share / (1 - share))
        odds = np.sign(odds) * np.maximum(0.0, np.abs(odds) - DOUBT)
        odds[pages < LEAST_PAGES] = 0
        rounded: Array = np.clip(np.rint(odds * 16), -127, self.most).astype(np.int8)
        return rounded
