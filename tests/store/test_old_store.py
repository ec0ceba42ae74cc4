"""A store of format 3: exact copies without bodies, annotations and imported revisits, before bodies were listed.

``made/store-3.tar.zst`` was written by the fyke of that format and is never written anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fyke.formats.warc import read_records
from fyke.store import Store, manifest
from fyke.store.exporting import export
from fyke.store.importing import import_file
from fyke.store.maintenance import check
from tests.store.old import unpack

BODY = b"<p>the same words</p>" * 40
COPIES = ("http://b.test/two", "http://c.test/three")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return unpack(3, tmp_path)


def test_its_copies_are_read_and_survive_their_original(old: Path) -> None:
    with Store.open(old, "r") as store:
        assert manifest.read(old).version == 3
        assert [store.get(url).raw for url in COPIES] == [BODY, BODY]  # type: ignore[union-attr]
        assert check(store).named == []
    with Store.open(old) as store:
        store.delete("http://a.test/one")
        assert [store.get(url).raw for url in COPIES] == [BODY, BODY]  # type: ignore[union-attr]
        assert check(store).named == []
    assert manifest.read(old).version == manifest.VERSION


def test_it_is_exported_without_fake_revisits(old: Path, tmp_path: Path) -> None:
    with Store.open(old, "r") as store:
        assert export(store.scan(), tmp_path / "out.warc.gz") == 6
    with (tmp_path / "out.warc.gz").open("rb") as file:
        found = sorted((r.kind, r.uri) for r in read_records(file) if r.kind in ("response", "revisit"))
    assert [uri for kind, uri in found if kind == "response" and ".test/" in uri and "d.test" in uri] == [
        "http://d.test/"
    ]
    assert [kind for kind, uri in found if uri == "http://e.test/"] == ["response", "revisit"]
    assert [kind for kind, uri in found].count("response") == 3
    with Store.open(tmp_path / "t") as copy:
        import_file(copy, tmp_path / "out.warc.gz")
        assert [copy.get(url).raw for url in COPIES] == [BODY, BODY]  # type: ignore[union-attr]
        assert [row.raw for row in copy.get("http://e.test/").history()] == [b"<p>page</p>"] * 2  # type: ignore[union-attr]
