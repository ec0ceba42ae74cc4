"""Elements of canonical markup (``Page.markup``) that are replaced whole: formulas, and text that stands as it is.

What stands in a comment, a script, a style or other raw text looks like elements and is none. Each tag is looked at
once, and an end that is not there is looked for once: linear, whatever the markup.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_OPENING = re.compile(rb"<(?:(!--)|(script|style|iframe|noembed|noframes|xmp|plaintext|math)(?: [^<>]*)?>)")


def replaced(markup: bytes, write: Callable[[bytes, bytes], bytes | None]) -> bytes:
    """Return markup where raw elements and formulas are what ``write(tag, content)`` says; None: as they were."""
    parts: list[bytes] = []
    unclosed: set[bytes] = set()
    kept = at = 0
    while found := _OPENING.search(markup, at):
        at = found.end()
        closer = b"-->" if found[1] else b"</%b>" % found[2]
        end = -1 if closer in unclosed else markup.find(closer, at)
        if end < 0:
            unclosed.add(closer)
            continue
        written = None if found[1] else write(found[0], markup[at:end])
        at = end + len(closer)
        if written is not None:
            parts += markup[kept : found.start()], written
            kept = at
    return b"".join([*parts, markup[kept:]])
