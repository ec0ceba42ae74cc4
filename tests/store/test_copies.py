"""Exact copies: marked in place, stripped of their body, read and exported through their original."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from fyke.formats.warc import read_records
from fyke.store import RowMeta, Settings, Store
from fyke.store.exporting import export
from fyke.store.maintenance import check
from fyke.store.splitting import split
from fyke.url import Url
from tests.store.copies import mark_copy

FIRST, SECOND, THIRD = "http://a.test/one", "http://b.test/two", "http://c.test/three"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
BODY = b"the same words " * 200


def copied(path: Path) -> Store:
    """A store where SECOND is a copy of FIRST, and THIRD of SECOND, both without bodies."""
    store = Store.open(path, settings=Settings(tablets=4))
    for when, url in enumerate((FIRST, SECOND, THIRD), 1):
        store.put(url, raw=BODY, text="text of " + url, response_head=HEAD, fetched=when)
    for url, original in ((SECOND, FIRST), (THIRD, SECOND)):
        mark_copy(store, url, original)
    return store


def test_the_body_is_that_of_the_original(tmp_path: Path) -> None:
    with copied(tmp_path / "s") as store:
        for url in (SECOND, THIRD):
            row = store.get(url)
            assert row is not None
            assert row.raw == BODY
            assert row.page is not None
            assert row.page.response_head == HEAD
            assert row.text == "text of " + url
            assert len(row.versions) == 1
        stats = {host.name: host for host in store.hosts()}
        assert stats["b.test"].size < 100 < stats["a.test"].size
        assert stats["b.test"].pages == 1
        assert check(store).named == []


def test_it_is_still_there_when_the_original_has_changed(tmp_path: Path) -> None:
    with copied(tmp_path / "s") as store:
        store.put(FIRST, raw=b"something else", fetched=9)
        row = store.get(THIRD)
        assert row is not None
        assert row.raw == BODY
        store.delete(FIRST)
        for url in (SECOND, THIRD):
            row = store.get(url)
            assert row is not None
            assert row.raw == BODY
        assert check(store).named == []


@pytest.mark.parametrize("gone", [FIRST, SECOND, THIRD])
def test_a_body_goes_to_the_next_that_names_it(tmp_path: Path, gone: str) -> None:
    with copied(tmp_path / "s") as store:
        store.delete(gone)
        left = [row for row in store.scan() if row.meta.length]
        assert {row.raw for row in left} == {BODY}
        assert len([row for row in left if not row.meta.duplicate_of]) == 1
        assert check(store).named == []
        for row in left:
            store.delete(row.url)
            assert all(other.raw == BODY for other in store.scan())
        assert check(store).named == []
        assert not list(store.scan())


def test_pruning_an_original_leaves_its_copies_whole(tmp_path: Path) -> None:
    copied(tmp_path / "s").close()
    with Store.open(tmp_path / "s", settings=Settings(tablets=4, keep_versions=1)) as store:
        store.put(FIRST, raw=b"something else", fetched=9)
        assert len(store.get(FIRST).versions) == 1  # type: ignore[union-attr]
        assert [store.get(url).raw for url in (SECOND, THIRD)] == [BODY, BODY]  # type: ignore[union-attr]
        assert check(store).named == []


def test_a_body_stays_in_a_row_whose_versions_share_it(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s", settings=Settings(tablets=1, keep_versions=2)) as store:
        store.put(FIRST, raw=BODY, response_head=HEAD, fetched=1)
        store.put(FIRST, raw=BODY, response_head=HEAD, fetched=2)
        tablet = store.tablet(0)
        batch = tablet.batch()
        batch.strip(Url(FIRST).key, 2_000_000)
        tablet.write(batch)
        store.put(FIRST, raw=b"changed", fetched=3)
        assert [row.raw for row in store.get(FIRST).history()] == [BODY, b"changed"]  # type: ignore[union-attr]
        assert check(store).named == []


def test_a_split_takes_the_list_of_bodies_along(tmp_path: Path) -> None:
    copied(tmp_path / "s").close()
    split(tmp_path / "s", 7)
    with Store.open(tmp_path / "s") as store:
        assert check(store).named == []
        store.delete(FIRST)
        assert [store.get(url).raw for url in (SECOND, THIRD)] == [BODY, BODY]  # type: ignore[union-attr]


def test_an_annotation_has_the_digest_of_its_page(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s", settings=Settings(tablets=1, keep_versions=1)) as store:
        store.put(FIRST, raw=BODY, fetched=1)
        store.put(FIRST, meta=RowMeta(title="by hand"), fetched=2)
        row = store.get(FIRST)
        assert row is not None
        assert (row.title, row.raw, row.meta.length) == ("by hand", BODY, len(BODY))
        store.delete(FIRST)
        assert check(store).named == []


def test_an_older_version_is_marked_in_its_place(tmp_path: Path) -> None:
    with copied(tmp_path / "s") as store:
        store.put(SECOND, raw=b"fresh", fetched=9)
        key = Url(SECOND).key
        tablet = store.tablet(store.tablet_of(key))
        newest, old = tablet.versions(key)
        batch = tablet.batch()
        batch.mark(key, old, msgspec.structs.replace(old.meta, duplicate_of=THIRD))
        tablet.write(batch)
        assert [version.meta.duplicate_of for version in tablet.versions(key)] == ["", THIRD]
        assert tablet.version(key) == newest


def test_a_warc_holds_the_body_once(tmp_path: Path) -> None:
    with copied(tmp_path / "s") as store:
        assert export(store.scan(), tmp_path / "out.warc.gz") == 3
    with (tmp_path / "out.warc.gz").open("rb") as file:
        records = list(read_records(file))
    kinds = [record.kind for record in records if record.kind in {"response", "revisit"}]
    assert sorted(kinds) == ["response", "revisit", "revisit"]
    response = next(record for record in records if record.kind == "response")
    for revisit in (record for record in records if record.kind == "revisit"):
        assert revisit.get("WARC-Refers-To-Target-URI") == response.uri
        assert revisit.get("WARC-Refers-To") == response.id
        assert revisit.get("WARC-Refers-To-Date") == response.get("WARC-Date")
        assert revisit.digest == response.digest
