"""The main content of a page as a value: its text, its blocks and what the page says of itself, made when asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fyke.description import Described, Meta

if TYPE_CHECKING:
    from fyke.values import Link

BLOCK_END = "\x1e"
"""Parts the blocks of a text that has weights. No text that is read from a page holds this character."""


@dataclass(frozen=True, slots=True)
class Block:
    """A run of a page's text between block-level tags, with what the cleaner thinks of it."""

    text: str
    kind: str
    """heading, paragraph, list, table, caption, quote, code, comment, author, date, form, navigation, or text."""
    weight: float
    """0 furniture … 1 main content: an indexer may count the block's words by it."""
    main: bool = False
    """Whether the block is part of ``Content.text``."""


class Content:
    """The main content of a page. Never changes; all but ``text`` and ``kind`` is made when first asked for."""

    __slots__ = (
        "_blocks", "_describe", "_described", "_find_links", "_html", "_links", "_make_blocks", "_make_html",
        "_make_markdown", "_markdown", "kind", "text",
    )  # fmt: skip

    text: str
    kind: str
    """The page's type where the method knows it: article, forum, listing, ...; else empty."""

    def __init__(
        self,
        text: str,
        kind: str,
        make_html: Callable[[], str],
        make_blocks: Callable[[], tuple[Block, ...]],
        describe: Callable[[], Described] = Described,
        make_markdown: Callable[[str], str] = str,
        find_links: Callable[[], tuple[Link, ...]] = tuple,
    ) -> None:
        """``make_markdown`` is given the HTML."""
        self.text, self.kind = text, kind
        self._make_html, self._make_blocks, self._describe = make_html, make_blocks, describe
        self._make_markdown, self._find_links = make_markdown, find_links
        self._html: str | None = None
        self._markdown: str | None = None
        self._described: Described | None = None
        self._blocks: tuple[Block, ...] | None = None
        self._links: tuple[Link, ...] | None = None

    @property
    def html(self) -> str:
        """The main content as a clean subset of HTML."""
        if self._html is None:
            self._html = self._make_html()
        return self._html

    @property
    def markdown(self) -> str:
        """The main content as Markdown (CommonMark with GFM's tables)."""
        if self._markdown is None:
            self._markdown = self._make_markdown(self.html)
        return self._markdown

    @property
    def described(self) -> Described:
        """What the page says of itself."""
        if self._described is None:
            self._described = self._describe()
        return self._described

    @property
    def meta(self) -> Meta:
        """Author, dates, site and what else the page says of itself, with where each is from."""
        return self.described.meta

    @property
    def title(self) -> str:
        """The page's title, without the site's name; else its heading."""
        return self.described.title

    @property
    def language(self) -> str:
        """The language of the text; ``meta.declared`` is what the page declares."""
        return self.described.language

    @property
    def author(self) -> str:
        """Who wrote it; several are separated by commas."""
        return self.meta.author

    @property
    def date(self) -> str:
        """When it was published: ISO 8601, the first ten characters are the day; else when it was changed."""
        return self.meta.published or self.meta.updated

    @property
    def site(self) -> str:
        """The name of the site."""
        return self.meta.site

    @property
    def description(self) -> str:
        """What it is about: as the page says, else its first paragraph."""
        return self.meta.description

    @property
    def licence(self) -> str:
        """The licence, by its address or name."""
        return self.meta.licence

    @property
    def image(self) -> str:
        """The address of the picture that stands for it."""
        return self.meta.image

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Every block of the page, in order, furniture included."""
        if self._blocks is None:
            self._blocks = self._make_blocks()
        return self._blocks

    @property
    def links(self) -> tuple[Link, ...]:
        """The links of the whole page, in order, as a crawl follows them; without an address only the absolute ones."""
        if self._links is None:
            self._links = self._find_links()
        return self._links
