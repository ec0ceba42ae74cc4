"""The store by URL: what a user puts is what a user gets."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from fyke.errors import StorageError, UserError
from fyke.store import Settings, Store
from fyke.url import Url
from fyke.values import Link

URL = "http://www.example.com/test.html"
SMALL = Settings(tablets=2)


def test_put_and_get_every_part(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s", settings=SMALL) as store:
        store.put(
            URL,
            raw=b"<TITLE>Tropical Fish Store</TITLE>",
            text="Tropical Fish Store",
            title="Tropical Fish Store",
            links=["fish.html", ("/tank.html", "tanks"), Link(Url.parse("http://other.example/"), "o", "nofollow")],
            anchors={"http://a.example/": "fish shop"},
            fetched=datetime(1997, 1, 1, 1, 31, 45, tzinfo=UTC),
            response_head=b"HTTP/1.0 200 OK\r\nContent-type: text/html\r\n\r\n",
            columns={"rank:page": b"0.25"},
        )
    with Store.open(tmp_path / "s") as store:
        row = store.get(URL)
        assert row is not None
        assert (row.url, row.raw, row.text, row.title) == (
            URL, b"<TITLE>Tropical Fish Store</TITLE>", "Tropical Fish Store", "Tropical Fish Store")  # fmt: skip
        assert [(link.target.href, link.text, link.rel) for link in row.links] == [
            ("http://www.example.com/fish.html", "", ""),
            ("http://www.example.com/tank.html", "tanks", ""),
            ("http://other.example/", "o", "nofollow"),
        ]
        assert [(a.source, a.text) for a in row.anchors] == [("http://a.example/", "fish shop")]
        assert row.versions == [datetime(1997, 1, 1, 1, 31, 45, tzinfo=UTC)]
        assert (row.meta.status, row.meta.type, row.meta.length) == (200, "text/html", 34)
        assert row.columns == {"rank:page": b"0.25"}
        assert store.get("http://www.example.com/other") is None


def test_second_writer_is_refused_and_a_reader_is_not(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s", settings=SMALL) as store:
        with pytest.raises(StorageError, match="being written by process"):
            Store.open(tmp_path / "s")
        store.put(URL, raw=b"1")
        with Store.open(tmp_path / "s", mode="r") as reader:
            row = reader.get(URL)
            assert row is not None
            assert row.raw == b"1"
            with pytest.raises(UserError, match="open for reading"):
                reader.put(URL, raw=b"2")
    Store.open(tmp_path / "s").close()
