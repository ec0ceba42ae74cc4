"""robots.txt by RFC 9309: who may fetch what, how often, and where the sitemaps are.

``Robots.parse`` accepts every input and never raises. Lines end in CR, LF or both; a byte order mark is
skipped, and that of UTF-16 believed; 500 KiB are read and the line that they cut is dropped. Groups that name one
agent are merged; the longest matching rule decides, ``Allow`` where two are equally long; ``/robots.txt`` itself is
always allowed. Matching takes time linear in the rules.

An escape is equal to what it stands for (RFC 9309, 2.2.2), but where that would separate: ``/`` and ``?`` in a path,
``=`` and ``&`` in a query (RFC 3986, 2.2). Google's test suite wants the octets of a rule compared as they stand
(``/%62az`` is not ``/baz``): so does ``Allow`` here, and ``Disallow`` not. What either reading forbids is not fetched.
docs/robots.md lists every such choice.

What an answer other than 200 means, and how long one is good for: fyke.sites.standing.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from functools import lru_cache

import msgspec

from fyke.description import Usage
from fyke.limits import note
from fyke.sites.usage import preferences
from fyke.url import Url

MAX_BYTES = 500 * 1024
"""What the RFC asks a parser to read at least; we read no more."""

MAX_PATTERNS = 1_000
"""Rules with ``*`` or ``$`` that are matched as they are, for each kind. Nobody needs more; with a file full of them
each URL would cost a tenth of a second. Those beyond forbid more than they say, and allow nothing."""

_LINE = re.compile(rb"\r\n|\r|\n")
_BOM = re.compile(rb"\xef?\xbb?\xbf?")  # whole or torn
_BOM_16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_TOKEN = re.compile(rb"[A-Za-z_-]+")
_COMPATIBLE = re.compile(r"compatible;\s*([A-Za-z_-]+)")
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
_RAW = re.compile(rb"[^\x21-\x7e]")
# What is not decoded: '%' itself, the two signs that mean something else in a rule, and what separates in a URL.
_KEPT = frozenset({b"%25", b"%2A", b"%24", b"%2F", b"%3F", b"%3D", b"%26"})
# Misspellings that Google's parser accepts too; a site that wrote them meant them.
_AGENT_KEYS = frozenset({b"user-agent", b"useragent", b"user agent"})
_DISALLOW_KEYS = frozenset({b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw"})
_USAGE_KEYS = frozenset({b"content-usage", b"content-signal"})
_SITEMAP_KEYS = frozenset({b"sitemap", b"site-map"})


class Group(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The rules of one agent, as they stand in the file (white space trimmed, not yet escaped)."""

    agent: str
    """The product token in lower case, or ``*``."""
    allow: tuple[bytes, ...] = ()
    disallow: tuple[bytes, ...] = ()
    delay: float | None = None
    """Crawl-delay in seconds."""
    usage: tuple[tuple[bytes, str, bool], ...] = ()
    """Path, purpose and whether it is allowed, of Content-Usage and Content-Signal lines."""


class Robots:
    """A site's robots.txt. ``allows`` and ``delay`` take a product token (``fyke``) or a whole User-Agent."""

    __slots__ = ("_matchers", "groups", "sitemaps")

    groups: dict[str, Group]
    """By product token in lower case; ``*`` is everyone else's."""
    sitemaps: tuple[str, ...]
    """As written: absolute URLs if the site does what the protocol asks."""

    def __init__(self, groups: dict[str, Group], sitemaps: tuple[str, ...] = ()) -> None:
        self.groups = groups
        self.sitemaps = sitemaps
        self._matchers: dict[str, _Matcher] = {}

    @classmethod
    def parse(cls, body: bytes | str) -> Robots:
        """Read a robots.txt. Never raises; what is not a known line is skipped."""
        data = _octets(body) if isinstance(body, str) else bytes(body)
        text = _without_mark(data[:MAX_BYTES])
        if len(data) > MAX_BYTES:
            note("robots-bytes")
            text = text[: max(text.rfind(b"\n"), text.rfind(b"\r")) + 1]
        return cls(*_read(text))

    def allows(self, user_agent: str, url: str | Url) -> bool:
        """Return whether ``user_agent`` may fetch ``url``: a ``Url``, an absolute URL, or a path."""
        group = self.group(user_agent)
        target = _target(url)
        if group is None or target == b"/robots.txt":
            return True
        matcher = self._matchers.get(group.agent)
        if matcher is None:
            matcher = self._matchers[group.agent] = _Matcher(group)
        return matcher.allows(target)

    def delay(self, user_agent: str) -> float | None:
        """Return the Crawl-delay for ``user_agent`` in seconds, or None where the site names none."""
        group = self.group(user_agent)
        return group.delay if group else None

    def usage(self, user_agent: str, url: str | Url) -> tuple[Usage, ...]:
        """Return what the site says of the use of ``url``; of one purpose the longest path that matches decides."""
        group = self.group(user_agent)
        if group is None or not group.usage:
            return ()
        target = _escape_raw(_decoded(_as_it_stands(_target(url))))
        best: dict[str, tuple[int, bool]] = {}
        for path, purpose, allowed in group.usage:
            size = _Rules((path,), equivalent=True).longest(target)
            if size >= 0:  # of two that are equally long the one that forbids
                best[purpose] = max(
                    best.get(purpose, (-1, True)), (size, allowed), key=lambda rule: (rule[0], -rule[1])
                )
        return tuple(Usage(purpose, allowed, "robots.txt") for purpose, (_, allowed) in sorted(best.items()))

    def group(self, user_agent: str) -> Group | None:
        """Return the group that applies to ``user_agent``: its own, else that of ``*``, else None."""
        return self.groups.get(product_token(user_agent)) or self.groups.get("*")

    def keep(self, user_agent: str) -> Robots:
        """Return the part that concerns ``user_agent``: its own group and that of ``*``."""
        wanted = {product_token(user_agent), "*"}
        return Robots({name: group for name, group in self.groups.items() if name in wanted}, self.sitemaps)

    def encode(self) -> bytes:
        """Return the rules as MessagePack; ``decode`` is the inverse."""
        return msgspec.msgpack.encode((list(self.groups.values()), self.sitemaps))

    @classmethod
    def decode(cls, data: bytes) -> Robots:
        """Return the rules that ``encode`` wrote."""
        groups, sitemaps = msgspec.msgpack.decode(data, type=tuple[list[Group], tuple[str, ...]])
        return cls({group.agent: group for group in groups}, sitemaps)


@lru_cache(maxsize=256)
def product_token(user_agent: str) -> str:
    """Return the name a robots.txt would call this agent: ``fyke`` for ``fyke/0.1 (+https://…)``.

    A browser-like ``Mozilla/5.0 (compatible; Bot/2.0)`` is ``bot``. A name with a space or a digit
    in it is no token and finds no group but that of ``*``: RFC 9309 has letters, ``-`` and ``_`` only.
    """
    compatible = _COMPATIBLE.search(user_agent)
    return (compatible[1] if compatible else user_agent.partition("/")[0].strip()).lower()


def _octets(text: str) -> bytes:
    """What the text was decoded from, where Python did it; half a surrogate pair is encoded as if it were a letter."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _without_mark(data: bytes) -> bytes:
    """Return the text as UTF-8, without its byte order mark. UTF-16 is full of NULs: without any, the mark lies."""
    encoding = _BOM_16.get(data[:2])
    if encoding is None:
        return _BOM.sub(b"", data, count=1) if data[:1] == b"\xef" else data
    return data[2:].decode(encoding, "replace").encode() if b"\0" in data else data[2:]


def _read(data: bytes) -> tuple[dict[str, Group], tuple[str, ...]]:
    rules: dict[str, tuple[list[bytes], list[bytes]]] = {}
    usage: dict[str, list[tuple[bytes, str, bool]]] = {}
    delays: dict[str, float] = {}
    sitemaps: list[str] = []
    agents: list[str] = []
    rule_seen = False  # a rule ends the list of a group's agents; other lines must not (RFC 9309, 2.2.4)
    for key, value in _lines(data):
        if key in _AGENT_KEYS:
            if rule_seen:
                agents, rule_seen = [], False
            name = _agent(value)
            if name:
                agents.append(name)
                rules.setdefault(name, ([], []))
        elif key == b"allow" or key in _DISALLOW_KEYS:
            rule_seen = True
            if value:
                for name in agents:
                    rules[name][key != b"allow"].append(value)
        elif key == b"crawl-delay":
            seconds = _seconds(value)
            if seconds is not None:
                delays.update((name, max(seconds, delays.get(name, 0.0))) for name in agents)
        elif key in _USAGE_KEYS:
            for name in agents or ("*",):
                rules.setdefault(name, ([], []))
                usage.setdefault(name, []).extend(_uses(value))
        elif key in _SITEMAP_KEYS and value:
            sitemaps.append(value.decode("utf-8", "replace"))
    groups = {
        name: Group(
            name,
            tuple(dict.fromkeys(allow)),
            tuple(dict.fromkeys(disallow)),
            delays.get(name),
            tuple(dict.fromkeys(usage.get(name, ())))[:MAX_PATTERNS],
        )
        for name, (allow, disallow) in rules.items()
    }
    return groups, tuple(dict.fromkeys(sitemaps))


def _lines(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    for line in _LINE.split(data):
        key, colon, value = line.partition(b"#")[0].partition(b":")
        if colon:
            yield key.strip().lower(), value.strip()


def _agent(value: bytes) -> str:
    """Return the product token of a User-Agent line; what follows it (a version, words) is not part of it."""
    if value[:1] == b"*" and not value[1:2].strip():
        return "*"
    match = _TOKEN.match(value)
    return match[0].decode().lower() if match else ""


def _uses(value: bytes) -> Iterator[tuple[bytes, str, bool]]:
    """What ``/path train-ai=n, search=y`` says; without a path it is said of the whole site."""
    path, rest = b"/", value
    if value.startswith(b"/"):
        path, _, rest = value.partition(b" ")
    for purpose, allowed in preferences(rest.decode("utf-8", "replace")):
        yield path, purpose, allowed


def _seconds(value: bytes) -> float | None:
    try:
        seconds = float(value)
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None


def _target(url: str | Url) -> bytes:
    """Return path and query of what was asked for, as octets. An empty string asks for ``/``."""
    if isinstance(url, Url):
        return url.target.encode()
    text = url.partition("#")[0]
    if not text.startswith("/"):
        scheme, separator, rest = text.partition("//")
        if separator and scheme.endswith(":"):
            ends = [at for at in map(rest.find, "/?;") if at >= 0]
            text = rest[min(ends) :] if ends else ""
    if not text.startswith("/"):
        text = "/" + text
    return _octets(text)


def _as_it_stands(octets: bytes) -> bytes:
    """Escapes in upper case; ``*`` and ``$`` escaped, so that an escaped one in a rule means the sign itself."""
    if b"%" in octets:
        octets = _ESCAPE.sub(lambda match: match[0].upper(), octets)
    return octets.replace(b"*", b"%2A").replace(b"$", b"%24")


def _decoded(octets: bytes) -> bytes:
    """Escapes of visible ASCII decoded, but for those in ``_KEPT``."""
    return _ESCAPE.sub(_decode_visible, octets) if b"%" in octets else octets


def _escape_raw(octets: bytes) -> bytes:
    return _RAW.sub(lambda match: b"%%%02X" % match[0][0], octets) if _RAW.search(octets) else octets


def _decode_visible(match: re.Match[bytes]) -> bytes:
    code = int(match[1], 16)
    return bytes((code,)) if 0x21 <= code <= 0x7E and match[0] not in _KEPT else match[0]


def _loosened(octets: bytes) -> bytes:
    """Decode what separates elsewhere: ``=`` and ``&`` in the path, ``/`` and ``?`` in the query."""
    if b"%" not in octets:
        return octets
    path, mark, query = octets.partition(b"?")
    path = path.replace(b"%3D", b"=").replace(b"%26", b"&")
    return path + mark + query.replace(b"%2F", b"/").replace(b"%3F", b"?")


class _Rule:
    """A rule with ``*`` or ``$``: pieces that must follow one another."""

    __slots__ = ("anchored", "first", "middle", "size")

    def __init__(self, pieces: list[bytes], anchored: bool, size: int) -> None:
        self.first, *self.middle = pieces
        self.anchored = anchored
        self.size = size

    def matches(self, target: bytes) -> bool:
        """Each piece at its leftmost place after the one before: linear, and as good as any other choice."""
        if not target.startswith(self.first):
            return False
        at = len(self.first)
        if not self.middle:
            return not self.anchored or at == len(target)
        last = self.middle[-1] if self.anchored else b""
        for piece in self.middle[:-1] if self.anchored else self.middle:
            found = target.find(piece, at)
            if found < 0:
                return False
            at = found + len(piece)
        return not self.anchored or (target.endswith(last) and len(target) - len(last) >= at)


class _Rules:
    """The rules of one kind. ``longest`` is the length of the longest that matches, -1 where none does."""

    __slots__ = ("lengths", "prefixes", "wild")

    def __init__(self, patterns: tuple[bytes, ...], equivalent: bool) -> None:
        self.prefixes: dict[bytes, int] = {}
        self.wild: list[_Rule] = []
        for pattern in patterns:
            anchored = pattern.endswith(b"$")
            written = _escape_raw(pattern.removesuffix(b"$"))
            form = b"*".join(map(_as_it_stands, written.split(b"*")))
            forms = dict.fromkeys((_decoded(form), _loosened(_decoded(form)))) if equivalent else (form,)
            for each in forms:
                self._add(each.split(b"*"), anchored, len(written) + anchored)
        self.wild.sort(key=lambda rule: -rule.size)
        if len(self.wild) > MAX_PATTERNS:
            note("robots-patterns")
        if equivalent:  # too many disallowed patterns: the rest as if '*' followed their first piece
            for rule in self.wild[MAX_PATTERNS:]:
                self.prefixes[rule.first] = max(rule.size, self.prefixes.get(rule.first, 0))
        del self.wild[MAX_PATTERNS:]
        longest: dict[int, int] = {}
        for prefix, size in self.prefixes.items():
            longest[len(prefix)] = max(size, longest.get(len(prefix), 0))
        self.lengths = sorted(((size, length) for length, size in longest.items()), reverse=True)

    def _add(self, pieces: list[bytes], anchored: bool, size: int) -> None:
        if len(pieces) > 1 or anchored:
            # Empty pieces between two stars ask for nothing; one at the end matters to '$' alone.
            kept = [pieces[0], *(p for p in pieces[1:-1] if p), *(p for p in pieces[1:][-1:] if p or anchored)]
            self.wild.append(_Rule(kept, anchored, size))
        else:
            self.prefixes[pieces[0]] = max(size, self.prefixes.get(pieces[0], 0))

    def longest(self, target: bytes) -> int:
        best = -1
        for limit, length in self.lengths:
            if limit <= best:
                break
            best = max(best, self.prefixes.get(target[:length], -1))
        for rule in self.wild:
            if rule.size <= best:
                break
            if rule.matches(target):
                return rule.size
        return best


class _Matcher:
    """A group made ready for matching."""

    __slots__ = ("allow", "disallow")

    def __init__(self, group: Group) -> None:
        self.allow = _Rules(group.allow, equivalent=False)
        self.disallow = _Rules(group.disallow, equivalent=True)

    def allows(self, target: bytes) -> bool:
        written = _as_it_stands(target)
        if b"%" not in written:
            disallowed = self.disallow.longest(_escape_raw(written))
            return disallowed < 0 or self.allow.longest(written) >= disallowed
        decoded = _decoded(written)
        forms = dict.fromkeys((decoded, _loosened(decoded)))
        disallowed = max(self.disallow.longest(_escape_raw(form)) for form in forms)
        return disallowed < 0 or any(self.allow.longest(form) >= disallowed for form in {written: None, **forms})
