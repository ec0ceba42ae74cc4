"""``Reader``: bodies to ``Reading`` values, whatever their format and size, the same way for everybody.

A page is decoded and cut into tokens once; links, main content and metadata are made from these. What is no page is
converted by whoever was handed in: in a crawl that is a pool of processes that may be killed (``begin`` tells which
source it wants converted, ``converted`` goes on with the document).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import msgspec
import numpy as np
import numpy.typing as npt

from fyke.clean.extract import Select, find
from fyke.clean.furniture import Hosts
from fyke.clean.main import NOTHING, Main, main_of, main_texts
from fyke.convert.dates import undated
from fyke.convert.html import text_document
from fyke.dedupe.exact import Digests, words_digest
from fyke.dedupe.sketch import words_sketch
from fyke.errors import UrlError
from fyke.formats.encoding import as_utf8
from fyke.formats.html import Page, parse_many
from fyke.formats.http import NO_HEAD, Head, header_links
from fyke.formats.lazy import lazy
from fyke.formats.sniff import sniff
from fyke.reading.conversion import MARKUP, Source, convert_here, prepare
from fyke.reading.links import NOWHERE
from fyke.sites.links import MAX_LINKS, LinkMemo, PageLinks, find_many, read_directives
from fyke.sites.traps import seen_key
from fyke.sites.usage import read_signals
from fyke.text.language import identify
from fyke.text.words import word_hashes
from fyke.url import Url
from fyke.values import BLOCK_END, Document, Drop, Links, Meta, Signals


class Material(msgspec.Struct, frozen=True, gc=False):
    """What copies of a document are known by."""

    body: bytes
    main: str
    """The main text; of a document without one, all of its text."""
    truncated: bool = False
    canonical: str = ""
    """Where it says that its true address is."""

    def __len__(self) -> int:
        return len(self.body) + len(self.main)

    def words(self) -> npt.NDArray[np.uint64]:
        """Return the hashes of the words of the main text."""
        return word_hashes(self.main)

    def digests(self, words: npt.NDArray[np.uint64] | None = None) -> Digests:
        """Return the digests of the body and of the main text. A body that was cut off is no copy of another.

        ``words`` are the main text's, where they are at hand.
        """
        raw = b"" if self.truncated else hashlib.sha256(self.body).digest()
        return Digests(raw, words_digest(self.words() if words is None else words))


class Reading:
    """What a body says. Never changes; what not everybody needs is made when first asked for."""

    def __init__(self, url: Url, body: bytes, made: Document, found: PageLinks, main: Main = NOTHING) -> None:
        self.url, self.body = url, body
        self.document = made
        """Its facts: title, language, metadata, encoding, failure. Of a page without HTML, tags and links."""
        self.found = found
        """Its links, and what it says of them and of itself."""
        self._main = main
        self.text: str = main.text or self.whole
        """Its main text; where nothing looks like content, and where the format has no furniture, all of it."""

    @property
    def media_type(self) -> str:
        """What the bytes are."""
        return self.document.media_type

    @property
    def title(self) -> str:
        """Its title."""
        return self.document.title

    @property
    def language(self) -> str:
        """Its language."""
        return self.document.language

    @property
    def meta(self) -> Meta:
        """Author, dates and what else documents of all formats share."""
        return self.document.meta

    @property
    def links(self) -> Links:
        """Its links, in order."""
        return self.found.links

    @property
    def signals(self) -> Signals:
        """What it and its response say of its use."""
        return self.found.signals

    @property
    def kind(self) -> str:
        """The type of a page: article, forum, listing, …; else empty."""
        return self._main.kind

    @property
    def blocks(self) -> str:
        """All its text; that of a page by blocks, BLOCK_END between them."""
        return self.document.whole

    @property
    def weights(self) -> bytes:
        """Of a page a byte for each block (fyke.clean.main); else empty."""
        return self._main.weights

    @lazy
    def whole(self) -> str:
        """All its text."""
        return self.blocks.replace(BLOCK_END, "\n")

    def material(self, truncated: bool = False) -> Material:
        """Return what its copies are known by."""
        return Material(self.body, self.text, truncated, self.meta.canonical)

    @lazy
    def words(self) -> npt.NDArray[np.uint64]:
        """The hashes of the words of the text."""
        return word_hashes(self.text)

    @lazy
    def digests(self) -> Digests:
        """The digests of body and text."""
        return Digests(hashlib.sha256(self.body).digest(), words_digest(self.words))

    @lazy
    def sketch(self) -> npt.NDArray[np.uint32]:
        """The MinHash signature of the text."""
        return words_sketch(self.words)


class Reader:
    """Reads bodies; one for each agent, import or collection, as it remembers what hrefs lead to."""

    def __init__(
        self,
        agent: str = "",
        convert: Callable[[Source], Document] = convert_here,
        memo: LinkMemo | None = None,
        hosts: Hosts | None = None,
        selectors: Mapping[str, str] | None = None,
    ) -> None:
        """``agent`` is the product token that robots directives may address; ``convert`` reads what is no page.

        ``hosts`` learns the furniture of hosts from the pages that are read, and takes it out of the main text: what
        a page's main text is then depends on the pages before it. ``selectors`` are CSS: where the content of single
        hosts is.
        """
        self._agent, self._convert, self._hosts = agent, convert, hosts
        self._selects = {host: Select(css) for host, css in (selectors or {}).items()}
        self._memo = memo if memo is not None else LinkMemo()

    def read(self, body: bytes, head: Head, url: Url) -> Reading:
        """Read a body that came with ``head`` from ``url``. Never raises for what it is."""
        begun = self.begin(body, head, url)
        return begun if isinstance(begun, Reading) else self.converted(begun, self._convert(begun), head)

    def read_many(self, pages: Iterable[tuple[bytes, Head, Url]]) -> list[Reading]:
        """Read bodies, each with its head and address; the pages among them in one call of each kernel."""
        given = list(pages)
        kinds = [sniff(body, head.get("content-type"), url.path) for body, head, url in given]
        marked = [at for at, kind in enumerate(kinds) if kind in MARKUP]
        found = dict(zip(marked, self.pages([given[at] for at in marked], [kinds[at] for at in marked]), strict=True))
        return [found.get(at) or self.read(*each) for at, each in enumerate(given)]

    def begin(self, body: bytes, head: Head, url: Url) -> Reading | Source:
        """Read a page; of anything else, return what is to be converted."""
        declared = head.get("content-type")
        kind = sniff(body, declared, url.path)
        return self.page(body, head, url, kind) if kind in MARKUP else prepare(body, declared, url)

    def page(self, body: bytes, head: Head, url: Url, kind: str) -> Reading:
        """Read a page of type ``kind``, of any size."""
        return self.pages([(body, head, url)], [kind])[0]

    def pages(self, given: Sequence[tuple[bytes, Head, Url]], kinds: Sequence[str]) -> list[Reading]:
        """Read pages of these types, of any size, in one call of each kernel."""
        texts = [as_utf8(body, head.get("content-type")) for body, head, _ in given]
        cut = parse_many([text.data for text in texts])
        hosts = self._hosts
        mains = main_texts(cut, None if hosts is None else [hosts[url.host] for _, _, url in given])
        if self._selects:
            mains = [self._by_host(main, page, url) for main, page, (_, _, url) in zip(mains, cut, given, strict=True)]
        no_dates = undated([main.source for main in mains])  # while they are there: before the blocks are decoded
        languages = [identify(main.text or main.blocks) for main in mains]  # by itself: its tables fill a core's cache
        found = find_many(
            [(page, url, head) for page, (_, head, url) in zip(cut, given, strict=True)], self._memo, agent=self._agent
        )
        readings = []
        for (body, head, url), kind, text, page, main, language, links, no_date in zip(
            given, kinds, texts, cut, mains, languages, found, no_dates, strict=True
        ):  # page by page, while what was made of one is at hand
            made = text_document(page, text, url, kind, main.text, main.blocks, language, no_date)
            readings.append(Reading(url, body, _linked(made, head, url), links, main))
        return readings

    def _by_host(self, main: Main, page: Page, url: Url) -> Main:
        """The main text where the page's host has it, if that is known and something is there."""
        select = self._selects.get(url.host)
        found = find(page, select) if select is not None else None
        return main_of(found) if found is not None and found.kept.any() else main

    def converted(self, source: Source, made: Document, head: Head) -> Reading:
        """Return the reading of a source that was converted, by its head."""
        directives = read_directives((), head.get_all("x-robots-tag"), self._agent)
        links = Links() if directives.nofollow else Links.of(made.links[:MAX_LINKS])
        surplus = len(made.links) - len(links)
        why = Drop.NOFOLLOW if directives.nofollow else Drop.TOO_MANY_LINKS
        dropped = ((why, surplus),) if surplus else ()
        keys = np.array([seen_key(target, self._memo.seed) for target in links.targets], np.uint64)
        found = PageLinks(links, keys, signals=read_signals(directives.said, head), dropped=dropped)
        return Reading(source.url or NOWHERE, source.data, _linked(made, head, source.url or NOWHERE), found)


def _linked(document: Document, head: Head, url: Url) -> Document:
    """Return the document with what its Link headers say of it, where it does not say so itself."""
    if not head.get("link"):
        return document
    said = header_links(head.get_all("link"))
    fields = {"canonical": "canonical", "licence": "license"}
    found = {name: target for name, relation in fields.items() if (target := _target(said, relation, url))}
    more = {name: target for name, target in found.items() if not getattr(document.meta, name)}
    return replace(document, meta=replace(document.meta, **more)) if more else document  # type: ignore[arg-type]


def _target(said: list[tuple[str, list[str]]], relation: str, url: Url) -> str:
    try:
        return next((url.join(target).href for target, relations in said if relation in relations), "")
    except UrlError:
        return ""


def read(body: bytes, head: Head = NO_HEAD, url: Url | None = None) -> Reading:
    """Read one body; ``Reader`` is for many."""
    return Reader().read(body, head, url or NOWHERE)
