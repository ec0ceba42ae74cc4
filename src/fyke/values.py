"""What travels between rooms: frozen values for requests, outcomes, links, documents and contents.

The life of a request is a value too. ``Outcome`` is one of four things that the web can do:

- ``Fetched``: a document came (2xx);
- ``Unchanged``: the copy that we hold is still right (304);
- ``Moved``: look elsewhere (3xx), a new request that passes through every rule again;
- ``Failed``: nothing usable came, for a ``reason`` that is counted, with the time to try again if the server named one.

Times are seconds since 1970 in UTC as floats, ``0.0`` where unknown; sizes are bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import msgspec
import numpy as np
import numpy.typing as npt

from fyke.url import Url


class Reason(StrEnum):
    """Why nothing usable came, or why a URL or document was dropped; ``fyke status`` counts by these."""

    # what the network did
    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    RESET = "reset"
    PROTOCOL = "protocol"
    PRIVATE_ADDRESS = "private-address"
    # what the server said
    CLIENT_ERROR = "client-error"
    GONE = "gone"
    TOO_MANY_REQUESTS = "too-many-requests"
    SERVER_ERROR = "server-error"
    REDIRECT_LOOP = "redirect-loop"
    # what a document turned out to be
    TOO_LARGE = "too-large"
    ENCRYPTED = "encrypted"
    EMPTY = "empty"
    DAMAGED = "damaged"
    UNSUPPORTED = "unsupported"
    # what it did to us
    QUARANTINED = "quarantined"


class Drop(StrEnum):
    """Why a URL that was found is not queued; ``fyke status`` counts by these."""

    # it names no document that we fetch
    JAVASCRIPT = "javascript"
    MAILTO = "mailto"
    DATA = "data"
    SCHEME = "scheme"
    INVALID = "invalid"
    FRAGMENT = "fragment"
    # somebody asked us not to
    NOFOLLOW = "nofollow"
    ROBOTS = "robots"
    # the user does not want it
    SCOPE = "scope"
    EXCLUDED = "excluded"
    NOT_INCLUDED = "not-included"
    TYPE = "type"
    DEPTH = "depth"
    HOST_PAGES = "host-pages"
    # it looks like a trap
    LENGTH = "length"
    PATH_DEPTH = "path-depth"
    REPETITION = "repetition"
    QUERY = "query"
    CALENDAR = "calendar"
    SESSION = "session"
    SAME_CONTENT = "same-content"
    SOFT_ERROR = "soft-error"
    TOO_MANY_LINKS = "too-many-links"
    REDIRECTS = "redirects"


@dataclass(frozen=True, slots=True)
class Validators:
    """What a server gave with the last copy so that it can answer "unchanged"."""

    etag: str = ""
    last_modified: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """One thing to ask of a server."""

    url: Url
    method: str = "GET"
    validators: Validators = Validators()


@dataclass(frozen=True, slots=True)
class Exchange:
    """What went over the wire: enough to write a WARC record from."""

    request_head: bytes
    response_head: bytes
    """Status line and header lines exactly as received, up to and with the empty line."""
    body: bytes
    """Decoded from transfer and content encoding."""
    status: int
    started: float
    finished: float
    address: str = ""
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Fetched:
    """A document came."""

    url: Url
    exchange: Exchange


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The copy that we hold is still right."""

    url: Url
    exchange: Exchange


@dataclass(frozen=True, slots=True)
class Moved:
    """The document is elsewhere; ``target`` is not yet checked against any rule."""

    url: Url
    target: Url
    permanent: bool
    exchange: Exchange


@dataclass(frozen=True, slots=True)
class Failed:
    """Nothing usable came."""

    url: Url
    reason: Reason
    retry_at: float | None = None
    """When the server asked to be tried again (Retry-After); None where it did not say."""
    detail: str = ""
    exchange: Exchange | None = None


Outcome = Fetched | Unchanged | Moved | Failed


class Link(msgspec.Struct, frozen=True, gc=False):
    """A link as a document offers it (fifty a page: a struct costs a sixth of a dataclass)."""

    target: Url
    text: str = ""
    """Anchor text, white space folded."""
    rel: str = ""
    """The rel attribute in lower case, or the element for links that are not anchors (``frame``, ``area``)."""


@dataclass(frozen=True, slots=True)
class Meta:
    """The canonical fields that documents of all formats share (formats/tags.py maps source tags to them).

    Dates are ISO 8601 in UTC with the precision of the source: ``2008``, ``2008-09``, ``2008-09-28T23:41:50Z``.
    """

    author: str = ""
    published: str = ""
    updated: str = ""
    received: str = ""
    section: str = ""
    source: str = ""
    place: str = ""
    description: str = ""
    keywords: str = ""


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag of a document's plain text: ``text[start:end]`` stands inside ``<name>``."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Document:
    """A document of any format as tagged text. ``failure`` says what went wrong, if anything did."""

    html: str
    """A clean subset of HTML: h1–h6, p, ul, ol, li, table, a, em, strong, pre, blockquote, img alt."""
    text: str
    tags: tuple[Tag, ...] = ()
    title: str = ""
    language: str = ""
    media_type: str = ""
    encoding: str = ""
    meta: Meta = Meta()
    links: tuple[Link, ...] = ()
    failure: Reason | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A run of a page's text between block-level tags, with what the cleaner thinks of it."""

    text: str
    kind: str
    """What it is: paragraph, heading, list, table, caption, comment, navigation, …"""
    weight: float
    """0 furniture … 1 main content."""


@dataclass(frozen=True, slots=True)
class Content:
    """The main content of a page."""

    text: str
    html: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Candidates:
    """URLs that wait for a priority, as arrays of equal length."""

    depth: npt.NDArray[np.int32]
    inlinks: npt.NDArray[np.int32]
    parent_score: npt.NDArray[np.float32]
    sitemap_priority: npt.NDArray[np.float32]
    is_seed: npt.NDArray[np.bool_]
    change_rate: npt.NDArray[np.float32]
