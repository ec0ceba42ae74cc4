"""A document as a tree: blocks that hold blocks, or runs of text with style and link."""

from __future__ import annotations

from enum import Enum, IntFlag
from typing import NamedTuple


class Style(IntFlag):
    """How a run of text is set; the order is that of nesting, the outermost first."""

    PLAIN = 0
    STRONG = 1
    EM = 2
    DEL = 4
    SUP = 8
    SUB = 16
    CODE = 32
    MATH = 64
    """Beside CODE: the text is a formula in TeX."""


class Link(NamedTuple):
    """Where a run leads. ``number`` tells neighbours to the same address apart."""

    href: str
    title: str
    number: int


class Image(NamedTuple):
    """A picture among runs."""

    alt: str
    source: str
    title: str


class Run(NamedTuple):
    """Text of one style; ``content`` is an Image for a picture and None for a line break."""

    content: str | Image | None
    style: Style = Style.PLAIN
    link: Link | None = None


class Kind(Enum):
    """What a block is."""

    DOCUMENT = "document"
    QUOTE = "quote"
    UL = "ul"
    OL = "ol"
    ITEM = "item"
    TABLE = "table"
    ROW = "row"
    CELL = "cell"
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    CODE = "code"
    RULE = "rule"


class Block:
    """A block and what is in it: ``blocks``, or for headings and paragraphs ``runs``, for code ``runs`` of raw text."""

    __slots__ = ("blocks", "is_own", "is_special", "kind", "language", "number", "rows", "runs")

    def __init__(self, kind: Kind, number: int = 0) -> None:
        self.kind = kind
        self.number = number
        """A heading's level, an ordered list's first number, the columns of a cell."""
        self.rows = 1
        """The rows of a cell."""
        self.blocks: list[Block] = []
        self.runs: list[Run] = []
        self.language = ""
        """Of code; of a cell, how it is aligned."""
        self.is_own = False
        """A paragraph whose text stood in its block without a ``p``."""
        self.is_special = False
        """A list's items are paragraphs apart; a table's cells hold more than lines; a cell is a heading."""
