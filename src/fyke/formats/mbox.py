"""Mailboxes: where a message ends and the next begins (RFC 4155 and what programs write)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

_FROM_LINE = re.compile(
    rb"(?:^|(?<=\n\n)|(?<=\n\r\n))From \S+[^\n]{0,200}\b(?:19|20)\d\d\b[^\n]{0,40}\n|^From [^\n]*\n(?=[\w-]+:)",
    re.MULTILINE,
)
"""A mailbox's line before each message: with a date behind an empty line, or right before headers."""
_LINE = 300
"""Bytes in which such a line has room, with what stands before it."""
_STUFFED = re.compile(rb"^>(>*From )", re.MULTILINE)


def messages(data: bytes) -> Iterator[bytes]:
    """Yield the messages of a mailbox, without the line before each; what is none is one message."""
    starts = [match.start() for match in _FROM_LINE.finditer(data)] or [0]
    for start, end in zip(starts, [*starts[1:], len(data)], strict=True):
        yield _unstuffed(data[start:end])


def stream(chunks: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """Yield the same of a mailbox that comes in chunks, each message up to about ``limit`` bytes.

    What is held is a chunk and a message.
    """
    held = b""
    cut = False
    for chunk in chunks:
        held += chunk
        starts = [match.start() for match in _FROM_LINE.finditer(held)]
        if cut and not starts:
            held = held[-_LINE:]  # the rest of a message that was too long
            continue
        for start, end in pairwise(starts):
            yield _unstuffed(held[start:end])
        held = held[starts[-1] :] if starts else held
        cut = len(held) > limit
        if cut:
            yield _unstuffed(held[:limit])
            held = held[-_LINE:]
    if held and not cut:
        yield _unstuffed(held)


def _unstuffed(raw: bytes) -> bytes:
    return _STUFFED.sub(rb"\1", raw.partition(b"\n")[2]) if raw.startswith(b"From ") else raw
