"""An import makes anchors and marks copies as a crawl does, and reads on behind a file that is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from fyke.cli import run as fyke_command
from fyke.crawl.imported import Settled
from fyke.store import Change, Page, RowMeta, Settings, Store
from fyke.store.codec import sha1
from fyke.store.exporting import export
from fyke.store.maintenance import check
from fyke.url import Url

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
WORDS = " ".join(f"word{number} of the tale" for number in range(120))


def page(text: str, link: str = "") -> bytes:
    return f"<html><title>T</title><body><p>{text}</p>{link}</body></html>".encode()


@pytest.fixture
def warc(tmp_path: Path) -> Path:
    with Store.open(tmp_path / "from", settings=Settings(tablets=1)) as store:
        link = '<a href="http://b.test/target">the target</a>'
        for when, (url, body) in enumerate([
            ("http://a.test/first", page(WORDS, link)),
            ("http://b.test/copy", page(WORDS, link)),
            ("http://c.test/near", page(WORDS + " and one more", link)),
            ("http://b.test/target", page("something else altogether, " * 30)),
        ]):  # fmt: skip
            store.put(url, raw=body, response_head=HEAD, fetched=1_600_000_000 + when)
        export(store.scan(), tmp_path / "in.warc.gz")
    return tmp_path / "in.warc.gz"


def test_anchors_and_copies(warc: Path, tmp_path: Path) -> None:
    assert fyke_command(["import", str(warc), "--store", str(tmp_path / "s")]) == 0
    with Store.open(tmp_path / "s", "r") as store:
        rows = {row.url: row for row in store.scan()}
        assert rows["http://b.test/copy"].meta.duplicate_of == "http://a.test/first"
        assert rows["http://b.test/copy"].meta.duplicate_by == "sha256"
        assert rows["http://b.test/copy"].raw == rows["http://a.test/first"].raw
        assert rows["http://c.test/near"].meta.duplicate_of in {"http://a.test/first", "http://b.test/copy"}
        assert rows["http://b.test/target"].meta.duplicate_of == ""
        anchors = rows["http://b.test/target"].anchors
        assert [(anchor.source, anchor.text) for anchor in anchors] == [
            (f"http://{name}", "the target") for name in ("a.test/first", "b.test/copy", "c.test/near")
        ]
        assert check(store).named == []


def test_a_file_that_is_none_does_not_stop_the_others(warc: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.warc").write_bytes(b"nothing of the kind\n" * 50)
    assert fyke_command(["import", str(tmp_path / "bad.warc"), str(warc), "--store", str(tmp_path / "s")]) == 2
    with Store.open(tmp_path / "s", "r") as store:
        assert len(list(store.scan())) == 4


def test_each_version_of_an_address_is_known_by_its_own_words(tmp_path: Path) -> None:
    """Two versions come in one batch: whoever copies the first is found, though the second is about something else."""
    pages = [
        ("http://a.test/", WORDS),
        ("http://a.test/", "something else altogether, " * 30),
        ("http://b.test/", WORDS),
    ]
    with Store.open(tmp_path / "s", settings=Settings(tablets=1)) as store:
        put = []
        for stamp, (href, text) in enumerate(pages, 1):
            url, meta = Url(href), RowMeta(status=200, type="text/plain", digest=sha1(text.encode()))
            change = Change(meta, Page(b"", HEAD, text.encode()), text)
            put.append((url, store.tablet(0).put(url.key, change, stamp), change))
        with Settled(store) as settled:
            settled(put)
        copy = store.get("http://b.test/")
        assert copy is not None
        assert (copy.meta.duplicate_of, copy.meta.duplicate_by) == ("http://a.test/", "sha256")
