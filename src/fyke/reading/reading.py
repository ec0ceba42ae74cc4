"""``Reader``: bodies to ``Reading`` values, whatever their format and size, the same way for everybody.

A page is decoded and cut into tokens once; links, main content and metadata are made from these. What is no page is
converted by whoever was handed in: in a crawl that is a pool of processes that may be killed (``begin`` tells which
source it wants converted, ``converted`` goes on with the document).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from fyke.clean.main import Main
from fyke.convert.html import document
from fyke.dedupe.exact import Digests, text_digest
from fyke.dedupe.sketch import minhash
from fyke.formats.encoding import decoded
from fyke.formats.html import parse
from fyke.formats.http import Head
from fyke.formats.sniff import sniff
from fyke.reading.conversion import MARKUP, Source, convert_here, main_of, prepare
from fyke.reading.links import NOWHERE
from fyke.sites.links import MAX_LINKS, LinkMemo, PageLinks, find_links, read_directives
from fyke.sites.traps import seen_key
from fyke.url import Url
from fyke.values import BLOCK_END, Document, Drop, Links, Meta

_BOM = b"\xef\xbb\xbf"
_NO_MAIN = Main("", "", b"", "")
NO_HEAD = Head(0, ())
"""Of a body that came without one."""


@dataclass(frozen=True, slots=True)
class Material:
    """What copies of a document are known by."""

    body: bytes
    main: str
    """The main text; of a document without one, all of its text."""
    truncated: bool = False

    def __len__(self) -> int:
        return len(self.body) + len(self.main)

    def digests(self) -> Digests:
        """Return the digests of the body and of the main text. A body that was cut off is no copy of another."""
        return Digests(b"" if self.truncated else hashlib.sha256(self.body).digest(), text_digest(self.main))


class Reading:
    """What a body says. Never changes; what not everybody needs is made when first asked for."""

    def __init__(self, url: Url, body: bytes, made: Document, found: PageLinks, main: Main = _NO_MAIN) -> None:
        self.url, self.body = url, body
        self.document = made
        """Its facts: title, language, metadata, encoding, failure. Of a page without HTML, tags and links."""
        self.found = found
        """Its links, and what it says of them and of itself."""
        self._main = main

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
    def kind(self) -> str:
        """The type of a page: article, forum, listing, …; else empty."""
        return self._main.kind

    @cached_property
    def blocks(self) -> str:
        """All its text; that of a page by blocks, BLOCK_END between them."""
        return self.document.whole

    @property
    def weights(self) -> bytes:
        """Of a page a byte for each block (fyke.clean.main); else empty."""
        return self._main.weights

    @cached_property
    def whole(self) -> str:
        """All its text."""
        return self.blocks.replace(BLOCK_END, "\n")

    @cached_property
    def text(self) -> str:
        """Its main text; where nothing looks like content, and where the format has no furniture, all of it."""
        return self._main.text or self.whole

    def material(self, truncated: bool = False) -> Material:
        """Return what its copies are known by."""
        return Material(self.body, self.text, truncated)

    @cached_property
    def digests(self) -> Digests:
        """The digests of body and text."""
        return self.material().digests()

    @cached_property
    def sketch(self) -> npt.NDArray[np.uint32]:
        """The MinHash signature of the text."""
        return minhash(self.text)


class Reader:
    """Reads bodies; one for each agent, import or collection, as it remembers what hrefs lead to."""

    def __init__(
        self, agent: str = "", convert: Callable[[Source], Document] = convert_here, memo: LinkMemo | None = None
    ) -> None:
        """``agent`` is the product token that robots directives may address; ``convert`` reads what is no page."""
        self._agent, self._convert = agent, convert
        self._memo = memo if memo is not None else LinkMemo()

    def read(self, body: bytes, head: Head, url: Url) -> Reading:
        """Read a body that came with ``head`` from ``url``. Never raises for what it is."""
        begun = self.begin(body, head, url)
        return begun if isinstance(begun, Reading) else self.converted(begun, self._convert(begun), head)

    def read_many(self, pages: Iterable[tuple[bytes, Head, Url]]) -> list[Reading]:
        """Read bodies, each with its head and address."""
        return [self.read(body, head, url) for body, head, url in pages]

    def begin(self, body: bytes, head: Head, url: Url) -> Reading | Source:
        """Read a page; of anything else, return what is to be converted."""
        declared = head.get("content-type")
        kind = sniff(body, declared, url.path)
        return self.page(body, head, url, kind) if kind in MARKUP else prepare(body, declared, url)

    def page(self, body: bytes, head: Head, url: Url, kind: str) -> Reading:
        """Read a page of type ``kind``, of any size."""
        text = decoded(body, head.get("content-type"))
        plain = text.encoding == "UTF-8" and not text.replaced and not body.startswith(_BOM)
        page = parse(body if plain else text.text)
        found = find_links(
            page, url, self._memo, agent=self._agent,
            robots_tags=head.get_all("x-robots-tag"), refresh_header=head.get("refresh"),
        )  # fmt: skip
        main = main_of(page)
        made = document(page, text, url, kind, links=(), text=main.blocks, main=main.text, blocks=main.blocks)
        return Reading(url, body, made, found, main)

    def converted(self, source: Source, made: Document, head: Head) -> Reading:
        """Return the reading of a source that was converted, by its head."""
        directives = read_directives((), head.get_all("x-robots-tag"), self._agent)
        links = Links() if directives.nofollow else Links.of(made.links[:MAX_LINKS])
        surplus = len(made.links) - len(links)
        why = Drop.NOFOLLOW if directives.nofollow else Drop.TOO_MANY_LINKS
        dropped = ((why, surplus),) if surplus else ()
        keys = np.array([seen_key(target, self._memo.seed) for target in links.targets], np.uint64)
        found = PageLinks(links, keys, noindex=directives.noindex, dropped=dropped)
        return Reading(source.url or NOWHERE, source.data, made, found)


def read(body: bytes, head: Head = NO_HEAD, url: Url | None = None) -> Reading:
    """Read one body; ``Reader`` is for many."""
    return Reader().read(body, head, url or NOWHERE)
