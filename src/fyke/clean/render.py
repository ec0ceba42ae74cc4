"""Blocks as texts, as values with a kind, and as a clean subset of HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import numpy as np

from fyke.clean import elements as e
from fyke.clean.columns import CONTAINER, FIRST, LAST, LINKED, WORDS
from fyke.clean.elements import BYTE, CLOSE, SPACE, WORD, Array
from fyke.clean.page import Page, Tokens
from fyke.clean.render_kernels import render_run, render_text
from fyke.errors import UrlError
from fyke.url import Url
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
_EMPHASIS = {
    e.ID[n]: out for n, out in {"b": "strong", "strong": "strong", "i": "em", "em": "em", "code": "code"}.items()
}
_HREF = re.compile(rb"""\shref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))""", re.IGNORECASE)
_SCRIPT = re.compile(r"(?:javascript|data|vbscript):", re.IGNORECASE)
_IGNORED = re.compile(r"[\x00-\x20]+")
"""What a browser does not see, before a scheme or in it."""


def marked_text(tokens: Tokens, marked: Array) -> str:
    """Return the text of the marked tokens, a line for each run between block-level tags."""
    out = np.empty(tokens.page.size + 1, np.uint8)
    size = render_run(tokens.page, tokens.starts, tokens.ends, tokens.kinds, marked, out)
    return _decoded(out[:size])


def kept_text(page: Page, kept: Array) -> str:
    """Return the text of the kept blocks, a line for each."""
    data, _, size = _rendered(page, kept)
    return _decoded(data[: max(0, size - 1)])


def blocks_text(page: Page) -> str:
    """Return the text of all blocks, BLOCK_END between them: decoded, entities replaced, white space folded."""
    data, bounds, size = _rendered(page, np.ones(len(page.blocks), bool))
    data[bounds] = ord(BLOCK_END)
    return _decoded(data[: max(0, size - 1)])


def block_texts(page: Page) -> list[str]:
    """Return the text of every block."""
    return blocks_text(page).split(BLOCK_END) if len(page.blocks) else []


def kinds(page: Page) -> list[str]:
    """Return what each block is, by the elements around it (values.Block.kind)."""
    comments = _comments(page)
    out = []
    for row in page.blocks:
        container = row[CONTAINER]
        flags = int(page.flags[container])
        kind = _KINDS.get(int(page.element[container]), "")
        if comments[container]:
            kind = "comment"
        elif flags & e.NAV or (row[WORDS] > 0 and row[LINKED] == row[WORDS] and flags & (e.LIST | e.FOOTER | e.HEADER)):
            kind = "navigation"
        elif flags & (e.FORM | e.BUTTON) and kind != "heading" and row[WORDS] < 20:
            kind = "form"
        elif not kind or kind == "paragraph":
            kind = next((name for bit, name in _AROUND if flags & bit), kind or "text")
        out.append(kind)
    return out


_AROUND = (
    (e.FIGURE, "caption"), (e.PRE, "code"), (e.QUOTE, "quote"), (e.LIST | e.DEFINITIONS, "list"),
)  # fmt: skip


def block_values(page: Page, weights: Array, kept: Array) -> tuple[Block, ...]:
    """Return every block with its kind and weight."""
    rows = zip(block_texts(page), kinds(page), weights.tolist(), kept.tolist(), strict=True)
    return tuple(Block(text, kind, round(float(weight), 4), bool(main)) for text, kind, weight, main in rows)


def kept_html(page: Page, kept: Array, links: bool, url: str | None) -> str:
    """Return the kept blocks as HTML: h1–h6, p, ul, li, table, pre, blockquote, figcaption, a, em, strong, code, br."""
    out: list[str] = []
    around = ""
    row_of = -1
    for k in np.flatnonzero(kept):
        row = page.blocks[k]
        container = int(row[CONTAINER])
        tag, wrap = _tags_of(page, container)
        if wrap != around:
            out.append(_closing(around) + _opening(wrap))
            around = wrap
        elif wrap == "table" and page.parent[container] != row_of:
            out.append("</tr>\n<tr>")
        row_of = int(page.parent[container])
        inner = "".join(_inline(page, int(row[FIRST]), int(row[LAST]), links, url, tag == "pre"))
        out.append(f"<{tag}>{inner}</{tag}>" + ("" if wrap == "table" else "\n"))
    out.append(_closing(around))
    return "".join(out)


def _tags_of(page: Page, container: int) -> tuple[str, str]:
    """Return (the tag of a block in this container, the element that consecutive ones share)."""
    element, flags = int(page.element[container]), int(page.flags[container])
    name = e.NAMES[element]
    if element in _HEADINGS:
        return name, ""
    if name in {"td", "th"}:
        return name, "table"
    if name == "li" or flags & e.LIST:
        return "li", "ul"
    if flags & e.PRE:
        return "pre", ""
    if name == "figcaption":
        return "p", "figure"
    return "p", "blockquote" if flags & e.QUOTE else ""


def _opening(wrap: str) -> str:
    return "<table><tr>" if wrap == "table" else f"<{wrap}>\n" if wrap else ""


def _closing(wrap: str) -> str:
    return "</tr></table>\n" if wrap == "table" else f"</{wrap}>\n" if wrap else ""


def _inline(page: Page, first: int, last: int, links: bool, url: str | None, verbatim: bool) -> Iterator[str]:
    """Yield the words of a block, escaped, with the inline tags that are kept, properly nested."""
    tokens = page.tokens
    starts, ends, kinds_ = tokens.starts, tokens.ends, tokens.kinds
    data = tokens.page
    opened: list[str] = []
    for at in range(first, last):
        kind = int(kinds_[at])
        if at > first:
            gap = data[ends[at - 1] : starts[at]]
            if gap.size and (BYTE[gap[0]] == SPACE or BYTE[gap[-1]] == SPACE):
                yield _decoded(gap.tobytes()) if verbatim and b"<" not in gap.tobytes() else " "
        if kind == WORD:
            yield html.escape(_decoded(data[starts[at] : ends[at]].tobytes()), quote=False)
            continue
        element, closing = kind % CLOSE, kind >= CLOSE
        if e.NAMES[element] == "br":
            yield "<br>"
        name = "a" if e.NAMES[element] == "a" and links else _EMPHASIS.get(element, "")
        if name and closing and name in opened:
            while True:  # whatever was opened inside ends too
                inner = opened.pop()
                yield f"</{inner}>"
                if inner == name:
                    break
        elif name and not closing and len(opened) < 8 and name not in opened:
            href = _href(data[starts[at] : ends[at]].tobytes(), url) if name == "a" else ""
            if name != "a" or href:
                opened.append(name)
                yield f'<a href="{html.escape(href)}">' if name == "a" else f"<{name}>"
    yield from (f"</{name}>" for name in reversed(opened))


def _href(tag: bytes, url: str | None) -> str:
    """Return where a link leads, absolute if ``url`` is given; empty if it is a script or no URL."""
    found = _HREF.search(tag)
    target = _decoded(found[1] or found[2] or found[3] or b"").strip() if found else ""
    if _SCRIPT.match(_IGNORED.sub("", target)):
        return ""
    try:
        return Url.parse(url).join(target).href if url and target else target
    except UrlError:
        return ""


def _comments(page: Page) -> list[bool]:
    """Say of each container whether it or one around it is called a comment."""
    tokens = page.tokens
    out = [False] * len(page.parent)
    for c in range(1, len(out)):
        if page.words_end[c] > page.words_end[c - 1]:
            at = page.opened[c]
            tag = tokens.page[tokens.starts[at] : tokens.ends[at]].tobytes()
            out[c] = _COMMENT.search(tag) is not None
        out[c] = out[c] or out[page.parent[c]]
    return out


def _rendered(page: Page, kept: Array) -> tuple[Array, Array, int]:
    """Return the texts of kept blocks as (bytes, where each block ends in them, their size)."""
    tokens = page.tokens
    out = np.empty(tokens.page.size + len(kept), np.uint8)  # gaps are no longer than they were
    bounds = np.empty(len(kept), np.int64)
    size = render_text(
        tokens.page, tokens.starts, tokens.ends, tokens.kinds, page.flags, page.blocks, kept, out, bounds
    )
    return out, bounds, size


def _decoded(data: bytes | Array) -> str:
    text = str(data, "utf-8", "replace")  # type: ignore[arg-type]  # arrays are buffers
    return html.unescape(text) if "&" in text else text
