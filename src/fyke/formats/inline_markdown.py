"""Runs of text as a line of Markdown: escapes, emphasis, code, links, pictures.

A text that looks like markup stays text. Where CommonMark's rules of flanking would not let ``*`` or ``**`` be read as
emphasis (inside words, beside punctuation) the element itself is written: ``un<em>believ</em>able``.
"""

from __future__ import annotations

import re
from functools import reduce
from itertools import groupby
from operator import and_, or_
from typing import NamedTuple
from unicodedata import category
from urllib.parse import quote

from fyke.formats.block_tree import Image, Run, Style

_FOLD = re.compile(r"\s+")
"""White space of all scripts: readers of Markdown trim it from lines."""
_SPECIAL = re.compile(r"[\\`*_\[\]<&~!]")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{0,40});")
_TICKS = re.compile(r"`+")
_LINE_START = re.compile(r"(?:#{1,6}(?=[ \t]|$)|>|[-+](?=[ \t]|$))|([0-9]{1,9})[.)](?=[ \t]|$)")
_RULER = re.compile(r"[-=:|+ \t]*[-=][-=:|+ \t]*")
"""A line that could underline a heading, divide a page, or part a table's head from its body."""
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>\x00-\x20`\\|%]*")
_MAIL = re.compile(r"[\w.!#$%&'*+/=?^{}~-]+@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,200}[A-Za-z0-9])?", re.ASCII)
_UNSAFE = re.compile(r"[^A-Za-z0-9;/?:@&=+$,\-_.!~*'()#%]|%(?![0-9A-Fa-f]{2})")
_NESTED = re.compile(r"[^()]*(?:\([^()]*\)[^()]*)*")
"""Brackets that are balanced, and one deep."""
_ELEMENTS = {Style.STRONG: "strong", Style.EM: "em", Style.DEL: "del", Style.SUP: "sup", Style.SUB: "sub"}
_MARKS = {Style.STRONG: ("**",), Style.EM: ("*", "_"), Style.DEL: ("~~",), Style.SUP: (), Style.SUB: ()}
_LEVELS = (Style.STRONG, Style.EM, Style.DEL, Style.SUP, Style.SUB)
_EMPHASIS = reduce(or_, _LEVELS)
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
"""What a backslash may stand before."""


def lines(runs: list[Run], breaks: str = "\\") -> list[str]:
    """Return runs as lines of Markdown, what could begin a block escaped; none where there is nothing to see.

    ``breaks`` stands at the end of each line but the last.
    """
    written = _written(_pieces(folded(runs)), Style.PLAIN, "\n", "\n", False).strip("\n")
    out = [_escaped_start(line.strip()) for line in written.split("\n")]
    while out and not out[-1]:
        out.pop()
    while out and not out[0]:
        del out[0]
    return [line + breaks for line in out[:-1]] + out[-1:]


def one_line(runs: list[Run], between: str) -> str:
    """Return runs as one line, ``between`` for breaks; what begins it is not escaped."""
    return between.join(
        filter(None, map(str.strip, _written(_pieces(folded(runs)), Style.PLAIN, "\n", "\n", False).split("\n")))
    )


def code_span(text: str) -> str:
    """Return inline code behind as many backticks as it needs."""
    ticks = "`" * (1 + max(map(len, _TICKS.findall(text)), default=0))
    room = " " if text.startswith("`") or text.endswith("`") or (text != " " and text[0] == " " == text[-1]) else ""
    return f"{ticks}{room}{text}{room}{ticks}"


def folded(runs: list[Run]) -> list[Run]:
    """Return runs with white space folded as a browser shows it, equals joined.

    A space or break between two runs has the styles that both of them have.
    """
    out: list[Run] = []
    space: Style | None = None  # of the white space that is due
    for run in runs:
        content = run.content
        if content is None:
            out.append(run)
            space = None
            continue
        before, space = space, None
        if isinstance(content, str):
            text = _FOLD.sub(" ", content)
            content = text.strip(" ")
            if not content:
                space = before if not text else run.style if before is None else before & run.style
                continue
            if text[0] == " ":
                before = run.style if before is None else before
            space = run.style if text[-1] == " " else None
        last = out[-1] if out else None
        if (
            last is not None
            and _is_alike(last, run, before)
            and isinstance(last.content, str)
            and isinstance(content, str)
        ):
            joined = last.content + content if before is None else f"{last.content} {content}"
            out[-1] = Run(joined, run.style, run.link)
            continue
        if before is not None and last is not None and last.content is not None:
            out.append(_between(" ", last, run))
        out.append(Run(content, run.style, run.link))
    at = 0
    for is_break, group in groupby(list(out), lambda run: run.content is None):
        count = len(list(group))
        if is_break and 0 < at < len(out) - count:
            out[at : at + count] = [_between(None, out[at - 1], out[at + count])] * count
        at += count
    return out


def _is_alike(run: Run, other: Run, space: Style | None) -> bool:
    """Whether two runs are one, with ``space`` of that style between them: code behind a space is another code."""
    apart = space is not None and bool(run.style & Style.CODE) and not space & Style.CODE
    return run.style == other.style and run.link == other.link and not apart


def _between(content: str | None, last: Run, run: Run) -> Run:
    return Run(content, last.style & run.style, run.link if last.link == run.link else None)


class _Piece(NamedTuple):
    """A run, or the runs of a link: what no style of ours may cut. ``style`` is that of all of them."""

    style: Style
    runs: list[Run]

    @property
    def is_blank(self) -> bool:
        """Whether it is a space or a break, which opens and closes nothing."""
        return len(self.runs) == 1 and self.runs[0].content in (None, " ")


def _pieces(runs: list[Run]) -> list[_Piece]:
    out: list[_Piece] = []
    for link, group in groupby(runs, lambda run: run.link):
        if link is None:
            out += [_Piece(run.style & _EMPHASIS, [run]) for run in group]
        else:
            inner = list(group)
            out.append(_Piece(reduce(and_, (run.style for run in inner)) & _EMPHASIS, inner))
    return out


def _written(pieces: list[_Piece], opened: Style, before: str, after: str, in_link: bool) -> str:
    """Write pieces inside the styles that are ``opened``, between these characters."""
    out: list[str] = []
    at = 0
    while at < len(pieces):
        piece = pieces[at]
        style, end = _longest(pieces, at, opened)
        behind = _first(pieces[end], opened) if end < len(pieces) else after
        if style is not Style.PLAIN:
            written = _emphasised(pieces[at:end], style, opened, before, behind, in_link)
        elif piece.runs[0].link is not None:
            written = _linked(piece.runs, opened)
        else:
            written = _leaf(piece.runs[0], before, behind, in_link)
        at = end
        if written:
            out.append(written)
            before = written[-1]
    return "".join(out)


def _longest(pieces: list[_Piece], at: int, opened: Style) -> tuple[Style, int]:
    """Return which style that is not yet open goes on the longest from ``at``, and to where; PLAIN if there is none."""
    found, end = Style.PLAIN, at + 1
    if pieces[at].is_blank:
        return found, end
    for style in _LEVELS if pieces[at].style & ~opened else ():
        if pieces[at].style & style and not opened & style:
            stop = at + 1
            while stop < len(pieces) and pieces[stop].style & style:
                stop += 1
            while pieces[stop - 1].is_blank:
                stop -= 1
            if found is Style.PLAIN or stop > end:
                found, end = style, stop
    return found, end


def _first(piece: _Piece, opened: Style) -> str:
    """Return the character with which a piece begins; a guess among ``*`` and ``_``."""
    run = piece.runs[0]
    if run.content is None or run.content == " ":
        return run.content or "\n"
    for style in _LEVELS:
        if piece.style & style and not opened & style:
            return _MARKS[style][0][0] if _MARKS[style] else "<"
    if run.link is not None:
        return "["
    if isinstance(run.content, Image):
        return "!"
    if run.style & Style.CODE:
        return "$" if run.style & Style.MATH else "`"
    return run.content[0]


def _emphasised(pieces: list[_Piece], style: Style, opened: Style, before: str, after: str, in_link: bool) -> str:
    marks = _MARKS[style]
    edge = marks[0][0] if marks else ">"
    inner = _written(pieces, opened | style, edge, edge if marks else "<", in_link)
    if not inner.strip():
        return inner
    for mark in marks:
        sign = mark[0]
        if sign in (before, after, inner[0], inner[-1]):
            continue
        if _flanks(before, inner[0], sign) and _flanks(after, inner[-1], sign):
            return f"{mark}{inner}{mark}"
    element = _ELEMENTS[style]
    return f"<{element}>{inner}</{element}>"


def _flanks(outside: str, inside: str, sign: str) -> bool:
    """Whether a sign between these characters opens (or, seen from the other side, closes) emphasis."""
    if inside.isspace():
        return False
    if sign == "_" and not (outside.isspace() or _is_punctuation(outside)):
        return False
    return not _is_punctuation(inside) or outside.isspace() or _is_punctuation(outside)


def _is_punctuation(char: str) -> bool:
    return char in _PUNCTUATION or (char > "\x7f" and category(char)[0] in "PS")


def _leaf(run: Run, before: str, after: str, in_link: bool) -> str:
    content = run.content
    if content is None:
        return "\n"
    if isinstance(content, Image):
        return _picture(content)
    if run.style & Style.CODE and not content.isspace():
        return f"${code_span(content)}$" if run.style & Style.MATH else code_span(content)
    return _escaped(content, before, after, in_link) if _SPECIAL.search(content) else content


def _escaped(text: str, before: str, after: str, in_link: bool) -> str:
    """Return text with what would be markup between these characters behind a backslash."""

    def one(found: re.Match[str]) -> str:
        sign, at = found[0], found.start()
        following = text[at + 1] if at + 1 < len(text) else after
        if _means_something(text, at, sign, text[at - 1] if at else before, following, in_link):
            return "\\" + sign
        return sign

    return _SPECIAL.sub(one, text)


def _means_something(text: str, at: int, sign: str, last: str, following: str, in_link: bool) -> bool:
    match sign:
        case "\\":
            return following in _PUNCTUATION or following == "\n"
        case "_":
            return not (last.isalnum() and following.isalnum())
        case "[":
            return in_link or following == "^"
        case "]":
            return in_link or following in "([:"
        case "<":
            return following in "/!?" or (following.isascii() and following.isalpha())
        case "&":
            return _ENTITY.match(text, at) is not None
        case "~":
            return "~" in (last, following) or text.count("~") > 1
        case "!":
            return at == len(text) - 1 and following == "["
    return True


def _linked(runs: list[Run], opened: Style) -> str:
    link = runs[0].link
    assert link is not None
    first = runs[0]
    if len(runs) == 1 and first.style & ~opened == Style.PLAIN and isinstance(first.content, str) and not link.title:
        said = first.content
        if said == link.href.strip() and _ADDRESS.fullmatch(said) and not _UNSAFE.search(said):
            return f"<{said}>"
        if f"mailto:{said}" == link.href and _MAIL.fullmatch(said):
            return f"<{said}>"
    inner = _written(_pieces([Run(run.content, run.style) for run in runs]), opened, "[", "]", True)
    if not inner.strip():
        return inner
    return f"[{inner}]({_target(link.href, link.title)})"


def _picture(image: Image) -> str:
    alt = _FOLD.sub(" ", image.alt).strip(" ")
    if _SPECIAL.search(alt):
        alt = _escaped(alt, "[", "]", True)
    return f"![{alt}]({_target(image.source, image.title)})"


def _target(href: str, title: str) -> str:
    """Return where a link leads, percent-encoded as a reader of Markdown would, and its title."""
    href = href.strip()
    if _UNSAFE.search(href):
        href = _UNSAFE.sub(lambda found: quote(found[0], safe="", errors="replace"), href)
    if "(" in href or ")" in href:
        href = href if _NESTED.fullmatch(href) else href.replace("(", "\\(").replace(")", "\\)")
    href = _ENTITY.sub(lambda found: "\\" + found[0], href)
    title = _FOLD.sub(" ", title).strip()
    if not title:
        return href
    said = _ENTITY.sub(lambda found: "\\" + found[0], title.replace("\\", "\\\\").replace('"', '\\"'))
    return f'{href or "<>"} "{said}"'


def _escaped_start(line: str) -> str:
    """Return a line that begins no block: no heading, list, quote or rule."""
    found = _LINE_START.match(line)
    if found:
        at = found.end(1) if found[1] else 0
        return f"{line[:at]}\\{line[at:]}"
    return "\\" + line if _RULER.fullmatch(line) else line
