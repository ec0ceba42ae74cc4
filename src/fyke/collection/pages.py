"""Where the pages of a collection come from: a store, WARC files, or JSON lines; whole or in parts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fyke.archive.run import Page, read_jsonl
from fyke.formats.http import Head
from fyke.formats.warc import read_records
from fyke.formats.warc_exchange import Capture, read_captures
from fyke.formats.warc_record import ENDINGS
from fyke.reading.conversion import convert_here, is_isolated
from fyke.reading.reading import Reader, Reading
from fyke.store import Store

Maker = Callable[[], Page | None]


@dataclass(frozen=True, slots=True)
class Source:
    """Pages: of ``files`` where there are any, else of the store at ``store``."""

    files: tuple[Path, ...] = ()
    store: Path | None = None

    def pages(self, part: tuple[int, int] = (0, 1)) -> Iterator[Page]:
        """Yield the pages, or every n-th of them from the i-th on: part (i, n). What others get is not converted."""
        makers: Iterator[Maker]
        if self.files:
            makers = itertools.chain.from_iterable(map(_makers, self.files))
        else:
            assert self.store is not None
            makers = _of_store(self.store)
        for make in itertools.islice(makers, part[0], None, part[1]):
            page = make()
            if page is not None:
                yield page


def _makers(file: Path) -> Iterator[Maker]:
    if file.name.endswith(ENDINGS):
        return _of_warc(file)
    return (partial(_itself, page) for page in read_jsonl(file))


def _itself(page: Page) -> Page:
    return page


def _of_store(path: Path) -> Iterator[Maker]:
    with Store.open(path, mode="r") as store:
        for page in pages_of(store):
            yield partial(_itself, page)


def pages_of(store: Store, texts: bool = True) -> Iterator[Page]:
    """Yield the documents of a store; one without text, and all where none is wanted, is missing from the archive."""
    for row in store.scan(parts=("text", "links") if texts else ("links",)):
        links = tuple(link.target.href for link in row.links)
        yield Page(row.url, (row.text or None) if texts else None, links, row.stamp / 1e6)


def _of_warc(file: Path) -> Iterator[Maker]:
    """The documents of a WARC file, read as a crawl would; a revisit holds none."""
    reader = Reader()
    with file.open("rb") as stream:
        for capture in read_captures(read_records(stream)):
            if capture.original is None and capture.exchange.status in {0, 200}:
                yield partial(_page, capture, reader)


def _page(capture: Capture, reader: Reader) -> Page | None:
    """Text and links of a capture; a page without text where its format needs a process of its own."""
    url, exchange = capture.url, capture.exchange
    head = Head(200, (("Content-Type", capture.media_type),))
    begun = reader.begin(exchange.body, head, url)
    if not isinstance(begun, Reading):
        if is_isolated(begun):
            return Page(url.href, None, (), exchange.started)
        begun = reader.converted(begun, convert_here(begun), head)
    return Page(url.href, begun.text or None, tuple(link.target.href for link in begun.links), exchange.started)
