"""Imports from what people have: folders of files, JSON lines and Parquet by columns, a range of an archive's index."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import zstandard

from fyke.cli import run
from fyke.formats.damage import Report
from fyke.store import RowMeta, Settings, Store
from fyke.store.imports import tables
from fyke.world.content import Block, Content
from fyke.world.files import make_file

PROSE = "The fisherman of the village went out on the lake before the sun had risen, and came back with an empty net."
CONTENT = Content("A paper", (Block("p", PROSE),))


def imported(capfd: pytest.CaptureFixture[str], store: Path, *words: object, status: int = 0) -> list[dict[str, Any]]:
    assert run(["import", *map(str, words), "--store", str(store), "--json"]) == status
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def rows(store: Path) -> dict[str, Any]:
    with Store.open(store, mode="r") as opened:
        return {row.url: (row.title, row.text, row.meta, row.fetched) for row in opened.scan()}


def test_a_folder_is_imported_whatever_it_holds(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "papers"
    (folder / "deep").mkdir(parents=True)
    (folder / "page.html").write_text(f"<title>A page</title><nav>Menu</nav><article><p>{PROSE}</p></article>")
    (folder / "deep" / "notes é.txt").write_text(PROSE)
    (folder / "deep" / "letter.docx").write_bytes(make_file("docx", CONTENT, "en"))
    (folder / "paper.pdf").write_bytes(make_file("pdf", CONTENT, "en"))
    (folder / ".hidden").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "elsewhere.txt")
    (tmp_path / "elsewhere.txt").write_text("elsewhere")
    (folder / "more.jsonl").write_text(json.dumps({"url": "http://a.test/1", "text": PROSE}))
    store = tmp_path / "s"
    done = imported(capfd, store, folder)
    assert [(each["documents"], each["damage"]) for each in done] == [(1, {}), (4, {})]
    found = rows(store)
    home = f"file://{folder}"
    assert set(found) == {f"{home}/page.html", f"{home}/deep/notes%20%C3%A9.txt", f"{home}/deep/letter.docx",
                          f"{home}/paper.pdf", "http://a.test/1"}  # fmt: skip
    assert all("fisherman" in text for _, text, _, _ in found.values())
    assert found[f"{home}/page.html"][0] == "A page"
    assert found[f"{home}/paper.pdf"][2].type == "application/pdf"
    assert found[f"{home}/paper.pdf"][3].timestamp() == pytest.approx((folder / "paper.pdf").stat().st_mtime, abs=1e-5)
    again = imported(capfd, store, folder)
    assert [(each["documents"], each["known"]) for each in again] == [(0, 1), (0, 4)]
    assert run(["export", str(tmp_path / "o.jsonl"), "--store", str(store)]) == 0
    assert len((tmp_path / "o.jsonl").read_text().splitlines()) == 5


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "jsonl.zst", "parquet"])
def test_tables_by_a_mapping(tmp_path: Path, ending: str, capfd: pytest.CaptureFixture[str]) -> None:
    given = [
        {"link": "http://a.test/1", "article": PROSE, "headline": "One", "when": "2020-01-02T03:04:05Z", "lang": "en"},
        {"link": "http://a.test/2", "article": "Zwei Sätze auf Deutsch, damit man die Sprache gut erkennen kann. Ja.",
         "headline": None, "when": None, "lang": None},
        {"link": "no url at all", "article": "lost", "headline": "", "when": "", "lang": ""},
    ]  # fmt: skip
    path = tmp_path / f"in.{ending}"
    if ending == "parquet":
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist(given), path)
    else:
        data = "".join(json.dumps(row) + "\n" for row in given).encode()
        packed = gzip.compress(data) if ending == "jsonl.gz" else data
        path.write_bytes(zstandard.ZstdCompressor().compress(data) if ending == "jsonl.zst" else packed)
    (done,) = imported(capfd, tmp_path / "s", path, "--map", "url=link,text=article", "--map", "fetched=when")
    assert (done["documents"], done["records"], done["damage"]) == (2, 3, {"url": 1})
    found = rows(tmp_path / "s")
    title, text, meta, fetched = found["http://a.test/1"]
    assert (title, text, meta.status, meta.language) == ("One", PROSE, 200, "en")
    assert fetched == datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert found["http://a.test/2"][2].language == "de"
    (again,) = imported(capfd, tmp_path / "s", path, "--map", "url=link,text=article,fetched=when")
    assert (again["documents"], again["known"]) == (0, 2)


def test_a_file_that_is_refused_does_not_keep_the_others_out(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.jsonl").write_text("nonsense")
    (tmp_path / "good.jsonl").write_text(json.dumps({"url": "http://a.test/", "text": PROSE}))
    (done,) = imported(capfd, tmp_path / "s", tmp_path / "bad.jsonl", tmp_path / "good.jsonl", status=2)
    assert done["documents"] == 1


def test_markup_is_read_as_a_page(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    page = f"<title>T</title><meta name=robots content=noindex><nav>Menu</nav><p>{PROSE}</p><a href=/x>x</a>"
    (tmp_path / "in.jsonl").write_text(json.dumps({"url": "http://a.test/", "html": page}))
    imported(capfd, tmp_path / "s", tmp_path / "in.jsonl")
    with Store.open(tmp_path / "s", mode="r") as store:
        row = store.get("http://a.test/")
        assert row is not None
        assert (row.title, row.raw, row.meta.type) == ("T", page.encode(), "text/html")
        assert [link.target.href for link in row.links] == ["http://a.test/x"]
        assert row.meta.signals is not None
        assert row.meta.signals.noindex


@pytest.mark.parametrize("ending", ["jsonl.zst", "parquet"])
def test_what_was_exported_comes_back(tmp_path: Path, ending: str, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    page = f"<html lang=en><title>T</title><meta name=author content='Ann Author'><article><p>{PROSE}</p></article>"
    (tmp_path / "in.jsonl").write_text(
        "".join(json.dumps({"url": f"http://a.test/{n}", "html": page, "date": "2021-05-06"}) + "\n" for n in range(3))
    )
    imported(capfd, tmp_path / "s", tmp_path / "in.jsonl")
    out = tmp_path / f"o.{ending}"
    assert run(["export", str(out), "--store", str(tmp_path / "s"), "--raw"]) == 0
    capfd.readouterr()
    (done,) = imported(capfd, tmp_path / "t", out)
    assert done["documents"] == 3
    for name in ("raw", "text", "title", "fetched", "links"):
        with Store.open(tmp_path / "s", mode="r") as one, Store.open(tmp_path / "t", mode="r") as two:
            assert [getattr(row, name) for row in one.scan()] == [getattr(row, name) for row in two.scan()]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bad.parquet"], "not a Parquet file that can be read"),
        (["wrong.parquet"], "has no column with a text or a body"),
        (["wrong.parquet", "--map", "text=body"], "has no column 'body'; it has colour"),
        (["wrong.parquet", "--map", "colour=colour"], "maps nothing"),
        (["wrong.jsonl"], "has no column with a text or a body"),
        (["nothing.jsonl"], "has no line that is a JSON object"),
        (["missing.jsonl"], "does not exist"),
    ],
)
def test_wrong_columns_are_told_in_a_sentence(
    tmp_path: Path, words: list[str], said: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    monkeypatch.chdir(tmp_path)
    Path("bad.parquet").write_bytes(b"PAR1 but not really")
    parquet.write_table(pyarrow.table({"colour": ["red"]}), "wrong.parquet")
    Path("wrong.jsonl").write_text('{"colour": "red"}\n')
    Path("nothing.jsonl").write_text("[1, 2]\nnot JSON\n")
    assert run(["import", *words, "--store", "s"]) == 2
    assert said in capfd.readouterr().err


def test_damaged_lines_are_counted_and_the_rest_is_kept(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    good = [json.dumps({"url": f"http://a.test/{n}", "text": f"text {n}"}) for n in range(3)]
    (tmp_path / "in.jsonl").write_text(f"{good[0]}\nbroken\n{good[1]}\n" + '{"colour": "red"}\n' + f"\n{good[2]}")
    (done,) = imported(capfd, tmp_path / "s", tmp_path / "in.jsonl")
    assert (done["documents"], done["damage"]) == (3, {"json": 1, "columns": 1})
    torn = gzip.compress("".join(line + "\n" for line in good * 200).encode())
    (tmp_path / "torn.jsonl.gz").write_bytes(torn[: len(torn) // 2])
    (done,) = imported(capfd, tmp_path / "t", tmp_path / "torn.jsonl.gz")
    assert done["records"] > 0
    assert len(rows(tmp_path / "t")) == 3


def test_a_long_table_tells_how_far_it_is(tmp_path: Path) -> None:
    file = tmp_path / "pages.jsonl"
    file.write_text("".join(json.dumps({"url": f"http://a.test/{n}", "text": PROSE}) + "\n" for n in range(1000)))
    told: list[int] = []
    assert len(list(tables.table_items(file, tables.Mapped({}), Report(), told.append))) == 1000
    assert len(told) == 4, "once for each 256 lines"
    assert told == sorted(told)
    assert 0 < told[-1] <= file.stat().st_size


def test_rows_of_one_address_without_dates_are_versions(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"id": "x", "text": f"text {n}"}) + "\n" for n in range(3)))
    for expected in ((3, 0), (0, 3)):
        (done,) = imported(capfd, tmp_path / "s", tmp_path / "in.jsonl")
        assert (done["documents"], done["known"]) == expected
    with Store.open(tmp_path / "s", mode="r") as store:
        row = store.get("file:///in.jsonl/x")
        assert row is not None
        assert [version.text for version in row.history()] == ["text 0", "text 1", "text 2"]


# ---- a range of an archive


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree as Common Crawl lays it out: WARC files in segments, an index in blocks with a cluster.idx."""
    root = tmp_path / "tree"
    segment = root / "crawl-data/CC-MAIN-2021-10/segments/1/warc"
    segment.mkdir(parents=True)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    lines: list[bytes] = []
    for number, host in enumerate(("a.test", "b.test", "www.c.test")):
        with Store.open(tmp_path / "make", settings=Settings(tablets=1)) as store:
            for page in range(4):
                raw = f"<title>{host} {page}</title><p>{PROSE}".encode()
                meta = RowMeta(status=200, type="text/html")
                store.put(f"http://{host}/p/{page}", raw=raw, response_head=head, meta=meta, fetched=1.6e9 + page)
        name = f"CC-{number}.warc.gz"
        assert run(["export", str(segment / name), "--store", str(tmp_path / "make"), "--host", host]) == 0
        index = segment / f"{name}.cdxj"
        path = segment.relative_to(root).as_posix().encode()
        lines += [line.replace(b'"CC-', b'"' + path + b"/CC-") for line in index.read_bytes().splitlines()]
        index.unlink()
    folder = root / "cc-index/collections/CC-MAIN-2021-10/indexes"
    folder.mkdir(parents=True)
    lines.sort()
    cluster, packed = [], b""
    for at in range(0, len(lines), 3):
        block = gzip.compress(b"\n".join(lines[at : at + 3]) + b"\n")
        key = b" ".join(lines[at].split(b" ")[:2])
        cluster.append(b"%b\tcdx-00000.gz\t%d\t%d\t%d" % (key, len(packed), len(block), at // 3 + 1))
        packed += block
    (folder / "cdx-00000.gz").write_bytes(packed)
    (folder / "cluster.idx").write_bytes(b"\n".join(cluster) + b"\n")
    return root


@pytest.mark.parametrize("index", ["cdx-00000.gz", "cluster.idx"])
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], 12),
        (["--host", "b.test"], 4),
        (["--host", "www.c.test"], 4),
        (["--host", "c.test"], 0),
        (["--prefix", "http://a.test/p/2"], 1),
        (["--prefix", "http://a.test/", "--since", "2020-09-13T12:26:42"], 2),
        (["--status", "3xx"], 0),
        (["--type", "text/*", "--until", "2020-09-13T12:26:41"], 3),
    ],
)
def test_a_range_of_a_local_tree(
    tree: Path, tmp_path: Path, index: str, words: list[str], expected: int, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tree / "cc-index/collections/CC-MAIN-2021-10/indexes" / index
    capfd.readouterr()
    (done,) = imported(capfd, tmp_path / "s", path, "--tree", tree, *words)
    assert (done["documents"], done["damage"]) == (expected, {})
    found = rows(tmp_path / "s")
    assert len(found) == expected
    assert all("fisherman" in text for _, text, _, _ in found.values())


def test_an_index_may_lie(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    line = {"url": "http://a.test/", "status": "200", "length": "9", "offset": "0"}
    lines = [b"test,a)/ 20200101000000 " + json.dumps({**line, "filename": name}).encode()
             for name in ("../../etc/passwd", "/etc/passwd", "missing.warc.gz", "in.cdxj")]  # fmt: skip
    (tmp_path / "in.cdxj").write_bytes(b"\n".join([*lines, b"nonsense", b" CDX N b a m s k r M S V g"]))
    (done,) = imported(capfd, tmp_path / "s", tmp_path / "in.cdxj")
    assert (done["documents"], done["damage"]) == (0, {"file": 3, "record": 1, "line": 1})


def test_one_hostile_record_keeps_no_other_out(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A NUL in the type of a converted document is no name of a column: it once ended the import of the whole file."""

    def record(kind: bytes, media_type: bytes, block: bytes) -> bytes:
        head = b"WARC/1.0\r\nWARC-Type: %s\r\nWARC-Record-ID: <urn:%d>\r\nWARC-Target-URI: http://a.test/%d\r\n"
        more = b"WARC-Date: 2020-01-01T00:00:00Z\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n"
        return head % (kind, len(block), len(block)) + more % (media_type, len(block), block)

    page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>words"
    hostile = record(b"conversion", b"a/\0b\x1b[31m", b"x") + record(b"conversion", b"\xff" * 300, b"xy")
    (tmp_path / "a.warc").write_bytes(hostile + record(b"response", b"application/http; msgtype=response", page))
    assert run(["import", str(tmp_path / "a.warc"), "--store", str(tmp_path / "s")]) == 0
    with Store.open(tmp_path / "s", "r") as store:
        assert store.get(f"http://a.test/{len(page)}") is not None


def test_lines_that_are_too_long_and_values_that_are_none_cost_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tables, "MAX_LINE", 1 << 20)
    rows: list[dict[str, object]] = [{"url": "http://a.test/1", "text": "one"}]
    rows += [{"url": "http://a.test/2", "text": "x" * (5 << 20)}]
    rows += [{"url": "http://a.test/3", "text": "t", "status": said} for said in (99999999999, -1, "abc", [1])]
    rows += [{"url": "http://a.test/4", "text": "four"}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert run(["import", str(tmp_path / "a.jsonl"), "--store", str(tmp_path / "s")]) == 0
    with Store.open(tmp_path / "s", "r") as store:
        assert sorted(row.url for row in store.scan()) == ["http://a.test/1", "http://a.test/4"]
