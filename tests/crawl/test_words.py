"""What users say of a crawl: where its seeds come from, limits of bytes and time, settings, how much is told."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fyke import config
from fyke.assemble import Summary, crawl
from fyke.cli import run as fyke_command
from fyke.crawl.run.runtime import log, logging_to
from fyke.crawl.run.settings import CrawlSettings
from fyke.store import Store
from tests.json_schemas import schema_of
from tests.little_site import page, serving

PAGES = 60
LARGE = {
    "/": page("first", *(f"/{number}" for number in range(PAGES))),
    **{f"/{number}": page(f"page {number}", text=f"{number} and so on. " * 1000) for number in range(PAGES)},
}


def run(seeds: list[str], store: Path, **options: Any) -> Summary:
    how: dict[str, Any] = {"delay": 0.0, "agents": 1, "sitemaps": False, **options}
    return crawl(seeds, store, **how)


def stored(store: Path) -> dict[str, str]:
    """URL to type of the documents."""
    with Store.open(store, "r") as reader:
        return {row.url: row.meta.type for row in reader.scan(parts=()) if row.meta.status == 200}


@pytest.mark.parametrize("agents", [1, 2])
def test_max_bytes_is_a_total_and_a_limit_that_was_asked_for(tmp_path: Path, agents: int) -> None:
    with serving(LARGE) as site:
        summary = run([f"{site.root}/"], tmp_path / "s", max_bytes="200kB", agents=agents)
        assert (summary.ended, summary.limit, summary.status) == ("limit", "max_bytes", 0)
        assert 200_000 <= summary.bytes < 300_000, "what is under way comes in addition"
        assert summary.queued > 0
        again = run([f"{site.root}/"], tmp_path / "s", max_bytes="400kB", agents=agents)
        assert 400_000 <= again.bytes < 500_000


@pytest.mark.parametrize("agents", [1, 2])
def test_max_time_ends_a_crawl_with_status_0(tmp_path: Path, agents: int) -> None:
    """One page a minute would take an hour."""
    with serving(LARGE) as site:
        summary = run([f"{site.root}/"], tmp_path / "s", delay="1m", max_time="1s", patience="1h", agents=agents)
    assert (summary.ended, summary.limit, summary.status) == ("limit", "max_time", 0)


def test_a_limit_that_is_not_reached_says_nothing(tmp_path: Path) -> None:
    with serving({"/": page("alone")}) as site:
        summary = run([f"{site.root}/"], tmp_path / "s", max_time="1h", max_bytes="1GB", max_pages=10)
    assert (summary.ended, summary.limit, summary.finished) == ("done", "", True)


FEW = {"/": page("first", "/a", "/b"), "/a": page("a"), "/b": page("b", "/missing")}
QUICK = ("--delay", "0", "--agents", "1", "--no-sitemaps")


@pytest.mark.parametrize("word", ["-", "@-"])
def test_seeds_come_from_stdin(
    word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(FEW) as site:
        lines = f"\ufeff{site.root}/a\n\n# a comment\nnonsense\n{site.root}/b\n"
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
        assert fyke_command(["crawl", word, "--store", str(tmp_path / "s"), *QUICK, "--max-pages", "2"]) == 0
        assert set(stored(tmp_path / "s")) == {f"{site.root}/a", f"{site.root}/b"}
    assert "stdin, line 4: not a URL: 'nonsense'" in capfd.readouterr().err


def test_seeds_come_from_the_file_of_settings(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "crawl.toml"
    with serving(FEW) as site:
        file.write_text(f'seeds = ["{site.root}/"]\ndelay = 0\nagents = 1\nsitemaps = false\nmax_time = "1h"\n')
        assert fyke_command(["crawl", "--config", str(file), "--store", str(tmp_path / "s"), "--json"]) == 0
        assert json.loads(capfd.readouterr().out)["pages"] == 3
        words = ["crawl", f"{site.root}/a", "--config", str(file), "--store", str(tmp_path / "t"), "--json"]
        assert fyke_command(words) == 0
        assert json.loads(capfd.readouterr().out)["pages"] == 1, "the command line wins"
    file.write_text("seeds = 3\n")
    assert fyke_command(["crawl", "--config", str(file), "--store", str(tmp_path / "u")]) == 2
    assert fyke_command(["crawl", "--store", str(tmp_path / "u")]) == 2
    assert "no seed" in capfd.readouterr().err


def test_settings_that_are_shown_are_settings_that_are_read(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["https://example.org/ü", "--max-time", "90m", "--include", 'a"\\\x7fb', "--resolve", "a.org:127.0.0.1"]
    words += ["--max-bytes", "3GB", "--no-sitemaps", "--order", "quality"]
    store = tmp_path / "s"
    assert fyke_command(["crawl", *words, "--store", str(store), "--show-settings"]) == 0
    shown = capfd.readouterr().out
    assert not store.exists(), "nothing is crawled"
    assert 'max_time = "90m"' in shown
    (tmp_path / "again.toml").write_text(shown)
    again = config.read(CrawlSettings, tmp_path / "again.toml", others=("seeds",))
    assert (again.max_time, again.max_bytes, again.include) == (5400.0, 3_000_000_000, ('a"\\\x7fb',))
    assert fyke_command(["config", "--config", str(tmp_path / "again.toml")]) == 0
    assert capfd.readouterr().out == shown
    assert fyke_command(["config", *words, "--json"]) == 0
    told = json.loads(capfd.readouterr().out)
    jsonschema.validate(told, schema_of("config"))
    assert told["seeds"] == ["https://example.org/ü"]
    del told["seeds"]
    assert config.build(CrawlSettings, told) == again


def test_how_much_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with serving(FEW) as site:
        words = ["crawl", f"{site.root}/", *QUICK]
        assert fyke_command([*words, "--store", str(tmp_path / "q"), "-q"]) == 0
        said = capfd.readouterr()
        assert (said.out, said.err) == ("", "")
        assert fyke_command([*words, "--store", str(tmp_path / "v"), "-v", "--log-format", "json"]) == 0
        said = capfd.readouterr()
        lines = [json.loads(line) for line in said.err.splitlines() if line.startswith("{")]
        assert {(line["url"], line["status"]) for line in lines if "url" in line} == {
            (f"{site.root}/", 200), (f"{site.root}/a", 200), (f"{site.root}/b", 200), (f"{site.root}/missing", 404)
        }  # fmt: skip
        assert [json.loads(line) for line in (tmp_path / "v" / "fyke.log").read_text().splitlines()] == lines
        assert fyke_command(["config", "--store", str(tmp_path / "v")]) == 0
        assert 'log_format = "json"' in capfd.readouterr().out
        assert fyke_command([*words, "--store", str(tmp_path / "v"), "-v", "-q"]) == 2


def test_a_log_line_is_one_line_and_moves_no_cursor(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with logging_to(tmp_path, verbose=True):
        log.warning("a title: %s", "x\x1b[2J\ny")
    written = (tmp_path / "fyke.log").read_text()
    assert written.endswith("WARNING a title: x\\x1b[2J\\ny\n")
    assert capfd.readouterr().err == written
