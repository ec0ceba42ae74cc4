"""Datasets: which rows, which columns of which types, read by others; shards, full disks."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import zstandard

import fyke
from fyke.cli import run
from fyke.errors import UserError
from fyke.store import RowMeta, Store
from fyke.store.exports.columns import FYKE, SCHEMAS, document_id
from fyke.store.exports.dataset import write_dataset
from tests.store.dataset_pages import ONE, WHEN, export, fill, put_page

pytest.importorskip("pyarrow")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return fill(tmp_path / "store")


DOCUMENTS = {"http://a.test/one", "http://a.test/two", "http://b.test/three"}


def urls(path: Path, where: dict[str, Any] | None = None) -> set[str]:
    with fyke.Store.open(path, mode="r") as store:
        batches = list(store.to_arrow(["url"], where))
    return {url for batch in batches for url in batch.column(0).to_pylist()}


def test_by_default_only_documents(store: Path) -> None:
    """Of faults S6: redirects, errors, refused rows and sitemaps were documents."""
    assert urls(store) == DOCUMENTS


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"host": "b.test"}, {"http://b.test/three"}),
        ({"prefix": "http://a.test/t"}, {"http://a.test/two"}),
        ({"prefix": ["http://a.test/t", "http://a.test/"], "host": "a.test"}, DOCUMENTS - {"http://b.test/three"}),
        ({"duplicates": False}, DOCUMENTS - {"http://a.test/two"}),
        ({"language": "en"}, DOCUMENTS),
        ({"language": ["de", "fr"]}, set()),
        ({"type": "text/*"}, DOCUMENTS),
        ({"type": "application/pdf"}, set()),
        ({"since": WHEN + 1000}, {"http://b.test/three"}),
        ({"until": datetime.fromtimestamp(WHEN + 1000, UTC)}, DOCUMENTS - {"http://b.test/three"}),
        ({"status": 404}, {"http://a.test/gone"}),
        ({"status": ["3xx", "4xx"]}, {"http://a.test/gone", "http://a.test/moved"}),
        ({"keep_noindex": True}, DOCUMENTS | {"http://a.test/hidden", "http://a.test/old-hidden"}),
        ({"private": True}, DOCUMENTS | {"http://a.test/mine"}),
    ],
)
def test_filters(store: Path, where: dict[str, Any], expected: set[str]) -> None:
    assert urls(store, where) == expected


def test_everything_but_what_is_private(store: Path) -> None:
    assert len(urls(store, {"everything": True})) == 12
    assert len(urls(store, {"everything": True, "private": True})) == 13


@pytest.mark.parametrize("where", [{"colour": "red"}, {"status": "ok"}, {"status": "600"}])
def test_what_chooses_nothing_is_told(store: Path, where: dict[str, Any]) -> None:
    with fyke.Store.open(store, mode="r") as opened, pytest.raises(UserError):
        list(opened.to_arrow(where=where))


def records(path: Path, **options: Any) -> dict[str, dict[str, Any]]:
    with fyke.Store.open(path, mode="r") as store:
        return {row["url"]: row for batch in store.to_arrow(**options) for row in batch.to_pylist()}


def test_columns_of_a_document(store: Path) -> None:
    found = records(store)["http://a.test/two"]
    assert list(found) == [column.name for column in FYKE]
    assert found["id"] == document_id("http://a.test/two")
    assert found["fetched"] == datetime.fromtimestamp(WHEN, UTC)
    assert found["published"] == datetime(2021, 3, 4, 4, 6, 7, tzinfo=UTC)
    assert (found["author"], found["title"], found["language"]) == ("Ann Author", "Of two", "en")
    assert found["text"].startswith("Of two\nThe fisherman")
    assert "Imprint" not in found["text"]
    assert found["token_count"] == len(found["text"].replace("\n", " ").split())
    assert 0 < found["quality"] <= 1
    assert [link["url"] for link in found["links"]] == ["http://a.test/", "http://a.test/about"]
    assert (found["duplicate_of"], found["similarity"]) == ("http://a.test/one", 0.9)
    assert found["cluster"] == document_id("http://a.test/one") == records(store)["http://a.test/one"]["cluster"]
    assert records(store)["http://b.test/three"]["anchors"] == [{"url": "http://a.test/one", "text": "the third"}]


@pytest.mark.parametrize("text", ["main", "whole"])
def test_blocks_are_where_they_say_they_are(store: Path, text: str) -> None:
    found = records(store, text=text)["http://a.test/one"]
    assert [found["text"][block["start"] : block["end"]] for block in found["blocks"]] == found["text"].split("\n")
    kinds = [block["kind"] for block in found["blocks"]]
    assert kinds[-3 if text == "main" else -4 :][:3] == ["heading", "paragraph", "paragraph"]
    assert all(0 <= block["weight"] <= 1 for block in found["blocks"])
    story = [block["weight"] for block in found["blocks"] if block["kind"] == "paragraph" and block["end"] > 100]
    assert min(story[:2]) > 0.5, "content weighs more than half"
    assert ("Imprint and privacy" in found["text"]) == (text == "whole")


def test_markdown_and_bodies_where_asked(store: Path) -> None:
    found = records(store, columns=["url", "text", "raw"], text="markdown")["http://a.test/one"]
    assert found["text"].startswith("# Of one\n\nThe fisherman")
    assert found["raw"].startswith(b"<html lang=en>")
    with Store.open(store, mode="r") as plain, pytest.raises(UserError, match=r"fyke\.Store"):
        list(plain.to_arrow(text="markdown"))


def test_signals_are_columns_and_a_site_speaks_too(store: Path) -> None:
    with Store.open(store) as opened:
        opened.put("http://a.test/.well-known/tdmrep.json", raw=b'[{"location": "/", "tdm-reservation": 1}]',
                   meta=RowMeta(status=200, type="application/json"))  # fmt: skip
        robots = b"User-agent: *\nContent-Signal: search=yes, ai-train=no\n"
        opened.put("http://a.test/robots.txt", raw=robots, meta=RowMeta(status=200, type="text/plain"))
    found = records(store, where={"keep_noindex": True})["http://a.test/hidden"]
    assert found["robots"] == ["noindex", "noai"]
    assert {(use["purpose"], use["allowed"], use["source"]) for use in found["usage"]} == {
        ("tdm", False, "tdmrep.json"),
        ("search", True, "robots.txt"),
        ("ai-train", False, "robots.txt"),
    }
    assert records(store)["http://b.test/three"]["usage"] == []


def test_other_schemas(store: Path) -> None:
    fineweb = records(store, schema="fineweb")["http://a.test/one"]
    assert list(fineweb) == [
        "text",
        "id",
        "dump",
        "url",
        "date",
        "file_path",
        "language",
        "language_score",
        "token_count",
    ]
    assert (fineweb["date"], fineweb["dump"]) == ("2020-09-13T12:26:40Z", "store")
    index = records(store, schema="cc-index", where={"everything": True})["http://a.test/moved"]
    assert (index["url_surtkey"], index["fetch_status"], index["subset"]) == ("test,a)/moved", 301, "crawldiagnostics")
    assert (index["fetch_redirect"], index["url_host_tld"], index["url_port"]) == ("http://a.test/one", "test", None)
    with Store.open(store, mode="r") as opened, pytest.raises(UserError, match="no column"):
        opened.to_arrow(["colour"])


def test_lone_surrogates_and_odd_bytes_are_written(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s", settings=ONE) as opened:
        opened.put("http://a.test/", raw=b"x", text="half \ud800 \0 pair", title="t\udfff")
    for ending in ("jsonl", "parquet", "arrow"):
        assert run(["export", str(tmp_path / f"o.{ending}"), "--store", str(tmp_path / "s")]) == 0
    assert json.loads((tmp_path / "o.jsonl").read_text())["text"] == "half ? \0 pair"


# ---- files, as others read them


def test_duckdb_and_pandas_read_the_files(store: Path, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    pandas = pytest.importorskip("pandas")
    assert export(store, tmp_path / "o.parquet", "--all", "--private", "--raw") == 0
    assert export(store, tmp_path / "o.jsonl.gz", "--all", "--private") == 0
    with duckdb.connect() as db:
        sql = f"SELECT count(*), max(fetched)::VARCHAR, sum(len(links)), min(typeof(fetched)) FROM '{tmp_path}/o.%s'"
        rows, newest, links, kind = db.sql(sql % "parquet").fetchall()[0]
        assert (rows, newest[:19], kind) == (13, "2020-09-13 12:43:20", "TIMESTAMP WITH TIME ZONE")
        assert db.sql(f"SELECT count(*), sum(len(links)) FROM '{tmp_path}/o.jsonl.gz'").fetchall() == [(rows, links)]
        blocks = f"SELECT DISTINCT unnest(blocks).kind FROM '{tmp_path}/o.parquet'"
        assert ("heading",) in db.sql(blocks).fetchall()
    frame = pandas.read_parquet(tmp_path / "o.parquet")
    assert str(frame.dtypes["fetched"]) == "datetime64[us, UTC]"
    assert frame["raw"][frame["url"] == "http://a.test/picture"].tolist() == [b"GIF89a"]
    assert len(pandas.read_json(tmp_path / "o.jsonl.gz", lines=True)) == 13


def test_stdout_shards_and_the_same_rows_in_all(store: Path, tmp_path: Path, capfdbinary: Any) -> None:
    from pyarrow import ipc, parquet

    with Store.open(store) as opened:
        for number in range(60):
            put_page(opened, f"http://c.test/{number}", f"<meta name=description content='{number * 'x'}'>")
    expected = records(store)
    assert export(store, "-", "--format", "jsonl.zst") == 0
    out, err = capfdbinary.readouterr()
    lines = zstandard.ZstdDecompressor().stream_reader(out).read().splitlines()
    assert {json.loads(line)["url"] for line in lines} == set(expected)
    assert b"63 documents" in err
    assert export(store, "-", "--format", "arrow") == 0
    assert ipc.open_stream(capfdbinary.readouterr().out).read_all().num_rows == len(expected)
    assert export(store, tmp_path / "o.parquet", "--shard-size", "20KB") == 0
    parts = sorted(path.name for path in (tmp_path / "o.parquet").iterdir())
    assert len(parts) > 1
    assert parts[0] == "part-00000.parquet"
    table = parquet.read_table(tmp_path / "o.parquet")
    assert {row["url"]: row for row in table.to_pylist()} == expected
    assert export(store, tmp_path / "o.parquet", "--host", "a.test", "--shard-size", "1MB") == 0
    assert [path.name for path in (tmp_path / "o.parquet").iterdir()] == ["part-00000.parquet"]
    (tmp_path / "o.parquet" / "mine.txt").write_text("keep me")
    assert export(store, tmp_path / "o.parquet", "--shard-size", "1MB") == 2
    assert (tmp_path / "o.parquet" / "mine.txt").exists()


FULL = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
from fyke.cli import run
for words in sys.argv[2:]:
    assert run(["export", *words.split(), "--store", sys.argv[1]]) == 1, words
    assert os.listdir() == [], words
"""


def test_a_full_disk_leaves_nothing_half_written(store: Path, tmp_path: Path) -> None:
    with Store.open(store) as opened:
        for number in range(40):
            put_page(opened, f"http://c.test/{number}")
    folder = tmp_path / "out"
    folder.mkdir()
    words = ["o.parquet", "o.jsonl", "o.parquet --shard-size 1GB", "o.jsonl --changes-since 0"]
    command = [sys.executable, "-c", FULL, str(store), *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("cannot write o.") == len(words)
    assert "Traceback" not in done.stderr
    assert not list((store / "cursors").glob("*"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-"], "stdout has no ending"),
        (["o.jsonl", "--schema", "csv"], "is no schema"),
        (["o.jsonl", "--columns", "colour"], "is no column of fyke"),
        (["o.jsonl", "--text", "html"], "is no text"),
        (["o.jsonl", "--status", "ok"], "is no status"),
        (["o.jsonl", "--since", "yesterday"], "is no date or time"),
        (["o.jsonl", "--changes-since", "20200101T000000-00000000"], "is no cursor"),
        (["o.jsonl", "--changes-since", "../../etc/passwd"], "is no cursor"),
        (["o.parquet", "--schema", "fineweb", "--raw"], "has no column for bodies"),
    ],
)
def test_mistakes_are_told_in_a_sentence(
    store: Path, words: list[str], said: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert run(["export", *words, "--store", str(store)]) == 2
    assert said in capfd.readouterr().err
    assert not list(tmp_path.glob("o.*"))


def test_json_lines_need_no_pyarrow(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert export(store, tmp_path / "o.jsonl") == 0
    assert export(store, tmp_path / "o.parquet") == 2


def test_rows_are_written_as_they_come(tmp_path: Path) -> None:
    """The writer holds one group at a time, whatever the store's size."""
    from pyarrow import parquet

    rows = ([f"{number}", "x" * 1_000_000] for number in range(100))
    columns = [column for column in SCHEMAS["fineweb"] if column.name in ("url", "text")]
    assert write_dataset(rows, columns, tmp_path / "o.parquet", "parquet")[0] == 100
    assert parquet.ParquetFile(tmp_path / "o.parquet").metadata.num_row_groups == 34
