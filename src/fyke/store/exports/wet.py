"""WET out: the texts of documents as conversion records, as Common Crawl publishes them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import IO

from fyke.formats.warc_write import WarcWriter
from fyke.store.exports.warc import PLAIN, WarcOptions, captured_at
from fyke.store.exports.warc_files import about, compression_of, new_id
from fyke.store.row import Row


def stream_wet(rows: Iterator[Row], out: IO[bytes], name: str, options: WarcOptions = PLAIN) -> int:
    """Write the main text of every document of ``rows`` to a stream that is called ``name``; return how many."""
    writer = WarcWriter(out, new_id, compression=compression_of(name))
    writer.warcinfo(time.time(), about(options.fields), name)
    count = 0
    for row in rows:
        meta, version = row.meta, row.version
        if version is None or meta.status != 200 or meta.error or not (text := row.text):
            continue
        when = captured_at(version) if version.page else meta.fetched or row.stamp / 1e6
        block = text.encode("utf-8", "replace")
        writer.conversion(row.url, when, "text/plain", block, language=meta.language)
        count += 1
    return count
