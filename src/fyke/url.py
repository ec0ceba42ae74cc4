"""URLs: WHATWG parsing, the normal form that is a document's identity, row keys, and duplicate keys.

Three forms of one address, from exact to loose:

- ``whatwg(text, base)``: what a browser would request, fragment and all (ada-url; any scheme).
- ``Url``: the identity. Fragment, credentials and default port dropped, dot segments resolved, host in
  IDNA, percent-escapes of the path in upper case, the query byte for byte. ``Url.key`` is its row key.
- ``Url.duplicate_key``: variants that usually hold the same document share it (session ids, tracking
  parameters, index pages, trailing slash). It proposes duplicates; it is never fetched.

Parsing takes linear time; what cannot be named raises ``UrlError``.
"""

from __future__ import annotations

import re
from functools import lru_cache

import ada_url
import xxhash

from fyke.errors import UrlError

MAX_LENGTH = 32_768
"""Longest URL in characters: four times what common servers accept, and a row key stays below 64 KiB."""

SCHEMES = ("http://", "https://", "ftp://", "file://")
"""How documents that a store can hold begin. Only http and https are fetched from a network."""

_PLAIN = re.compile(r"[A-Za-z0-9_.~/,;:=&+?-]*")  # of a path and a query: what no parser changes, but for dot segments
_LOWER_ESCAPE = re.compile(r"%(?:[a-f][0-9a-fA-F]|[0-9A-F][a-f])")
_TOO_LONG_SHOWN = 60
_AT_HAND = 4096  # URLs whose parts are remembered: those of the visits under way, which are asked a dozen times
_SHORT = 1024  # characters of a URL that is remembered so: others can make 4096 long ones

SESSION_PARAMETER = r"(?:phpsessid|jsessionid|session_?id|s_?id|aspsessionid\w*|cfid|cftoken|zenid|oscsid)="
"""A pattern for the session ids of PHP, Java, ASP, ColdFusion and shop systems in a query, whatever the case."""
PATH_SESSION = re.compile(r";(?:jsessionid|phpsessid|sessionid|sid)=[^/;?]*|/\(S\(\w{24}\)\)", re.IGNORECASE)
"""The same in a path; the second form is ASP.NET's."""

# Session ids, and what advertisers and mailings append.
_NOISE_PARAMETER = re.compile(
    SESSION_PARAMETER + "|"
    r"(?:utm_\w+|[dgy]clid|[gw]braid|fbclid|msclkid|twclid|igshid|mc_[ce]id|_g[al]|_hsenc|_hsmi|mkt_tok|vero_id|ref_src)=",
    re.IGNORECASE,
)
_INDEX_PAGE = re.compile(r"/(?:index|default)\.(?:html?|xhtml|php|aspx?|jsp|cgi)$", re.IGNORECASE)


def whatwg(text: str, base: str | None = None) -> str:
    """Return the URL standard's serialisation of ``text`` against ``base``, of any scheme.

    Raises ``UrlError`` where the standard says failure.
    """
    try:
        return ada_url.normalize_url(text) if base is None else ada_url.join_url(base, text)
    except (ValueError, UnicodeError):
        raise UrlError(f"not a URL: {shorten(text)!r}; write it as in https://example.org/page") from None


def shorten(text: str) -> str:
    """Return ``text`` as it may stand in a message: at most a line of it."""
    return text if len(text) <= _TOO_LONG_SHOWN else text[:_TOO_LONG_SHOWN] + "…"


class Url:
    """A document's identity: an absolute URL in normal form. Immutable, ordered and hashed by its text."""

    __slots__ = ("href",)

    href: str
    """The normal form: ``scheme://host[:port]/path[?query]``, ASCII only."""

    def __init__(self, href: str) -> None:
        """Wrap a string that is known to be in normal form; anything else goes through ``parse``."""
        object.__setattr__(self, "href", href)

    @classmethod
    def parse(cls, text: str) -> Url:
        """Return the URL that ``text`` names. Raises ``UrlError`` with the offending part otherwise."""
        return cls(_normal(text, None))

    def join(self, reference: str) -> Url:
        """Return what ``reference``, found in the document at this URL, points to. Raises ``UrlError``."""
        return Url(_joined(self.href, reference) or _normal(reference, self.href))

    @property
    def scheme(self) -> str:
        """``http``, ``https``, ``ftp`` or ``file``."""
        return self.href[: self.href.index(":")]

    @property
    def authority(self) -> str:
        """Host and, where it is not the scheme's default, port."""
        return self.href.split("/", 3)[2]

    @property
    def host(self) -> str:
        """The host in lower-case ASCII; an IPv6 address keeps its brackets; empty for a local file."""
        return _host(self.href) if len(self.href) < _SHORT else _host.__wrapped__(self.href)

    @property
    def port(self) -> int:
        """The port that would be contacted; 0 for a local file."""
        authority = self.href.split("/", 3)[2]
        port = authority[authority.rindex(":") + 1 :] if ":" in authority and authority[-1] != "]" else ""
        return int(port) if port else {"http": 80, "https": 443, "ftp": 21, "file": 0}[self.scheme]

    @property
    def target(self) -> str:
        """Path and query: what stands in the request line. Begins with ``/``."""
        return "/" + self.href.split("/", 3)[3]

    @property
    def path(self) -> str:
        """The path, beginning with ``/``."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """What follows the first ``?``, byte for byte; empty where there is none."""
        return self.target.partition("?")[2]

    @property
    def site(self) -> str:
        """Scheme and authority, ``https://example.org``: the scope of one robots.txt."""
        return self.href[: self.href.index("/", self.href.index(":") + 3)]

    @property
    def domain(self) -> str:
        """The registered domain by the public suffix list; the host itself where there is none."""
        return registered_domain(self.host)

    @property
    def key(self) -> bytes:
        """The row key (docs/url.md): all rows of a host are adjacent, a URL prefix is a key prefix.

        Two bytes of a hash of the host, host, 0x00, scheme, (``:`` port,) 0x00, path and query.
        """
        return _key(self.href) if len(self.href) < _SHORT else _key.__wrapped__(self.href)

    @classmethod
    def from_key(cls, key: bytes) -> Url:
        """Return the URL of a row key. REQUIRES: ``key`` was made by ``Url.key``."""
        host, service, target = key[2:].split(b"\0", 2)
        scheme, colon, port = service.partition(b":")
        return cls((scheme + b"://" + host + colon + port + target).decode())

    @property
    def duplicate_key(self) -> str:
        """The form that variants of one document share; for comparing only, never for fetching."""
        path = _INDEX_PAGE.sub("/", PATH_SESSION.sub("", self.path)).rstrip("/")
        query = "&".join(part for part in self.query.split("&") if part and not _NOISE_PARAMETER.match(part))
        return self.site + path + ("?" + query if query else "")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Url is immutable: cannot set {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Url is immutable: cannot delete {name}")

    def __eq__(self, other: object) -> bool:
        return self.href == other.href if isinstance(other, Url) else NotImplemented

    def __lt__(self, other: Url) -> bool:
        return self.href < other.href

    def __hash__(self) -> int:
        return hash(self.href)

    def __repr__(self) -> str:
        return f"Url({self.href!r})"

    def __str__(self) -> str:
        return self.href


def _joined(base: str, reference: str) -> str:
    """Return what ``_normal`` would, where it is plain to see, as of nearly all links; else nothing.

    Of what is plain the parser changes nothing, and to call it takes three times as long.
    """
    plain = reference.partition("#")[0]
    if plain.startswith("http"):
        end = plain.find("/", 8)
        if not 0 < end < _SHORT or not _is_site(plain[:end]):
            return ""
        before, plain = plain[:end], plain[end:]
    elif not base.startswith("http"):
        return ""
    elif plain.startswith("/"):
        before = base[: base.index("/", 8)]
    elif plain[:1].isalnum() and ":" not in plain:
        before = _folder(base)
    elif plain.startswith(("../", "./")):
        before, plain = _up(_folder(base), plain)
        if plain.startswith(("/", ".")):
            return ""
    else:
        return ""
    is_plain = _PLAIN.fullmatch(plain) and "/." not in plain and not plain.startswith("//")
    return before + plain if is_plain and len(before) + len(plain) < _SHORT else ""


def _folder(base: str) -> str:
    """The URL of the folder that a document is in."""
    return base[: base.rindex("/", 0, base.find("?") if "?" in base else None) + 1]


def _up(folder: str, reference: str) -> tuple[str, str]:
    """Follow the dot segments with which a reference begins; return the folder that they lead to, and the rest."""
    root = folder.index("/", 8) + 1
    while reference.startswith(("../", "./")):
        if reference[1] == "." and len(folder) > root:
            folder = folder[: folder.rindex("/", 0, -1) + 1]
        reference = reference.partition("/")[2]
    return folder, reference


@lru_cache(maxsize=_AT_HAND)
def _is_site(site: str) -> bool:
    """Whether this is scheme and authority of URLs in normal form."""
    try:
        return _normal(site + "/", None) == site + "/"
    except UrlError:
        return False


def _normal(text: str, base: str | None) -> str:
    """Return the normal form of ``text`` against ``base``; raises ``UrlError``."""
    if len(text) > MAX_LENGTH:
        raise UrlError(f"URL of {len(text):,} characters, begins {shorten(text)!r}; the limit is {MAX_LENGTH:,}")
    href = whatwg(text, base)
    if "#" in href:
        href = href[: href.index("#")]
    if not href.startswith(SCHEMES):
        scheme = href[: href.index(":") + 1]
        raise UrlError(f"scheme {scheme!r} of {shorten(text)!r} names no document; use http: or https:")
    if len(href) > MAX_LENGTH:  # escaping trebles what is not ASCII
        raise UrlError(f"URL of {len(href):,} characters, begins {shorten(href)!r}; the limit is {MAX_LENGTH:,}")
    if "@" in href:
        scheme, slashes, rest = href.partition("//")
        authority, slash, target = rest.partition("/")
        href = scheme + slashes + authority.rpartition("@")[2] + slash + target
    if "%" in href:
        path, mark, query = href.partition("?")
        href = _LOWER_ESCAPE.sub(lambda m: m[0].upper(), path) + mark + query
    return href


@lru_cache(maxsize=_AT_HAND)
def _host(href: str) -> str:
    return _without_port(href.split("/", 3)[2])


@lru_cache(maxsize=_AT_HAND)
def _key(href: str) -> bytes:
    end = href.index("/", href.index(":") + 3)
    site = href[:end]
    return (_site_key(site) if end < _SHORT else _site_key.__wrapped__(site)) + href[end:].encode()


@lru_cache(maxsize=_AT_HAND)
def _site_key(site: str) -> bytes:
    """How the row keys of all URLs of a site begin, up to the path."""
    scheme, _, authority = site.split("/", 2)
    host = _without_port(authority)
    port = authority[len(host) :]
    return _host_hash(host) + f"{host}\0{scheme[:-1]}{port}\0".encode()


def _without_port(authority: str) -> str:
    return authority if ":" not in authority or authority[-1] == "]" else authority[: authority.rindex(":")]


@lru_cache(maxsize=65_536)
def _host_hash(host: str) -> bytes:
    """Two bytes that spread hosts evenly over the tablets, whatever their names."""
    return xxhash.xxh3_64_digest(host.encode())[:2]


def host_key(host: str) -> bytes:
    """Return how the row keys of all URLs of ``host`` begin: two bytes of its hash, the host, 0x00."""
    return _host_hash(host) + host.encode() + b"\0"


@lru_cache(maxsize=65_536)
def registered_domain(host: str) -> str:
    """Return the registrable domain of ``host``, in the form (Unicode or ASCII) that was asked.

    An IP address, a public suffix and a name without a dot are their own domain.
    """
    if host.endswith("]") or host.replace(".", "").isdigit():
        return host
    return _suffixes().privatesuffix(host) or host


@lru_cache(maxsize=1)
def _suffixes():  # type: ignore[no-untyped-def]  # publicsuffixlist has no types
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList(accept_unknown=True, only_icann=False)
