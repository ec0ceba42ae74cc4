"""Archives: each member is a document of its own among ``parts``; the whole holds the text of all of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from html import escape

from fyke.convert.html import tagged
from fyke.convert.members import Member, members
from fyke.convert.registry import Refused, Source
from fyke.formats import html as pages
from fyke.formats.sniff import sniff
from fyke.values import Document, Reason

_FURNITURE = ("__MACOSX/", ".DS_Store", "Thumbs.db")


def convert(source: Source) -> Document:
    """Return an archive's members, or the one document inside a compressed file."""
    parts: list[Document] = []
    failure: Refused | None = None
    try:
        for member in members(source.data, source.media_type, source.limits):
            if not any(name in member.name for name in _FURNITURE):
                parts.append(part(member, source))
                failure = failure or member.failure
    except Refused as refused:
        failure = refused
    if not parts and failure:
        raise failure
    if len(parts) == 1 and not parts[0].name:
        return parts[0]
    return joined(parts, source, failure)


def part(member: Member, source: Source, content_type: str = "") -> Document:
    """Return the document of one member of ``source``; of one that could not be read to its end, with the reason."""
    refused = member.failure
    if refused is not None and not member.data:
        return Document("", "", name=member.name, failure=refused.reason, detail=refused.detail)
    if source.depth >= source.limits.max_depth or source.nested is None:
        return Document("", "", name=member.name, failure=Reason.TOO_LARGE, detail="containers within containers")
    media_type = sniff(member.data, content_type, member.name)
    inner = replace(
        source,
        data=member.data,
        media_type=media_type,
        content_type=content_type,
        name=member.name,
        depth=source.depth + 1,
    )
    found = replace(source.nested(inner), name=member.name)
    return replace(found, failure=refused.reason, detail=refused.detail) if refused else found


def joined(parts: Iterable[Document], source: Source, failure: Refused | None = None) -> Document:
    """Return a container's document: the text of its parts, each under its name."""
    parts = tuple(parts)
    room = source.limits.max_text
    markup = []
    for inner in parts:
        if len(inner.html) > room:
            failure = failure or Refused(Reason.TOO_LARGE, f"more than {source.limits.max_text:,} characters of text")
            break
        room -= len(inner.html)
        markup.append((f"<h2>{escape(inner.name)}</h2>" if inner.name else "") + inner.html)
    html, text, tags = tagged(pages.parse("".join(markup)))
    links = {(link.target, link.text): link for inner in parts for link in inner.links}
    refused = [inner for inner in parts if inner.failure]
    if failure is None and refused and not any(inner.text for inner in parts):
        failure = Refused(refused[0].failure or Reason.EMPTY, f"every member failed, the first: {refused[0].detail}")
    return Document(
        html=html,
        text=text,
        tags=tags,
        media_type=source.media_type,
        links=tuple(links.values()),
        parts=parts,
        failure=failure.reason if failure else None,
        detail=failure.detail if failure else "",
    )
