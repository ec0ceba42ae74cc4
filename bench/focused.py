"""Which page first: focused crawls and quality orders on the world and on real pages, beside plain policies.

The world's topics are known, so harvest and recall are counted by truth. Pages pass through the crawler's own
processor: the classifiers see what a live crawl sees. Plain best-first is a naive Bayes classifier (scikit-learn's)
over words, a link being worth its page: ACHE's baseline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from fyke.crawl.process import Processor
from fyke.graph.build import Lists, write_graph
from fyke.graph.graph import Graph, write_urls
from fyke.graph.properties import Parameters
from fyke.graph.rank import pagerank
from fyke.simulate.engine import Politeness, VirtualCrawl, World
from fyke.simulate.policies import named
from fyke.topic.features import surroundings
from fyke.topic.model import PageText
from fyke.url import Url
from fyke.values import Exchange, Fetched
from fyke.world.config import START, WorldConfig
from fyke.world.world import World as Web

EXAMPLES, OTHERS = 20, 200
HTML = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
TOPICS = ("cooking", "sailing", "medicine")


@dataclass(frozen=True, slots=True)
class Crawled:
    """A page as the crawler sees it."""

    page: PageText
    links: tuple[tuple[str, str, str], ...]
    topic: str = ""


def world_pages(hosts: int, pages: int) -> list[Crawled]:
    """Every page of a world that a crawl from one of its home pages may meet."""
    web = Web(
        WorldConfig(
            hosts=hosts,
            pages=pages,
            formats=False,
            traps=False,
            flaky=False,
            slow=False,
            mirrors=False,
            redirects=False,
        )
    )
    processor = Processor("")
    found = []
    for href in sorted(web.expected(web.seeds).pages):
        url = Url(href)
        answer = web.answer(url.host, url.target, START)
        head = "HTTP/1.1 200 OK\r\n" + "".join(f"{name}: {value}\r\n" for name, value in answer.headers) + "\r\n"
        found.append(crawled(processor, url, answer.body, head, web.truth(href).topic))
    return found


def crawled(processor: Processor, url: Url, body: bytes, head: str, topic: str = "") -> Crawled:
    exchange = Exchange(b"", head.encode(), body, 200, START, START)
    made = processor.page(Fetched(url, exchange), 0)
    text, meta = made.change.text or "", made.change.meta
    around = surroundings(text, [link.text for link in made.links])
    links = tuple((link.text, link.target.href, near) for link, near in zip(made.links, around, strict=True))
    return Crawled(PageText(text, meta.title, url.href, meta.language, meta.type), links, topic)


def real_pages(roots: Path, most: int) -> list[Crawled]:
    """Pages of a folder of HTML documentation, one host a folder, at most so many of each; sorted by URL."""
    processor, found = Processor(""), []
    for root in sorted(p for p in roots.iterdir() if p.is_dir()):
        files = sorted(root.rglob("*.html"))
        for file in files[:: max(1, -(-len(files) // most))]:
            if file.is_file():
                url = Url.parse(f"http://{root.name.lower()}.test/{quote(str(file.relative_to(root)))}")
                found.append(crawled(processor, url, file.read_bytes(), HTML))
    return sorted({each.page.url: each for each in found}.values(), key=lambda each: each.page.url.encode())


def graph_of(pages: Sequence[Crawled], folder: Path) -> Graph:
    """The graph of pages; REQUIRES: they are sorted by URL."""
    number = {each.page.url: k for k, each in enumerate(pages)}
    lists = [
        sorted({number[link[1]] for link in each.links if link[1] in number} - {k}) for k, each in enumerate(pages)
    ]
    starts = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    write_graph(
        folder / "graph", [Lists(starts, np.array([y for each in lists for y in each], np.int64))], Parameters()
    )
    write_urls(folder / "graph.urls", list(number))
    return Graph.open(folder / "graph")


@dataclass(frozen=True, slots=True, eq=False)
class Set:
    """A collection: pages, graph, and what all its crawls share."""

    pages: list[Crawled]
    graph: Graph
    rank: NDArray[np.float64]
    hosts: NDArray[np.int64]


def make_set(pages: list[Crawled], folder: Path) -> Set:
    graph = graph_of(pages, folder)
    names: dict[str, int] = {}
    hosts = np.array([names.setdefault(Url(each.page.url).host, len(names)) for each in pages])
    return Set(pages, graph, pagerank(graph), hosts)


def examples(targets: NDArray[np.bool_], chance: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Some relevant and some other pages to learn from."""
    relevant, others = np.flatnonzero(targets), np.flatnonzero(~targets)
    return chance.choice(relevant, EXAMPLES, replace=False), chance.choice(others, OTHERS, replace=False)


def naive_bayes(
    pages: Sequence[Crawled], relevant: NDArray[np.int64], others: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The log-odds of every page by multinomial naive Bayes over words, learnt from the same examples."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB

    words = CountVectorizer(max_features=50_000)
    learnt = [*relevant.tolist(), *others.tolist()]
    words.fit([pages[k].page.text for k in learnt])
    labels = [1] * len(relevant) + [0] * len(others)
    bayes = MultinomialNB().fit(words.transform([pages[k].page.text for k in learnt]), labels)
    logs = bayes.predict_log_proba(words.transform([each.page.text for each in pages]))
    found: NDArray[np.float64] = np.clip(logs[:, 1] - logs[:, 0], -30, 30)
    return found


def crawl(web: World, name: str, budget: int) -> NDArray[np.int64]:
    run = VirtualCrawl(web, named(name, np.random.default_rng(0)), 1, Politeness())
    run.run(budget)
    return np.asarray(run.order)


def log_odds(p: NDArray[np.float64], threshold: float = 0.5) -> NDArray[np.float64]:
    p = np.clip(p, 1e-6, 1 - 1e-6)
    return np.log(p / (1 - p))
