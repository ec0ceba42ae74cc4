"""Every option of every command with a value that makes no sense: status 2, and one line that names it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from fyke.cli import COMMANDS, app, run
from fyke.store import Store

NONSENSE = "no!such"
SPECIAL = {
    "--include": "(",
    "--exclude": "(",
    "--user-agent": "a\nb",
    "--contact": "a\nb",
    "--depot": "ftp://x/y",
    "--browser": "/no/browser",
    "--proxy": "ftp://x:1",
    "--url": "http://[",
    "--start": "http://[",
    "--patience": "-1s",
    "--host": "",
    "--prefix": "",
}
"""What makes no sense to options that take words or patterns."""

FREE = {
    "--store": "a folder that may be made; one that is absent is status 1",
    "--out": "a new folder or file",
    "--save": "a new folder",
    "--write": "a new folder or file",
    "--output": "a new file",
    "--clusters": "a new file",
    "--csv": "a new file",
    "--shot": "a new file",
    "--warc-dir": "a new folder",
    "--scratch": "a new folder",
    "--tags": "a new file",
    "--operator": "any words",
    "--is-part-of": "any words",
    "--snippet": "any words",
    "--id-field": "any column",
    "--text-field": "any column",
    "--media-type": "a hint that may be wrong",
    "--language": "any label: nothing has it",
    "--type": "any label: nothing has it",
    "--host": "any name: nothing is of it",
    "--prefix": "any beginning: nothing has it",
    "--user-agent": "any words",
    "--contact": "any words",
    "--trace": "any page",
    "--folder": "a folder that may be made",
    "--token-file": "made where it is not there",
    "--header": "checked by --header's own test",
}
"""Options to which all words mean something, and what they mean."""

SHOWN = frozenset({"config"})
"""A command that shows settings, and opens none of the files that they name."""
FILES = frozenset(
    {
        "--topic",
        "--cookies",
        "--auth",
        "--ca-file",
        "--browser",
        "--depot",
        "--plugins",
        "--proxy",
        "--include",
        "--exclude",
    }
)

ANY_NAME = {("desktop scan", "--exclude"), ("lecture", "--plot"), ("cluster up", "--token")}
"""Options that take any name of a file or folder, unlike those of other commands."""

BEFORE = {
    "archive build": ["new"],
    "archive combine": ["new", "part"],
    "archive show": ["collection"],
    "archive sub": ["collection", "new"],
    "cluster archive": ["new"],
    "cluster crawl": ["http://127.0.0.1:1024/", "--depot=new-depot"],
    "cluster drain": ["127.0.0.2"],
    "cluster export": ["new"],
    "cluster join": ["127.0.0.1:1024", "--address=127.0.0.2", "--token=accounts.toml"],
    "control add": ["http://127.0.0.1:1024/"],
    "control exclude": ["x"],
    "control slow": ["127.0.0.1", "3s"],
    "convert": ["page.html"],
    "crawl": ["http://127.0.0.1:1024/", "--store=new-store"],
    "dedupe find": ["pages.jsonl"],
    "dedupe merge": ["new", "old"],
    "dedupe plan": ["--p=0.9", "--q=0.5"],
    "desktop check": ["page.html"],
    "desktop purge": ["page.html"],
    "desktop scan": ["folder", "--store=new-files"],
    "export": ["new.jsonl"],
    "extract": ["page.html"],
    "feed": ["feed.xml"],
    "fetch": ["http://127.0.0.1:1024/"],
    "forms": ["page.html"],
    "get": ["http://a.test/1"],
    "graph convert": ["edges.txt", "new"],
    "graph rank": ["collection/graph"],
    "graph stats": ["collection/graph"],
    "import": ["pages.jsonl"],
    "login": ["--auth=accounts.toml"],
    "render": ["http://127.0.0.1:1024/"],
    "robots": ["robots.txt"],
    "similar": ["http://a.test/1"],
    "simulate": ["collection"],
    "sitemap": ["feed.xml"],
    "store backup": ["new"],
    "store fetch": ["depot", "new"],
    "store merge": ["other"],
    "store prune": ["--keep=1"],
    "store restore": ["backup"],
    "store split": ["--tablets=2"],
    "topic test": ["page.html"],
    "topic train": ["topic.toml"],
    "url": ["http://a.test/"],
    "world bench": ["--peer=fyke", "--no-kill"],
    "store delete": ["--yes"],
}
"""What stands before the option on the line: all that is right."""


def leaves(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Each command that does something, with its words."""
    for name, below in (getattr(command, "commands", None) or {}).items():
        yield from leaves(below, (*words, name))
    if not getattr(command, "commands", None):
        yield " ".join(words), command


def cases() -> Iterator[Any]:
    root: Any = typer.main.get_command(app)
    for name in COMMANDS:
        for words, command in leaves(root.get_command(None, name), (name,)):
            for option in command.params:
                if option.param_type_name == "option" and not option.is_flag:
                    yield from of_option(words, option)


def of_option(words: str, option: Any) -> Iterator[Any]:
    name = next(each for each in option.opts if each.startswith("--"))
    shown = (words in SHOWN and name in FILES) or (words, name) in ANY_NAME
    if name not in FREE and not shown:
        yield pytest.param(words, name, SPECIAL.get(name, NONSENSE), id=f"{words} {name}")
    if option.type.name in {"int", "float", "int range", "float range"} and name != "--seed":
        yield pytest.param(words, name, "-7", id=f"{words} {name} below")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a store, a collection, a graph and files, as commands want them."""
    folder = tmp_path_factory.mktemp("nonsense")
    before = Path.cwd()
    os.chdir(folder)
    try:
        with Store.open("fyke-store") as store:
            for n in range(3):
                store.put(f"http://a.test/{n}", raw=b"<p>words", text=f"words of a page {n}", links=["http://a.test/1"])
        (folder / "page.html").write_text("<title>A page</title><p>Some words of a page.</p>")
        (folder / "pages.jsonl").write_text('{"url": "http://a.test/1", "text": "some words of a page"}\n')
        (folder / "feed.xml").write_text("<rss><channel><title>x</title></channel></rss>")
        (folder / "robots.txt").write_text("User-agent: *\nDisallow:\n")
        (folder / "edges.txt").write_text("0 1\n1 0\n")
        (folder / "topic.toml").write_text('name = "x"\nwords = ["word"]\n')
        (folder / "accounts.toml").write_text("")
        (folder / "folder").mkdir()
        (folder / "fyke-node").mkdir()
        (folder / "fyke-node" / "machine.json").write_text(
            '{"address": "127.0.0.1", "head": "127.0.0.1:1024", "token": "x"}'
        )
        assert run(["archive", "build", "collection", "--min-documents=1", "--json"]) == 0
        yield folder
    finally:
        os.chdir(before)


@pytest.mark.parametrize(("words", "option", "value"), list(cases()))
def test_nonsense_is_refused_in_a_line(
    words: str, option: str, value: str, place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for made in place.glob("new*"):
        shutil.rmtree(made) if made.is_dir() else made.unlink()
    status = run([*words.split(), "-q", *BEFORE.get(words, []), f"{option}={value}"])
    said = capfd.readouterr().err
    assert (status, len(said.splitlines())) == (2, 1), said
    assert option.strip("-") in said.replace("_", "-") or value in said, said
    assert not list(place.glob("new")), "work began"


def test_every_command_is_tried() -> None:
    root: Any = typer.main.get_command(app)
    every = {words for name in COMMANDS for words, _ in leaves(root.get_command(None, name), (name,))}
    assert BEFORE.keys() <= every
    assert len(every) >= 50
