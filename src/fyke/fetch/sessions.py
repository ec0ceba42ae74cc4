"""Sessions: what is sent with requests beyond what every crawler sends, and to whom; cookies among it.

The jar is libcurl's own (RFC 6265, public suffixes), one for all handles of a transport; it is bounded, and in memory.
Hosts of domains that have set no cookie share TLS sessions instead, so that a host which closes its connections, or is
left alone for longer than it keeps them, need not prove again who it is: a quarter of what a contact over TLS costs.
``Credentials`` belong to one origin and go nowhere else, redirects included. What is secret never becomes part of an
``Exchange``: request heads show names without values, and of an origin with credentials response heads show the names
of cookies alone.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pycurl

from fyke.errors import UserError
from fyke.limits import note
from fyke.url import Url

MAX_COOKIES = 10_000
"""In the jar: then those that end with a session go, and if they are not the many, all of them."""
MAX_COOKIE = 4096
"""Bytes of name and value that browsers keep."""
SHARES = 128
"""Groups of hosts with TLS sessions of their own. libcurl keeps those of 25 hosts in each; some 2.5 KB a host."""
REDACTED = "[secret]"

_LOOK_EVERY = 500  # responses with cookies between two looks at how many there are
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_UNFIT = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_SECRET = re.compile(r"authorization|cookie|token|key|secret|password|credential", re.IGNORECASE)
_OURS = frozenset({"host", "connection", "content-length", "transfer-encoding", "te", "upgrade", "accept-encoding"})
"""Headers that say how the exchange itself is made."""
_SET_COOKIE = re.compile(rb"(?mi)^(set-cookie2?[ \t]*:[ \t]*[^=;\r\n]{0,200}=)[^;\r\n]*")


def parse_header(text: str) -> tuple[str, str]:
    """Return name and value of ``Name: value``. Raises ``UserError`` for what no request can hold."""
    name, colon, value = (part.strip(" \t") for part in text.partition(":"))
    if not colon or not _NAME.fullmatch(name) or _UNFIT.search(value) or "\n" in text or "\r" in text:
        raise UserError(f"{text[:60]!r} is no header; write --header 'Name: value', in one line")
    if name.lower() in _OURS:
        raise UserError(f"the header {name} is not yours to set: it says how the exchange itself is made")
    return name, value


def is_secret(name: str) -> bool:
    """Whether the value of a header of that name is likely a secret."""
    return bool(_SECRET.search(name))


def header_line(name: str, value: str) -> bytes:
    """Write a header."""
    return f"{name}: {value}".encode("utf-8", "replace")


def shown_line(name: str, value: str) -> bytes:
    """Write a header as it is kept: without its value where that is likely a secret."""
    return header_line(name, REDACTED if is_secret(name) else value)


@dataclass(frozen=True, slots=True)
class Credentials:
    """What goes with requests to one origin."""

    lines: tuple[bytes, ...] = field(default=(), repr=False)
    digest: str = field(default="", repr=False)
    """``user:password`` of digest authentication, which answers what the server asks."""

    @property
    def shown(self) -> tuple[bytes, ...]:
        """The lines as they are kept."""
        return tuple(line.partition(b":")[0] + b": " + REDACTED.encode() for line in self.lines)


def basic(username: str, password: str) -> Credentials:
    """Credentials of basic authentication."""
    value = base64.b64encode(f"{username}:{password}".encode()).decode()
    return Credentials((header_line("Authorization", f"Basic {value}"),))


class Sessions:
    """The headers, credentials and cookies of one crawl."""

    def __init__(
        self,
        headers: Sequence[tuple[str, str]] = (),
        credentials: Mapping[str, Credentials] | None = None,
        cookies: Iterable[str] = (),
        private: Iterable[str] = (),
        kept: Iterable[str] = (),
    ) -> None:
        """``headers`` go with every request; ``credentials`` are by origin (``Url.site``).

        ``cookies`` are lines of a Netscape file; what is had from the origins of ``private`` is marked so. ``kept`` are
        lines of cookies that sites set earlier, which are nobody's rights.
        """
        self.headers = tuple(headers)
        self._credentials = dict(credentials or {})
        self._private = {*private, *self._credentials}
        self._domains = tuple({"." + line.split("\t")[0].removeprefix("#HttpOnly_").lstrip(".") for line in cookies})
        self.plain = not self._private and not self._domains
        """Whether nobody has rights of their own anywhere: then there is nothing to ask for each request."""
        self._jar = _sharing(pycurl.LOCK_DATA_COOKIE)
        self._tls: dict[int, pycurl.CurlShare] = {}
        self._keeper = pycurl.Curl()  # puts into the jar and reads it, and fetches nothing
        self._keeper.setopt(pycurl.SHARE, self._jar)
        self._set_by: set[str] = set()  # groups of hosts that have cookies
        self._put((*kept, *cookies))
        self.met = 0
        """Responses that set cookies."""

    def of(self, url: Url) -> Credentials | None:
        """What goes with a request for ``url``."""
        return self._credentials.get(url.site)

    def set(self, origin: str, credentials: Credentials) -> None:
        """Send these to an origin from now on."""
        self._credentials[origin] = credentials
        self._private.add(origin)
        self.plain = False

    def is_private(self, url: Url) -> bool:
        """Whether what is had from ``url`` is had with somebody's rights."""
        if url.site in self._private:
            return True
        return bool(self._domains) and f".{url.host}".endswith(self._domains)

    def attach(self, curl: pycurl.Curl, url: Url, has: pycurl.CurlShare | None) -> pycurl.CurlShare:
        """Give a handle that shares ``has`` what it shares with others while it fetches ``url``; return that.

        Where no cookie can be for the host that is TLS sessions, and cookies that come are its own (``met_cookies``).
        """
        host = url.host
        if self._set_by and _group(host) in self._set_by:
            share = self._jar
        else:
            number = hash(host) % SHARES if url.href.startswith("https:") else 0
            share = self._tls.get(number) or self._tls.setdefault(number, _sharing(pycurl.LOCK_DATA_SSL_SESSION))
        if share is not has:
            if has is not None:
                curl.unsetopt(pycurl.SHARE)
            curl.setopt(pycurl.SHARE, share)
        return share

    def met_cookies(self, curl: pycurl.Curl, share: pycurl.CurlShare, said: Sequence[str] = ()) -> None:
        """A response set cookies, and ``said`` so: they go into the jar, which is bounded."""
        self.met += 1
        if any(len(each) > MAX_COOKIE and len(each.partition(";")[0]) > MAX_COOKIE for each in said):
            note("cookie-bytes")  # libcurl leaves it out
        if share is not self._jar:
            self._put(curl.getinfo(pycurl.INFO_COOKIELIST))
            curl.setopt(pycurl.COOKIELIST, "ALL")
        if self.met % _LOOK_EVERY == 0:
            self._look()

    def _put(self, lines: Iterable[str]) -> None:
        """Put cookies into the jar."""
        for line in lines:
            self._keeper.setopt(pycurl.COOKIELIST, line)
            self._set_by.add(_group(_domain(line)))

    def _look(self) -> None:
        """See that cookies do not grow without end."""
        if len(self._lines()) > MAX_COOKIES:
            note("cookies")
            self._keeper.setopt(pycurl.COOKIELIST, "SESS")
            if len(self._lines()) > MAX_COOKIES:
                self._keeper.setopt(pycurl.COOKIELIST, "ALL")
        self._set_by = {_group(_domain(line)) for line in self._lines()}

    def _lines(self) -> list[str]:
        found: list[str] = self._keeper.getinfo(pycurl.INFO_COOKIELIST)
        return found

    def anonymous(self) -> list[str]:
        """Return the cookies of domains where nobody has rights of their own, as lines of a Netscape file."""
        private = tuple({*self._domains, *(f".{Url.parse(site + '/').host}" for site in self._private)})
        return [line for line in self._lines() if not _touches(line, private)]


def _sharing(what: int) -> pycurl.CurlShare:
    share = pycurl.CurlShare()
    share.setopt(pycurl.SH_SHARE, what)
    return share


def _domain(line: str) -> str:
    """The domain of a cookie."""
    return line.split("\t", 1)[0].removeprefix("#HttpOnly_").lstrip(".").lower()


def _group(host: str) -> str:
    """The last two labels of a host, which all hosts that may get one another's cookies share."""
    return ".".join(host.rsplit(".", 2)[-2:])


def _touches(line: str, private: tuple[str, ...]) -> bool:
    """Whether a cookie is for one of the domains, for one below it or for one above it."""
    domain = f".{_domain(line)}"
    return any(domain.endswith(each) or each.endswith(domain) for each in private)


def redacted(head: bytes) -> bytes:
    """Return a response head without the values of its cookies."""
    return _SET_COOKIE.sub(rb"\1" + REDACTED.encode(), head)


def read_cookies(path: Path) -> list[str]:
    """Return the cookies of a Netscape file or of a browser's storage state (JSON), as lines of the former.

    Raises ``UserError`` for a file that is neither.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read the cookies in {path}: {error}") from None
    if text.lstrip().startswith(("{", "[")):
        return _storage_state(path, text)
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or (line.startswith("#") and not line.startswith("#HttpOnly_")):
            continue
        if line.count("\t") != 6:
            raise UserError(f"{path}, line {number} is no cookie of a Netscape file: seven fields, tabs between them")
        lines.append(line)
    return lines


def _storage_state(path: Path, text: str) -> list[str]:
    try:
        said: Any = json.loads(text)
        cookies = said["cookies"] if isinstance(said, dict) else said
        return [_netscape(cookie) for cookie in cookies]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UserError(
            f"{path} is no storage state: a JSON object with cookies, as browsers' tools write it"
        ) from None


def _netscape(cookie: Mapping[str, Any]) -> str:
    domain, expires = str(cookie["domain"]), cookie.get("expires", -1)
    below = "TRUE" if domain.startswith(".") else "FALSE"
    secure = "TRUE" if cookie.get("secure") else "FALSE"
    when = str(int(expires)) if isinstance(expires, int | float) and expires > 0 else "0"
    fields = [domain, below, str(cookie.get("path", "/")), secure, when, str(cookie["name"]), str(cookie["value"])]
    if any(_UNFIT.search(part) or "\t" in part for part in fields):
        raise ValueError("a cookie with control characters")
    return "\t".join(fields)
