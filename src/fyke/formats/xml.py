"""XML: a stream of starts, texts and ends from bytes that may be malformed; entities never expand, nothing is loaded.

libxml2 reads (lxml, recovering): it bounds depth at 256 elements and never fetches a DTD. An entity that the document
declares itself is left out, so none can grow; those of HTML are resolved.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

from lxml import etree


class Start(NamedTuple):
    """An element begins."""

    name: str
    """As written, prefix and all: ``dc:creator``."""
    attributes: dict[str, str]
    """By local name."""


class End(NamedTuple):
    """An element ends."""

    name: str


Event = Start | End | str
"""A string is text."""


def events(data: bytes | str) -> Iterator[Event]:
    """Yield the events of a document in order; of a damaged one, those that can be recovered. Never raises."""
    parser = etree.XMLParser(
        recover=True,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
    try:
        root = etree.fromstring(raw, parser)
    except (etree.XMLSyntaxError, ValueError):
        return
    if root is None:
        return
    for what, element in etree.iterwalk(root, events=("start", "end")):
        if element.tag is etree.Entity:  # a reference that was left alone: HTML's are known, others are nothing
            resolved = unescape(element.text or "")
            if what == "start" and resolved != element.text:
                yield resolved
        elif what == "start":
            yield Start(_name(element), {etree.QName(key).localname: value for key, value in element.attrib.items()})
            yield from _text(element.text)
        else:
            yield End(_name(element))
        if what == "end" and element is not root:
            yield from _text(element.tail)


def _name(element: etree._Element) -> str:
    local: str = etree.QName(element).localname
    return f"{element.prefix}:{local}" if element.prefix else local


def _text(text: str | None) -> Iterator[str]:
    if text:
        yield text
