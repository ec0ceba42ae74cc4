"""The stored near-duplicates of one document: the index of the crawl proposes, the true Jaccard coefficient decides.

The index holds one of all documents with the same words; the others are found by the marks in their rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fyke.crawl.duplicates.near import FOLDER
from fyke.dedupe.exact import text_digest
from fyke.dedupe.index import SAME_TEXT, candidates
from fyke.dedupe.similarity import jaccard
from fyke.errors import UserError
from fyke.reading.stored import text_of
from fyke.store import EXACT, Store
from fyke.url import Url

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Similar:
    """A stored document like the one asked for."""

    url: str
    similarity: float
    """The Jaccard coefficient of the main texts."""
    method: str
    """``sha256`` for the same bytes, ``text`` for the same words, else ``jaccard``."""


def similar(store: Store, url: str, threshold: float = 0.8, progress: Progress = lambda rows: None) -> list[Similar]:
    """Return the documents of ``store`` like the one at ``url``, the most similar first. Raises ``UserError``."""
    href = Url.parse(url).href
    row = store.get(href)
    text = "" if row is None or row.version is None else text_of(row)
    if row is None or not text:
        raise UserError(f"{href} has no text in {store.path}; see `fyke list --store {store.path}`")
    copies = _copies(store, progress)
    tested = {href}
    found: dict[str, float] = {}
    waiting = [*copies[href], row.meta.duplicate_of, *_proposed(store, text, threshold, progress)]
    while waiting:
        other = waiting.pop()
        if other in tested or not other:
            continue
        tested.add(other)
        alike = _similarity(store, text, other)
        if alike >= threshold:
            found[other] = alike
            waiting += copies[other]
    digest = row.meta.digest
    named = [Similar(other, alike, _method(store, other, alike, text, digest)) for other, alike in found.items()]
    return sorted(named, key=lambda each: (-each.similarity, each.url))


def _copies(store: Store, progress: Progress) -> defaultdict[str, list[str]]:
    """Each original with what is marked as its copy, and each copy with its original."""
    copies: defaultdict[str, list[str]] = defaultdict(list)
    for number, row in enumerate(store.scan(parts=())):
        if number % 1024 == 0:
            progress(number)
        original = row.meta.duplicate_of
        if original:
            copies[original].append(row.url)
            copies[row.url].append(original)
    return copies


def _proposed(store: Store, text: str, threshold: float, progress: Progress) -> Iterator[str]:
    """Documents that may be as similar as that: of the index, or where the store has none, all."""
    folder = store.path / FOLDER
    if not (folder / "header.json").exists():
        yield from (row.url for row in store.scan(parts=()))
        return
    yield from candidates(folder, text, threshold)


def _similarity(store: Store, text: str, other: str) -> float:
    row = store.get(other)
    return 0.0 if row is None or row.version is None else jaccard(text, text_of(row))


def _method(store: Store, other: str, alike: float, text: str, digest: bytes) -> str:
    row = store.get(other)
    assert row is not None
    if digest and row.meta.digest == digest:
        return EXACT
    return SAME_TEXT if alike == 1.0 and text_digest(text_of(row)) == text_digest(text) else "jaccard"
