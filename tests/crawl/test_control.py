"""Steering: a crawl that runs follows what it is told, and what it is told outlives the run."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from fyke.crawl.run import steering
from fyke.errors import StorageError
from fyke.store import Store
from tests.commands import fyke
from tests.little_site import listening


class Site:
    """Endless pages: ``/a/n`` and ``/b/n`` lead to the next of both."""

    def __init__(self) -> None:
        self.log: list[str] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.log.append(self.path)
                kind, _, n = self.path.strip("/").partition("/")
                found = kind in ("", "a", "b", "c")
                links = [f"/{k}/{int(n or 0) * 2 + i}" for k in "ab" for i in (1, 2)] if kind != "c" else []
                words = f"<p>{kind} {n} says a few words of its own.</p>"
                body = (words + "".join(f"<a href={link}>{link}</a>" for link in links)).encode()
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.handler = Handler
        self.url = ""

    def wait(self, true: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + 120
        while not true():
            assert time.monotonic() < deadline, what
            time.sleep(0.02)


@pytest.fixture
def site() -> Iterator[Site]:
    found = Site()
    with listening(found.handler) as port:
        found.url = f"http://127.0.0.1:{port}/"
        yield found


def control(store: Path, *words: str) -> dict[str, Any]:
    done = fyke("control", *words, "--store", str(store), "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("agents", ["1", "2"])
def test_a_running_crawl_follows(site: Site, tmp_path: Path, agents: str) -> None:
    store = tmp_path / "s"
    words = ["crawl", site.url, "--store", str(store), "--delay", "0.02", "--agents", agents, "--no-sitemaps", "--json"]
    process = subprocess.Popen([sys.executable, "-m", "fyke", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        site.wait(lambda: len(site.log) > 10, "it begins")
        assert control(store, "pause")["followed"]
        site.wait(lambda: "paused" in json.dumps(status(store)["idle"]), "status says that it is paused")
        before = len(site.log)
        time.sleep(1.5)
        assert len(site.log) == before, "a paused crawl asks nobody"
        assert status(store)["running"]

        assert control(store, "exclude", "/b/")["followed"]
        assert control(store, "add", site.url + "c/1")["followed"]
        assert control(store, "resume")["followed"]
        site.wait(lambda: len(site.log) > before + 20, "it goes on")
        assert not [path for path in site.log[before:] if path.startswith("/b/")], "what was queued is dropped too"
        site.wait(lambda: "/c/1" in site.log, "what was added is crawled")

        assert control(store, "stop")["stop"]
        out, err = process.communicate(timeout=800)
        assert process.returncode == 3, err
        assert json.loads(out)["ended"] == "interrupted"
    finally:
        process.kill()
        process.wait()
    before = len(site.log)
    done = fyke(*words, "--max-pages", str(pages(store) + 8))
    assert done.returncode == 0, done.stderr
    assert len(site.log) > before, "a pause and a stop were for the run before"
    assert not [path for path in site.log[before:] if path.startswith("/b/")], "an exclusion holds for a resume"


def status(store: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(fyke("status", "--store", str(store), "--json").stdout)
    return found


def pages(store: Path) -> int:
    with Store.open(store, "r") as reader:
        return sum(row.meta.status == 200 for row in reader.scan())


def test_nobody_is_steered_where_nobody_crawls(tmp_path: Path) -> None:
    done = fyke("control", "pause", "--store", str(tmp_path / "none"))
    assert (done.returncode, "no crawl" in done.stderr) == (2, True)


def test_changes_are_kept_one_after_another(tmp_path: Path) -> None:
    import msgspec

    def slower(known: steering.Steering) -> steering.Steering:
        return msgspec.structs.replace(known, slow={**known.slow, str(known.number): 2.0})

    threads = [threading.Thread(target=steering.change, args=(tmp_path, slower)) for _ in range(20)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert (steering.read(tmp_path).number, len(steering.read(tmp_path).slow)) == (20, 20)
    (tmp_path / steering.FILE).write_bytes(b'{"format": "other"}')
    with pytest.raises(StorageError):
        steering.read(tmp_path)
