"""What changed since: a replica that takes each change is the dataset, and a cursor is one dataset's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fyke
from fyke.errors import UserError
from fyke.store import RowMeta, Settings, Store
from fyke.store.exports.changes import Changes
from fyke.store.exports.columns import Stored, document_id
from fyke.store.exports.dataset import Dataset, rows_of
from fyke.store.where import Where
from fyke.url import Url
from fyke.values import Signals
from tests.store.dataset_pages import ONE, WHEN, export, fill, put_page

pytest.importorskip("pyarrow")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return fill(tmp_path / "store")


def changed(store: Store, cursor: str, where: Where | None = None) -> tuple[list[dict[str, Any]], str]:
    dataset = Dataset.of(["url", "title", "duplicate_of"], where)
    with Changes(store, dataset, Stored(), cursor) as changes:
        names = [column.name for column in changes.columns]
        rows = [dict(zip(names, row, strict=True)) for row in changes.rows()]
        return rows, changes.commit()


URLS = [f"http://{host}.test/{page}" for host in "abc" for page in range(3)]
STEPS = st.lists(
    st.tuples(st.sampled_from(["put", "old", "title", "noindex", "delete", "mark", "gone"]), st.sampled_from(URLS)),
    max_size=12,
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, min_size=1, max_size=4))
def test_a_replica_follows_whatever_happens(tmp_path_factory: pytest.TempPathFactory, rounds: list[Any]) -> None:
    replica: dict[str, dict[str, Any]] = {}
    cursor, clock = "0", WHEN
    with Store.open(tmp_path_factory.mktemp("s") / "s", settings=Settings(tablets=2)) as store:
        for steps in rounds:
            for action, url in steps:
                clock += 1
                tell(store, action, url, clock)
            changes, cursor = changed(store, cursor)
            for row in changes:
                op = row.pop("op")
                if op == "delete":
                    del replica[row["id"]]
                else:
                    replica[row["id"]] = row
            dataset = Dataset.of(["url", "title", "duplicate_of"])
            whole = [dict(zip(dataset.names, row, strict=True)) for row in rows_of(dataset, store, Stored())]
            assert replica == {document_id(row["url"]): {"id": document_id(row["url"]), **row} for row in whole}
            assert changed(store, cursor)[0] == [], "nothing has changed since"


def tell(store: Store, action: str, url: str, when: int) -> None:
    row = store.get(url)
    if action == "put":
        store.put(url, raw=b"%d" % when, text=f"text {when}", title=f"title {when}", fetched=when)
    elif action == "old":
        store.put(url, raw=b"old", text="old text", fetched=when - WHEN + 10)
    elif action == "gone":
        store.put(url, raw=b"", meta=RowMeta(status=404, error="client-error"), fetched=when)
    elif action == "delete":
        store.delete(url)
    elif row is not None and row.version is not None:
        if action == "title":
            store.put(url, title=f"new {when}", fetched=when)
            return
        tablet = store.writable(store.tablet_of(url))
        new: dict[str, Any] = {"signals": Signals(("noindex",))} if action == "noindex" else {"duplicate_of": URLS[0]}
        batch = tablet.batch()
        batch.put_meta(Url.parse(url).key, msgspec.structs.replace(row.meta, **new))
        tablet.write(batch)


def test_an_unchanged_revisit_is_no_change_and_a_cursor_is_one_datasets(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s", settings=ONE) as store:
        store.put("http://a.test/", raw=b"x", text="x", meta=RowMeta(status=200), fetched=WHEN)
        first, cursor = changed(store, "start")
        assert [row["op"] for row in first] == ["upsert"]
        row = store.get("http://a.test/")
        assert row is not None
        store.put(
            "http://a.test/", meta=msgspec.structs.replace(row.meta, fetched=WHEN + 5.0, etag="e"), fetched=WHEN + 5
        )
        nothing, second = changed(store, cursor)
        assert nothing == []
        with pytest.raises(UserError, match="other columns, filters or text"):
            changed(store, second, Where(language=("en",)))
        assert changed(store, second)[0] == []
        (tmp_path / "s" / "cursors" / second).write_bytes(b"torn")
        with pytest.raises(fyke.errors.StorageError, match="damaged"):
            changed(store, second)


def test_changes_as_users_type_it(store: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "o.jsonl"
    assert export(store, out, "--changes-since", "0", "--json") == 0
    facts = json.loads(capfd.readouterr().out)
    assert (facts["upserts"], facts["deletes"]) == (3, 0)
    with Store.open(store) as opened:
        opened.delete("http://a.test/one")
        put_page(opened, "http://a.test/new")
    assert export(store, out, "--changes-since", facts["cursor"], "--json") == 0
    assert json.loads(capfd.readouterr().out)["cursor"] != facts["cursor"]
    lines = {row["url"]: row for row in map(json.loads, out.read_text().splitlines())}
    assert {url: row["op"] for url, row in lines.items()} == {
        "http://a.test/one": "delete",
        "http://a.test/new": "upsert",
    }
    assert lines["http://a.test/one"]["id"] == document_id("http://a.test/one")
    assert lines["http://a.test/one"]["text"] is None
