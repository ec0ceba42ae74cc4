"""What is exported, judged by other people's programs: warcio, cdxj-indexer, py-wacz, pywb, Chromium.

They live in a venv of their own (`make judges`, or FYKE_JUDGES names the folder of their programs); pywb is GPL.
Chromium is the system's (Debian: chromium-headless-shell, or chromium).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from fyke.assemble import crawl
from fyke.store import Settings, Store
from fyke.store.exporting import export
from fyke.store.exports.warc import captures
from fyke.store.importing import import_file
from tests.browser.showing import program
from tests.crawl.pictured import pictured
from tests.little_site import Answer, serving
from tests.store.copies import mark_copy

ROOT = Path(__file__).parent.parent.parent
HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\n"
)
ODD = (
    "http://example.com/", "http://example.com/%7Euser", "http://example.com/a%2Fb", "http://example.com/x?b=2&a=1",
    "http://example.com/x?sid=0123456789abcdef0123456789abcdef", "http://[2001:db8::1]/p", "http://192.0.2.7:8080/q",
    "http://www.example.com/(S(4hqa0555fwsecu455xqckv45))/a.aspx", "http://bücher.example/",
    "http://example.com/a?url=http%3A%2F%2Fx.org%2F", "https://example.org:8443/ü/日本", "http://example.com/A/B/../c",
    "http://example.com/a'b(c)!*", "http://example.com/?", "http://example.com/a+b?c=d+e&c=%2B", "http://w.test/%25",
)  # fmt: skip


@pytest.fixture(scope="module")
def judges() -> Path:
    """The folder of the judges' programs."""
    folder = Path(os.environ.get("FYKE_JUDGES", ROOT / ".venv-judges" / "bin"))
    if not (folder / "cdxj-indexer").exists():
        pytest.skip(f"the judges are not at {folder}; make them with `make judges`")
    return folder


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Odd URLs, several versions, exact copies, an error, a redirect, HTTP/2, a file without heads, a 304."""
    path = tmp_path_factory.mktemp("judged") / "s"
    with Store.open(path, settings=Settings(tablets=3)) as opened:
        for number, url in enumerate(ODD):
            opened.put(url, raw=b"<title>T%d</title><p>Page %d" % (number, number // 3), response_head=HEAD,
                       request_head=b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", fetched=1_600_000_000.25 + number,
                       title=f"T{number}", links=["http://example.com/l"])  # fmt: skip
        opened.put(ODD[0], raw=b"newer", response_head=HEAD, fetched=1_700_000_000)
        opened.put(ODD[0], title="by hand", fetched=1_700_000_001)
        two = b"HTTP/2 404 \r\ncontent-type: text/plain\r\n\r\n"
        opened.put("http://example.com/404", raw=b"gone", response_head=two, fetched=1_600_000_100)
        moved = b"HTTP/1.1 301 Moved\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n"
        opened.put("http://example.com/moved", raw=b"", response_head=moved, fetched=1_600_000_101)
        opened.put("http://example.com/file.bin", raw=b"\0\1\2", fetched=1_600_000_102)
        for number, host in enumerate(("c1.test", "c2.test", "c3.test")):
            opened.put(f"http://{host}/", raw=b"<p>the same words", response_head=HEAD, fetched=1_600_001_000 + number)
        for host in ("c2.test", "c3.test"):
            mark_copy(opened, f"http://{host}/", "http://c1.test/")
    return path


def run(*words: str | Path, **more: object) -> str:
    command = [str(word) for word in words]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=800, **more)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return str(done.stdout)


@pytest.mark.parametrize("ending", [".warc", ".warc.gz"])
def test_warcio_and_cdxj_indexer(judges: Path, store: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"out{ending}"
    with Store.open(store, "r") as opened:
        assert export(opened.scan(), out) > 20
    run(judges / "warcio", "check", out)
    assert run(judges / "cdxj-indexer", "-s", out) == Path(f"{out}.cdxj").read_text()


def test_wacz(judges: Path, store: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.wacz"
    with Store.open(store, "r") as opened:
        count = export(opened.scan(), out)
    assert "Validation succeeded" in run(judges / "wacz", "validate", "-f", out)
    # And theirs, read by us.
    with Store.open(store, "r") as opened:
        export(opened.scan(), tmp_path / "in.warc.gz")
    run(judges / "wacz", "create", "-o", tmp_path / "theirs.wacz", tmp_path / "in.warc.gz", cwd=tmp_path)
    with Store.open(tmp_path / "t", settings=Settings(tablets=1)) as opened:
        assert import_file(opened, tmp_path / "theirs.wacz").rows == count


def test_pywb_replays_everything(judges: Path, store: Path, tmp_path: Path) -> None:
    archive, indexes = (tmp_path / "collections" / "c" / name for name in ("archive", "indexes"))
    archive.mkdir(parents=True)
    indexes.mkdir()
    wanted = {}
    with Store.open(store, "r") as opened:
        export(opened.scan(), archive / "out.warc.gz")
        for row in opened.scan():
            for capture in captures(row):
                body = hashlib.sha1(capture.row.raw or b"").hexdigest()
                wanted[row.url, int(capture.date)] = (capture.row.meta.status or 200, body)
    shutil.move(archive / "out.warc.gz.cdxj", indexes / "index.cdxj")
    lines = [line.split(" ", 2) for line in (indexes / "index.cdxj").read_text().splitlines()]
    asked = [(json.loads(data)["url"], stamp) for _, stamp, data in lines]
    assert len(asked) == len(wanted)
    told = run(judges / "python", Path(__file__).parent / "pywb_replay.py", tmp_path,
               input="".join(json.dumps(each) + "\n" for each in asked))  # fmt: skip
    found = [json.loads(line) for line in told.splitlines() if line.startswith('["')]
    assert len(found) == len(asked)
    from fyke.formats.warc_record import parse_date

    wrong = []
    for (url, stamp), (_, status, body) in zip(asked, found, strict=True):
        if (status, body) != wanted[url, int(parse_date(stamp))]:
            wrong.append((url, stamp, status))
    assert wrong == []


@pytest.fixture(scope="module")
def browser() -> str:
    """Chromium's program."""
    found = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))), None)
    if found is None:
        pytest.skip("there is no Chromium; Debian's package is chromium-headless-shell")
    return found


class Wayback:
    """pywb on loopback, and a browser that reaches nothing else."""

    def __init__(self, folder: Path, server: subprocess.Popen[str], browser: str) -> None:
        self._folder, self._server, self._browser = folder, server, browser
        self._lines = filter(re.compile(r'\d+$|\["').match, server.stdout or ())
        self._origin = f"http://127.0.0.1:{int(next(self._lines))}"

    def show(self, collection: str, url: str) -> tuple[str, dict[str, int], list[str]]:
        """Show a page; return what it became, what pywb was asked for with its answers, and what others were."""
        net = self._folder / "net.json"
        words = (
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
            "--disable-component-update", "--no-first-run", f"--user-data-dir={self._folder / 'profile'}",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--virtual-time-budget=20000",
            f"--log-net-log={net}", "--dump-dom",
        )  # fmt: skip
        page = run(self._browser, *words, f"{self._origin}/{collection}/2026/{url}")
        asked = {found[1] for found in re.finditer(r'"url":"(https?:[^"]*)"', net.read_text(errors="replace"))}
        with contextlib.suppress(OSError):  # a 404, which marks the end
            urlopen(f"{self._origin}/the/end")
        told = dict(iter(lambda: json.loads(next(self._lines)), ["/the/end", 404]))
        return page, told, sorted(each for each in asked if not each.startswith(self._origin + "/"))


@contextlib.contextmanager
def wayback(judges: Path, browser: str, folder: Path) -> Iterator[Wayback]:
    words = [str(judges / "python"), str(Path(__file__).parent / "pywb_serve.py"), str(folder)]
    with (
        (folder / "errors").open("w") as errors,
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True) as server,
    ):
        try:
            yield Wayback(folder, server, browser)
        finally:
            assert server.stdin is not None
            server.stdin.close()  # it ends
            assert server.stdout is not None
            server.stdout.read()


def test_chromium_shows_a_page_with_all_that_it_needs(judges: Path, browser: str, tmp_path: Path) -> None:
    with pictured() as site:
        crawl([site.seed], tmp_path / "s", resolve=site.resolve, requisites=True, allow_private=True, delay=0.0,
              agents=1, max_pages=1, sitemaps=False)  # fmt: skip
    with Store.open(tmp_path / "s", "r") as opened:
        for collection, alone in (("c", False), ("pages", True)):
            folder = tmp_path / "collections" / collection
            for name in ("archive", "indexes"):
                (folder / name).mkdir(parents=True)
            out = folder / "archive" / "out.warc.gz"
            export((row for row in opened.scan() if not (alone and row.meta.requisite)), out)
            shutil.move(f"{out}.cdxj", folder / "indexes" / "index.cdxj")
    with wayback(judges, browser, tmp_path) as shown:
        page, asked, elsewhere = shown.show("c", site.seed)
        assert "hooped bag net" in page
        assert {place: status for place, status in asked.items() if status >= 400} == {}
        assert elsewhere == []
        seen = " ".join(asked)
        parts = (
            "main.css", "more.css", "third.css", "x.gif", "net.woff2", "one.gif", "p.gif", "late.gif", "real.gif",
            "inline-script.gif", "a%20b(1)", "%C3%BC.gif", "q.gif?sid=", "before.gif", "preload.gif",
        )  # fmt: skip
        assert [part for part in parts if part not in seen] == []
        # Pages alone do not do: the judge sees what is missing.
        _, asked, _ = shown.show("pages", site.seed)
        assert sum(status == 404 for status in asked.values()) > 10


def test_chromium_replays_a_rendered_page_with_what_it_loaded(judges: Path, browser: str, tmp_path: Path) -> None:
    program()
    shell = b"<!doctype html><link rel=stylesheet href=/s.css><div id=app></div><script src=/app.js></script>"
    script = b"""fetch('/data.json').then(r => r.json()).then(d => {
      app.innerHTML = `<h1>${d.title}</h1><img src=/i.gif>` + d.links.map(l => `<a href=${l}>l</a>`).join(' ') })"""
    gif = b"GIF89a\1\0\1\0\0\0\0,\0\0\0\0\1\0\1\0\0\2\1\0\0;"
    site = {
        "/": Answer(shell),
        "/app.js": Answer(script, "text/javascript"),
        "/data.json": Answer(
            b'{"title": "A hooped bag net", "links": ["/1", "/2", "/3", "/4", "/5"]}', "application/json"
        ),
        "/s.css": Answer(b"h1 { color: green }", "text/css"),
        "/i.gif": Answer(gif, "image/gif"),
    }
    with serving(site) as started:
        seed = f"{started.root}/"
        crawl([seed], tmp_path / "s", delay=0.0, agents=1, max_pages=1, sitemaps=False, render="auto",
              keep_subresources=True)  # fmt: skip
    folder = tmp_path / "collections" / "c"
    for name in ("archive", "indexes"):
        (folder / name).mkdir(parents=True)
    out = folder / "archive" / "out.warc.gz"
    with Store.open(tmp_path / "s", "r") as opened:
        export(opened.scan(), out)
    shutil.move(f"{out}.cdxj", folder / "indexes" / "index.cdxj")
    with wayback(judges, browser, tmp_path) as shown:
        page, asked, elsewhere = shown.show("c", seed)
    assert "<h1>A hooped bag net</h1>" in page
    assert {place: status for place, status in asked.items() if status >= 400} == {}
    assert elsewhere == []
    assert [part for part in ("app.js", "data.json", "s.css", "i.gif") if part not in " ".join(asked)] == []
