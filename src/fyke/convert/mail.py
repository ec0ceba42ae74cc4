"""Mail: a message's headers are its metadata, its text the best of its alternatives, its attachments are parts."""

from __future__ import annotations

import email
import email.policy
import re
from collections.abc import Iterator
from dataclasses import replace
from email.message import EmailMessage
from email.utils import parseaddr
from html import escape
from itertools import islice

from fyke.convert.archive import joined, part
from fyke.convert.html import document
from fyke.convert.members import Member
from fyke.convert.registry import Source
from fyke.formats import html as pages
from fyke.formats.encoding import decoded
from fyke.formats.mbox import messages
from fyke.formats.media_types import EMAIL
from fyke.formats.tags import date
from fyke.limits import note
from fyke.values import Document

_HEADERS = ("Subject", "From", "To", "Date")
_QUOTE = re.compile(r"((?:>[ ]?)+)(.*)", re.DOTALL)
_MAX_QUOTES = 20
"""Quotes within quotes that are kept."""
MAX_HEADER = 2_000
"""Characters of a header that are read: the library's time grows with their square."""


class _Bounded(email.policy.EmailPolicy):
    """Reads the beginning of a header, however long it is."""

    def header_fetch_parse(self, name: str, value: str) -> str:
        if len(value) > MAX_HEADER:
            note("mail-header")
        found: str = super().header_fetch_parse(name, value[:MAX_HEADER])
        return found


def convert(source: Source) -> Document:
    """Return one message."""
    message = email.message_from_bytes(source.data, policy=_Bounded(raise_on_defect=False))
    assert isinstance(message, EmailMessage)
    headers = [(name, _header(message, name)) for name in _HEADERS]
    bodies: list[tuple[str, int, str]] = []
    attachments: list[Document] = []
    for leaf, alternative in _leaves(message):
        content = leaf.get_payload(decode=True)
        data = content if isinstance(content, bytes) else b""
        name = leaf.get_filename() or ""
        if leaf.get_content_maintype() == "text" and not name and leaf.get_content_disposition() != "attachment":
            bodies.append((leaf.get_content_type(), alternative, _body(leaf, data)))
        elif data and len(attachments) < source.limits.max_parts:
            attachments.append(part(Member(name or leaf.get_content_type(), data), source, leaf.get_content_type()))
    rich = {alternative for kind, alternative, _ in bodies if kind == "text/html"}
    chosen = [text for kind, alternative, text in bodies if kind == "text/html" or alternative not in rich]
    head = "".join(f"<p>{name}: {escape(value)}</p>" for name, value in headers if value)
    page = pages.parse(head + "".join(chosen))
    pairs = [(name.lower(), value) for name, value in headers if value]
    found = document(page, None, source.url, source.media_type, pairs=pairs, table=source.table)
    said = {name: value for name, value in headers if value}
    meta = replace(
        found.meta,  # what a message's HTML says of itself is its template's
        author=_sender(said.get("From", "")) or found.meta.author,
        published=date(said.get("Date", "")) or found.meta.published,
    )
    language = _header(message, "Content-Language").partition(",")[0].strip() or found.language
    found = replace(found, title=said.get("Subject", found.title), meta=meta, language=language)
    if not attachments:
        return found
    whole = joined([found, *attachments], source)
    return replace(
        found, html=whole.html, text=whole.text, tags=whole.tags, links=whole.links, parts=tuple(attachments)
    )


def convert_mailbox(source: Source) -> Document:
    """Return a mailbox: its messages are parts, each converted on its own, so that a damaged one harms no other."""
    one = source.nested or convert
    parts: list[Document] = []
    for message in islice(messages(source.data), source.limits.max_parts):
        inner = one(replace(source, data=message, media_type=EMAIL, depth=source.depth + 1))
        parts.append(replace(inner, name=inner.title))
    whole = joined(parts, source)
    if len(parts) > 1 or not parts:
        return whole
    only = parts[0]
    return replace(whole, title=only.title, meta=only.meta, language=only.language)


def _leaves(message: EmailMessage) -> Iterator[tuple[EmailMessage, int]]:
    """Yield the parts that hold content, each with a number that alternatives of one another share (0: none)."""
    pending: list[tuple[EmailMessage, int]] = [(message, 0)]
    groups = 0
    while pending:
        current, alternative = pending.pop(0)
        if current.is_multipart():
            if current.get_content_subtype() == "alternative":
                groups += 1
                alternative = groups
            inner = current.get_payload()
            pending[:0] = (
                [(leaf, alternative) for leaf in inner if isinstance(leaf, EmailMessage)]
                if isinstance(inner, list)
                else []
            )
        else:
            yield current, alternative


def _body(leaf: EmailMessage, data: bytes) -> str:
    """Return a text part as HTML."""
    charset = leaf.get_content_charset() or ""
    kind = leaf.get_content_type()
    text = decoded(data, f"{kind}; charset={charset}" if charset else kind).text
    if kind == "text/html":
        return pages.parse(text).markup.decode()
    return plain(text, is_flowed=str(leaf.get_param("format") or "").lower() == "flowed")


def plain(text: str, is_flowed: bool = False) -> str:
    """Return plain text as HTML: lines stay lines, an empty line parts paragraphs, ``>`` quotes.

    Of flowed text (RFC 3676) a line that ends with a space goes on in the next one.
    """
    out: list[str] = []
    depth = 0
    pending = ""  # between the last line and the next
    for raw in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        quoted = _QUOTE.fullmatch(raw)
        level = min(quoted[1].count(">"), _MAX_QUOTES) if quoted else 0
        line = quoted[2] if quoted else raw
        if level != depth:
            out.append("<blockquote>" * (level - depth) if level > depth else "</blockquote>" * (depth - level))
            depth, pending = level, ""
        if not line.strip():
            pending = "<p>"
            continue
        flows = is_flowed and line.endswith(" ") and line != "-- "
        out.append(pending + escape(line, quote=False))
        pending = " " if flows else "<br>"
    out.append("</blockquote>" * depth)
    return "<p>" + "".join(out)


def _sender(header: str) -> str:
    """Return who sent a message: the name, or the address where there is none."""
    name, address = parseaddr(header)
    return " ".join(name.split()) or address


def _header(message: EmailMessage, name: str) -> str:
    try:
        return " ".join(str(message.get(name) or "").split())
    except Exception:  # the standard library's header parser raises a dozen kinds on what was sent
        return ""
