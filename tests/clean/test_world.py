"""The synthetic web knows the main text of its pages: ``auto`` finds it."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from urllib.parse import urlsplit

import fyke
from fyke.clean.extract import Auto
from fyke.clean.furniture import Furniture
from fyke.clean.page import read
from fyke.world import World
from fyke.world.config import START


def f1(gold: str, got: str) -> float:
    """F1 of the multisets of word 4-grams."""
    cut = [
        re.findall(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+", t)
        for t in (gold, got)
    ]
    a, b = (Counter(zip(t, t[1:], t[2:], t[3:], strict=False)) for t in cut)
    return 2 * (a & b).total() / max(1, a.total() + b.total())


def test_auto_finds_the_worlds_main_text() -> None:
    world = World()
    plain, learnt = [], []
    for host in world.hosts:
        found = []
        for url in islice(world.pages(host.name), 0, None, max(1, host.pages // 12)):
            truth = world.truth(url, START)
            answer = world.answer(host.name, urlsplit(url).path, START)
            if answer.status == 200 and truth.main_text and "html" in truth.media_type:
                found.append((answer.body.decode(truth.encoding, "replace"), truth.main_text))
        furniture = Furniture()
        for html, _ in found:
            furniture.learn(read(html.encode()))
        plain += [f1(text, fyke.extract(html).text) for html, text in found]
        learnt += [f1(text, fyke.extract(html, Auto(furniture)).text) for html, text in found]
    assert len(plain) > 100
    assert sum(plain) / len(plain) >= 0.98
    assert sum(learnt) / len(learnt) >= 0.98
