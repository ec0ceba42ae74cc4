"""What pages, styles and scripts need, as browsers would ask for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.formats.html import parse
from fyke.formats.http import NO_HEAD, parse_head
from fyke.sites.requisites import MAX_REQUISITES, of_page, of_script, of_style
from fyke.url import Url

URL = Url("http://e.org/d/p.html")
SIGNS = st.text(alphabet="""<>"'`=()[]{}/\\*,;:@#?.&aimportsurlcfx0\n\t """, max_size=200)


@pytest.mark.parametrize(
    ("markup", "needed"),
    [
        ("<img src=a.png><img src=a.png#b>", ["/d/a.png"]),
        ("<base href=/b/><img src=a.png>", ["/b/a.png"]),
        ("<img srcset='a,1.png 1x, b.png 2x,c.png' src=s.png>", ["/d/s.png", "/d/a,1.png", "/d/b.png", "/d/c.png"]),
        ("<img srcset='data:image/gif;base64,AA 1x,, a.png'>", ["/d/a.png"]),
        ("<picture><source srcset='a.webp, b.webp 2x'></picture>", ["/d/a.webp", "/d/b.webp"]),
        ("<img data-src=late.jpg data-srcset='l2.jpg 2x'>", ["/d/late.jpg", "/d/l2.jpg"]),
        ("<link rel='alternate stylesheet' href=s.css><link rel=canonical href=c>", ["/d/s.css"]),
        ("<link rel='SHORTCUT ICON' href=/f.ico><link rel=manifest href=/m.json>", ["/f.ico", "/m.json"]),
        ("<link rel=preload as=image imagesrcset='p1.png, p2.png 2x'>", ["/d/p1.png", "/d/p2.png"]),
        ("<link rel=prefetch href=next.html><link rel=prefetch href=n.js>", ["/d/n.js"]),
        ("<table><td background='b.gif'>", ["/d/b.gif"]),
        ("<p style='background: url(&quot;b(1).gif&quot;)'>", ["/d/b(1).gif"]),
        ("<video src=v.mp4 poster=p.jpg><track src=t.vtt></video>", ["/d/v.mp4", "/d/p.jpg", "/d/t.vtt"]),
        ("<input src=no.png><input type=IMAGE src=i.png>", ["/d/i.png"]),
        ("<object data=o.svg></object><embed src=e.html>", ["/d/o.svg"]),
        ("<svg><use href='s.svg#a'/><use xlink:href='x.svg#b'/><image href=i.png /></svg>",
         ["/d/i.png", "/d/s.svg", "/d/x.svg"]),
        ("<script src=a.js></script><script>x = '/i.png'; y = \"j.png?a=1\"; z = '.png'; w = 'a b.png'</script>",
         ["/d/a.js", "/i.png", "/d/j.png?a=1"]),
        ("<script type='text/template'>'/no.png'</script><script type=application/ld+json>'/n.png'</script>", []),
        ("<style>@import 'i.css'; a { b: url(c.png) }</style>", ["/d/i.css", "/d/c.png"]),
        ("<a href=x.png>x</a><iframe src=f.html></iframe><!-- <img src=c.png> -->", []),
        ("<img src='//cdn.net/a.png'><img src='javascript:x'><img src='mailto:a@b'><img src=''>", ["http://cdn.net/a.png"]),
    ],
)  # fmt: skip
def test_of_a_page(markup: str, needed: list[str]) -> None:
    expected = [each if each.startswith("http") else f"http://e.org{each}" for each in needed]
    assert [url.href for url in of_page(parse(markup), URL, NO_HEAD)] == expected


def test_of_a_header() -> None:
    head = parse_head(b"HTTP/1.1 200 OK\r\nLink: </a.css>; rel=preload; as=style, </b>; rel=next\r\n\r\n")
    assert [url.href for url in of_page(parse("<p>"), URL, head)] == ["http://e.org/a.css"]


@pytest.mark.parametrize(
    ("style", "needed"),
    [
        ("@import \"a.css\";@import url(b.css) print;@IMPORT URL('c.css')", ["/d/a.css", "/d/b.css", "/d/c.css"]),
        ("a{b:url( x.png )}c{d:url(\"y z.png\")}", ["/d/x.png", "/d/y%20z.png"]),
        ("/* url(no.png) */ a{content:'url(no.png)'} b{c:url(\"q.png\")}", ["/d/q.png"]),
        (r"a{b:url(x\28 1\).png)} c{d:url(data:image/png;base64,AA)}", ["/d/x(1).png"]),
        ("a{b:image-set('1.avif' type('image/avif') 1x, url(2.png) 2x)}", ["/d/1.avif", "/d/2.png"]),
        ("@font-face{src:url(f.woff2)format('woff2'),local('x'),url(//c.net/f.ttf)}", ["/d/f.woff2", "http://c.net/f.ttf"]),
        ("a{b:url(#svg)} /* never ends url(no.png)", []),
    ],
)  # fmt: skip
def test_of_a_style(style: str, needed: list[str]) -> None:
    expected = [each if each.startswith("http") else f"http://e.org{each}" for each in needed]
    assert [url.href for url in of_style(style, URL)] == expected


def test_a_script_names_pictures_as_its_page_does_and_modules_as_it_does_itself() -> None:
    text = r"""import x from "./m.js"; import("n.mjs"); i.src = 'i/late.png'; f('x.html');
    o = {"u":"https:\/\/c.net\/u.webp"}"""
    found = of_script(text, Url("http://s.net/js/app.js"), URL)
    wanted = ["http://s.net/js/m.js", "http://s.net/js/n.mjs", "http://e.org/d/i/late.png", "https://c.net/u.webp"]
    assert [url.href for url in found] == wanted


@given(SIGNS)
def test_nothing_raises_and_all_is_bounded(text: str) -> None:
    for found in (of_page(parse(text), URL, NO_HEAD), of_style(text, URL), of_script(text, URL, URL)):
        assert all(url.href.startswith("http") for url in found)
    assert len(of_style("".join(f"a{{b:url({n}.png)}}" for n in range(2000)), URL)) == MAX_REQUISITES
