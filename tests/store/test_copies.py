"""Exact copies: marked in place, stripped of their body, read and exported through their original."""

from __future__ import annotations

from pathlib import Path

import msgspec

from fyke.formats.warc import read_records
from fyke.store import EXACT, Settings, Store
from fyke.store.exporting import export
from fyke.store.maintenance import check
from fyke.url import Url

FIRST, SECOND, THIRD = "http://a.test/one", "http://b.test/two", "http://c.test/three"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
BODY = b"the same words " * 200


def copied(path: Path) -> Store:
    """A store where SECOND is a copy of FIRST, and THIRD of SECOND, both without bodies."""
    store = Store.open(path, settings=Settings(tablets=4))
    for when, url in enumerate((FIRST, SECOND, THIRD), 1):
        store.put(url, raw=BODY, text="text of " + url, response_head=HEAD, fetched=when)
    for url, original in ((SECOND, FIRST), (THIRD, SECOND)):
        key = Url(url).key
        tablet = store.tablet(store.tablet_of(key))
        batch = tablet.batch()
        version = tablet.version(key)
        assert version is not None
        marked = msgspec.structs.replace(version.meta, duplicate_of=original, similarity=1.0, duplicate_by=EXACT)
        batch.mark(key, version, marked)
        assert batch.strip(key, version.stamp) > 0
        tablet.write(batch)
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
        row = store.get(THIRD)
        assert row is not None
        assert row.raw == b""
        assert check(store).named == [
            f"{copy} is a copy of {original}, whose body is gone"
            for copy, original in sorted([(SECOND, FIRST), (THIRD, SECOND)], key=lambda pair: store.tablet_of(pair[0]))
        ]


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
    revisit = next(r for r in records if r.kind == "revisit" and r.uri == SECOND)
    assert revisit.get("WARC-Refers-To-Target-URI") == FIRST
