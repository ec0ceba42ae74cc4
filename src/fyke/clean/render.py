"""Blocks as texts, as values with a kind, and as the markup that conversion makes HTML and Markdown of."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from fyke.clean import elements as e
from fyke.clean.columns import CONTAINER, FIRST, LAST, LINKED, WORDS
from fyke.clean.container_kernels import subtree_sums
from fyke.clean.elements import INLINE, VOID, Array
from fyke.clean.main_kernels import write_kept
from fyke.clean.page import Page, Tokens
from fyke.clean.render_kernels import render_run
from fyke.formats.markup import CLOSE as CLOSE_TAG
from fyke.formats.markup import ELEMENT_COLUMN, END, KIND, OPEN, START, TEXT, unescape
from fyke.values import BLOCK_END, Block

_HEADINGS = frozenset(e.ID[f"h{n}"] for n in range(1, 7))
_KINDS = {
    **dict.fromkeys(_HEADINGS, "heading"),
    **{e.ID[n]: "list" for n in ("li", "dt", "dd")},
    **{e.ID[n]: "table" for n in ("td", "th", "tr", "table", "tbody", "thead")},
    **{e.ID[n]: "caption" for n in ("figcaption", "caption", "figure")},
    e.ID["p"]: "paragraph", e.ID["pre"]: "code", e.ID["blockquote"]: "quote",
}  # fmt: skip
_COMMENT = re.compile(
    rb"""(?:class|id|itemprop)\s*=\s*["'][^"']*\b(?:comments?|disqus|respond|replies)\b""", re.IGNORECASE
)
_AUTHOR = re.compile(
    rb"""(?:class|itemprop|rel)\s*+=\s*+["']?[^"'>]{0,999}\b(?:author|byline|user-?name|nick-?name|poster)\b""",
    re.IGNORECASE,
)
_DATE = re.compile(
    rb"""<time\b|(?:class|itemprop)\s*+=\s*+["']?[^"'>]{0,999}\b(?:date|date-?published|post-?date|posted|timestamp)\b""",
    re.IGNORECASE,
)
_BYLINE = 8
"""Words of a block that may be the name of an author or a date."""
_CELLS = [e.ID["td"], e.ID["th"]]
_NESTED = 64
"""Open inline elements among which an end tag looks for its start."""
_REMEMBERED = 1024
"""Open inline elements that are remembered at all."""
_AT_ONCE = 65_536
"""Rows of arrays that are Python's at a time."""


def marked_text(tokens: Tokens, marked: Array) -> str:
    """Return the text of the marked tokens, a line for each run between block-level tags."""
    out = np.empty(tokens.page.size + 1, np.uint8)
    size = render_run(tokens.page, tokens.starts, tokens.ends, tokens.kinds, marked, out)
    return decoded(out[:size])


def kept_text(page: Page, kept: Array) -> str:
    """Return the text of the kept blocks, a line for each."""
    out = np.empty(page.text.size + len(kept), np.uint8)
    return decoded(out[: write_kept(page.text, page.blocks, kept, out, 0)])


def blocks_text(page: Page) -> str:
    """Return the text of all blocks, BLOCK_END between them: decoded, entities replaced, white space folded."""
    return decoded(page.text)


def block_texts(page: Page) -> list[str]:
    """Return the text of every block."""
    return blocks_text(page).split(BLOCK_END) if len(page.blocks) else []


def kinds(page: Page) -> list[str]:
    """Return what each block is, by the elements around it (values.Block.kind)."""
    comments, flagged, elements = _comments(page), page.flags.tolist(), page.element.tolist()
    out = []
    for row in page.blocks.tolist():
        container = row[CONTAINER]
        flags = flagged[container]
        kind = _KINDS.get(elements[container], "")
        if comments[container]:
            kind = "comment"
        elif 0 < row[WORDS] <= _BYLINE and kind != "heading" and (byline := _byline(page, row)):
            kind = byline
        elif flags & e.NAV or (row[WORDS] > 0 and row[LINKED] == row[WORDS] and flags & (e.LIST | e.FOOTER | e.HEADER)):
            kind = "navigation"
        elif flags & (e.FORM | e.BUTTON) and kind != "heading" and row[WORDS] < 20:
            kind = "form"
        elif not kind or kind == "paragraph":
            kind = next((name for bit, name in _AROUND if flags & bit), kind or "text")
        out.append(kind)
    return out


def _byline(page: Page, row: list[int]) -> str:
    """Return what a short block is by the tag around it and the inline tags at its beginning and in it."""
    tokens, first = page.markup.tokens, row[FIRST]
    while first > 0 and tokens[first - 1, KIND] == OPEN and INLINE[tokens[first - 1, ELEMENT_COLUMN] & 255]:
        first -= 1
    tags = page.tag(row[CONTAINER]) + page.markup.data[tokens[first, START] : tokens[row[LAST] - 1, END]]
    return "author" if _AUTHOR.search(tags) else "date" if _DATE.search(tags) else ""


_AROUND = (
    (e.FIGURE, "caption"), (e.PRE, "code"), (e.QUOTE, "quote"), (e.LIST | e.DEFINITIONS, "list"),
)  # fmt: skip


def block_values(page: Page, weights: Array, kept: Array) -> tuple[Block, ...]:
    """Return every block with its kind and weight."""
    rows = zip(block_texts(page), kinds(page), weights.tolist(), kept.tolist(), strict=True)
    return tuple(Block(text, kind, round(float(weight), 4), bool(main)) for text, kind, weight, main in rows)


def kept_markup(page: Page, kept: Array) -> bytes:
    """Return the source of the kept blocks within the elements around them: what a page of them alone would be.

    An element without a kept block is left out, but for the cells of a row that has one. Linear.
    """
    markup, rows, blocks = page.markup, page.markup.tokens, page.blocks
    inside = np.zeros(len(rows), bool)
    for first, last in blocks[kept][:, (FIRST, LAST)].tolist():
        inside[first:last] = True
    holds = np.zeros((len(page.parent), 1), np.float64)
    np.add.at(holds[:, 0], blocks[kept][:, CONTAINER], 1)
    subtree_sums(page.parent, holds)
    wanted = holds[:, 0] > 0
    wanted |= np.isin(page.element, _CELLS) & wanted[page.parent]
    opened = np.zeros(len(rows), bool)
    opened[page.tree.opened[1:][wanted[1:]]] = True
    closing = (rows[:, KIND] == CLOSE_TAG) & ~INLINE[rows[:, ELEMENT_COLUMN] & 255].astype(bool)
    _mark_inline(rows, inside)
    breaks = np.flatnonzero((rows[:, ELEMENT_COLUMN] & 255) == e.ID["br"])
    following = np.searchsorted(blocks[:, FIRST], breaks, side="right")
    both = np.concatenate([[False], kept[:-1] & kept[1:], [False]])  # of each block whether it and the one before stay
    inside[breaks[both[following]]] = True
    written = np.flatnonzero((inside | opened | closing)[:-1])
    starts, ends = rows[written, START], rows[written, END]
    first = np.flatnonzero(np.concatenate([[True], starts[1:] != ends[:-1]])[: len(starts)])  # of what stands together
    last = np.concatenate([first[1:], [len(ends)]])[: len(first)] - 1
    return b"".join(markup.data[start:end] for start, end in _rows(starts[first], ends[last]))


def _rows(*columns: Array) -> Iterator[tuple[int, ...]]:
    """Yield the rows of columns, without as many objects as there are rows."""
    for at in range(0, len(columns[0]), _AT_ONCE):
        yield from zip(*(column[at : at + _AT_ONCE].tolist() for column in columns), strict=True)


def _mark_inline(rows: Array, inside: Array) -> None:
    """Mark both tags of every inline element with a marked text in it: a block is from its first to its last text."""
    elements = rows[:, ELEMENT_COLUMN] & 255
    tags = np.isin(rows[:, KIND], (OPEN, CLOSE_TAG)) & INLINE[elements].astype(bool) & ~VOID[elements].astype(bool)
    found = np.flatnonzero(tags[:-1])
    before = np.cumsum(inside & (rows[:, KIND] == TEXT))[found]
    is_open: list[tuple[int, int, int]] = []  # element, token, marked texts before it
    for token, element, kind, count in _rows(found, elements[found], rows[found, KIND], before):
        if kind == OPEN:
            is_open.append((element, token, count))
            if len(is_open) > 2 * _REMEMBERED:
                del is_open[:-_REMEMBERED]
            continue
        for at in range(len(is_open) - 1, max(-1, len(is_open) - 1 - _NESTED), -1):
            if is_open[at][0] == element:
                _, begin, earlier = is_open.pop(at)
                inside[begin] = inside[token] = count > earlier or inside[begin] or inside[token]
                break


def _comments(page: Page) -> list[bool]:
    """Say of each container whether it or one around it is called a comment."""
    out = [False] * len(page.parent)
    ends, parents = page.tree.words_end.tolist(), page.parent.tolist()
    for c in range(1, len(out)):
        if ends[c] > ends[c - 1]:
            out[c] = _COMMENT.search(page.tag(c)) is not None
        out[c] = out[c] or out[parents[c]]
    return out


def decoded(data: memoryview | Array) -> str:
    """Return the text of UTF-8 with entities."""
    text = str(data, "utf-8", "replace")  # type: ignore[arg-type]  # arrays are buffers
    return unescape(text) if "&" in text else text
