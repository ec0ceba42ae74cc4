"""Links as values: one, and those of a page in columns or packed.

Part of the vocabulary: ``fyke.values`` hands it on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import msgspec

from fyke.url import Url


class Link(msgspec.Struct, frozen=True, gc=False):
    """A link as a document offers it (fifty a page: a struct costs a sixth of a dataclass)."""

    target: Url
    text: str = ""
    """Anchor text, white space folded."""
    rel: str = ""
    """The rel attribute in lower case, or the element for links that are not anchors (``frame``, ``area``)."""


_decode_hrefs = msgspec.msgpack.Decoder(tuple[list[str], msgspec.Raw, msgspec.Raw]).decode
_decode_columns = msgspec.msgpack.Decoder(tuple[list[str], list[str], list[str]]).decode


class Links(Sequence[Link]):
    """The links of a page, kept in columns: fifty of them are three lists, or as MessagePack, that of lists. Immutable.

    Most of a crawl's pages are found, stored and inverted as packed, and nobody asks for a list.
    """

    __slots__ = ("_columns", "_count", "_hrefs", "_targets", "has_texts", "packed")

    def __init__(self, hrefs: Sequence[str] = (), texts: Sequence[str] = (), rels: Sequence[str] = ()) -> None:
        """REQUIRES: hrefs are URLs in normal form; the columns are equally long, and nobody changes them any more."""
        self._hrefs: Sequence[str] | None = hrefs
        self._columns: tuple[Sequence[str], Sequence[str]] | None = texts, rels
        self._count = len(hrefs)
        self.has_texts = any(texts)
        """Whether one of them has an anchor text."""
        self.packed: bytes | None = None
        """As a store keeps them, once it does."""
        self._targets: list[Url] | None = None

    @classmethod
    def of_packed(cls, packed: bytes, count: int, has_texts: bool) -> Links:
        """Return so many links that are packed. REQUIRES: as a store would pack them."""
        made = cls()
        made._hrefs = made._columns = None
        made._count, made.has_texts, made.packed = count, has_texts, packed
        return made

    @property
    def hrefs(self) -> Sequence[str]:
        """Their addresses."""
        if self._hrefs is None:
            assert self.packed is not None
            self._hrefs = _decode_hrefs(self.packed)[0]
        return self._hrefs

    @property
    def texts(self) -> Sequence[str]:
        """Their texts."""
        return self._others()[0]

    @property
    def rels(self) -> Sequence[str]:
        """Their rels."""
        return self._others()[1]

    def _others(self) -> tuple[Sequence[str], Sequence[str]]:
        if self._columns is None:
            assert self.packed is not None
            self._columns = _decode_columns(self.packed)[1:]
        return self._columns

    @property
    def targets(self) -> Sequence[Url]:
        """Where they lead, in order. Most of them nobody asks for: they were seen before."""
        if self._targets is None:
            self._targets = [*map(Url, self.hrefs)]
        return self._targets

    @overload
    def __getitem__(self, at: int) -> Link: ...
    @overload
    def __getitem__(self, at: slice) -> Links: ...
    def __getitem__(self, at: int | slice) -> Link | Links:
        if isinstance(at, slice):
            return Links(self.hrefs[at], self.texts[at], self.rels[at])
        return Link(Url(self.hrefs[at]), self.texts[at], self.rels[at])

    def __iter__(self) -> Iterator[Link]:
        return map(Link, self.targets, self.texts, self.rels)

    def __len__(self) -> int:
        return self._count

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    @classmethod
    def of(cls, links: Sequence[Link]) -> Links:
        """Return ``links`` in columns."""
        if isinstance(links, Links):
            return links
        return cls([link.target.href for link in links], [link.text for link in links], [link.rel for link in links])
