"""From a topic file or folder to a model: where example pages come from, and where others are drawn."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from fyke.errors import StorageError, UserError

if TYPE_CHECKING:
    from fyke.topic.model import PageText
    from fyke.topic.topic import Topic
    from fyke.topic.train import Trained

NEGATIVES = 300
"""Pages drawn where no irrelevant ones are given."""
_SCANNED = 20_000
"""Rows among which they are drawn: a larger store need not be read to its end."""


MADE_UP = (
    "nothing says what the topic is not: learnt against made-up English, which no page of the web is like;"
    " give irrelevant pages, or a store to draw them from (--store)"
)


def train_file(file: Path, store: Path | None, negatives: int = NEGATIVES) -> Trained:
    """Train the model of a topic file, or of a folder with ``relevant`` and ``irrelevant`` pages in it.

    Example URLs are looked for in ``store``, then fetched. Without irrelevant examples, pages are drawn from the
    store or, where that has none, from a synthetic world's English, of which a warning tells.
    """
    import numpy as np

    from fyke.topic.train import train

    topic, base = read_topic(file)
    relevant = pages_of(topic.relevant, base, store)
    irrelevant = pages_of(topic.irrelevant, base, store)
    drawing = bool(relevant) and not irrelevant
    if drawing:
        known = {page.url for page in relevant}
        irrelevant = [page for page in (drawn(store, negatives) if store else []) if page.url not in known]
    made_up = drawing and not irrelevant
    trained = train(
        topic, relevant, synthetic(negatives) if made_up else irrelevant, np.random.default_rng(0), drawn=drawing
    )
    return replace(trained, warnings=(*trained.warnings, MADE_UP)) if made_up else trained


def model_beside(topic: Path) -> Path:
    """Return where a topic's model goes by default. Raises ``UserError`` where something else stands there."""
    from fyke.topic.model import is_model

    target = topic.with_suffix(".model")
    if target.exists() and not (target.is_file() and is_model(target.read_bytes()[:64])):
        raise UserError(f"{target} is there and no model that fyke made; name another file with --out")
    return target


def read_topic(file: Path) -> tuple[Topic, Path]:
    """Return a topic, and the folder that its files are relative to."""
    import msgspec

    from fyke.topic import topic as topics

    if not file.is_dir():
        try:
            return topics.parse(file.read_text(encoding="utf-8", errors="replace"), str(file)), file.parent
        except OSError as error:
            raise UserError(f"cannot read {file}: {error.strerror}; give a topic file or a folder") from None
    said = file / "topic.toml"
    text = said.read_text(encoding="utf-8") if said.exists() else ""
    found = {
        kind: tuple(str(p.relative_to(file)) for p in sorted((file / kind).rglob("*")) if p.is_file())
        for kind in ("relevant", "irrelevant")
    }
    topic = topics.parse(text, str(said)) if text else topics.Topic(file.name)
    topic = msgspec.structs.replace(
        topic,
        name=topic.name or file.name,
        relevant=topic.relevant + found["relevant"],
        irrelevant=topic.irrelevant + found["irrelevant"],
    )
    return topics.check(topic, str(file)), file


def pages_of(names: Sequence[str], base: Path, store: Path | None) -> list[PageText]:
    """Return example pages: files, or URLs from the store or the web."""
    found = [page_of_file(base / name) for name in names if "://" not in name]
    urls = [name for name in names if "://" in name]
    stored = stored_pages(store, urls) if store else {}
    found += stored.values()
    wanted = [url for url in urls if url not in stored]
    return found + (fetched_pages(wanted) if wanted else [])


def page_of_file(file: Path) -> PageText:
    """Return a file of any format as a page."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read the example {file}: {error.strerror}; give a file or a URL") from None
    return page_of_bytes(data, None, file.resolve().as_uri(), "")


def page_of_bytes(data: bytes, declared: str | None, href: str, said: str) -> PageText:
    """Return what a classifier sees of a document; ``said`` is its URL, as far as that says something."""
    from fyke.reading.conversion import convert_here, prepare
    from fyke.topic.model import PageText
    from fyke.url import Url

    made = convert_here(prepare(data, declared, Url.parse(href)))
    if not made.text.strip():
        raise UserError(f"{href} has no text ({made.failure or 'it is empty'}); give another example")
    return PageText(made.text, made.title, said, made.language, made.media_type)


def stored_pages(store: Path, urls: Iterable[str]) -> dict[str, PageText]:
    """Return those pages that a store has, by the names that were asked for."""
    from fyke.reading.stored import text_of
    from fyke.store import Store
    from fyke.topic.model import PageText

    found = {}
    try:
        with Store.open(store, "r") as opened:
            for url in urls:
                row = opened.get(url)
                if row is not None and row.text:
                    meta = row.meta
                    found[url] = PageText(text_of(row), meta.title, row.url, meta.language, meta.type)
    except StorageError:
        return {}
    return found


def fetched_pages(addresses: Sequence[str]) -> list[PageText]:
    """Fetch pages, as far as robots.txt lets us. Raises ``UserError`` where one does not come."""
    from fyke.crawl.run.settings import CrawlSettings
    from fyke.fetching import fetch_all
    from fyke.topic.model import PageText
    from fyke.values import Drop

    found = []
    for page in fetch_all(addresses, CrawlSettings()):
        if page.error == Drop.ROBOTS:
            raise UserError(f"{page.url} may not be fetched: {page.detail}; save it and give the file")
        if page.error or not page.text.strip():
            why = page.detail or page.error or "it has no text"
            raise UserError(f"{page.url} did not come ({why}); give another example")
        found.append(PageText(page.text, page.title, page.url, page.language, page.type))
    return found


def drawn(store: Path, count: int) -> list[PageText]:
    """Return pages of a store drawn by a hash of their URLs: the same ones each time."""
    from fyke.reading.stored import text_of
    from fyke.store import Store
    from fyke.topic.model import PageText

    try:
        with Store.open(store, "r") as opened:
            met = islice(opened.scan(parts=()), _SCANNED)
            urls = [row.url for row in met if row.meta.status in (0, 200) and not row.meta.error]
            urls.sort(key=lambda url: hashlib.blake2b(url.encode(), digest_size=8).digest())
            rows = [opened.get(url) for url in urls[:count]]
            return [
                PageText(text_of(row), row.meta.title, row.url, row.meta.language, row.meta.type)
                for row in rows
                if row is not None and row.text
            ]
    except StorageError:
        return []


def synthetic(count: int) -> list[PageText]:
    """Return pages of a synthetic world in English about a dozen topics: nobody's examples, and better than none."""
    from fyke.topic.model import PageText
    from fyke.world.config import WorldConfig
    from fyke.world.world import World

    world = World(WorldConfig(hosts=30, pages=40 * count // 10 + 200, languages=False, formats=False))
    urls = [url for host in world.hosts for url in world.pages(host.name)]
    step = max(1, len(urls) // count)
    told = [world.truth(url) for url in urls[::step]]
    return [PageText(t.main_text, t.title, "", "en", "text/html") for t in told if t.main_text][:count]
