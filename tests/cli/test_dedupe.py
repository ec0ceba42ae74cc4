"""`fyke dedupe` as users type it."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from fyke.cli import run
from tests.dedupe.test_discover import collection

TEXT = " ".join(f"word{i}" for i in range(120))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    base = tmp_path / "docs"
    (base / "sub").mkdir(parents=True)
    (base / "a.txt").write_text(TEXT)
    (base / "sub" / "b.txt").write_text(TEXT.replace("word60", "other"))
    (base / "c.txt").write_text("Something else altogether, of which there is no copy.")
    (base / ".hidden").write_text(TEXT)
    return base


def answer(capfd: pytest.CaptureFixture[str], *words: object) -> dict[str, Any]:
    assert run(["dedupe", *map(str, words), "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert isinstance(found, dict)
    return found


def test_a_folder_of_files(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found = answer(capfd, folder)
    assert found["documents"] == 3
    assert found["pairs"] == [
        {"left": "a.txt", "right": "sub/b.txt", "similarity": round(111 / 121, 6), "method": "minhash"}
    ]
    (cluster,) = found["clusters"]
    assert (cluster["representative"], cluster["members"]) == ("a.txt", ["a.txt", "sub/b.txt"])
    assert run(["dedupe", str(folder)]) == 0
    assert "3 documents, 1 pairs, 1 clusters" in capfd.readouterr().out
    assert answer(capfd, folder, "--threshold", 0.95)["pairs"] == []


def test_options_that_do_not_apply_and_old_names(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for words in (["--distance", "2"], ["--method", "exact", "--check", "cosine"]):
        assert run(["dedupe", str(folder), *words]) == 2
        assert words[-2] in capfd.readouterr().err
    assert run(["dedupe", str(folder), "--words", "4", "--permutations=64"]) == 0
    told = capfd.readouterr()
    assert "1 pairs" in told.out
    assert told.err.splitlines() == [
        "fyke: --words is called --ngram now, and its old name will go",
        "fyke: --permutations is called --num-perm now, and its old name will go",
    ]


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "jsonl.zst", "parquet"])
def test_json_lines_and_parquet(ending: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows = [{"url": f"http://example.org/{i}", "text": text} for i, text in enumerate([TEXT, "no copy", TEXT])]
    path = tmp_path / f"rows.{ending}"
    data = "\n".join(json.dumps(row) for row in rows).encode()
    if ending == "parquet":
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    elif ending == "jsonl.zst":
        import zstandard

        path.write_bytes(zstandard.compress(data))
    else:
        path.write_bytes(gzip.compress(data) if ending == "jsonl.gz" else data)
    for method in ("minhash", "simhash", "fingerprint", "exact"):
        found = answer(capfd, path, "--method", method)
        (pair,) = found["pairs"]
        assert (pair["left"], pair["right"]) == ("http://example.org/0", "http://example.org/2")


def warc(path: Path, pages: list[tuple[str, str, str]]) -> None:
    """Pages of example.org: name, status, HTML."""
    with path.open("wb") as file:
        for name, status, page in pages:
            block = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\n\r\n{page}"
            head = (
                f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://example.org/{name}\r\n"
                f"WARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Record-ID: <urn:uuid:{name}>\r\n"
                f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(block)}\r\n\r\n"
            )
            file.write(gzip.compress(f"{head}{block}\r\n\r\n".encode()))


def test_warc_and_html(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    page = f"<html><title>x</title><script>var x = 1</script><nav>{{}}</nav><p>{TEXT}</p></html>"
    pages = [(name, status, page.format(name)) for name, status in (("a", "200 OK"), ("b", "200 OK"), ("c", "404 No"))]
    warc(tmp_path / "a.warc.gz", pages)
    (pair,) = answer(capfd, tmp_path / "a.warc.gz")["pairs"]
    assert (pair["left"], pair["right"]) == ("http://example.org/a", "http://example.org/b")
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "p.html").write_text(page.format("menu"))
    (tmp_path / "pages" / "t.txt").write_text(TEXT)
    assert len(answer(capfd, tmp_path / "pages")["pairs"]) == 1


def test_a_store(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from fyke.store import Store

    with Store.open(tmp_path / "store") as store:
        for name, text in (("a", TEXT), ("b", TEXT + " tail"), ("c", "no copy")):
            store.put(f"http://example.org/{name}", raw=b"the same", text=text)
    (pair,) = answer(capfd, tmp_path / "store")["pairs"]
    assert (pair["left"], pair["right"]) == ("http://example.org/a", "http://example.org/b")
    (cluster,) = answer(capfd, tmp_path / "store", "--method", "exact")["clusters"]
    assert len(cluster["members"]) == 3


def docx(path: Path, text: str) -> None:
    """A minimal Word file, with a picture that is larger than its text, all stored as it is."""
    word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    kinds = "http://schemas.openxmlformats.org/package/2006/content-types"
    links = "http://schemas.openxmlformats.org/package/2006/relationships"
    main = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    body = "".join(f"<w:p><w:r><w:t>{line}</w:t></w:r></w:p>" for line in text.splitlines())
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{kinds}"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/word/document.xml" ContentType="{main}"/></Types>',
        )
        file.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{links}"><Relationship Id="r1" Type="{office}" Target="word/document.xml"/>'
            "</Relationships>",
        )
        file.writestr("word/document.xml", f'<w:document xmlns:w="{word}"><w:body>{body}</w:body></w:document>')
        file.writestr("word/media/logo.txt", " ".join(f"pixel{i}" for i in range(3000)))


def test_documents_are_compared_by_their_texts(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Files of one template are no copies; a text is one in whatever format it comes. What has no text is counted."""
    base = tmp_path / "docs"
    base.mkdir()
    other = " ".join(f"another{i}" for i in range(120))
    docx(base / "a.docx", TEXT)
    docx(base / "b.docx", other)
    (base / "c.txt").write_text(TEXT)
    (base / "d.html").write_text(f"<html><body><article><p>{other}</p></article></body></html>")
    (base / "e.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(200))
    found = answer(capfd, base)
    assert found["documents"] == 4
    assert {(pair["left"], pair["right"]) for pair in found["pairs"]} == {("a.docx", "c.txt"), ("b.docx", "d.html")}
    assert sum(found["skipped"].values()) == 1


def test_stored_pages_are_compared_by_their_main_texts(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """As a crawl and a WARC file are: pages of one site with one large menu are no copies of each other."""
    menu = "".join(f"<li><a href='/{i}'>Section {i} of our house</a></li>" for i in range(300))
    pages = []
    for name, word in (("one", "boat"), ("two", "bread"), ("three", "boat")):
        text = ". ".join(" ".join(f"{word}{i}{j}" for j in range(12)) for i in range(8))
        html = f"<html><body><nav><ul>{menu}</ul></nav><article><p>{text}.</p></article></body></html>"
        pages.append((name, "200 OK", html))
    warc(tmp_path / "site.warc.gz", pages)
    assert run(["import", str(tmp_path / "site.warc.gz"), "--store", str(tmp_path / "store")]) == 0
    capfd.readouterr()
    for source in ("site.warc.gz", "store"):
        pairs = answer(capfd, tmp_path / source)["pairs"]
        assert [(pair["left"], pair["right"]) for pair in pairs] in (
            [("http://example.org/one", "http://example.org/three")],
            [("http://example.org/three", "http://example.org/one")],
        ), source


def test_results_as_files(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "in.jsonl"
    texts = collection(120)
    source.write_text("\n".join(json.dumps({"id": i, "text": text}) for i, text in enumerate(texts)))
    whole = answer(capfd, source)
    outputs = ("--output", tmp_path / "p.jsonl", "--clusters", tmp_path / "c.parquet")
    counts = answer(capfd, source, *outputs)
    assert counts["pairs"] == len(whole["pairs"])
    lines = (tmp_path / "p.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == whole["pairs"]
    from pyarrow import parquet

    assert parquet.read_table(tmp_path / "c.parquet").to_pylist() == whole["clusters"]


def test_sketches_are_saved_and_asked(folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    answer(capfd, folder, "--save", tmp_path / "a.sketches")
    answer(capfd, folder / "c.txt", "--save", tmp_path / "b.sketches")
    merged = answer(capfd, "merge", tmp_path / "all", tmp_path / "a.sketches", tmp_path / "b.sketches")
    assert merged["documents"] == 4
    other = tmp_path / "new.txt"
    other.write_text(TEXT + " tail")
    (pair,) = answer(capfd, other, "--against", tmp_path / "all")["pairs"]
    assert (pair["left"], pair["right"]) == ("a.txt", str(other))
    (pair,) = answer(capfd, other, "--against", folder, "--threshold", 0.95)["pairs"]
    assert pair["left"] == "a.txt"


def test_a_cluster_shows_as_many_as_it_counts(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["dedupe", str(folder / "sub"), "--against", str(folder / "sub")]) == 0
    head, copy, _ = capfd.readouterr().out.splitlines()
    assert head.endswith("  b.txt  (2, lowest 1.000)")
    assert copy == "    b.txt", "another document of the same name"
    for number in range(12):
        (folder / f"d{number:02}.txt").write_text(TEXT)
    assert run(["dedupe", str(folder)]) == 0
    head, *copies, _ = capfd.readouterr().out.splitlines()
    assert "  a.txt  (14, " in head
    assert copies == [*(f"    d{number:02}.txt" for number in range(10)), "    … and 3 more"]


def test_plan_prints_the_lectures_errors(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found = answer(capfd, *"plan --p 0.9 --q 0.5 --k 8 --groups 8 --plot".split(), tmp_path / "curve.png")
    assert (round(float(found["false_negative"]), 5), round(float(found["false_positive"]), 5)) == (0.01107, 0.03083)
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert run(["dedupe", "plan", "--plot", str(tmp_path / "no" / "curve.png")]) == 2
    assert "cannot draw" in capfd.readouterr().err
    assert run(["dedupe", "plan"]) == 0
    assert "P(FN)" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere"], "nowhere does not exist; give a store, a folder"),
        ([".", "--memory", "much"], "'much' is no size; write 500MB"),
        ([".", "--output", "x.csv"], "ends in neither .jsonl nor .parquet"),
        (["plan", "--k", "3"], "--k and --groups go together"),
        (["broken.jsonl"], "line 2 of broken.jsonl is not JSON"),
        (["fields.jsonl"], "line 1 of fields.jsonl has no field 'text'"),
        (["fake.parquet"], "fake.parquet is not a Parquet file"),
        (["torn.jsonl.gz"], "torn.jsonl.gz is damaged"),
        (["fake.jsonl.gz"], "fake.jsonl.gz is damaged"),
        (["fake.jsonl.zst"], "fake.jsonl.zst is damaged"),
    ],
)
def test_mistakes_are_one_sentence(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.jsonl").write_text('{"id": 1, "text": "a"}\nbroken\n')
    Path("fields.jsonl").write_text('{"a": 1}\n')
    for fake in ("fake.parquet", "fake.jsonl.gz", "fake.jsonl.zst"):
        Path(fake).write_text("no")
    Path("torn.jsonl.gz").write_bytes(gzip.compress(b'{"id": 1, "text": "a"}\n' * 99)[:-12])
    assert run(["dedupe", *words]) == 2
    captured = capfd.readouterr().err.strip()
    assert message in captured
    assert "Traceback" not in captured


def kept(path: Path) -> dict[str, dict[str, Any]]:
    if path.suffix == ".parquet":
        from pyarrow import parquet

        return {row["id"]: row for row in parquet.read_table(path).to_pylist()}
    return {row["id"]: row for row in map(json.loads, path.read_text().splitlines())}


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_what_is_kept_is_written_with_what_it_stands_for(
    folder: Path, tmp_path: Path, ending: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "sub" / "again.txt").write_text(TEXT)
    out = tmp_path / f"kept.{ending}"
    facts = answer(capfd, folder, "--write", out)
    assert (facts["documents"], facts["kept"]) == (4, 2)
    found = kept(out)
    assert set(found) == {"a.txt", "c.txt"}
    assert found["a.txt"]["text"] == TEXT
    assert found["c.txt"]["copies"] == []
    copies = {copy["id"]: copy for copy in found["a.txt"]["copies"]}
    assert set(copies) == {"sub/again.txt", "sub/b.txt"}
    assert (copies["sub/again.txt"]["similarity"], copies["sub/again.txt"]["method"]) == (1.0, "minhash")
    assert copies["sub/b.txt"]["matched"] in {"a.txt", "sub/again.txt"}
    assert 0.8 <= copies["sub/b.txt"]["similarity"] < 1


def test_what_is_kept_by_digest_and_against_another_collection(
    folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "0.bin").write_bytes(b"")  # no text: by digest it counts, and is no document to write
    (folder / "z.txt").write_text(TEXT)
    assert answer(capfd, folder, "--method", "exact", "--write", tmp_path / "k.jsonl")["kept"] == 3
    assert set(kept(tmp_path / "k.jsonl")) == {"a.txt", "c.txt", "sub/b.txt"}
    seen = tmp_path / "seen"
    seen.mkdir()
    (seen / "s.txt").write_text(TEXT)
    assert answer(capfd, folder, "--against", seen, "--write", tmp_path / "k.jsonl")["kept"] == 1
    assert set(kept(tmp_path / "k.jsonl")) == {"c.txt"}
    answer(capfd, seen, "--save", tmp_path / "sketches")
    assert answer(capfd, folder, "--against", tmp_path / "sketches", "--write", tmp_path / "k.jsonl")["kept"] == 1
    assert set(kept(tmp_path / "k.jsonl")) == {"c.txt"}


def test_repeated_paragraphs_are_marked(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    notice = "Subscribe to our newsletter and never miss a thing again."
    base = tmp_path / "docs"
    base.mkdir()
    for number in range(3):
        own = " ".join(f"w{number}x{i}" for i in range(60))
        (base / f"{number}.txt").write_text(f"{own}\n\n{notice.upper() if number == 2 else notice}\n")
    facts = answer(capfd, base, "--paragraphs", "--write", tmp_path / "k.jsonl")
    assert (facts["paragraphs"], facts["repeated_paragraphs"], facts["kept"]) == (6, 2, 3)
    found = kept(tmp_path / "k.jsonl")
    assert found["0.txt"]["repeated"] == []
    for name in ("1.txt", "2.txt"):
        (mark,) = found[name]["repeated"]
        assert found[name]["text"][mark["start"] : mark["end"]].casefold() == notice.casefold()
        assert mark["first"] == "0.txt"


def test_a_store_is_compared_by_its_documents_and_their_main_texts(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of faults S7: menus made strangers alike, and rows that are no documents were compared."""
    from fyke.store import RowMeta, Settings, Store

    menu = "".join(f"<li><a href=/{i}>A rather long entry of the menu, number {i}</a></li>" for i in range(60))
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    with Store.open(tmp_path / "s", settings=Settings(tablets=1)) as store:
        for number in range(2):
            own = " ".join(f"w{number}x{i}" for i in range(40))
            page = f"<title>t</title><nav><ul>{menu}</ul></nav><article><p>{own}.</p><p>{own}!</p></article>"
            whole = " ".join(f"A rather long entry of the menu, number {i}" for i in range(60)) + own
            store.put(f"http://a.test/{number}", raw=page.encode(), text=whole, response_head=head)
        for number in range(2):
            gone = RowMeta(status=404, error="client-error")
            store.put(f"http://a.test/gone{number}", raw=b"gone", text=TEXT, meta=gone)
    found = answer(capfd, tmp_path / "s")
    assert (found["documents"], found["pairs"]) == (2, [])
