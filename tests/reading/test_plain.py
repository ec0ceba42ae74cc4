"""Reading without the compiler: every kernel of the way runs as plain Python too, and finds the same."""

from __future__ import annotations

import pytest

import fyke
from fyke.formats.http import parse_head
from fyke.reading.reading import Reader
from fyke.url import Url

HEAD = parse_head(b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n")
PAGE = (
    "<html><head><title>Eels</title></head><body><nav><a href=/>home</a></nav><h1>Eels</h1>"
    "<p>The eel swims eight thousand miles to the sea where it was born, and nobody has seen it spawn there.</p>"
    "<pre>length  weight\n  60 cm   0.5 kg</pre>"
    "<p>It comes back as glass, the size of a needle, and climbs the rivers by night. <a href=/more>More</a></p>"
    "<noscript><p>Nothing moves here.</p></noscript></body></html>"
)


@pytest.mark.kernel
def test_pages_are_read_together() -> None:
    url = Url("http://eels.test/")
    pages = [(PAGE.encode(), HEAD, url), (b"<p>short", HEAD, url), (b"", HEAD, url)]
    first, second, _ = Reader().read_many(pages)
    assert "eight thousand miles" in first.text
    assert [link.target.href for link in first.links] == ["http://eels.test/", "http://eels.test/more"]
    assert second.document.whole.strip() == "short"


@pytest.mark.kernel
def test_kept_blocks_keep_their_white_space() -> None:
    content = fyke.extract(PAGE)
    assert "  60 cm   0.5 kg" in content.html
    assert content.blocks
