"""Whole crawls over real sockets, as processes: several agents, kill -9 and resume, clean stops."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from fyke import assemble
from fyke.assemble import crawl
from fyke.cli import run as fyke_command
from fyke.crawl.run import growth
from fyke.crawl.run import status as statuses
from fyke.store import EXACT, Store
from fyke.url import Url
from fyke.world.config import WorldConfig
from fyke.world.pairs import resembling
from fyke.world.serve import Served, serve

# What takes time on purpose is off: delays, slow hosts, retries, formats that worker processes convert.
QUICK = WorldConfig(hosts=12, pages=160, formats=False, robots=False, slow=False, flaky=False, changes=False)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serve(QUICK) as served:
        yield served


def command(served: Served, store: Path, *options: str) -> list[str]:
    words = [sys.executable, "-m", "fyke", "crawl", *served.world.seeds, "--store", str(store), "--json"]
    words += ["--scope", "any", "--delay", "0", *options]
    return words + [word for pair in served.resolve() for word in ("--resolve", pair)]


def stored(store: Path) -> set[str]:
    with Store.open(store, "r") as reader:
        return {row.url for row in reader.scan(parts=()) if row.meta.status == 200 and not row.meta.error}


def run(words: list[str]) -> dict[str, object]:
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    summary: dict[str, object] = json.loads(result.stdout)
    return summary


@dataclass(frozen=True)
class Crawled:
    store: Path
    summary: dict[str, object]
    visits: Counter[tuple[str, str]]


def run_here(served: Served, store: Path, **options: float | str) -> dict[str, object]:
    """The same by one agent, in this process."""
    how: dict[str, Any] = {"scope": "any", "delay": 0.0, "agents": 1, **options}
    return asdict(crawl(served.world.seeds, store, resolve=tuple(served.resolve()), **how))


@pytest.mark.parametrize("agents", [1, 3])
def test_a_whole_crawl_is_right(served: Served, tmp_path: Path, agents: int) -> None:
    """By one agent in this process, and by three in theirs."""
    served.log()
    store = tmp_path / "s"
    summary = run_here(served, store) if agents == 1 else run(command(served, store, "--agents", str(agents)))
    crawled = Crawled(store, summary, Counter((visit.host, visit.target) for visit in served.log()))
    check_that_all_that_is_expected_is_fetched_once(served, crawled)
    check_that_copies_and_near_copies_are_found_and_no_others(served, crawled)


def test_a_busy_crawl_goes_on_with_more_agents(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It begins with one agent, and restarts cleanly: nothing is lost, and nothing is fetched twice."""
    served.log()
    monkeypatch.setattr(growth, "BEATS", 1)
    monkeypatch.setattr(growth, "is_worth", lambda share, rate, queued: queued > 0)
    monkeypatch.setattr(growth, "cores", lambda: 2)
    monkeypatch.setattr(assemble, "cores", lambda: 2)
    with caplog.at_level("INFO", logger="fyke"):
        summary = run_here(served, tmp_path / "s", agents=0, delay=0.12)
    assert "goes on with 2" in caplog.text
    crawled = Crawled(tmp_path / "s", summary, Counter((visit.host, visit.target) for visit in served.log()))
    check_that_all_that_is_expected_is_fetched_once(served, crawled)


@pytest.mark.parametrize(
    ("share", "rate", "queued", "worth"),
    [(0.9, 400.0, 20_000, True), (0.9, 400.0, 4_000, False), (0.5, 400.0, 20_000, False), (0.9, 0.0, 0, False)],
)
def test_agents_are_added_where_one_is_busy_and_has_work(share: float, rate: float, queued: int, worth: bool) -> None:
    assert growth.is_worth(share, rate, queued) == worth


def check_that_all_that_is_expected_is_fetched_once(served: Served, crawled: Crawled) -> None:
    expected = served.world.expected(served.world.seeds)
    assert expected.pages <= stored(crawled.store)
    assert crawled.summary["queued"] == 0
    assert crawled.summary["pages"] == len(stored(crawled.store))
    assert [v for v, count in crawled.visits.items() if count > 1] == []


def check_that_copies_and_near_copies_are_found_and_no_others(served: Served, crawled: Crawled) -> None:
    pages = served.world.expected(served.world.seeds).pages
    with Store.open(crawled.store, "r") as store:
        rows = {row.url: row for row in store.scan(parts=()) if row.url in pages}
        found = {url: row.meta.duplicate_of for url, row in rows.items() if row.meta.duplicate_of in pages}
        truth = {(pair.first, pair.second): pair for pair in resembling(served.world, rows)}
        assert len(truth) > 50
        recalled = sum(first in found or second in found for first, second in truth)
        right = sum((min(pair), max(pair)) in truth for pair in found.items())
        assert recalled >= 0.99 * len(truth)
        assert right >= 0.99 * len(found)
        for url, original in found.items():
            meta = rows[url].meta
            if (min(url, original), max(url, original)) in truth:
                pair = truth[min(url, original), max(url, original)]
                assert meta.similarity == pytest.approx(pair.jaccard, abs=0.05)
            if meta.duplicate_by == EXACT:
                version = rows[url].version
                assert version is not None
                assert version.size < meta.length, "an exact copy is stored once"
                row = store.get(original)
                assert row is not None
                assert rows[url].raw == row.raw
        marked = sum(bool(row.meta.duplicate_of) for row in store.scan(parts=()))
        assert crawled.summary["duplicates"] == marked


def test_kill_9_of_the_whole_tree_loses_nothing(served: Served, tmp_path: Path) -> None:
    served.log()
    chance = random.Random(5)
    whole = command(served, tmp_path / "s", "--agents", "2", "--warc-dir", str(tmp_path / "warc"))
    # Killed while each host has been asked for a few of its pages, in a crawl that would go on for long.
    for words in (whole + ["--delay", "1"], [sys.executable, "-m", "fyke", "resume", "--store", str(tmp_path / "s")]):
        crawl = subprocess.Popen(words, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wanted = chance.randrange(20, 45)
        while wanted > 0:
            assert crawl.poll() is None
            wanted -= len(served.log())
            time.sleep(0.02)
        os.killpg(crawl.pid, signal.SIGKILL)
        crawl.wait()
        left = Path((tmp_path / "s" / "run").read_text())
    run(whole)
    assert not left.exists(), "what a killed run left in the temporary folder is gone"
    assert served.world.expected(served.world.seeds).pages <= stored(tmp_path / "s")
    check_that_every_body_is_in_the_warcs(tmp_path / "s", tmp_path / "warc")


def check_that_every_body_is_in_the_warcs(path: Path, folder: Path) -> None:
    """By warcio, digests checked: what stands in the store stands in a file under its final name."""
    captured: set[tuple[str, bytes]] = set()
    files = sorted(folder.iterdir())
    assert [file for file in files if file.suffix not in {".gz", ".cdxj"}] == [], "nothing is left open"
    for file in files:
        if file.suffix == ".gz":
            with file.open("rb") as stream:
                for record in ArchiveIterator(stream, check_digests="raise"):
                    if record.rec_type == "response":
                        captured.add((record.rec_headers["WARC-Target-URI"], record.content_stream().read()))
    with Store.open(path, "r") as store:
        kept = {(row.url, row.raw) for row in store.scan() if row.meta.status == 200 and row.raw}
    assert kept
    assert kept <= captured


@pytest.mark.parametrize("kind", ["prefix", "suffix"])
def test_a_prefix_and_a_suffix_are_scopes(served: Served, tmp_path: Path, kind: str) -> None:
    """Seeds outside are where it begins; else no page is fetched that the rule leaves out."""
    seeds = served.world.seeds
    rule = f"{Url(seeds[0]).site}/" if kind == "prefix" else "." + Url(seeds[0]).host.partition(".")[2]
    run_here(served, tmp_path / "s", scope=rule)
    found = [Url(href) for href in stored(tmp_path / "s") if href not in seeds]
    assert found
    assert [url for url in found if not (url.href.startswith(rule) or url.host.endswith(rule))] == []


def test_max_pages_is_a_total_and_the_rest_stays_queued(served: Served, tmp_path: Path) -> None:
    summary = run(command(served, tmp_path / "s", "--agents", "2", "--max-pages", "30"))
    assert summary["pages"] == 30
    summary = run_here(served, tmp_path / "s", max_pages=70)
    assert summary["pages"] == 70
    assert isinstance(summary["queued"], int)
    assert summary["queued"] > 0


def test_ctrl_c_stops_cleanly_and_status_tells(
    served: Served, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = command(served, tmp_path / "s", "--agents", "2", "--delay", "5")  # it would take more than a minute
    crawl = subprocess.Popen(words, start_new_session=True, stdout=subprocess.PIPE, text=True)
    while statuses.total(statuses.read(tmp_path / "s"), time.time()).pages <= 5:
        assert crawl.poll() is None
        time.sleep(0.1)
    assert fyke_command(["status", "--store", str(tmp_path / "s"), "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["running"]
    os.killpg(crawl.pid, signal.SIGINT)
    out, _ = crawl.communicate()
    assert crawl.returncode == 3, "interrupted with work left"
    summary = json.loads(out)
    assert not summary["finished"]
    assert summary["pages"] == len(stored(tmp_path / "s"))
