"""What class words say of the text under them: log-odds of content, by votes of pages and by what everybody knows."""

from __future__ import annotations

import numpy as np

from fyke.clean.attribute_kernels import class_words
from fyke.clean.columns import CONTAINER, WORDS
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


def class_votes(page: Page, truth: Array) -> dict[int, float]:
    """Return for each class word of a page what share of the text under it is content."""
    if not len(page.blocks):
        return {}
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
    return {word: hit / size for word, (hit, size) in by_word.items() if size > 0}


def class_hashes(names: str) -> list[int]:
    room = np.empty(1, np.uint16)
    hashes = []
    for name in names.split():
        data = np.frombuffer(name.encode(), np.uint8)
        class_words(data, 0, data.size, room, 0)
        hashes.append(int(room[0]))
    return hashes


class ClassWords:
    """Log-odds of content by class word, in 1/16: every page has one vote, and a prior speaks against few.

    In training a page sees the odds that the other hosts gave: with its own vote in them, they would promise too much.
    """

    def __init__(self, pages: list[tuple[str, dict[int, float]]]) -> None:
        """Take the host and the votes of each page."""
        self.votes, self.pages = np.zeros(1 << 16), np.zeros(1 << 16)
        for share, names in SEEDS.items():
            for word in class_hashes(names):
                self.votes[word] += share * SEED_PAGES
                self.pages[word] += SEED_PAGES
        self.hosts: dict[str, list[dict[int, float]]] = {}
        for host, own in pages:
            self.hosts.setdefault(host, []).append(own)
            for word, vote in own.items():
                self.votes[word] += vote
                self.pages[word] += 1

    def odds(self, without: str = "") -> Array:
        votes, pages = self.votes, self.pages
        if without in self.hosts:
            votes, pages = votes.copy(), pages.copy()
            for own in self.hosts[without]:
                for word, vote in own.items():
                    votes[word] -= vote
                    pages[word] -= 1
        strength = 20.0  # of the prior, in pages
        odds = np.log((votes + strength * SHARE) / (pages - votes + strength * (1 - SHARE)))
        odds -= np.log(SHARE / (1 - SHARE))
        odds = np.sign(odds) * np.maximum(0.0, np.abs(odds) - DOUBT)
        odds[pages < LEAST_PAGES] = 0
        rounded: Array = np.clip(np.rint(odds * 16), -127, 127).astype(np.int8)
        return rounded
