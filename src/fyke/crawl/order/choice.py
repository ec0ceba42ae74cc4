"""The order that a crawl's settings ask for: a topic's model in the store as ``topic.model``, or quality.

A topic that cannot be used is said so, and the crawl goes on breadth first: hours of crawling are worth more than an
order, and the model can be given again with the next run.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fyke.crawl.order.order import Order
from fyke.crawl.order.reserve import Reserve
from fyke.crawl.run.settings import CrawlSettings
from fyke.errors import UserError
from fyke.store import Store

FILE = "topic.model"


def install(file: Path, store: Path) -> None:
    """Copy a model into a store, or make one of a topic file of words and patterns alone. Raises ``UserError``.

    Where the file is gone but the store has a model from an earlier run, that one stays.
    """
    from fyke.topic import topic as topics
    from fyke.topic.model import PageModel, is_model

    try:
        data = file.read_bytes()
    except OSError as error:
        if (store / FILE).exists():
            return
        raise UserError(f"cannot read the topic {file}: {error.strerror}; give a topic file or a model") from None
    if not is_model(data):
        topic = topics.parse(data.decode("utf-8", "replace"), str(file))
        if topic.relevant:
            raise UserError(f"{file} has examples to learn from; make a model of it with `fyke topic train {file}`")
        data = PageModel(topic).encode()
    PageModel.decode(data, str(file))
    fresh = store / (FILE + ".new")
    fresh.write_bytes(data)
    fresh.replace(store / FILE)


def prepare(settings: CrawlSettings, store: Path) -> str:
    """Make ready what ``order_of`` needs; return why that is not possible, in a sentence, or nothing."""
    if settings.topic:
        try:
            install(Path(settings.topic), store)
        except UserError as error:
            (store / FILE).unlink(missing_ok=True)
            return f"{error}. The crawl goes on breadth first"
    return ""


def order_of(settings: CrawlSettings, path: Path, store: Store) -> Callable[[Reserve], Order] | None:
    """Return what makes the order of an agent of ``store``, which stands at ``path``; None for breadth first."""
    if settings.topic and (path / FILE).exists():
        from fyke.crawl.order.topic import Focus
        from fyke.topic.model import PageModel

        model = PageModel.decode((path / FILE).read_bytes(), str(path / FILE))
        return lambda reserve: Focus(store, model, reserve)
    if settings.order == "quality":
        from fyke.crawl.order.quality import ByQuality

        return lambda reserve: ByQuality(store, reserve)
    return None
