"""Code of one's own in a crawl: what it may do, and that it can end nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fyke
from fyke import assemble
from fyke.crawl import hooks
from tests.little_site import Site, page, serving

MINE = """
import time

def before(url):
    if url.endswith("/2"):
        return "not this one"
    if url.endswith("/3"):
        raise ValueError("three")
    return {"X-Mine": "yes", "X-Token": "canary-5150"}

def after(page):
    if page.url.endswith("/4"):
        return {"drop": "no four"}
    if page.url.endswith("/5"):
        return {"annotate": {"words": len(page.text.split())}, "links": [page.url.replace("/5", "/hidden")]}
    if page.url.endswith("/6"):
        return 6

def slow(page):
    if page.url.endswith("/1"):
        time.sleep(60)

class Mine:
    def judge(self, url):
        return "excluded" if url.path == "/7" else None

    def priority(self, candidates):
        return candidates.depth.astype(float)
"""


@pytest.fixture
def site() -> Iterator[Site]:
    made = {f"/{n}": page(f"Page {n}", text=f"This is page {n}.") for n in range(1, 9)}
    made["/"] = page("Home", *made)
    made["/hidden"] = page("Hidden")
    with serving(made) as found:
        yield found


def crawl(site: Site, folder: Path, *words: str) -> tuple[dict[str, Any], dict[str, Any]]:
    (folder / "mine_for_tests.py").write_text(MINE)
    command = [sys.executable, "-m", "fyke", "crawl", site.root + "/", "--store", "s", "--delay", "0", "--no-sitemaps"]
    done = subprocess.run([*command, *words, "--json"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = subprocess.run(
        [sys.executable, "-m", "fyke", "status", "--store", "s", "--json"], cwd=folder, capture_output=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1]), json.loads(told.stdout)


@pytest.mark.parametrize("agents", ["1", "2"])
def test_hooks_before_and_after(site: Site, tmp_path: Path, agents: str) -> None:
    (tmp_path / "crawl.toml").write_text(
        '[plugins]\nbefore-fetch = "mine_for_tests:before"\nafter-reading = "mine_for_tests:after"\n'
        'scope = "mine_for_tests:Mine"\nprioritizer = "mine_for_tests:Mine"\n'
    )
    summary, status = crawl(site, tmp_path, "--config", "crawl.toml", "--agents", agents)
    assert site.headers("/1")["x-mine"] == "yes"
    assert "/2" not in site.paths, "vetoed before the fetch"
    assert "/3" in site.paths, "a hook that raises stops nothing"
    assert "/7" not in site.paths, "the scope is one's own"
    assert "/hidden" in site.paths, "a hook adds links"
    with fyke.Store.open(tmp_path / "s", mode="r") as store:
        rows = {row.url.removeprefix(site.root): row for row in store.scan()}
        assert (rows["/2"].meta.error, rows["/4"].meta.error, rows["/4"].raw) == ("hook", "hook", None)
        assert rows["/5"].columns["hook:words"].isdigit()
        assert rows["/6"].meta.status == 200
        assert b"canary-5150" not in b"".join(row.page.request_head for row in rows.values() if row.page)
    assert summary["errors"] == {"hook": 2}
    told = json.dumps(status["troubles"])
    assert "mine_for_tests:before" in told
    assert "three" in told
    assert "mine_for_tests:after" in told


def test_a_hook_that_blocks_is_named_and_turned_off(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "PATIENCE", 0.5)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine_that_blocks.py").write_text(MINE)
    plugins = ["after-reading=mine_that_blocks:slow"]
    summary = assemble.crawl([site.root + "/"], tmp_path / "s", delay=0.0, sitemaps=False, plugins=plugins)
    assert summary.pages == 9
    assert "is off" in (tmp_path / "s" / "fyke.log").read_text()


@pytest.mark.parametrize("given", ["before-fetch=nowhere:at_all", "before-fetch=json:nothing", "before-fetch=unknown"])
def test_what_cannot_be_had_is_said_before_anybody_is_contacted(site: Site, tmp_path: Path, given: str) -> None:
    command = [sys.executable, "-m", "fyke", "crawl", site.root + "/", "--store", str(tmp_path / "s")]
    done = subprocess.run([*command, "--plugins", given], capture_output=True, text=True, check=False)
    assert (done.returncode, "before-fetch" in done.stderr, site.paths) == (2, True, [])
