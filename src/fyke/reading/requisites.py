"""What a document that came needs to be shown: a page its images, styles, scripts, fonts; a style or script its own."""

from __future__ import annotations

import re

from fyke.formats.encoding import decoded
from fyke.formats.html import parse
from fyke.formats.http import Head
from fyke.limits import note
from fyke.reading.conversion import MARKUP
from fyke.sites.requisites import of_page, of_script, of_style
from fyke.url import Url

MAX_READ = 2 << 20
"""Bytes that are searched: of what is longer, the beginning."""
_SCRIPT = re.compile(r"(?:java|ecma)script")


def needed_by(body: bytes, head: Head, url: Url, kind: str, page: Url) -> list[Url]:
    """Return what a body of type ``kind`` at ``url`` needs, shown as or in ``page``. Never raises for what it is."""
    if kind not in MARKUP and kind != "text/css" and not _SCRIPT.search(kind):
        return []
    if len(body) > MAX_READ:
        note("requisite-bytes")
    text = decoded(body[:MAX_READ], head.get("content-type")).text
    if kind in MARKUP:
        return of_page(parse(text), url, head)
    return of_style(text, url) if kind == "text/css" else of_script(text, url, page)
