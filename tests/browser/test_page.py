"""Pages as a browser shows them: what scripts made is there, and whatever they do, the next page is shown."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fyke.browser.chromium import Chromium
from fyke.browser.process import members
from fyke.browser.values import Asked, Limits, Looks
from fyke.values import Exchange, Reason
from tests.browser.showing import HOME, LOOKS, Table, answer, chromium, command_line, descendants, program, show

SHORT = Limits(seconds=3.0)
STATIC = "<title>Fish</title><h1>Tropical fish</h1><p>They swim. <a href='/one'>one</a> <a href='two'>two</a></p>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with chromium() as started:
        yield started


def test_what_a_script_fetches_is_there(browser: Chromium) -> None:
    page = "<!doctype html><div id=app></div><script src=/app.js></script>"
    script = """fetch('/data.json').then(r => r.json()).then(d => {
      document.title = d.title;
      document.getElementById('app').innerHTML = d.links.map(l => `<a href="/p/${l}">page ${l}</a>`).join(' ');
    })"""
    found = show(browser, page, app__js=script, data__json='{"title": "Späte Fische", "links": [1, 2, 3]}')
    assert found.error is None
    assert "<title>Späte Fische</title>" in found.html
    assert found.html.count('<a href="/p/') == 3
    assert [(each.asked.url, each.status) for each in found.answers] == [
        (HOME, 200), (HOME + "app.js", 200), (HOME + "data.json", 200),
    ]  # fmt: skip
    assert not found.truncated


def test_a_link_added_late_is_found(browser: Chromium) -> None:
    found = show(
        browser, "<p>x<script>setTimeout(() => document.body.innerHTML = '<a href=/late>late</a>', 800)</script>"
    )
    assert 'href="/late"' in found.html


def test_shadow_trees_and_frames_stand_where_they_are_shown(browser: Chromium) -> None:
    page = """<x-card><span slot=name>slotted words</span></x-card><template><p>not shown</p></template>
    <iframe src=/frame.html></iframe><iframe src=http://other.example/></iframe><script>
    customElements.define('x-card', class extends HTMLElement { constructor() { super();
      this.attachShadow({mode: 'closed'}).innerHTML =
        '<h2>hidden tree</h2><slot name=name></slot><a href=/in>in</a>' }})
    </script>"""
    found = show(browser, page, frame__html="<body><p>framed text <a href=deep>deep</a>")
    assert "<h2>hidden tree</h2>" in found.html
    assert "slotted words" in found.html
    assert 'href="/in"' in found.html
    assert "framed text" in found.html
    assert f'href="{HOME}deep"' in found.html
    assert "not shown" not in found.html
    assert ("http://other.example/", "frame") in [(each.asked.url, each.refused) for each in found.answers]


def test_a_static_page_stays_what_it_is(browser: Chromium) -> None:
    from fyke.reading.reading import read
    from fyke.url import Url

    found = show(browser, STATIC)
    here, there = (read(text.encode(), url=Url(HOME)) for text in (STATIC, found.html))
    assert list(here.links) == list(there.links)
    assert here.text == there.text
    assert here.title == there.title


def test_an_endless_list_grows_as_often_as_it_is_scrolled(browser: Chromium) -> None:
    page = """<div id=l></div><script>let n = 0; function more() { for (let i = 0; i < 20; i++) {
      const p = document.createElement('p'); p.style.height = '150px';
      p.innerHTML = `<a href="/item/${n}">item ${n++}</a>`; l.append(p) } }
      more(); addEventListener('scroll', () => { if (innerHeight + scrollY > document.body.offsetHeight - 400) more() })
      </script>"""
    counts = [show(browser, page, Limits(scroll=rounds)).html.count("<p style=") for rounds in (0, 3)]
    assert counts == [20, 80]


def test_a_button_that_shows_more_is_pressed(browser: Chromium) -> None:
    page = """<ul id=l><li>first</ul><button onclick="l.insertAdjacentHTML('beforeend', '<li><a href=/more>m</a>')">
      Load more</button><form action=/buy><button onclick="document.title='bought'">Load more</button></form>"""
    found = show(browser, page, Limits(scroll=2))
    assert found.html.count('href="/more"') == 2
    assert "<title>bought" not in found.html


def test_images_that_load_lazily_are_there_after_a_scroll(browser: Chromium) -> None:
    page = """<div style="height:9000px"></div><img data-src=/late.png alt=x><script>
      new IntersectionObserver((seen) => seen.forEach(
        e => { if (e.isIntersecting) e.target.src = e.target.dataset.src }))
        .observe(document.querySelector('img'))</script>"""
    assert 'src="/late.png"' not in show(browser, page).html.replace("data-src", "")
    assert ' src="/late.png"' in show(browser, page, Limits(scroll=1)).html


def test_a_script_that_leads_elsewhere_is_a_redirect(browser: Chromium) -> None:
    assert show(browser, "<script>location.href = '/other'</script>").moved == HOME + "other"
    assert show(browser, "<meta http-equiv=refresh content='0; url=/third'>").moved == HOME + "third"
    # Of itself: there is nowhere to go.
    again = show(browser, "<p>still here<script>if (performance.now() < 9e9) location.reload()</script>")
    assert (again.moved, "still here" in again.html) == ("", True)


def test_requests_beside_reading_are_refused(browser: Chromium) -> None:
    page = """<img src=/i.png><link rel=stylesheet href=/s.css><script>
      fetch('/post', {method: 'POST', body: 'x'}).catch(() => 0); navigator.sendBeacon('/beacon', 'x');
      new EventSource('/events')</script>"""
    table = Table({"/": page})
    found = asyncio.run(browser.render(HOME, table, Limits(), LOOKS))
    assert table.asked == [HOME]
    refused = {each.asked.url.removeprefix(HOME): each.refused for each in found.answers if each.refused}
    assert refused == {
        "i.png": "image",
        "s.css": "stylesheet",
        "post": "method",
        "beacon": "method",
        "events": "eventsource",
    }
    everything = Table({"/": page, "/s.css": "p { color: red }"})
    asyncio.run(browser.render(HOME, everything, Limits(everything=True), LOOKS))
    assert sorted(everything.asked) == [HOME, HOME + "i.png", HOME + "s.css"]


HOSTILE = {
    "an endless script": ("<p>before<script>while (true) {}</script>", Reason.RENDER_TIMEOUT),
    "a storm of alerts": ("<p>before<script>while (true) alert('again')</script>", Reason.RENDER_TIMEOUT),
    "a memory bomb": (
        "<script>const a = []; while (1) a.push(new Array(1e6).fill({}))</script>",
        Reason.RENDER_CRASH,
    ),
    "popups": ("<p>before<script>for (let i = 0; i < 20; i++) window.open('/popup' + i)</script>", None),
    "a download": ("<p>before<a id=d href=/f.bin download>f</a><script>d.click()</script>", None),
    "a print": ("<p>before<script>print(); window.close(); confirm('?'); onbeforeunload = () => 1</script>", None),
    "a frame in a frame in …": ("<p>before<iframe src=/></iframe>", None),
    "a page that eats itself": ("<p>before<script>document.open(); document.write('<p>before again')</script>", None),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_the_next_page_is_shown_whatever_one_did(browser: Chromium, what: str) -> None:
    page, reason = HOSTILE[what]
    found = show(browser, page, SHORT if reason is not Reason.RENDER_CRASH else Limits(seconds=120.0))
    assert found.error is reason, found.detail
    assert reason or "before" in found.html
    assert "Tropical fish" in show(browser, STATIC).html


@pytest.mark.parametrize("flood", ["fetch('/x' + i).catch(() => 0)", "new Image().src = '/x' + i"])
def test_a_page_that_asks_for_everything_is_taken_as_it_is(browser: Chromium, flood: str) -> None:
    page = f"<p>before<script>for (let i = 0; i < 10000; i++) {{ {flood} }}</script>"
    table = Table({"/": page})
    found = asyncio.run(browser.render(HOME, table, Limits(requests=30), LOOKS))
    assert len(table.asked) <= 30
    # What is drowned in images is lost where the machine is slow; the server's page is there.
    assert found.error is Reason.RENDER_TIMEOUT if found.error and "Image" in flood else found.truncated
    assert found.error or "before" in found.html
    assert "Tropical fish" in show(browser, STATIC).html


def test_a_page_that_never_rests_is_kept_as_it_was(browser: Chromium) -> None:
    page = "<p>before<script>setInterval(() => document.body.append('more '), 20)</script>"
    found = show(browser, page, SHORT)
    assert found.truncated
    assert "before" in found.html


def test_a_browser_that_is_killed_is_replaced(browser: Chromium) -> None:
    show(browser, STATIC)
    assert browser._browser is not None
    killed = browser._browser.group

    async def kill_and_serve() -> object:
        table = Table({"/": STATIC})

        async def serve(asked: object) -> object:
            if not table.asked:
                os.killpg(killed, signal.SIGKILL)
            return await table(asked)  # type: ignore[arg-type]

        return await browser.render(HOME, serve, Limits(), LOOKS)  # type: ignore[arg-type]

    found = asyncio.run(kill_and_serve())
    assert "Tropical fish" in found.html  # type: ignore[attr-defined]
    assert members(killed) == []


def test_a_browser_that_ends_while_it_starts_is_started_again(tmp_path: Path) -> None:
    wrapper, tried = tmp_path / "browser", tmp_path / "tried"
    once = f'[ -e "{tried}" ] || {{ touch "{tried}"; exit 1; }}'
    wrapper.write_text(f"""#!/bin/sh\n{once}\nexec "{program()}" "$@"\n""", encoding="utf-8")
    wrapper.chmod(0o700)
    with chromium(run=wrapper) as started:
        assert "swim" in show(started, STATIC).html
    assert tried.exists()


def test_a_driver_that_is_killed_is_replaced(browser: Chromium, capfd: pytest.CaptureFixture[str]) -> None:
    assert "One" in show(browser, "<p>One").html
    drivers = [each for each in descendants(os.getpid()) if b"/driver/node" in command_line(each)]
    assert drivers

    async def kill_and_serve(asked: Asked) -> Exchange:
        while drivers:
            os.kill(drivers.pop(), signal.SIGKILL)
        return answer("<p>Two")

    assert "Two" in asyncio.run(browser.render(HOME, kill_and_serve, Limits(), LOOKS)).html
    assert "Three" in show(browser, "<p>Three").html
    assert capfd.readouterr().err == ""


def test_a_page_whose_process_is_killed_has_a_reason(browser: Chromium) -> None:
    show(browser, STATIC)
    assert browser._browser is not None
    group = browser._browser.group
    before = set(members(group))

    async def serve(asked: object) -> object:
        if asked.url.endswith(".js"):  # type: ignore[attr-defined]
            for each in set(members(group)) - before:
                os.kill(each, signal.SIGKILL)
        return answer("<p>x<script src=/a.js></script>")

    found = asyncio.run(browser.render(HOME, serve, SHORT, LOOKS))  # type: ignore[arg-type]
    assert found.error is Reason.RENDER_CRASH
    assert "Tropical fish" in show(browser, STATIC).html


def test_pages_share_nothing(browser: Chromium) -> None:
    show(browser, "<script>localStorage.x = 'left'; document.cookie = 'y=left'</script>")
    found = show(browser, "<script>document.write('<p>' + localStorage.x + document.cookie)</script>")
    assert "<p>undefined</p>" in found.html


def test_a_picture_and_a_script_of_ours(browser: Chromium) -> None:
    found = show(
        browser, STATIC, looks=Looks(shot=True, script="() => document.title + ' ' + navigator.userAgent", agent="me")
    )
    assert found.shot.startswith(b"\x89PNG")
    assert found.said == "Fish me"


CHILD = """
import asyncio, sys
sys.path.insert(0, {root!r})
from tests.browser.showing import *
async def serve(asked):
    print(shown._browser.group, flush=True)
    await asyncio.sleep(600)
shown = Chromium(program())
asyncio.run(shown.render(HOME, serve, Limits(), LOOKS))
"""


def test_no_browser_is_left_when_fyke_is_killed() -> None:
    program()
    root = os.fspath(Path(__file__).parent.parent.parent)
    with subprocess.Popen([sys.executable, "-c", CHILD.format(root=root)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        group = int(child.stdout.readline())
        assert members(group)
        child.kill()
        child.wait()
    deadline = time.monotonic() + 60
    while members(group) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert members(group) == []
