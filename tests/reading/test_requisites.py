"""What styles and scripts need to be shown, by their types; what is of another type needs nothing."""

from __future__ import annotations

import pytest

from fyke.formats.http import Head
from fyke.limits import take
from fyke.reading import requisites
from fyke.reading.requisites import needed_by
from fyke.url import Url

PAGE = Url("http://fish.example/a/page.html")
STYLE = b"@import 'more.css'; p { background: url(net.png) }"
SCRIPT = b"image.src = 'net.png'; other.src = \"/far/net.gif\";"


def needed(body: bytes, kind: str) -> list[str]:
    return [each.href for each in needed_by(body, Head(200, ()), Url("http://fish.example/s/x"), kind, PAGE)]


def test_styles_name_by_their_own_address_and_scripts_by_that_of_the_page() -> None:
    assert needed(STYLE, "text/css") == ["http://fish.example/s/more.css", "http://fish.example/s/net.png"]
    for kind in ("text/javascript", "application/ecmascript"):
        assert needed(SCRIPT, kind) == ["http://fish.example/a/net.png", "http://fish.example/far/net.gif"]
    assert needed(b"<img src=net.png>", "text/html") == ["http://fish.example/s/net.png"]


@pytest.mark.parametrize("kind", ["application/pdf", "image/png", "text/plain", "text/csv", "video/mp4"])
def test_what_is_neither_needs_nothing(kind: str) -> None:
    assert needed(STYLE + SCRIPT, kind) == []


def test_of_a_long_style_the_beginning_is_read_and_that_is_counted() -> None:
    take()
    long = STYLE + b" " * requisites.MAX_READ + b"p { background: url(late.png) }"
    assert needed(long, "text/css") == needed(STYLE, "text/css")
    assert take() == {"requisite-bytes": 1}
