"""Tagged text read as a tree of blocks (formats/block_tree.py). Markdown is written from it.

The input is markup in canonical form: what conversion and cleaning write (``values.TAG_NAMES``), or any page written
out by ``formats.html``. Names are in lower case, attributes in double quotes, elements well nested. Text that is not
so is read without harm. Linear; blocks beyond ``MAX_DEPTH`` are transparent. What one block holds beyond ``MAX_HELD``
is in another of its kind: a tree takes the memory of so much, whatever the size of the markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import unescape

from fyke.formats.block_tree import Block, Image, Kind, Link, Run, Style

MAX_DEPTH = 24
"""Quotes, lists and items within one another that are kept: Markdown repeats each of them on every line."""
MAX_SPAN = 64
"""Columns and rows of a cell."""
MAX_HELD = 100_000
"""Tags and texts of a block, and sixteens of characters; then it ends, and another like it begins."""
_TEXT_AT_ONCE = 500_000
_CHARACTERS = 16
_LARGE = 1_000_000
"""Markup whose tokens are not all at hand at once."""
_STYLES = {
    **dict.fromkeys(("strong", "b"), Style.STRONG),
    **dict.fromkeys(("em", "i", "cite", "dfn", "var"), Style.EM),
    **dict.fromkeys(("del", "s", "strike"), Style.DEL),
    **dict.fromkeys(("code", "kbd", "samp", "tt"), Style.CODE),
    "sup": Style.SUP,
    "sub": Style.SUB,
}
_CONTAINERS = {
    **dict.fromkeys(("ul", "dl", "menu", "dir"), Kind.UL),
    **dict.fromkeys(("li", "dt", "dd"), Kind.ITEM),
    **dict.fromkeys(("td", "th"), Kind.CELL),
    "ol": Kind.OL,
    "blockquote": Kind.QUOTE,
    "table": Kind.TABLE,
    "tr": Kind.ROW,
}
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_CODE = frozenset({"pre", "listing", "xmp"})
_PARAGRAPHS = frozenset({"p", "caption", "figcaption"})
_TRANSPARENT = frozenset(
    (
        *("span", "u", "ins", "mark", "small", "big", "font", "abbr", "acronym", "label", "time", "q", "bdi", "bdo"),
        *("data", "wbr", "ruby", "rb", "rt", "rp", "picture", "source", "map", "area", "nobr", "object"),
    )
)
_DROPPED = frozenset(
    (
        *("head", "title", "script", "style", "template", "svg", "canvas", "audio", "video", "iframe", "noframes"),
        *("noembed", "math", "textarea", "select"),
    )
)
_TOKEN = re.compile(
    r'<(/?)([a-z][^\s/>]*+)((?:[^>"]|(?<==)"[^"]*"|")*+)(?:>|\Z)|<!--.*?(?:-->|\Z)|<[!?][^>]*(?:>|\Z)|([^<]+|<)',
    re.DOTALL | re.IGNORECASE,
)
_ATTRIBUTE = re.compile(r'(?<![^\s="])([^\s="]++)="([^"]*)"')
_LANGUAGE = re.compile(r"(?:^|[\s-])lang(?:uage)?-([\w+#.-]{1,40})")
_ALIGNED = re.compile(r'(?:align="|text-align: ?)(left|center|right)', re.IGNORECASE)
_NUMBER = re.compile(r"\s*(\d{1,9})")


def read(markup: str) -> Block:
    """Return the tree of canonical markup. Linear; never raises."""
    root = Block(Kind.DOCUMENT)
    root.blocks.extend(stream(markup))
    return root


def stream(markup: str) -> Iterator[Block]:
    """Yield the outermost blocks of canonical markup, each when it is whole. Linear; never raises."""
    return _Reader().read(markup)


class _Reader:
    def __init__(self) -> None:
        self._root = Block(Kind.DOCUMENT)
        self._open = [self._root]
        self._leaf: Block | None = None
        self._over = 0  # open containers beyond MAX_DEPTH
        self._depths = dict.fromkeys(Style, 0)
        self._style = Style.PLAIN
        self._link: Link | None = None
        self._links = 0
        self._pre = 0
        self._dropping = ""
        self._in_head = False  # of a table
        self._held = 0  # of the blocks that are not yielded

    def read(self, markup: str) -> Iterator[Block]:
        dropped = 0
        for end, name, attributes, text in _tokens(markup):
            self._held += 1 + len(text) // _CHARACTERS
            if self._held > MAX_HELD:
                yield from self._whole()
            if text:
                if not self._dropping:
                    self._text(text)
            elif self._dropping:
                if name == self._dropping:
                    dropped += -1 if end else 1
                    if dropped == 0:
                        self._dropping = ""
            elif name in _DROPPED:
                if not end:
                    self._dropping, dropped = name, 1
            elif end:
                self._end(name)
            elif name:
                self._start(name, attributes)
        yield from self._root.blocks

    def _whole(self) -> list[Block]:
        """Give away the blocks that are whole; if all that is held is the last one, that too, and go on in its like."""
        blocks = self._root.blocks
        last = blocks.pop() if len(blocks) > 1 and (len(self._open) > 1 or self._leaf is not None) else None
        self._root.blocks, self._held = [], 0
        if last is not None:
            self._root.blocks.append(last)
            return blocks
        for at, block in enumerate(self._open[1:], 1):
            self._open[at] = _like(block)
            self._open[at - 1].blocks.append(self._open[at])
        if self._leaf is not None:
            self._leaf = _like(self._leaf)
            self._open[-1].blocks.append(self._leaf)
        return blocks

    def _text(self, text: str) -> None:
        if "&" in text:
            text = unescape(text)
        leaf = self._leaf
        if leaf is None:
            if text.isspace():
                return
            leaf = self._paragraph(is_own=True)
        leaf.runs.append(Run(text, self._style, self._link))

    def _paragraph(self, is_own: bool = False) -> Block:
        """Begin a paragraph in the innermost block."""
        leaf = self._leaf = Block(Kind.PARAGRAPH)
        leaf.is_own = is_own
        self._open[-1].blocks.append(leaf)
        return leaf

    def _start(self, name: str, attributes: str) -> None:
        if name in _STYLES:
            self._start_style(_STYLES[name], attributes)
        elif name == "a":
            self._links += 1
            said = _attributes(attributes)
            self._link = Link(said["href"], said.get("title", ""), self._links) if said.get("href") else None
        elif name == "br":
            self._break()
        elif name == "img":
            said = _attributes(attributes)
            image = Image(said.get("alt", ""), said.get("src", ""), said.get("title", ""))
            if image.source or image.alt:
                leaf = self._leaf or self._paragraph(is_own=True)
                leaf.runs.append(Run(image, self._style & ~(Style.CODE | Style.MATH), self._link))
        elif name == "input":
            said = _attributes(attributes)
            if said.get("type") == "checkbox" and self._open[-1].kind is Kind.ITEM:
                self._text("[x] " if "checked" in said else "[ ] ")
        elif name not in _TRANSPARENT:
            self._start_block(name, attributes)

    def _break(self) -> None:
        """End a line; two ends are the end of a paragraph, as in the plain text."""
        leaf = self._leaf
        if leaf is None:
            return
        if self._pre or self._style & Style.CODE:
            leaf.runs.append(Run("\n", self._style, self._link))
            return
        if leaf.kind is Kind.PARAGRAPH:
            while leaf.runs and isinstance(leaf.runs[-1].content, str) and leaf.runs[-1].content.isspace():
                leaf.runs.pop()
            if leaf.runs and leaf.runs[-1].content is None:
                self._leaf = None
                return
        leaf.runs.append(Run(None))

    def _start_style(self, style: Style, attributes: str) -> None:
        language = _language(attributes) if style is Style.CODE and attributes else ""
        if self._pre and self._leaf is not None:
            self._leaf.language = self._leaf.language or language
            return
        self._depths[style] += 1
        if style is Style.CODE or not self._style & Style.CODE:  # code is of one piece
            self._style |= style | (Style.MATH if language == "math" else Style.PLAIN)

    def _start_block(self, name: str, attributes: str) -> None:
        leaf = self._leaf
        if self._pre:
            return
        if leaf is not None and leaf.kind is Kind.HEADING:
            leaf.runs.append(Run(" "))  # a heading is one line
            return
        self._leaf = None
        parent = self._open[-1]
        kind = _CONTAINERS.get(name)
        if kind is not None:
            self._start_container(kind, name, attributes)
        elif name in _HEADINGS:
            self._leaf = Block(Kind.HEADING, _HEADINGS[name])
            parent.blocks.append(self._leaf)
            self._mark_tables()
        elif name in _CODE:
            self._pre += 1
            self._leaf = Block(Kind.CODE)
            self._leaf.language = _language(attributes)
            parent.blocks.append(self._leaf)
            self._mark_tables()
        elif name in _PARAGRAPHS:
            self._paragraph()
        elif name == "hr":
            parent.blocks.append(Block(Kind.RULE))
        elif name == "thead":
            self._in_head = True

    def _start_container(self, kind: Kind, name: str, attributes: str) -> None:
        if len(self._open) >= MAX_DEPTH:
            self._over += 1
            return
        block = Block(kind)
        if kind is Kind.OL:
            start = _NUMBER.match(_attributes(attributes).get("start", "1"))
            block.number = int(start[1]) if start else 1
        elif kind is Kind.CELL:
            said = _attributes(attributes)
            block.number, block.rows = _span(said, "colspan"), _span(said, "rowspan")
            block.is_special = name == "th" or self._in_head
            aligned = _ALIGNED.search(attributes)
            block.language = aligned[1] if aligned else ""
        elif kind in (Kind.TABLE, Kind.QUOTE):
            self._mark_tables()
        self._open[-1].blocks.append(block)
        self._open.append(block)

    def _mark_tables(self) -> None:
        """What begins now cannot stand in a line of a table."""
        for block in self._open:
            if block.kind is Kind.TABLE:
                block.is_special = True

    def _end(self, name: str) -> None:
        if name in _STYLES:
            style = _STYLES[name]
            if self._depths[style]:
                self._depths[style] -= 1
                if not self._depths[style]:
                    self._style &= ~(style | (Style.MATH if style is Style.CODE else Style.PLAIN))
        elif name == "a":
            self._link = None
        elif name not in _TRANSPARENT:
            self._end_block(name)

    def _end_block(self, name: str) -> None:
        leaf = self._leaf
        if self._pre:
            if name in _CODE:
                self._pre = 0
                self._leaf = None
            return
        if leaf is not None and leaf.kind is Kind.HEADING and name not in _HEADINGS:
            leaf.runs.append(Run(" "))
            return
        self._leaf = None
        kind = _CONTAINERS.get(name)
        if kind is None:
            self._in_head = self._in_head and name != "thead"
            return
        if self._over:
            self._over -= 1
        elif self._open[-1].kind is kind:
            block = self._open.pop()
            if kind is Kind.ITEM and self._open[-1].kind in (Kind.UL, Kind.OL) and _is_loose(block):
                self._open[-1].is_special = True


def _tokens(markup: str) -> Iterable[tuple[str, str, str, str]]:
    if len(markup) < _LARGE:
        return _TOKEN.findall(markup)
    return (
        (found[1] or "", found[2] or "", found[3] or "", text)
        for found in _TOKEN.finditer(markup)
        for text in (_parts(found[4]) if found[4] else ("",))
    )


def _parts(text: str) -> Iterator[str]:
    """Yield a text in parts of which none is long, behind spaces where there are any."""
    begin = 0
    while begin < len(text):
        end = begin + _TEXT_AT_ONCE
        if end < len(text):
            end = max(text.rfind(" ", begin, end), text.rfind(";", begin, end)) + 1 or end
        yield text[begin:end]
        begin = end


def _like(block: Block) -> Block:
    """Return an empty block that goes on with what ``block`` holds."""
    items = block.blocks if block.kind is Kind.OL else []
    like = Block(
        block.kind, block.number + sum(any(each.runs or each.blocks for each in item.blocks) for item in items)
    )
    like.language, like.is_own = block.language, block.is_own
    return like


def _is_loose(item: Block) -> bool:
    """Whether an item needs empty lines: it is more than a line of text and lists right under it."""
    blocks = item.blocks
    if not blocks:
        return False
    if blocks[0].kind is Kind.PARAGRAPH and not blocks[0].is_own:
        return True
    return any(inner.kind is not Kind.UL and not (inner.kind is Kind.OL and inner.number == 1) for inner in blocks[1:])


def _attributes(text: str) -> dict[str, str]:
    if "&" in text:
        return {name: unescape(value) for name, value in _ATTRIBUTE.findall(text)}
    return dict(_ATTRIBUTE.findall(text))


def _language(attributes: str) -> str:
    if "lang" not in attributes:
        return ""
    found = _LANGUAGE.search(_attributes(attributes).get("class", ""))
    return found[1] if found else ""


def _span(attributes: dict[str, str], name: str) -> int:
    found = _NUMBER.match(attributes.get(name, "1"))
    return min(max(int(found[1]), 1), MAX_SPAN) if found else 1
