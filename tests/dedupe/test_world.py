"""The synthetic web's copies and near copies, against its ground truth."""

from __future__ import annotations

from fyke.dedupe.discover import near_duplicates
from fyke.dedupe.index import DuplicateIndex
from fyke.world import World, WorldConfig
from fyke.world.pairs import resembling


def test_the_worlds_copies_are_found() -> None:
    world = World(WorldConfig(seed=3, hosts=25, pages=1200))
    texts: dict[str, str] = {}
    for host in world.hosts:
        for url in world.pages(host.name):
            truth = world.truth(url)
            if truth.status == 200 and not truth.soft_error:
                texts[url] = truth.main_text
    pairs = {(p.first, p.second) for p in resembling(world, texts, 0.8)}
    urls = sorted(texts)
    found = {(urls[p.left], urls[p.right]) for p in near_duplicates([texts[u] for u in urls]).pairs}
    assert len(pairs) > 100
    assert len(found & pairs) >= 0.99 * len(pairs), "recall"
    assert len(found & pairs) >= 0.99 * len(found), "precision"

    copies = {second for _, second in pairs}
    index = DuplicateIndex(text_of=texts.get)
    answers = {url: match for url in urls if (match := index.seen(texts[url], url))}
    assert len(answers.keys() & copies) >= 0.99 * len(copies), "recall, inline"
    assert len(answers.keys() & copies) >= 0.99 * len(answers), "precision, inline"
    estimates = DuplicateIndex()
    guessed = {url for url in urls if estimates.seen(texts[url], url)}
    assert len(guessed & copies) >= 0.9 * len(copies), "estimates alone are nearly as good"
