"""fyke topic, as typed: training from files, folders and stores, testing pages, and what is said of mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from fyke.cli import run
from fyke.cli.topic_ import telling_words
from fyke.crawl.order.choice import FILE, install, order_of, prepare
from fyke.crawl.run.settings import CrawlSettings
from fyke.errors import UserError
from fyke.store import RowMeta, Settings, Store
from fyke.topic.model import MAGIC, PageModel
from fyke.topic.topic import Topic
from fyke.world.words import paragraph
from tests.little_site import Answer, serving


def html(about: str, number: int) -> str:
    body = "".join(f"<p>{paragraph('en', about, 60, 'page', number, k)}</p>" for k in range(3))
    return f"<html lang=en><title>{about} {number}</title><body><h1>{about}</h1>{body}</body></html>"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for kind, about in (("relevant", "sailing"), ("irrelevant", "law")):
        (tmp_path / "boats" / kind).mkdir(parents=True)
        for k in range(8):
            (tmp_path / "boats" / kind / f"{k}.html").write_text(html(about, k))
    return tmp_path / "boats"


def test_train_a_folder_and_test_files(folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "boats.model"
    assert run(["topic", "train", str(folder), "--json"]) == 0
    said = json.loads(capfd.readouterr().out)
    assert (said["model"], said["relevant"], said["irrelevant"], said["folds"]) == (str(model), 8, 8, 5)
    assert said["precision"] == said["recall"] == 1.0
    for about, relevant in (("sailing", True), ("law", False)):
        (tmp_path / "page.html").write_text(html(about, 77))
        assert run(["topic", "test", str(tmp_path / "page.html"), "--model", str(model), "--json"]) == 0
        said = json.loads(capfd.readouterr().out)
        assert said["relevant"] is relevant
        assert said["words"]
    assert run(["topic", "test", str(tmp_path / "page.html"), "--model", str(model)]) == 0
    assert "irrelevant  law 77" in capfd.readouterr().out


def test_urls_and_others_come_from_a_store(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with Store.open(tmp_path / "s", settings=Settings(tablets=2)) as store:
        for k in range(40):
            about = "sailing" if k < 10 else ("law", "music")[k % 2]
            page, meta = html(about, k), RowMeta(status=200, type="text/html", title=about)
            store.put(f"http://a.test/{k}", raw=page.encode(), text=paragraph("en", about, 150, "x", k), meta=meta)
    examples = ", ".join(f'"http://a.test/{k}"' for k in range(6))
    (tmp_path / "t.toml").write_text(f"relevant = [{examples}]")
    assert run(["topic", "train", str(tmp_path / "t.toml"), "--store", str(tmp_path / "s"), "--json"]) == 0
    said = json.loads(capfd.readouterr().out)
    assert (said["relevant"], said["irrelevant"]) == (6, 30), "the four others about sailing are left out"
    for k, relevant in ((8, True), (30, False)):
        arguments = ["topic", "test", f"http://a.test/{k}", "--store", str(tmp_path / "s")]
        assert run([*arguments, "--model", str(tmp_path / "t.model"), "--json"]) == 0
        assert json.loads(capfd.readouterr().out)["relevant"] is relevant


@pytest.mark.parametrize(
    ("status", "rules", "said"),
    [
        (200, b"User-agent: *\nDisallow: /private/", ""),
        (200, b"User-agent: *\nDisallow: /", "may not be fetched"),
        (503, b"", "may not be fetched"),
    ],
)
def test_an_example_on_the_web_is_fetched_where_robots_txt_lets_us(
    status: int, rules: bytes, said: str, folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["topic", "train", str(folder)]) == 0
    pages = {"/robots.txt": Answer(rules, "text/plain", status), "/page": Answer(html("sailing", 99).encode())}
    with serving(pages) as site:
        found = run(["topic", "test", f"{site.root}/page", "--model", str(tmp_path / "boats.model")])
    told = capfd.readouterr()
    assert (found, "relevant  sailing 99" in told.out) == ((2, False) if said else (0, True))
    assert said in told.err


def test_without_others_a_world_gives_them(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for file in (folder / "irrelevant").iterdir():
        file.unlink()
    assert run(["topic", "train", str(folder), "--negatives", "40"]) == 0
    assert "8 relevant and" in (said := capfd.readouterr().out)
    assert "precision 1.000" in said


def test_mistakes_are_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.toml").write_text('name = "nothing"')
    (tmp_path / "lost.toml").write_text('relevant = ["nowhere.html"]')
    (tmp_path / "old.model").write_bytes(MAGIC + b"\x07" + PageModel(Topic(words=("a",))).encode()[len(MAGIC) + 1 :])
    for arguments, said in (
        (["train", "empty.toml"], "no positive example"),
        (["train", "lost.toml"], "cannot read the example"),
        (["train", "absent.toml"], "give a topic file or a folder"),
        (["test", "empty.toml", "--model", str(tmp_path / "old.model")], "of version 7, this fyke reads version 1"),
        (["test", "empty.toml", "--model", str(tmp_path / "empty.toml")], "is no topic model"),
        (["test", "empty.toml", "--model", str(tmp_path / "absent.model")], "make it with `fyke topic train`"),
    ):
        arguments[1] = str(tmp_path / arguments[1])
        assert run(["topic", *arguments]) == 2
        assert said in capfd.readouterr().err


def test_a_crawl_without_a_usable_topic_goes_on_breadth_first(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s", settings=Settings(tablets=2)) as store:
        old = tmp_path / "old.model"
        old.write_bytes(MAGIC + b"\x07" + PageModel(Topic(words=("a",))).encode()[len(MAGIC) + 1 :])
        said = prepare(CrawlSettings(topic=str(old)), tmp_path / "s")
        assert "of version 7" in said
        assert said.endswith("The crawl goes on breadth first")
        assert order_of(CrawlSettings(topic=str(old)), tmp_path / "s", store) is None
        words = tmp_path / "t.toml"
        words.write_text('words = ["keel"]')
        assert prepare(CrawlSettings(topic=str(words)), tmp_path / "s") == ""
        assert order_of(CrawlSettings(topic=str(words)), tmp_path / "s", store) is not None
        words.unlink()  # the store has its copy
        assert prepare(CrawlSettings(topic=str(words)), tmp_path / "s") == ""
        assert (tmp_path / "s" / FILE).exists()
        words.write_text('relevant = ["a.html"]')
        with pytest.raises(UserError, match="fyke topic train"):
            install(words, tmp_path / "s")
        assert order_of(CrawlSettings(), tmp_path / "s", store) is None
        assert order_of(CrawlSettings(order="quality"), tmp_path / "s", store) is not None


def test_words_that_tell_are_those_of_all_scripts() -> None:
    """What a word is, the room of words decides: Hindi is not cut at its vowel signs, a Chinese clause is no word."""
    model = SimpleNamespace(look_weights=np.ones(1 << 24))
    told = telling_words(cast(PageModel, model), "हिन्दी 中国的鱼")
    assert {word for word, _ in told} == {"हिन्दी", "中国", "国的", "的鱼"}
