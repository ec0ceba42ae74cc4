"""What an answer to a form shows: links with the words around them, and where the list goes on.

A result is a link with all text up to the next link, so nothing is asked of the markup. Links to the form's own address
with other values (pages, orders, facets) are no results; the one that leads to the next page is told apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from fyke.errors import UrlError
from fyke.formats.encoding import decoded
from fyke.formats.html import Page, parse
from fyke.formats.markup import CLOSE, OPEN, TEXT, fold
from fyke.formats.markup_names import ELEMENT
from fyke.formats.markup_rows import SELF_CLOSING
from fyke.limits import note
from fyke.sites.forms import request_of, values_of
from fyke.text.words import words
from fyke.url import Url

MAX_RESULTS = 200
"""Of one page."""
MAX_AROUND = 600
"""Characters behind a link that are told of it."""
MAX_TOKENS = 100_000
MAX_WORDS = 2_000
"""Of a page, for telling it from others."""

_PAGES = re.compile(
    r"(?:page|pages|p|pg|pn|paged|pagenum|pageno|start|offset|from|first|skip|seite|pagina)_?\d?$", re.IGNORECASE
)
_PATH_PAGE = re.compile(r"/(?:page|seite|pagina|p)[/=-](\d{1,5})(?=/|$|\?)", re.IGNORECASE)
_NEXT = re.compile(
    r"(?:next(?: page)?|older(?: posts)?|more results|weiter|n[aä]chste(?: seite)?|suivante?s?(?: page)?"
    r"|page suivante|siguientes?|próxim[ao]|proxima|avanti|successiv[ao]|volgende|następn[ay]|далее|следующая|вперед"
    r"|下一页|下一頁|下页|次へ|次のページ|다음|التالي|अगला|[>›»→⟩]{1,2})(?: ?[>›»→⟩]{1,2})?",
    re.IGNORECASE,
)
_A = ELEMENT["a"]


class Result(NamedTuple):
    """One link of an answer."""

    href: str
    words: tuple[str, ...]
    """Of its text and what follows it, each once."""


class Answer(NamedTuple):
    """What came of one request."""

    results: tuple[Result, ...]
    following: str = ""
    """The address of the next page; empty where there is none."""
    text: frozenset[str] = frozenset()
    """The page's words."""


def page_words(body: bytes, content_type: str = "") -> list[str]:
    """Return the words of a page, in order: those with which a form on it is tried first. Takes any bytes."""
    everything: list[str] = []
    for _ in _anchors(parse(decoded(body, content_type).text), everything):
        pass
    return words(" ".join(everything)[: 20 * MAX_WORDS])[:MAX_WORDS]


def read_answer(body: bytes, content_type: str, asked: Url) -> Answer:
    """Return what a page shows; ``asked`` is the address that it answers to, in the form of ``Form.address``."""
    page = parse(decoded(body, content_type).text)
    here = request_of(asked).url
    anchors: list[tuple[Url, str, str]] = []
    around: dict[str, list[str]] = {}
    everything: list[str] = []
    for href, text, rel in _anchors(page, everything):
        try:
            url = here.join(href) if href else None
        except UrlError:
            url = None
        if url is None or not url.href.startswith(("http://", "https://")):
            continue
        anchors.append((url, text[:80], rel))
        if url.path == here.path:
            continue
        if url.href in around or len(around) < MAX_RESULTS:
            around.setdefault(url.href, []).append(text)
        else:
            note("form-results")
    found = _following(asked, anchors)
    results = tuple(
        Result(href, tuple(dict.fromkeys(words(" ".join(texts)[: 2 * MAX_AROUND]))))
        for href, texts in around.items()
        if href != found
    )
    shown = frozenset(words(" ".join(everything)[: 20 * MAX_WORDS])[:MAX_WORDS])
    return Answer(results, found, shown)


def _anchors(page: Page, everything: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the href of each anchor, its text with what follows, and its rel; note all text of the page."""
    markup = page.tokens
    texts: list[str] = []
    tag, room = None, 0
    rows = markup.tokens[: min(len(markup), MAX_TOKENS)].tolist()
    for at, (kind, element, *_) in enumerate(rows):
        if kind == OPEN and element & (SELF_CLOSING - 1) == _A:
            if tag is not None:
                yield tag.get("href"), fold(" ".join(texts)), tag.get("rel").lower()
            tag, texts, room = markup.tag(at), [], MAX_AROUND
        elif kind == TEXT:
            text = markup.text(at)
            everything.append(text)
            if room > 0:
                texts.append(text[:room])
                room -= len(text)
        elif kind == CLOSE and element & (SELF_CLOSING - 1) == _A and tag is not None:
            texts.append("\n")
    if tag is not None:
        yield tag.get("href"), fold(" ".join(texts)), tag.get("rel").lower()


def _following(asked: Url, anchors: list[tuple[Url, str, str]]) -> str:
    """The address of the next page: what says so, or the same question with the next number."""
    here = request_of(asked)
    values = values_of(here.form.decode() if here.method == "POST" else asked.query)
    for url, text, rel in anchors:
        if url != asked and ("next" in rel.split() or (_NEXT.match(text) and _same_place(url, here.url))):
            return url.href
    steps = [(step, url.href) for url, _, _ in anchors if (step := _step(url, here.url, values)) > 0]
    return min(steps)[1] if steps else ""


def _same_place(url: Url, here: Url) -> bool:
    return url.site == here.site and _PATH_PAGE.sub("", url.path) == _PATH_PAGE.sub("", here.path)


def _step(url: Url, here: Url, values: dict[str, str]) -> int:
    """By how much a link's number is above that of the page it stands on; 0 for one that asks something else."""
    if not _same_place(url, here):
        return 0
    theirs = values_of(url.query)
    changed = {name for name in {*theirs, *values} if theirs.get(name, "") != values.get(name, "")}
    if not changed and (number := _PATH_PAGE.search(url.path)):
        now = _PATH_PAGE.search(here.path)
        return int(number[1]) - (int(now[1]) if now else 1)
    if len(changed) != 1:
        return 0
    name = changed.pop()
    said, now_said = theirs.get(name, ""), values.get(name, "")
    if not _PAGES.match(name) or not said.isdecimal() or len(said) > 7:
        return 0
    return int(said) - (int(now_said) if now_said.isdecimal() and len(now_said) < 8 else 1 if said == "2" else 0)
