"""What users say of a crawl: where its seeds come from, limits of bytes and time, settings, how much is told."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import fyke
from fyke import config
from fyke.assemble import crawl
from fyke.cli import run as fyke_command
from fyke.cli.crawl_ import lacks_contact
from fyke.crawl.run import runtime
from fyke.crawl.run.runtime import log, logging_to
from fyke.crawl.run.settings import CrawlSettings
from fyke.crawl.run.summary import Summary
from fyke.errors import ConfigError
from fyke.store import Store
from fyke.url import Url
from tests.json_schemas import schema_of
from tests.little_site import Answer, moved, page, serving

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
        again = run([f"{site.root}/"], tmp_path / "s", max_bytes="400kB")  # by one agent, whoever began
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


@pytest.mark.parametrize(
    ("words", "agent", "sender"),
    [
        ([], f"fyke/{fyke.__version__}", None),
        (["--contact", "me@my.org"], f"fyke/{fyke.__version__} (me@my.org)", "me@my.org"),
        (["--contact", "https://my.org/bot"], f"fyke/{fyke.__version__} (+https://my.org/bot)", None),
        (["--contact", "me@my.org", "--user-agent", "mine/2 (me@my.org)"], "mine/2 (me@my.org)", "me@my.org"),
    ],
)
def test_a_crawler_says_who_it_is_and_how_to_reach_its_master(
    words: list[str], agent: str, sender: str | None, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    warc = tmp_path / "warc"
    with serving({"/": page("first")}) as site:
        command = ["crawl", f"{site.root}/", *QUICK, "--store", str(tmp_path / "s"), "--warc-dir", str(warc), *words]
        assert fyke_command(command) == 0
        for path in ("/robots.txt", "/"):
            assert (site.headers(path)["user-agent"], site.headers(path).get("from")) == (agent, sender)
    assert "--contact" not in capfd.readouterr().err, "nobody but ourselves is asked"
    (file,) = warc.glob("*.warc.gz")
    head = gzip.decompress(file.read_bytes()).partition(b"\r\n\r\n\r\n")[0].decode()
    assert f"http-header-user-agent: {agent}\r\n" in head
    assert (f"http-header-from: {sender}\r\n" in head) == bool(sender)


@pytest.mark.parametrize(
    ("seeds", "options", "lacks"),
    [
        (["https://example.org/"], {}, True),
        (["http://127.0.0.1:8000/", "https://example.org/"], {}, True),
        (["http://127.0.0.1:8000/", "http://localhost/", "http://[::1]/"], {}, False),
        (["https://example.org/"], {"resolve": ("example.org:127.0.0.1",)}, False),
        (["https://example.org/"], {"contact": "me@my.org"}, False),
        (["https://example.org/"], {"user_agent": "mine/2 (+https://my.org/)"}, False),
        (["https://example.org/"], {"user_agent": "mine/2"}, True),
    ],
)
def test_who_gives_no_contact_is_asked_for_one(seeds: list[str], options: dict[str, Any], lacks: bool) -> None:
    assert lacks_contact(seeds, CrawlSettings(**options)) == lacks


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"contact": "nobody"}, "neither a mail address nor a URL"),
        ({"contact": "me@my.org\r\nX: y"}, "neither a mail address nor a URL"),
        ({"user_agent": ""}, "says who it is"),
        ({"user_agent": "a\r\nX: y"}, "says who it is"),
    ],
)
def test_what_is_no_name_is_refused(options: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        config.build(CrawlSettings, options)


MIXED = {
    "/": page("first", "/a", "/table.csv", "/notes.txt", "/picture.png", "/style.css"),
    "/a": page("second", "/deep.csv"),
    "/table.csv": Answer(b"name,size\ntrout,40\n", "text/csv"),
    "/deep.csv": Answer(b"name,size\ncarp,60\n", "text/csv"),
    "/notes.txt": Answer(b"Some notes about fish, in plain text.\n", "text/plain"),
    "/picture.png": Answer(b"\x89PNG\r\n\x1a\n" + bytes(64), "image/png"),
    "/sitemap.xml": Answer(
        b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>/a</loc></url></urlset>',
        "application/xml",
    ),
}


@pytest.mark.parametrize(
    ("types", "kept", "others"),
    [
        (("text/csv",), {"/table.csv", "/deep.csv"}, 4),
        (("text/html,text/plain",), {"/", "/a", "/notes.txt"}, 3),
        (("text/*",), {"/", "/a", "/table.csv", "/deep.csv", "/notes.txt"}, 1),
        (("image/png", "text/csv"), {"/table.csv", "/deep.csv", "/picture.png"}, 4),
    ],
)
def test_only_the_types_that_are_wanted_are_stored(
    types: tuple[str, ...], kept: set[str], others: int, tmp_path: Path
) -> None:
    """Others are fetched, and the pages among them lead on; their rows say why there is nothing."""
    with serving(MIXED) as site:
        summary = run([f"{site.root}/"], tmp_path / "s", types=types, sitemaps=True)
        asked = set(site.paths)
    assert set(stored(tmp_path / "s")) == {site.root + path for path in kept}
    assert (summary.pages, summary.errors.get("type"), summary.status) == (len(kept), others, 0)
    assert summary.failed_seeds == {}
    assert ("/picture.png" in asked) == ("/picture.png" in kept), "endings that nobody reads are not asked for"
    with Store.open(tmp_path / "s", "r") as store:
        for row in store.scan():
            if row.meta.error == "type":
                assert (row.raw, row.text) == (None, None)
        deep = store.get(f"{site.root}/deep.csv")
        if deep is not None:
            assert [anchor.source for anchor in deep.anchors] == [f"{site.root}/a"], (
                "who links to it is known all the same"
            )


def test_max_pages_counts_what_is_kept(tmp_path: Path) -> None:
    with serving(MIXED) as site:
        summary = run([f"{site.root}/"], tmp_path / "s", types=("text/csv",), max_pages=1)
    assert (summary.pages, summary.limit) == (1, "max_pages")


@pytest.mark.parametrize("word", ["pdf", "text/", "*/*", "text/html;charset=x", ""])
def test_what_is_no_type_is_refused(word: str) -> None:
    with pytest.raises(ConfigError, match="is no media type; write text/html,application/pdf"):
        config.build(CrawlSettings, {"types": [word]})


def test_a_host_may_have_settings_of_its_own(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Two names of one server: of one, two pages; the other has no gap, where the rest would wait a minute."""
    file = tmp_path / "crawl.toml"
    with serving(FEW) as site:
        port = site.root.rpartition(":")[2]
        seeds = [f"http://few.test:{port}/", f"http://all.test:{port}/"]
        file.write_text(
            f'seeds = {json.dumps(seeds)}\nagents = 1\nsitemaps = false\nmax_host_pages = 1\ndelay = "1m"\n'
            'resolve = ["few.test:127.0.0.1", "all.test:127.0.0.1"]\n'
            '[hosts."few.test"]\ndelay = 0\nmax_pages = 2\n[hosts."ALL.test"]\ndelay = "0s"\nmax_pages = 0\n'
        )
        assert fyke_command(["crawl", "--config", str(file), "--store", str(tmp_path / "s"), "--max-time", "50s"]) == 0
        found = [Url(href).host for href in stored(tmp_path / "s")]
    assert (found.count("few.test"), found.count("all.test")) == (2, 3)
    capfd.readouterr()
    assert fyke_command(["config", "--store", str(tmp_path / "s")]) == 0
    (tmp_path / "again.toml").write_text(capfd.readouterr().out)
    again = config.read(CrawlSettings, tmp_path / "again.toml", others=("seeds",))
    assert (again.host_delays(), again.host_pages()) == (
        {"few.test": 0.0, "all.test": 0.0},
        {"few.test": 2, "all.test": 0},
    )


@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        ({"a.org": {"delays": 1}}, "unknown key 'delays' in .*did you mean 'delay'"),
        ({"a.org": {"delay": "soon"}}, "'soon' is no duration"),
        ({"a.org": {"delay": -1}}, "below 0"),
        ({"a.org/x": {}}, "is no name of a host"),
        ({"a.org": 3}, "hosts"),
        ({"a.org": {"content": "div[["}}, "is no CSS selector"),
    ],
)
def test_wrong_settings_of_a_host_are_named(hosts: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        config.build(CrawlSettings, {"hosts": hosts})


def test_a_host_may_say_where_its_content_is(tmp_path: Path) -> None:
    answer = Answer(
        b"<body><p>Words that look like the content of a page, a lot of them.</p><div id=own>The note.</div>"
    )
    file = tmp_path / "crawl.toml"
    with serving({"/": answer}) as site:
        port = site.root.rpartition(":")[2]
        names = ["own.test", "other.test"]
        file.write_text(
            f"seeds = {json.dumps([f'http://{name}:{port}/' for name in names])}\nagents = 1\nsitemaps = false\n"
            f"resolve = {json.dumps([f'{name}:127.0.0.1' for name in names])}\n"
            '[hosts."own.test"]\ncontent = "#own"\n'
        )
        assert fyke_command(["crawl", "--config", str(file), "--store", str(tmp_path / "s")]) == 0
    with Store.open(tmp_path / "s", "r") as store:
        own, other = (store.get(f"http://{name}:{port}/") for name in names)
        assert own is not None
        assert other is not None
        assert own.text == "The note."
        assert other.text != own.text


def test_links_out_of_the_scope_are_followed_so_far(tmp_path: Path) -> None:
    """near is a link away from home, far two, beyond three; near leads back home, and a redirect is no link."""
    pages: dict[str, Answer] = {}
    with serving(pages) as site:
        port = site.root.rpartition(":")[2]
        home, near, far, beyond = (f"http://{name}.test:{port}" for name in ("home", "near", "far", "beyond"))
        pages["/"] = page("start", f"{near}/moved", f"{near}/shut", f"{near}/a.zip")
        pages["/moved"] = moved(f"{near}/near")
        pages["/near"] = page("near", f"{far}/far", f"{home}/back")
        pages["/far"] = page("far", f"{beyond}/beyond")
        pages["/back"] = page("back", f"{far}/from-back")
        pages["/shut"] = pages["/from-back"] = pages["/beyond"] = page("a page")
        resolve = tuple(f"{name}.test:127.0.0.1" for name in ("home", "near", "far", "beyond"))
        found = {}
        for hops in range(4):
            for order in ({}, {"order": "quality"}) if hops == 2 else ({},):
                store = tmp_path / f"{hops}{len(order)}"
                how: dict[str, Any] = {"resolve": resolve, "allow_private": True, "exclude": ("shut",), **order}
                summary = run([f"{home}/"], store, hops_off=hops, **how)
                found[hops, len(order)] = {href.rpartition("/")[2] for href in stored(store)}
                assert summary.queued == 0
    assert found[0, 0] == {""}
    assert found[1, 0] == {"", "near", "back", "from-back"}
    assert found[2, 0] == found[2, 1] == {"", "near", "back", "from-back", "far"}
    assert found[3, 0] == {"", "near", "back", "from-back", "far", "beyond"}


def test_the_log_is_bounded_whoever_writes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "MAX_LOG", 5_000)
    with logging_to(tmp_path), logging_to(tmp_path):  # as two processes would
        for n in range(500):
            log.error("line %d of a log", n)
    now, before = (tmp_path / name for name in ("fyke.log", "fyke.log.1"))
    assert sorted(tmp_path.iterdir()) == [now, before]
    assert max(now.stat().st_size, before.stat().st_size) < 5_200
    lines = [line.split("line ")[1] for path in (before, now) for line in path.read_text().splitlines()]
    numbers = [int(line.split()[0]) for line in lines]
    assert numbers[-100:] == [n for n in range(450, 500) for _ in range(2)], "nothing between the two is missing"
