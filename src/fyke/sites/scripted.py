"""Pages that scripts make: cheap signs, data that is embedded, and learning by proof which pages are worth a browser.

::

    page ─▶ signs ─▶ suspect? ─▶ Learnt (its host, its template) ─▶ render or not, and why
                                   ▲                                    │
                                   └──── proof: what it gained ◀────────┘

A rendered page costs as much as forty plain ones, so signs alone decide little: they say where a proof is worth while.
Of each template of a host (its address with digits and values blanked) the first suspects are rendered; further ones
while the lower bound of the share that gained is high enough; of the others one in fifty, as sites change. Pages that
look whole and have scripts are sampled, too: one in fifty, five at the most unless they gain. Nothing here is exact,
and nothing depends on it but cost: a page that is not rendered is kept as the server sent it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from fyke.formats.linked_data import decode
from fyke.limits import note
from fyke.url import Url

SHORT = 600
"""Bytes of text from which a page looks whole."""
FIRST = 3
"""Suspects of a template that are rendered whatever comes of them."""
ONE_IN = 50
"""Pages of which one is rendered, where there is little hope."""
SAMPLES = 5
"""Pages of a template that look whole and are rendered all the same, where none of them gained."""
WORTH = 0.25
"""The lower bound of the share of pages that gain, from which all are rendered."""
HOST_TRIES = 12
"""Pages of a host without gain, after which a template that is new is no longer tried."""
MORE_TEXT, MORE_BYTES, MORE_LINKS = 1.5, 200, 5
"""What a page must gain: so many times its text and so many bytes more, or so many links."""
MAX_DATA = 4 << 20
"""Bytes of embedded data that are read."""
MAX_STRINGS = 20_000
_LEAST_SENTENCE = 40
_COUNTED = 60  # pages of a template that are remembered: older ones fade

_SCRIPT = re.compile(rb"<script\b([^>]*)(?:>|\Z)(.*?)(?:</script\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_MOUNT = re.compile(
    rb"""<(?:div|main|section)[^>]{0,200}\bid=["']?(?:root|app|__next|__nuxt|___gatsby|q-app|svelte|main-app|"""
    rb"""application|react-root|ember-app|container-app)["']?[^>]{0,200}>\s*(?:<!--.{0,200}?-->\s*)*+</"""
    rb"""|<(app-root|my-app|ng-app|[a-z]+-app)\b[^>]{0,200}>\s*</|\bng-app=|\bdata-reactroot\b""",
    re.IGNORECASE | re.DOTALL,
)
_ASKS = re.compile(
    rb"(?:enable|requires?|needs?|without|turn on|activate|activer|(?:aktivier|habilit)\w{0,20})[^<]{0,60}java\s?script"
    rb"|java\s?script[^<]{0,60}(?:enable|required|disabled|aktivier|activ)",
    re.IGNORECASE,
)
_NOSCRIPT = re.compile(rb"<noscript\b[^>]*(?:>|\Z)(.*?)(?:</noscript\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_JSON = re.compile(
    rb"""\btype\s*=\s*["']?application/(?:[a-z.+-]*\+)?json|\bid\s*=\s*["']?__NEXT_DATA__""", re.IGNORECASE
)
_STATE = re.compile(rb"^\s*(?:window|self|globalThis)\s*[.\[]\s*[\"']?__[A-Za-z_]+[\"']?\]?\s*=\s*(?=[{\[])")
_PLACE = re.compile(r"(?:https?://|/)[^\s\"'<>{}|\\^`]*", re.ASCII)
_TAGS = re.compile(r"<[^<>]*>")
_LINKS = frozenset({"href", "url", "link", "path", "permalink", "canonical", "slug", "uri", "to"})
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"[^/]*[-_.%][^/]*|[^/]{25,}")


class Signs(NamedTuple):
    """What a page looks like to somebody without a browser."""

    text: int
    """Bytes of its text."""
    links: int
    script: int
    """Bytes of scripts that stand in it."""
    external: int
    """Scripts that it loads."""
    mount: bool
    """There is an empty place that a script fills."""
    asks: bool
    """It says that it needs scripts."""
    noscript: int
    """Bytes that it says to browsers without scripts."""

    @property
    def has_scripts(self) -> bool:
        """Whether a browser could make anything else of it."""
        return self.script + self.external > 0


def signs_of(body: bytes, text: int, links: int) -> Signs:
    """Return the signs of a page whose text and links are counted already."""
    inline = external = 0
    for found in _SCRIPT.finditer(body):
        external += b"src" in found[1]
        inline += 0 if _JSON.search(found[1]) else len(found[2])
    noscript = sum(len(_TAGS.sub("", each[1].decode("utf-8", "replace")).strip()) for each in _NOSCRIPT.finditer(body))
    return Signs(text, links, inline, external, bool(_MOUNT.search(body)), bool(_ASKS.search(body)), noscript)


def suspect(signs: Signs) -> str:
    """Return why a page may be made by scripts; empty where nothing looks like it."""
    text = signs.text + (signs.noscript if signs.noscript > 300 else 0)
    if not signs.has_scripts or text >= SHORT:
        return ""
    if signs.mount:
        return "an empty place that a script fills"
    if signs.asks:
        return "it asks for scripts"
    if text < 200 and signs.links < 3:
        return "scripts, and hardly any text"
    if signs.links < 5 and signs.script > 8 * text and signs.external >= 2:
        return "more script than text"
    return ""


class Embedded(NamedTuple):
    """What a page holds as data: its text and the addresses in it, in order."""

    text: str = ""
    links: tuple[str, ...] = ()
    title: str = ""


def embedded(body: bytes) -> Embedded:
    """Return what the JSON in a page says: ``__NEXT_DATA__``, JSON-LD, states. Never raises for what it is."""
    texts: dict[str, None] = {}
    links: dict[str, None] = {}
    left, title = MAX_DATA, ""
    for found in _SCRIPT.finditer(body):
        script = found[2]
        if not _JSON.search(found[1]):
            state = _STATE.match(script)
            if state is None:
                continue
            script = script[state.end() :].rstrip().rstrip(b";")
        left -= len(script)
        if left < 0:
            note("scripted-data")
            break
        for name, said in _strings(decode(script.decode("utf-8", "replace"))):
            if _PLACE.fullmatch(said) and (name in _LINKS or said.startswith("http")):
                links[said] = None
            elif len(said) >= _LEAST_SENTENCE and " " in said:
                texts[" ".join(_TAGS.sub(" ", said).split())] = None
            if not title and name in ("title", "headline"):
                title = " ".join(said.split())[:500]
    return Embedded("\n".join(texts), tuple(links), title)


def _strings(value: Any) -> Iterator[tuple[str, str]]:
    """The strings in a value, each with the name that it has; in order, and not too many."""
    waiting: list[tuple[str, Any]] = [("", value)]
    seen = 0
    while waiting:
        seen += 1
        if seen > MAX_STRINGS:
            note("scripted-strings")
            return
        name, each = waiting.pop()
        if isinstance(each, str):
            yield name, each
        elif isinstance(each, dict):
            waiting.extend((str(key).lower(), inner) for key, inner in reversed(each.items()))
        elif isinstance(each, list):
            waiting.extend((name, inner) for inner in reversed(each))


def gained(text: int, more_text: int, new_links: int) -> bool:
    """Whether rendering was worth it: from ``text`` to ``more_text`` bytes, and so many links that nobody knew."""
    return new_links >= MORE_LINKS or more_text >= max(MORE_TEXT * text, text + MORE_BYTES)


def template(url: Url) -> str:
    """Return the template of an address: digits, names and values blanked."""
    path = "/".join("*" if _WORD.fullmatch(part) else _DIGITS.sub("0", part) for part in url.path.split("/"))
    query = url.target.partition("?")[2]
    names = sorted({each.partition("=")[0] for each in query.split("&")}) if query else []
    return f"{path}?{'&'.join(names)}" if names else path


class Learnt(msgspec.Struct, frozen=True, array_like=True):
    """What was proven of a template, or of a whole host. Version 1."""

    suspects: int = 0
    """Pages that looked scripted."""
    others: int = 0
    """Pages with scripts that looked whole."""
    tries: int = 0
    """Pages that were rendered."""
    gains: int = 0
    """Of these, those that gained."""
    data: int = 0
    """Of these, those whose embedded data said as much."""

    def noted(self, is_suspect: bool) -> Learnt:
        """Count a page that was looked at."""
        if is_suspect:
            return msgspec.structs.replace(self, suspects=self.suspects + 1)
        return msgspec.structs.replace(self, others=self.others + 1)

    def proven(self, gain: bool, data: bool = False) -> Learnt:
        """Count a page that was rendered. What is long ago counts half."""
        faded = self
        if self.tries >= _COUNTED:
            tries, gains, given = self.tries // 2, self.gains // 2, self.data // 2
            faded = msgspec.structs.replace(self, tries=tries, gains=gains, data=given)
        return msgspec.structs.replace(
            faded, tries=faded.tries + 1, gains=faded.gains + gain, data=faded.data + (gain and data)
        )

    @property
    def hope(self) -> float:
        """The lower 80 % bound of the share of pages that gain."""
        return lower_bound(self.gains, self.tries)

    @property
    def data_is_enough(self) -> bool:
        """Whether the embedded data of these pages says what rendering would."""
        return self.data >= FIRST and lower_bound(self.data, self.gains) >= 0.5


UNKNOWN = Learnt()


def decide(of_template: Learnt, of_host: Learnt, is_suspect: bool) -> str:
    """Return why a page is to be rendered; empty where it is not. REQUIRES: it is counted already (``noted``)."""
    if of_template.tries >= FIRST and of_template.hope >= WORTH:
        return "pages like it gained"
    hopeless = of_host.tries >= HOST_TRIES and of_host.hope < WORTH
    if is_suspect:
        if of_template.tries < FIRST and not hopeless:
            return "one of the first of its kind"
        return "a sample" if of_template.suspects % ONE_IN == 0 else ""
    if of_template.gains and of_template.tries < FIRST:
        return "a page like it gained"
    sampled = of_template.others % ONE_IN == 0 and of_template.tries < SAMPLES and not hopeless
    return "a sample of what looks whole" if sampled else ""


def lower_bound(hits: int, tries: int, share: float = 0.1) -> float:
    """Return the ``share`` quantile of Beta(1 + hits, 1 + misses): what a rate is at least, by so many trials."""
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if _at_most(middle, 1 + hits, tries + 1) < share else (low, middle)
    return low


def _at_most(rate: float, least: int, count: int) -> float:
    """The probability that Beta(least, count − least + 1) is at most ``rate``: that of ``least`` hits or more."""
    term, below = (1 - rate) ** count, 0.0
    for hits in range(least):
        below += term
        term *= rate / (1 - rate) * (count - hits) / (hits + 1) if rate < 1 else 0.0
    return 1.0 - below
