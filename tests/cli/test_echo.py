"""What others wrote reaches a terminal as text: no control sequence, no change of direction, no markup."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from fyke.cli import run
from fyke.cli.display import Display, table
from fyke.cli.echo import echo, json_escaped, plain
from fyke.crawl.revisit.reading import Reading
from fyke.crawl.run import status as statuses
from fyke.store import RowMeta, Store

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\x90q\x9c\u202egnp.exe\u2066\b\x7f[/x][b]bold :bomb:"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
PAGE = (
    f"<html><title>{HOSTILE}</title><body><article><p>{'A tale of nets and fish, told at length. ' * 20}{HOSTILE}</p>"
)
WORDS = " ".join(f"word{i}" for i in range(80)) + HOSTILE


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose very name is hostile, with a store, a collection and files that are, too."""
    folder = tmp_path_factory.mktemp("echo") / f"a{HOSTILE}".replace("/", "|")
    folder = folder.with_name(folder.name + "[")
    (folder / "x]").mkdir(parents=True)
    with Store.open(folder / "store") as store:
        for name in ("one", "two"):
            store.put(
                f"http://a.test/{name}", raw=PAGE.encode(), text=WORDS, title=HOSTILE,
                links=[(f"http://b.test/{name}", HOSTILE)], anchors={"http://c.test/": HOSTILE},
            )  # fmt: skip
        bad = RowMeta(error=HOSTILE, type=HOSTILE, etag=HOSTILE, address=HOSTILE, duplicate_of=HOSTILE)
        store.put("http://a.test/bad", meta=bad)
    where = {f"http://a.test/{HOSTILE}": HOSTILE}
    statuses.write(
        folder / "store",
        statuses.AgentStatus(
            1, 0, 1, 2.0, 1.0, counters={f"errors:{HOSTILE}": 3, f"dropped:{HOSTILE}": 1}, demoted=where,
            waiting=HOSTILE, waiting_host=HOSTILE, fresh=Reading(5, 0.5, 1.0),
            fresh_hosts={HOSTILE: Reading(5, 0.5, 1.0)},
        ),
    )  # fmt: skip
    (folder / "robots.txt").write_text(f"User-agent: *\nDisallow: /{HOSTILE}\nSitemap: http://a.test/{HOSTILE}\n")
    item = (
        f"<item><title><![CDATA[{plain_xml(HOSTILE)}]]></title><link>http://a.test/{plain_xml(HOSTILE)}</link></item>"
    )
    (folder / "feed.xml").write_text(f"<rss><channel><title>\u202e\x9b2J</title>{item}</channel></rss>")
    (folder / "sitemap.xml").write_text(f"<urlset><url><loc>http://a.test/{plain_xml(HOSTILE)}</loc></url></urlset>")
    (folder / "page.html").write_text(PAGE)
    (folder / "note.txt").write_text(WORDS)
    (folder / "files").mkdir()
    for name in "ab":
        (folder / "files" / f"{name}{HOSTILE.replace('/', '|')}.txt").write_text(WORDS)
    with (folder / "pages.jsonl").open("w") as out:
        for name in "ab":
            out.write(json.dumps({"url": f"http://a.test/{name}", "text": WORDS, "links": []}) + "\n")
    return folder


def plain_xml(text: str) -> str:
    """What XML may hold of it."""
    return re.sub("[\x00-\x1f]", "", text)


COMMANDS = [
    "status --store {p}/store",
    *(
        f"get http://a.test/one --show {show} --store {{p}}/store"
        for show in ("text", "html", "links", "anchors", "meta")
    ),
    "get http://a.test/bad --show meta --store {p}/store",
    "get http://a.test/one --snippet word79 --store {p}/store",
    "get http://a.test/none --store {p}/store",
    "list --store {p}/store",
    "freshness --store {p}/store",
    "export {p}/out.jsonl --store {p}/store",
    "import {p}/page.html --store {p}/other",
    "store check --store {p}/store",
    "store stats --hosts --store {p}/store",
    "store compact --store {p}/store",
    "robots {p}/robots.txt http://a.test/{h}",
    "feed {p}/feed.xml",
    "sitemap {p}/sitemap.xml",
    "dedupe {p}/files",
    "similar http://a.test/one --store {p}/store",
    "convert {p}/note.txt --to text",
    "convert {p}/page.html --to html",
    *(f"extract {{p}}/page.html --show {show}" for show in ("text", "html", "blocks")),
    "extract {p}/page.html --method all",
    "archive build {p}/collection --from {p}/pages.jsonl --min-documents 1",
    "archive show {p}/collection",
    "archive sub {p}/collection {p}/part --sample 0.5",
    "graph rank {p}/collection/graph",
    "simulate {p}/collection --policy {h}",
    "topic test {p}/page.html --model {p}/none.model",
    "url http://a.test/{h}",
    "crawl {h}",
    "resume --store {p}/none{h}",
    "status --store {p}/none{h}",
    "archive show {p}/none{h}",
    "lecture {h}",
    "world --hosts 2 --pages 10 --truth http://{h}/",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_passes_on_what_a_terminal_obeys(
    place: Path, command: str, capfd: pytest.CaptureFixture[str]
) -> None:
    words = [word.format(p=place, h=HOSTILE) for word in command.split()]
    assert run(words) in {0, 1, 2}
    said = capfd.readouterr()
    assert said.out + said.err
    assert OBEYED.findall(said.out + said.err) == []


@pytest.mark.parametrize(
    "command", [c for c in COMMANDS if c.startswith(("get", "list", "status --store {p}/s", "feed"))]
)
def test_json_is_exact_and_escaped(place: Path, command: str, capfd: pytest.CaptureFixture[str]) -> None:
    words = [word.format(p=place, h=HOSTILE) for word in command.split()]
    if run([*words, "--json"]) == 0:
        said = capfd.readouterr().out
        assert OBEYED.findall(said) == []
        heard = json.dumps([json.loads(line) for line in said.splitlines()], ensure_ascii=False)
        assert "[/x][b]bold :bomb:" in heard
        assert "\u202e" in heard


def test_markup_in_what_is_shown_live(place: Path) -> None:
    """A host or path in brackets is no style, and ends nothing."""
    found = statuses.total(statuses.read(place / "store"), 3.0)
    out = io.StringIO()
    Console(file=out, force_terminal=True, width=200, color_system=None).print(table(found))
    assert "[/x][b]bold :bomb:" in out.getvalue()
    assert OBEYED.findall(re.sub("\x1b\\[[0-9;]*m", "", out.getvalue())) == []
    with Display() as display:
        display.show(found)


def test_a_crawl_that_is_over_waits_for_nothing() -> None:
    found = statuses.total([statuses.AgentStatus(1, 0, 1, 2.0, 1.0, waiting="gap", waiting_host="a.test")], 1e9)
    out = io.StringIO()
    Console(file=out, width=200).print(table(found))
    assert "not running" in out.getvalue()
    assert "waits" not in out.getvalue()


@given(st.text())
def test_the_filter(text: str) -> None:
    assert OBEYED.findall(plain(text)) == []
    plain(text).encode()
    if text.isprintable():
        assert plain(text) == text
    assert json.loads(json_escaped(json.dumps(text, ensure_ascii=False))) == text
    assert OBEYED.sub("", text.replace("\n", "")) == text.replace("\n", "") or json_escaped(json.dumps(text)).isascii()


def test_lines_and_tabs_stay(capfd: pytest.CaptureFixture[str]) -> None:
    echo("a\tb\r\nc\rd", fg="red")
    assert capfd.readouterr().out == "a\tb\nc\\rd\n"
