"""XML from bytes that may be malformed: starts, texts and ends, or elements one by one; nothing expands or is loaded.

libxml2 reads (lxml, recovering): it bounds depth at 256 elements and never fetches a DTD. For ``events`` an entity that
the document declares itself is left out, so none can grow; those of HTML are resolved. For ``stream`` every ``&`` that
is not one of XML's own five or a number is text (``repaired``), so there is nothing to resolve.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from html import unescape
from io import BytesIO
from typing import Any, NamedTuple

from lxml import etree

from fyke.limits import note

_BARE = rb"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});)"
_UNENDED = rb"<(?=[^!?<>][^<>]*+<|<|\?[^A-Za-z_:\x80-\xff])"
_AMPERSAND, _TAG = re.compile(_BARE), re.compile(_UNENDED)
_LOOSE = re.compile(rb"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|" + _UNENDED + rb"|" + _BARE, re.DOTALL)
_ESCAPED = {b"&": b"&amp;", b"<": b"&lt;"}
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r"))
_HEAD = 65_536
"""Bytes in which the root must begin: after warnings that a script printed, say."""
_PROLOGUE = re.compile(rb"<\?xml\s")
MAX_ATTRIBUTES = 256
"""Of one element that ``events`` tells; nothing in use has as many."""
_WIDE = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be", b"<\0": "utf-16-le", b"\0<": "utf-16-be"}


class Start(NamedTuple):
    """An element begins."""

    name: str
    """As written, prefix and all: ``dc:creator``."""
    attributes: dict[str, str]
    """By local name, at most ``MAX_ATTRIBUTES``."""


class End(NamedTuple):
    """An element ends."""

    name: str


Event = Start | End | str
"""A string is text."""


# What a site sent: nothing is expanded, loaded or fetched, and what can be recovered is.
Element = etree._Element
"""An element of a tree, for who reads one."""
XMLSyntaxError = etree.XMLSyntaxError

_HOSTILE: dict[str, Any] = {
    "recover": True,
    "resolve_entities": False,
    "no_network": True,
    "load_dtd": False,
    "huge_tree": False,
    "remove_comments": True,
    "remove_pis": True,
}


def events(data: bytes | str) -> Iterator[Event]:
    """Yield the events of a document in order; of a damaged one, those that can be recovered. Never raises."""
    parser = etree.XMLParser(**_HOSTILE)
    raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
    try:
        root = etree.fromstring(raw, parser)
    except (etree.XMLSyntaxError, ValueError):
        return
    last = parser.error_log.last_error
    if last is not None and "depth" in last.message:  # the reader stops there
        note("xml-depth")
    if root is None:
        return
    for what, element in etree.iterwalk(root, events=("start", "end")):
        if element.tag is etree.Entity:  # a reference that was left alone: HTML's are known, others are nothing
            resolved = unescape(element.text or "")
            if what == "start" and resolved != element.text:
                yield resolved
            elif what == "start":
                note("xml-entities")
        elif what == "start":
            yield Start(_name(element), _attributes(element))
            yield from _text(element.text)
        else:
            yield End(_name(element))
        if what == "end" and element is not root:
            yield from _text(element.tail)


def _attributes(element: etree._Element) -> dict[str, str]:
    """The first ones by local name. lxml searches each value from the first attribute on: all would be n² steps."""
    keys = element.keys()
    if len(keys) > MAX_ATTRIBUTES:
        note("xml-attributes")
        keys = keys[:MAX_ATTRIBUTES]
    return {key.rpartition("}")[2].rpartition(":")[2]: element.get(key, "") for key in keys}


def _name(element: etree._Element) -> str:
    local = element.tag.rpartition("}")[2]  # with a prefix that is bound to nothing, as a damaged document may have
    return f"{element.prefix}:{local}" if element.prefix else local


def _text(text: str | None) -> Iterator[str]:
    if text:
        yield text


def widened(data: bytes) -> tuple[bytes, str | None]:
    """Return ``data`` in a super-set of ASCII without mark or white space before it, and its encoding where changed.

    UTF-16 becomes UTF-8, whatever the declaration says; other encodings are left to the declaration.
    """
    wide = _WIDE.get(data[:2])
    if wide:
        data = data.decode(wide, "replace").encode("utf-8", "replace")
    return data.removeprefix(b"\xef\xbb\xbf").lstrip(), "utf-8" if wide else None


def root_pattern(*names: str) -> re.Pattern[bytes]:
    """Return a pattern for the start tag of an element of one of these names, in any case and namespace."""
    return re.compile(rb"<(?:[\w.-]{1,64}:)?(" + "|".join(names).encode() + rb")[\s>/]", re.IGNORECASE)


def from_root(data: bytes, root: re.Pattern[bytes]) -> tuple[str, bytes]:
    """Return the name of the element that ``root`` finds, in lower case, and ``data`` from its prologue on.

    An empty name where there is no such element.
    """
    found = root.search(data, 0, _HEAD)
    if found is None:
        return "", data
    prologue = _PROLOGUE.search(data, 0, found.start())
    return found[1].decode().lower(), data[(prologue or found).start() :]


def repaired(data: bytes) -> bytes:
    """Return ``data`` without control characters, its signs that begin nothing escaped.

    That is each ``&`` that begins no reference of XML's own, and each ``<`` of an instruction without a name or of a
    tag before whose end another begins: libxml2, fed piece by piece, looks for their ends as far as the file goes, for
    each of them anew.
    """
    data = data.translate(None, _CONTROLS)
    if b"<![CDATA[" not in data and _TAG.search(data) is None:
        return _AMPERSAND.sub(b"&amp;", data)
    return _LOOSE.sub(lambda match: _ESCAPED.get(match[0], match[0]), data)


def stream(data: bytes, encoding: str | None = None, name: str = "") -> etree.iterparse:
    """Return an iterator of ("end", element); the elements are whole, and the caller's to ``discard``.

    With ``name``, only of the elements of that name, in any namespace, in lower, upper or title case.

    It may raise ``etree.XMLSyntaxError`` where nothing can be recovered any more; its ``error_log`` tells the rest.
    """
    return etree.iterparse(
        BytesIO(data),
        events=("end",),
        tag=["{*}" + form for form in (name, name.upper(), name.title())] if name else None,
        encoding=encoding,
        **_HOSTILE,
    )


def discard(element: etree._Element) -> None:
    """Free an element that was read, and its elder siblings, so that no tree grows."""
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]


def text_of(element: etree._Element) -> str:
    """Return all text inside an element."""
    return "".join(element.itertext()) if len(element) else element.text or ""


def attribute(element: etree._Element, name: str) -> str:
    """Return an attribute by its local name in lower case, whatever its case and namespace; empty where it is not."""
    key = next((key for key in element.keys() if key.rpartition("}")[2].lower() == name), None)  # noqa: SIM118
    return "" if key is None else str(element.get(key))


def local_name(element: etree._Element) -> str:
    """Return the name in lower case, without namespace or prefix; empty for what is no element."""
    return _lower_local(element.tag) if isinstance(element.tag, str) else ""


@lru_cache(maxsize=1024)
def _lower_local(tag: str) -> str:
    return tag.rpartition("}")[2].rpartition(":")[2].lower()
