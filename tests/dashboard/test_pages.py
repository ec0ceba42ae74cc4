"""The pages: everything that is stored is shown, and nothing of it is obeyed."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from importlib import resources
from itertools import islice
from pathlib import Path
from urllib.parse import quote

import pytest

from fyke.crawl.run import history, status, steering
from fyke.crawl.run.history import History
from fyke.crawl.run.status import AgentStatus
from fyke.store import RowMeta, Settings, Store
from tests.dashboard.hostile import CORPUS, URL, hostile_store
from tests.dashboard.serving import Served, serving

PAGES = ("/", "/hosts", "/queue", "/errors", "/search", "/duplicates", "/control")
OURS = set(
    "html head meta title link script body a header strong nav form label input button main h1 h2 p div section dl "
    "dt dd figure figcaption b svg line polyline circle span ul li table thead tbody tr th td bdi br select option ins "
    "del hr footer code".split()
)


class Looked(HTMLParser):
    """What a browser would find in a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.odd: list[str] = []
        self.links: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        if tag not in OURS or (tag == "meta" and "http-equiv" in told):
            self.odd.append(tag)
        self.odd += [name for name in told if name.startswith("on") or name == "style"]
        if tag == "script":
            self.scripts.append(told.get("src") or "inline")
        for name in ("href", "action", "src"):
            if (where := told.get(name)) is not None:
                self.links.append(where)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(hostile_store(tmp_path_factory.mktemp("hostile") / "s"), "--control", "--metrics") as served:
        yield served


def every_page(served: Served) -> dict[str, str]:
    """Every page that can be reached, and a few that need a form."""
    made = [f"/compare?url={quote(URL, safe='')}&a={int(1.6e15)}&b={int(1.7e15)}"]
    made += [f"/search?{name}={quote(text)}" for text in CORPUS[:4] for name in ("prefix", "words")]
    waiting: list[str] = [*PAGES, *made]
    found: dict[str, str] = {}
    kinds: Counter[str] = Counter()
    for path in waiting:  # it grows
        kind = path.partition("?")[0]
        kinds[kind] += 1
        if path in found or kinds[kind] > 20 or path.startswith(("/raw", "/similar", "/static")):
            continue
        answer = served.get(path)
        assert answer.status < 500, (path, answer.body)
        found[path] = answer.body
        waiting += [link for link in Looked(answer.body).links if link.startswith("/")]
    return found


def test_nothing_stored_becomes_markup(served: Served) -> None:
    pages = every_page(served)
    assert {path.partition("?")[0] for path in pages} >= {*PAGES, "/doc", "/host", "/compare", "/errors/of"}
    for path, page in pages.items():
        looked = Looked(page)
        assert looked.odd == [], path
        assert looked.scripts == ["/static/app.js"], path
        assert all(link.startswith(("/", "#", "http://", "https://")) for link in looked.links), path
    document = unescape(served.get(f"/doc?url={quote(URL, safe='')}").body)
    assert "<img src=x onerror=console.log('owned')>" in document, "it is shown as text"


def test_the_page_tells_of_copies_and_of_what_was_logged(served: Served) -> None:
    copies = served.get("/duplicates").body
    assert "Documents with the most copies" in copies
    assert f'<td class="n">{len(CORPUS)}</td>' in copies, "all of one document"
    assert "onerror" in unescape(served.get("/").body.partition("What was logged last")[2])
    document = served.get(f"/doc?url={quote('http://copy.test/3')}").body
    assert "A copy of" in document


def test_stored_bytes_are_text_in_a_sandbox(served: Served) -> None:
    answer = served.get(f"/raw?url={quote(URL, safe='')}")
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["content-security-policy"].startswith("sandbox")
    assert CORPUS[0] in answer.body


def test_two_versions_are_compared(served: Served) -> None:
    page = served.get(f"/compare?url={quote(URL, safe='')}&a={int(1.6e15)}&b={int(1.7e15)}").body
    assert "<del>of 1600000000.0</del>" in page
    assert "<ins>of 1700000000.0</ins>" in page


def test_a_document_that_is_not_there_leads_to_its_neighbours(served: Served) -> None:
    answer = served.get("/doc?url=" + quote("http://failed.test/none"))
    assert answer.status == 404
    assert "failed.test/0" in answer.body


def test_steering_wants_its_form_and_is_asked_twice(served: Served) -> None:
    store = Path(unescape(re.findall(r"store <bdi>(.*?)</bdi>", served.get("/").body)[0]))
    secret = re.findall(r'name="csrf" value="(\w+)"', served.get("/control").body)[0]
    wanted = "action=slow&host=Slow.test&seconds=7"
    assert served.post("/control", wanted).status == 400
    assert served.post("/control", f"{wanted}&csrf=x").status == 400
    assert served.post("/control", f"{wanted}&csrf={secret}&sure=yes", "Sec-Fetch-Site: same-site").status == 403
    assert served.post("/control", f"{wanted}&csrf={secret}&sure=yes", "Sec-Fetch-Site: none").status == 403
    assert served.post("/control", "x" * 9000).status in (400, 413)
    for bad in ("action=slow&host=a&seconds=nan", "action=exclude&pattern=(", "action=fly", ""):
        assert served.post("/control", f"{bad}&csrf={secret}&sure=yes").status == 400, bad
    asked = served.post("/control", f"{wanted}&csrf={secret}", "Sec-Fetch-Site: same-origin")
    assert "Are you sure" in asked.body
    assert steering.read(store).slow == {}
    done = served.post("/control", f"{wanted}&csrf={secret}&sure=yes", "Sec-Fetch-Site: same-origin")
    assert "Asked for" in done.body
    assert steering.read(store).slow == {"slow.test": 7.0}
    assert "slow.test every 7 s" in (store / "fyke.log").read_text()


def report(path: Path, agent: int, when: float, pages: int, process: int) -> None:
    told = AgentStatus(1, agent, process, when, when - 100, pages, counters={"pages": pages}, queued=50)
    status.write(path, told)
    History(path, agent).note(told)


def test_torn_files_and_dead_agents_are_told(tmp_path: Path) -> None:
    store = tmp_path / "s"
    with Store.open(store, settings=Settings(tablets=1)) as opened:
        opened.put("http://a.test/", raw=b"<p>x", text="x")
    now = time.time()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as alive:
        for when in range(200, 0, -20):
            report(store, 0, now - when, 1000 - when, alive.pid)
        report(store, 0, now, 1000, alive.pid)
        report(store, 1, now - 500, 10, alive.pid)
        (store / "status" / "agent-2.json").write_bytes(b'{"version":1,"ag')
        (store / "status" / "history-2").write_bytes(b"nonsense")
        (store / "crawl.json").write_bytes(b"{")
        (store / "steering.json").write_bytes(b"[]")
        with serving(store) as served:
            page = served.get("/").body
            assert "agent 1 has not reported" in page
            assert "agent-2.json is not a status file" in page
            assert "steers no crawl" in page
            assert "neither grows nor shrinks" in page
            assert page.count("<polyline") >= 3
        assert alive.stdin is not None
        alive.stdin.write(b"\n")


def test_events_come_while_somebody_looks(tmp_path: Path) -> None:
    import socket

    store = tmp_path / "s"
    with Store.open(store, settings=Settings(tablets=1)) as opened:
        opened.put("http://a.test/", raw=b"<p>x", text="x")
    report(store, 0, time.time(), 5, 1)
    with serving(store) as served:
        streams = []
        for _ in range(16):
            stream = socket.create_connection(("127.0.0.1", served.port), timeout=60)
            stream.sendall(f"GET /events HTTP/1.1\r\nHost: {served.host}\r\nCookie: {served.cookie}\r\n\r\n".encode())
            streams.append((stream, stream.makefile("rb")))
            assert b"200 OK" in streams[-1][1].readline()  # what comes with it is not lost
        for _ in range(184):  # two hundred tabs: the others see the page as it is, and ask again
            assert served.get("/events").status == 503
        assert served.get("/").status == 200
        first = streams[0][1]
        assert any(b'"tiles"' in line for line in islice(first, 200))
        report(store, 0, time.time() + 1, 12_345, 1)
        assert any(b"12,345" in line for line in islice(first, 200))
        for stream, lines in streams:
            lines.close()
            stream.close()


def test_a_large_document_is_shown_in_part(tmp_path: Path) -> None:
    store = tmp_path / "s"
    with Store.open(store, settings=Settings(tablets=1)) as opened:
        body = b"<p>word " * 6_500_000
        opened.put(
            "http://a.test/big", raw=body, text="word\n" * 10_000_000, links=[f"http://a.test/{n}" for n in range(5000)]
        )
        opened.put("http://a.test/0", meta=RowMeta(error="dns"))
    with serving(store) as served:
        for path in ("/doc", "/raw", "/compare"):
            answer = served.get(f"{path}?url=http://a.test/big")
            assert answer.status == 200
            assert len(answer.body) < 1_000_000
        assert "5,000" in served.get("/doc?url=http://a.test/big").body


def test_history_is_bounded_and_survives_what_is_torn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MOST", 100)
    monkeypatch.setattr(history, "_RECENT", 20)
    writer = History(tmp_path, 0)
    for number in range(1000):
        writer.note(AgentStatus(1, 0, 1, 1e9 + 10 * number, 1e9, counters={"pages": number, "errors:dns": 2}, queued=7))
    path = tmp_path / "status" / "history-0"
    assert path.stat().st_size <= 101 * 64
    (moments,) = history.read(tmp_path)
    assert moments[0].pages == 0
    assert len([each for each in moments if each.pages < 500]) > 2, "the past is thinned evenly by its age"
    assert moments[-1][:5] == (1e9 + 9990, 999, 0, 7, 2)
    assert [each.pages for each in moments] == sorted({each.pages for each in moments})
    with path.open("ab") as file:
        file.write(b"torn")
    assert [each[:5] for each in history.read(tmp_path)[0]] == [each[:5] for each in moments]
    History(tmp_path, 0).note(AgentStatus(1, 0, 1, 2e9, 1e9, counters={"pages": 5000}))
    assert history.read(tmp_path)[0][-1].pages == 5000


def test_agents_add_up_and_those_of_an_earlier_run_do_not(tmp_path: Path) -> None:
    for agent in range(4):
        History(tmp_path, agent).note(AgentStatus(1, agent, 1, 1e9 + agent / 10, 1e9, counters={"pages": 10}, queued=5))
    history.begin(tmp_path, 1e9 + 100)
    for agent in range(2):
        History(tmp_path, agent).note(AgentStatus(1, agent, 1, 1e9 + 200, 1e9, counters={"pages": 30}, queued=1))
    whole = history.together(history.read(tmp_path))
    assert [(each.pages, each.queued) for each in (whole[0], whole[-1])] == [(40, 20), (60, 2)]


def luminance(colour: str) -> float:
    """Of ``#rgb`` or ``#rrggbb`` (WCAG 2.2, relative luminance)."""
    digits = colour.lstrip("#")
    whole = digits if len(digits) == 6 else "".join(2 * digit for digit in digits)
    parts = [int(whole[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_every_text_has_the_contrast_of_wcag_aa(scheme: int) -> None:
    css = resources.files("fyke.dashboard").joinpath("static", "style.css").read_text("utf-8")
    colours = dict(re.findall(r"--(\w+): (#\w+)", re.findall(r":root \{(.*?)\}", css)[scheme]))
    for ink in ("ink", "soft", "accent", "warn"):
        for ground in ("ground", "box") + (("ins", "del") if ink == "ink" else ()):
            bright, dim = sorted((luminance(colours[ink]), luminance(colours[ground])), reverse=True)
            assert (bright + 0.05) / (dim + 0.05) >= 4.5, (ink, ground)
