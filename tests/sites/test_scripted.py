"""Scripted pages: the signs, the data in them, and what is learnt by proof."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.reading.reading import read
from fyke.sites.scripted import (
    FIRST,
    ONE_IN,
    SAMPLES,
    UNKNOWN,
    Learnt,
    decide,
    embedded,
    gained,
    lower_bound,
    signs_of,
    suspect,
    template,
)
from fyke.url import Url

SHELLS = {
    "react": '<body><noscript>You need to enable JavaScript to run this app.</noscript><div id="root"></div>'
    '<script src="/static/js/main.js"></script>',
    "vue": "<div id=app><!-- built files will be injected --></div><script type=module src=/assets/x.js></script>",
    "angular": "<app-root></app-root><script src=runtime.js></script>",
    "next": '<div id="__next"></div><script id="__NEXT_DATA__" type="application/json">{}</script>'
    "<script src=a.js></script>",
    "nuxt": '<div id="__nuxt"></div><script src="/_nuxt/x.js"></script>',
    "own": "<title>x</title><script>fetch('/api').then(r => r.text()).then(t => document.body.innerHTML = t)</script>",
}
STATIC = "<p>" + "Some words that a server wrote. " * 30 + "</p><script src=/analytics.js></script><div id=app></div>"


def signs(html: str) -> str:
    found = read(html.encode())
    return suspect(signs_of(html.encode(), len(found.whole.encode()), len(found.links)))


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_are_suspects(shell: str) -> None:
    assert signs(SHELLS[shell])


def test_whole_pages_are_not() -> None:
    assert not signs(STATIC)
    assert not signs("<p>A short page.</p>")  # no script
    assert not signs("<p>short</p><noscript>" + "content for everybody " * 40 + "</noscript><script src=x></script>")


def test_hardly_any_static_page_is_a_suspect() -> None:
    folder = Path(__file__).parent.parent.parent.parent.parent / "shared" / "data" / "extract"
    files = sorted(path for path in folder.rglob("*.gz") if ".html" in path.name)[::7]
    if not files:
        pytest.skip("the shared pages are not here")
    found = [path.name for path in files if signs(gzip.decompress(path.read_bytes()).decode("utf-8", "replace"))]
    assert len(found) <= max(1, len(files) // 200), found


def test_data_in_a_page_is_read() -> None:
    body = b"""<script id="__NEXT_DATA__" type="application/json">{"props": {"title": "Fish", "items": [
      {"href": "/fish/1", "body": "<p>A fish that lives in the sea, and <b>nowhere</b> else at all.</p>"},
      {"slug": "/fish/2", "price": 3}]}}</script><script>window.__STATE__ = {"url": "https://a.example/x"};</script>
      <script type=application/ld+json>{"@type": "Article", "url": "/a", "broken": </script>"""
    found = embedded(body)
    assert found.links == ("/fish/1", "/fish/2", "https://a.example/x")
    assert found.text == "A fish that lives in the sea, and nowhere else at all."


@given(st.binary(max_size=2000))
def test_any_bytes_are_read(data: bytes) -> None:
    for body in (data, b"<script type=application/json>" + data, b"<script>window.__X__=" + data):
        found = embedded(body)
        assert all(isinstance(link, str) for link in found.links)
        signs = signs_of(body, 0, 0)
        assert 0 <= signs.script + signs.noscript <= 3 * len(body), "replaced bytes are three"


def test_templates_of_addresses() -> None:
    found = {template(Url("http://a.example" + path)) for path in ("/p/1", "/p/22", "/p/333")}
    assert found == {"/p/0"}
    assert template(Url("http://a.example/blog/how-to-fish.html?b=1&a=2")) == "/blog/*?a&b"
    assert template(Url("http://a.example/")) == "/"


def test_gains() -> None:
    assert gained(10, 1000, 0)
    assert gained(1000, 1000, 5)
    assert not gained(1000, 1150, 4)


def test_bounds_are_those_of_the_beta_distribution() -> None:
    # scipy.stats.beta(a, b).ppf(0.1)
    for hits, tries, known in ((3, 3, 0.5623), (0, 3, 0.0260), (2, 3, 0.3205), (10, 10, 0.8111), (30, 60, 0.4200)):
        assert lower_bound(hits, tries) == pytest.approx(known, abs=2e-3)


def run(pages: list[tuple[bool, bool]]) -> list[bool]:
    """Which of pages (suspect, would gain) of one template are rendered."""
    kind, host, chosen = UNKNOWN, UNKNOWN, []
    for is_suspect, gain in pages:
        kind = kind.noted(is_suspect)
        why = decide(kind, host, is_suspect)
        if why:
            kind, host = kind.proven(gain), host.proven(gain)
        chosen.append(bool(why))
    return chosen


def test_what_gains_is_rendered_and_what_does_not_is_not() -> None:
    assert all(run([(True, True)] * 200))
    useless = run([(True, False)] * 500)
    assert useless[:FIRST] == [True] * FIRST
    assert sum(useless) <= FIRST + 500 // ONE_IN
    whole = run([(False, False)] * 1000)
    assert sum(whole) == SAMPLES
    assert sum(whole[:100]) <= 2
    # A site that begins to need scripts is noticed, and so is a list that looks whole.
    assert sum(run([(True, False)] * 3 + [(True, True)] * 1000)) > 500
    assert sum(run([(False, True)] * 300)) > 200


def test_a_host_that_never_gains_is_left_alone_whatever_its_templates() -> None:
    host = UNKNOWN
    for _ in range(50):
        if decide(UNKNOWN.noted(True), host, True):
            host = host.proven(False)
    assert host.tries <= 12


def test_data_that_says_as_much_is_enough() -> None:
    learnt = UNKNOWN
    for _ in range(FIRST):
        assert not learnt.data_is_enough
        learnt = learnt.proven(True, data=True)
    assert learnt.data_is_enough
    assert not Learnt(tries=6, gains=6, data=1).data_is_enough
