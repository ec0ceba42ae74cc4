"""get, list, import, export and store, as typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fyke.cli import run
from fyke.formats.warc_write import WarcWriter
from fyke.store import RowMeta, Settings, Store
from fyke.values import Exchange, Meta

URL = "http://www.example.com/test.html"


@pytest.fixture
def store(tmp_path: Path) -> str:
    with Store.open(tmp_path / "s", settings=Settings(tablets=2)) as opened:
        opened.put(
            URL,
            raw="<p>Keeping tropical fish ü</p>".encode(),
            text="Keeping tropical fish needs a heater.",
            title="Fish",
            links=[("/tank.html", "tanks")],
            anchors={"http://a.example/": "fish shop"},
            fetched=852082305,
            meta=RowMeta(
                status=200,
                type="text/html",
                language="en",
                depth=0,
                document=Meta(sources=(("title", "og"), ("author", "byline"))),
            ),
        )
        opened.put(URL, raw=b"second", text="second", fetched=852082400)
        opened.put("http://www.example.com/copy", raw=b"x", fetched=1e9, meta=RowMeta(status=200, duplicate_of=URL))
        opened.put("http://other.example/", meta=RowMeta(error="dns"), fetched=1e9)
    return str(tmp_path / "s")


def out(capfd: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    assert run(words) == status
    return capfd.readouterr().out


def test_get_shows_each_part(store: str, capfd: pytest.CaptureFixture[str]) -> None:
    def get(*words: str) -> str:
        return out(capfd, "get", URL, "--store", store, *words)

    assert get() == "second\n"
    assert get("--show", "raw") == "second"
    assert "sources        title: og, author: byline\n" in get("--show", "meta", *("--at", "1997-01-01T01:32"))
    assert get("--show", "versions") == "1997-01-01T01:33:20Z\n1997-01-01T01:31:45Z\n"
    early = ("--at", "1997-01-01T01:32")
    assert get(*early) == "Keeping tropical fish needs a heater.\n"
    assert get("--show", "html", *early) == "<p>Keeping tropical fish ü</p>\n"
    assert get("--show", "links", *early) == "http://www.example.com/tank.html\ttanks\n"
    assert get("--show", "anchors") == "http://a.example/\tfish shop\n"
    assert get("--snippet", "tropical fish", *early) == "Keeping **tropical** **fish** needs a heater.\n"
    meta = json.loads(get("--show", "meta", "--json", *early))
    assert meta["url"] == URL
    assert (meta["status"], meta["type"], meta["length"], meta["fetched"], meta["title"], meta["language"]) == (
        200, "text/html", 31, "1997-01-01T01:31:45Z", "Fish", "en")  # fmt: skip
    assert meta["depth"] == 0, "a seed's"
    assert not {"relevance", "truncated", "error"} & meta.keys(), "what does not apply is left out"
    assert [json.loads(line)["length"] for line in get("--show", "versions", "--json").splitlines()] == [6, 31]


def test_get_names_what_is_wrong(store: str, capfd: pytest.CaptureFixture[str]) -> None:
    for words, status, message in [
        (("get", "http://nowhere.example/", "--store", store), 1, "is not in"),
        (("get", URL, "--store", store + "x"), 1, "does not exist"),
        (("get", URL, "--at", "yesterday", "--store", store), 2, "is no date or time"),
        (("get", URL, "--at", "1996-12-31", "--store", store), 1, "has no version as old as 1996-12-31"),
        (("get", "nonsense", "--store", store), 2, "not a URL"),
    ]:
        assert run(words) == status
        assert message in capfd.readouterr().err


def test_list_by_prefix_host_and_limit(store: str, capfd: pytest.CaptureFixture[str]) -> None:
    rows = [json.loads(line) for line in out(capfd, "list", "--store", store, "--json").splitlines()]
    assert {row["url"] for row in rows} == {URL, "http://www.example.com/copy", "http://other.example/"}
    assert next(row for row in rows if row["url"].endswith("copy"))["duplicate_of"] == URL
    assert next(row for row in rows if "other" in row["url"])["error"] == "dns"
    assert out(capfd, "list", "http://www.example.com/te", "--store", store).endswith(f"{URL}\n")
    assert len(out(capfd, "list", "--host", "www.example.com", "--store", store).splitlines()) == 2
    assert len(out(capfd, "list", "--limit", "1", "--store", store).splitlines()) == 1


def test_export_import_and_look_after(store: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file, copy = str(tmp_path / "o.warc.zst"), str(tmp_path / "copy")
    assert json.loads(out(capfd, "export", file, "--store", store, "--json"))["documents"] == 3
    done = json.loads(out(capfd, "import", file, "--store", copy, "--json"))
    assert (done["documents"], done["damage"]) == (3, {})
    assert out(capfd, "get", URL, "--show", "raw", "--store", copy) == "second"
    assert json.loads(out(capfd, "store", "check", "--store", copy, "--json"))["faults"] == 0
    assert json.loads(out(capfd, "store", "split", "--tablets", "3", "--store", copy, "--json")) == {"tablets": 3}
    assert json.loads(out(capfd, "store", "stats", "--store", copy, "--json"))["rows"] == 2
    assert json.loads(out(capfd, "store", "stats", "--hosts", "--store", copy, "--json"))["name"] == "www.example.com"
    assert "{" not in out(capfd, "store", "stats", "--store", copy), "a person reads lines"
    assert "bytes before" in out(capfd, "store", "compact", "--store", copy)
    assert run(["import", str(tmp_path / "none.warc"), "--store", copy]) == 2
    assert "does not exist" in capfd.readouterr().err


def test_an_import_makes_texts_and_links(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "pages.warc"
    pages = {
        "http://a.example/fish": (
            "text/html; charset=iso-8859-1",
            '<html lang="de"><title>Fische</title><p>K\xf6derfische</p><a href="/tank">Becken</a>'.encode("latin-1"),
        ),
        "http://a.example/plain": ("text/plain", b"plain words"),
        "http://a.example/pdf": ("application/pdf", b"%PDF-1.4 broken"),
    }
    with file.open("wb") as stream:
        writer = WarcWriter(stream, iter(f"urn:uuid:{n}" for n in range(99)).__next__, compression="")
        for url, (kind, body) in pages.items():
            head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n".encode()
            writer.exchange(url, Exchange(b"", head, body, 200, 1e9, 1e9))
    done = json.loads(out(capfd, "import", str(file), "--store", str(tmp_path / "s"), "--json"))
    assert (done["documents"], done["texts"]) == (3, 2)
    assert (
        json.loads(out(capfd, "import", str(file), "--store", str(tmp_path / "t"), "--no-text", "--json"))["texts"] == 0
    )
    with Store.open(tmp_path / "s", "r") as opened:
        row = opened.get("http://a.example/fish")
        assert row is not None
        assert (row.title, row.meta.language, row.meta.encoding) == ("Fische", "de", "windows-1252")
        assert "K\xf6derfische" in (row.text or "")
        assert [(link.target.href, link.text) for link in row.links] == [("http://a.example/tank", "Becken")]
        plain, pdf = opened.multi_get(["http://a.example/plain", "http://a.example/pdf"])
        assert plain is not None
        assert pdf is not None
        assert ((plain.text or "").strip(), pdf.text, pdf.raw) == ("plain words", None, b"%PDF-1.4 broken")
    with Store.open(tmp_path / "t", "r") as opened:
        assert all(row.text is None and row.links == () for row in opened.scan())


def test_a_damaged_store_fails_its_check(store: str, capfd: pytest.CaptureFixture[str]) -> None:
    with Store.open(store) as opened:
        tablet = opened.tablet(opened.tablet_of(URL))
        batch = tablet.batch()
        for key, _ in list(tablet.items("page")):
            batch.delete("page", key)
        tablet.write(batch)
    assert run(["store", "check", "--store", store]) == 1
    assert "is missing" in capfd.readouterr().err
