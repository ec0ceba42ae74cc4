"""What travels between rooms: frozen values for requests, outcomes, links, documents and contents.

The life of a request is a value too. ``Outcome`` is one of four things that the web can do:

- ``Fetched``: a document came (2xx);
- ``Unchanged``: the copy that we hold is still right (304);
- ``Moved``: look elsewhere (3xx), a new request that passes through every rule again;
- ``Failed``: nothing usable came, for a ``reason`` that is counted, with the time to try again if the server named one.

Times are seconds since 1970 in UTC as floats, ``0.0`` where unknown; sizes are bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, overload

import msgspec
import numpy as np
import numpy.typing as npt

from fyke.content import BLOCK_END as BLOCK_END  # noqa: PLC0414 - handed on
from fyke.content import Block as Block  # noqa: PLC0414
from fyke.content import Content as Content  # noqa: PLC0414
from fyke.description import NO_SIGNALS as NO_SIGNALS  # noqa: PLC0414
from fyke.description import Described as Described  # noqa: PLC0414
from fyke.description import Meta as Meta  # noqa: PLC0414
from fyke.description import Signals as Signals  # noqa: PLC0414
from fyke.description import Usage as Usage  # noqa: PLC0414
from fyke.links import Link as Link  # noqa: PLC0414
from fyke.links import Links as Links  # noqa: PLC0414
from fyke.url import Url

_TAG = struct.Struct("<iii")


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
    LOGIN = "login"
    """It is there for whoever is logged in, and we are not."""
    # what the server said
    CLIENT_ERROR = "client-error"
    GONE = "gone"
    TOO_MANY_REQUESTS = "too-many-requests"
    SERVER_ERROR = "server-error"
    # what a document turned out to be
    TOO_LARGE = "too-large"
    ENCRYPTED = "encrypted"
    EMPTY = "empty"
    DAMAGED = "damaged"
    UNSUPPORTED = "unsupported"
    # what it did to us
    QUARANTINED = "quarantined"
    UNREADABLE = "unreadable"
    """A fault of fyke's own while reading it; the log tells."""
    # what its scripts did to the browser; what the server sent is kept all the same
    RENDER_TIMEOUT = "render-timeout"
    RENDER_CRASH = "render-crash"


class Drop(StrEnum):
    """Why a URL that was found is not queued; ``fyke status`` counts by these."""

    # it names no document that we fetch
    JAVASCRIPT = "javascript"
    MAILTO = "mailto"
    DATA = "data"
    SCHEME = "scheme"
    INVALID = "invalid"
    PORT = "port"
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
    LOGIN = "login"
    """It asks for a login that is made already."""
    POST = "post"
    """A form would be posted, and that is not allowed."""
    HOOK = "hook"
    """A hook of the user's did not want it."""
    LOGOUT = "logout"
    """It would end the session, or delete something."""
    # it looks like a trap
    LENGTH = "length"
    PATH_DEPTH = "path-depth"
    REPETITION = "repetition"
    QUERY = "query"
    CALENDAR = "calendar"
    SAME_CONTENT = "same-content"
    SOFT_ERROR = "soft-error"
    TOO_MANY_LINKS = "too-many-links"
    REDIRECTS = "redirects"


@dataclass(frozen=True, slots=True)
class Validators:
    """What a server gave with the last copy so that it can answer "unchanged"."""

    etag: str = ""
    last_modified: str = ""


class Request(msgspec.Struct, frozen=True, gc=False):
    """One thing to ask of a server."""

    url: Url
    method: str = "GET"
    validators: Validators = Validators()
    form: bytes = b""
    """What a POST sends, as application/x-www-form-urlencoded."""
    headers: tuple[tuple[str, str], ...] = ()
    """Further headers, name and value."""


class Coded(NamedTuple):
    """A body in the content coding in which it was sent."""

    coding: str
    """As the header Content-Encoding names it."""
    data: bytes


class Exchange(msgspec.Struct, frozen=True, gc=False):
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
    incomplete: bool = False
    """The connection ended, or its time was over, before the body was whole: it may be whole another time."""
    private: bool = False
    """It was had with somebody's credentials."""
    tls: str = ""
    """What was wrong with the server's certificate, where the user accepts that."""
    coded: Coded | None = None
    """The whole body as it was sent, where that was shorter and in one coding which a store can keep."""


class Fetched(msgspec.Struct, frozen=True, gc=False):
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
    certain: bool = False
    """Of names and addresses: somebody said so (no such name, connection refused), so it is not our own network."""


Outcome = Fetched | Unchanged | Moved | Failed


TAG_NAMES = (
    *("h1", "h2", "h3", "h4", "h5", "h6", "p", "ul", "ol", "li", "table", "tr", "td", "th", "caption", "pre"),
    *("blockquote", "a", "strong", "em", "img", "br", "hr", "code", "del", "sup", "sub"),
)
"""The elements of tagged text; in ``Tags`` a name is its place here, so names are only ever added at the end."""


class Tag(NamedTuple):
    """A tag of a document's plain text: ``text[start:end]`` stands inside ``<name>``."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Tags(Sequence[Tag]):
    """The tags of a text in the order of their starts, outer before inner; a page has hundreds, so they are packed."""

    packed: bytes = b""
    """Three 32-bit integers for each, little-endian: name, start, end."""

    @classmethod
    def of(cls, tags: Iterable[tuple[str, int, int]]) -> Tags:
        """Pack (name, start, end)."""
        return cls(b"".join(_TAG.pack(TAG_NAMES.index(name), start, end) for name, start, end in tags))

    def moved(self, by: int) -> Tags:
        """The same tags, that many characters further on."""
        return Tags(
            b"".join(_TAG.pack(name, start + by, end + by) for name, start, end in _TAG.iter_unpack(self.packed))
        )

    def __len__(self) -> int:
        return len(self.packed) // _TAG.size

    def __iter__(self) -> Iterator[Tag]:
        return (Tag(TAG_NAMES[name], start, end) for name, start, end in _TAG.iter_unpack(self.packed))

    @overload
    def __getitem__(self, index: int) -> Tag: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Tag, ...]: ...
    def __getitem__(self, index: int | slice) -> Tag | tuple[Tag, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        if not -len(self) <= index < len(self):
            raise IndexError(f"tag {index} of {len(self)}")
        name, start, end = _TAG.unpack_from(self.packed, index % len(self) * _TAG.size)
        return Tag(TAG_NAMES[name], start, end)


@dataclass(frozen=True, slots=True)
class Document:
    """A document of any format as tagged text. ``failure`` says what went wrong, if anything did."""

    html: str
    """A clean subset of HTML: ``TAG_NAMES``, with ``href`` and ``title`` of ``a``, ``alt``, ``src`` and ``title`` of
    ``img``, ``start`` of ``ol``, ``colspan``, ``rowspan`` and ``align`` of cells, and ``class="language-…"`` of ``pre``
    and of formulas, which are ``code``. ``formats.markdown`` makes Markdown of it."""
    text: str
    """The main text of a page; of any other format all of it."""
    tags: Tags = Tags()
    """Of ``whole``."""
    title: str = ""
    language: str = ""
    media_type: str = ""
    encoding: str = ""
    """The WHATWG name, for formats that are text."""
    encoding_from: str = ""
    """What decided it: ``bom``, ``http``, ``meta``, ``xml``, ``utf-8``, ``detected``, ``default``."""
    replaced: int = 0
    """Malformed bytes that became U+FFFD."""
    meta: Meta = Meta()  # noqa: RUF009 - frozen
    links: tuple[Link, ...] = ()
    failure: Reason | None = None
    """Why there is no text, or why it is not whole."""
    detail: str = ""
    name: str = ""
    """The name of a member or attachment inside its container."""
    parts: tuple[Document, ...] = ()
    """The members of an archive, the messages of a mailbox, the attachments of a message; their text is in ``text``."""
    whole: str = ""
    """``html`` as plain text: lines for items and rows, empty lines between paragraphs, tabs between cells. It is
    ``text`` where nothing else is said."""

    def __post_init__(self) -> None:
        if not self.whole:
            object.__setattr__(self, "whole", self.text)


NOT_KEPT: npt.NDArray[np.float64] = np.empty(0)


@dataclass(frozen=True, slots=True)
class Candidates:
    """URLs that wait for a priority, as arrays of equal length."""

    depth: npt.NDArray[np.int32]
    inlinks: npt.NDArray[np.int32]
    parent_score: npt.NDArray[np.float32]
    sitemap_priority: npt.NDArray[np.float32]
    is_seed: npt.NDArray[np.bool_]
    change_rate: npt.NDArray[np.float32]
    cash: npt.NDArray[np.float64] = field(default_factory=lambda: NOT_KEPT)
    """OPIC's; this and what follows is empty where nobody keeps it."""
    rank: npt.NDArray[np.float64] = field(default_factory=lambda: NOT_KEPT)
    """PageRank over what was crawled so far."""
    authority: npt.NDArray[np.float64] = field(default_factory=lambda: NOT_KEPT)
    """The mean rank of the pages of the host."""
    spam: npt.NDArray[np.float64] = field(default_factory=lambda: NOT_KEPT)
    """0 honest … 1 spam."""
    path_depth: npt.NDArray[np.float64] = field(default_factory=lambda: NOT_KEPT)
    """Segments of the URL's path; a query is one more."""
    host_pages: npt.NDArray[np.float64] = field(default_factory=lambda: NOT_KEPT)
    """Pages fetched of the host so far."""
    mean_cash: float = 0.0
    """Of all waiting pages; so are the other means."""
    mean_rank: float = 0.0
    mean_inlinks: float = 0.0
