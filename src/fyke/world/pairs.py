"""The ground truth of duplicate detection: every pair of pages that resemble each other, with their Jaccard.

Copies of one original resemble each other too, so a family (an original, its copies, and all their mirrors) is
compared in full. Pages of different families share next to no 5-grams.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from fyke.world.config import START
from fyke.world.copies import shingles
from fyke.world.world import World


@dataclass(frozen=True, slots=True)
class Pair:
    """Two pages that resemble each other; ``first`` < ``second``."""

    first: str
    second: str
    jaccard: float


def families(world: World, urls: Iterable[str], t: float = START) -> list[list[str]]:
    """``urls`` that are there at ``t`` in groups of common origin, singletons left out. Soft errors are not there."""
    groups: dict[str, list[str]] = {}
    for url in sorted(set(urls)):
        truth = world.truth(url, t)
        if truth.status != 200 or truth.soft_error:
            continue
        root = truth
        while root.copy_of:
            root = world.truth(root.copy_of, t)
        groups.setdefault(root.url, []).append(url)
    return [group for group in groups.values() if len(group) > 1]


def resembling(world: World, urls: Iterable[str], threshold: float = 0.8, t: float = START) -> list[Pair]:
    """Every pair among ``urls`` whose main texts have a Jaccard of at least ``threshold`` at ``t``."""
    pairs = []
    for family in families(world, urls, t):
        sets = {url: shingles(world.truth(url, t).main_text) for url in family}
        for a, b in combinations(family, 2):
            alike = len(sets[a] & sets[b]) / len(sets[a] | sets[b])
            if alike >= threshold:
                pairs.append(Pair(a, b, alike))
    return pairs
