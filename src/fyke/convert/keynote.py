"""Keynote presentations of 2013 and later: the text of the slides, from the archives of objects (IWA) inside.

An archive is chunks of Snappy (a zero, three bytes of length), and in them objects one after the other: their number
and the types and lengths of their messages, then the messages, all as protocol buffers. Texts are messages of the type
``TSWP.StorageArchive``; which slide comes when, the show's tree tells. Only the fields named here are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from html import escape
from typing import NamedTuple

from fyke.convert.html import document
from fyke.convert.members import open_zip, read_zip
from fyke.convert.registry import Refused, Source
from fyke.formats import html as pages
from fyke.values import Document, Reason

MAX_ARCHIVES = 32_000_000
"""Bytes of all archives together: a thousand slides have some."""
_SHOW, _NODE, _SLIDE, _PLACEHOLDER = 2, 4, 5, 7
_TEXTS = frozenset({2001, 2005})
_TITLE = 2
"""The kind of a placeholder that holds a slide's title."""
_OBJECT = "\ufffc"

Field = int | bytes


class _Object(NamedTuple):
    """A message of an object."""

    type: int
    data: bytes
    slide: str
    """The archive that it stands in."""


def convert(source: Source) -> Document:
    """Return a presentation, a heading for each slide that has a title; refuses what has no such archives."""
    objects, bad = _objects(source)
    if not objects:
        raise Refused(Reason.DAMAGED, "no archives of objects in the package")
    held = {one.slide for one in objects.values() if one.type == _SLIDE}
    order = [name for name in _order(objects) if name in held]
    markup = [_slide(name, objects) for name in dict.fromkeys([*order, *sorted(held - set(order))])]
    found = document(pages.parse("".join(markup)), None, source.url, source.media_type, table=source.table)
    return replace(found, failure=Reason.DAMAGED, detail="; ".join(bad[:3])) if bad else found


def _objects(source: Source) -> tuple[dict[int, _Object], list[str]]:
    """Return the objects by their numbers, and which archives are damaged: each loses only itself."""
    found: dict[int, _Object] = {}
    bad: list[str] = []
    room = MAX_ARCHIVES
    with open_zip(source.data) as package:
        for name in package.namelist()[: source.limits.max_parts]:
            if not name.startswith(("Index/Slide", "Index/Document")) or not name.endswith(".iwa"):
                continue
            try:
                data = _expanded(read_zip(package, name, source.limits), room)
                room -= len(data)
                found.update(_messages(data, name))
            except (Refused, IndexError, ValueError):
                bad.append(f"{name} can not be read")
    return found, bad


def _order(objects: dict[int, _Object]) -> Iterator[str]:
    """Yield the archives of the slides as they are shown."""
    shows = [one for one in objects.values() if one.type == _SHOW]
    for show in shows:
        for tree in _all(show.data, 3):
            for node in (objects.get(_reference(said)) for said in _all(tree, 2)):
                if node is not None and node.type == _NODE:
                    yield from (objects[at].slide for said in _all(node.data, 2) if (at := _reference(said)) in objects)


def _slide(name: str, objects: dict[int, _Object]) -> str:
    own = {number: one for number, one in objects.items() if one.slide == name}
    titles = {
        _reference(said)
        for one in own.values()
        if one.type == _PLACEHOLDER and dict(_fields(one.data)).get(2) == _TITLE
        for shape in _all(one.data, 1)
        for _, said in _fields(shape)
        if isinstance(said, bytes)
    }
    out: list[str] = []
    for number, one in sorted(own.items(), key=lambda each: each[0] not in titles):
        if one.type in _TEXTS:
            said = b"".join(_all(one.data, 3)).decode("utf-8", "replace").replace(_OBJECT, " ")
            lines = [escape(line.strip()) for line in said.replace("\u2028", "\n").split("\n") if line.strip()]
            tag = "h2" if number in titles and len(lines) == 1 else "p"
            out += [f"<{tag}>{line}</{tag}>" for line in lines]
    return "".join(out)


def _messages(data: bytes, name: str) -> Iterator[tuple[int, _Object]]:
    """Yield the first message of each object of an archive, by the object's number."""
    at = 0
    while at < len(data):
        size, at = _number(data, at)
        info = data[at : at + size]
        at += size
        number = next((said for key, said in _fields(info) if key == 1 and isinstance(said, int)), 0)
        for place, about in enumerate(_all(info, 2)):
            told = dict(_fields(about))
            kind, length = told.get(1, 0), told.get(3, 0)
            if not isinstance(kind, int) or not isinstance(length, int):
                return
            if place == 0:
                yield number, _Object(kind, data[at : at + length], name)
            at += length


def _all(data: bytes, wanted: int) -> Iterator[bytes]:
    return (said for key, said in _fields(data) if key == wanted and isinstance(said, bytes))


def _reference(data: bytes) -> int:
    said = next(_fields(data), (0, 0))
    return said[1] if said[0] == 1 and isinstance(said[1], int) else 0


def _fields(data: bytes) -> Iterator[tuple[int, Field]]:
    """Yield the fields of a message, up to the first that is none."""
    at = 0
    try:
        while at < len(data):
            key, at = _number(data, at)
            kind = key & 7
            if kind == 0:
                said, at = _number(data, at)
                yield key >> 3, said
            elif kind in (1, 2, 5):
                size = 8 if kind == 1 else 4
                if kind == 2:
                    size, at = _number(data, at)
                if at + size > len(data):
                    return
                yield key >> 3, data[at : at + size]
                at += size
            else:
                return
    except IndexError:
        return


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return the variable-length number at a place, and the place behind it."""
    value = shift = 0
    while shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
    raise ValueError("a number without an end")


def _expanded(data: bytes, room: int) -> bytes:
    """Return the chunks of an archive, expanded."""
    out = bytearray()
    at = 0
    while at + 4 <= len(data):
        end = at + 4 + int.from_bytes(data[at + 1 : at + 4], "little")
        _snappy(data[at + 4 : end], out, room)
        at = end
    return bytes(out)


def _snappy(data: bytes, out: bytearray, room: int) -> None:
    """Append what a Snappy chunk holds: literals, and copies of what came before."""
    _, at = _number(data, 0)
    start = len(out)
    while at < len(data):
        tag = data[at]
        at += 1
        kind, size = tag & 3, (tag >> 2) + 1
        if kind == 0:
            if size > 60:
                width = size - 60
                size = int.from_bytes(data[at : at + width], "little") + 1
                at += width
            out += data[at : at + size]
            at += size
        else:
            if kind == 1:
                size, back, at = (tag >> 2 & 7) + 4, tag >> 5 << 8 | data[at], at + 1
            else:
                width = 2 if kind == 2 else 4
                back, at = int.from_bytes(data[at : at + width], "little"), at + width
            if not 0 < back <= len(out) - start:
                raise ValueError("a copy of nothing")
            begin = len(out) - back
            piece = bytes(out[begin : begin + size])
            out += (piece * (size // len(piece) + 1))[:size]
        if len(out) > room:
            raise ValueError("the archive is too large")
