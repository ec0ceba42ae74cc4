"""fyke similar, as typed: beside the index of a crawl, and on a store that has none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fyke.cli import run
from fyke.crawl.duplicates.near import FOLDER, Asked, NearIndex
from fyke.store import EXACT, RowMeta, Settings, Store

WORDS = [f"word{i}" for i in range(60)]
TEXTS = {
    "http://a.test/": " ".join(WORDS),
    "http://b.test/": " ".join([*WORDS[:-1], "other"]),
    "http://c.test/": " ".join(f"stranger{i}" for i in range(60)),
    "http://d.test/": " ".join(WORDS),
    "http://e.test/": ", ".join(WORDS).title(),
}


@pytest.mark.parametrize("indexed", [True, False])
def test_similar_finds_copies_of_every_kind(tmp_path: Path, capfd: pytest.CaptureFixture[str], indexed: bool) -> None:
    store = tmp_path / "s"
    with Store.open(store, settings=Settings(tablets=2)) as opened:
        for url, text in TEXTS.items():
            copy = url in {"http://d.test/", "http://e.test/"}
            meta = RowMeta(status=200, duplicate_of="http://a.test/" if copy else "", similarity=1.0)
            opened.put(url, raw=text.encode(), text=text, meta=meta)
        opened.put("http://f.test/", raw=b"\0", meta=RowMeta(status=200))
        if indexed:
            index = NearIndex(store / FOLDER, opened)
            index.ask([Asked.of(*page) for page in TEXTS.items()])
            index.close()
    assert run(["similar", "http://b.test", "--store", str(store), "--json"]) == 0
    found = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    near = 55 / 57  # of 56 shingles each, one differs
    assert [(each["url"], each["similarity"], each["method"]) for each in found] == [
        (url, pytest.approx(near), "jaccard") for url in ("http://a.test/", "http://d.test/", "http://e.test/")
    ]
    assert run(["similar", "http://d.test", "--store", str(store), "--limit", "2", "--json"]) == 0
    found = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [(each["url"], each["method"]) for each in found] == [("http://a.test/", EXACT), ("http://e.test/", "text")]
    assert run(["similar", "http://c.test", "--store", str(store)]) == 0
    assert "nothing in" in capfd.readouterr().err
    assert run(["similar", "http://f.test/", "--store", str(store)]) == 2
    assert "has no text" in capfd.readouterr().err
