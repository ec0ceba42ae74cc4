"""One contract for every table; and the table on disk against the model, operation by operation, through crashes."""

from __future__ import annotations

import gzip
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fyke.errors import UserError
from fyke.store import Anchor, Change, Codec, Page, Row, RowMeta, Tablet
from fyke.store.cells import pack_page
from fyke.store.codec import Codecs
from fyke.store.rocks import Memory
from fyke.store.table import Table
from fyke.url import Url
from fyke.values import Coded, Link
from tests.store.memory_table import MemoryTable

CODECS = {"page": Codec.DICTIONARY, "text": Codec.DEFLATE, "links": Codec.ZSTD}
A, B, C = (Url.parse(f"http://example.org{path}").key for path in ("/a", "/a/b", "/a?b"))
Make = Callable[[int], Table]


def open_tablet(path: Path, keep: int = 0) -> Tablet:
    return Tablet.open(path, Memory.make(), Codecs(), CODECS, keep)


@pytest.fixture(params=["memory", "rocksdb"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    if request.param == "memory":
        yield MemoryTable
        return
    made: list[Tablet] = []

    def build(keep: int) -> Table:
        made.append(open_tablet(tmp_path / "tablet", keep))
        return made[-1]

    yield build
    for tablet in made:
        tablet.close()


def page(body: bytes) -> Page:
    return Page(b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n", body)


@pytest.mark.parametrize("codec", list(Codec))
def test_a_page_that_was_sent_compressed_reads_as_any_other(codec: Codec, tmp_path: Path) -> None:
    """It stays as it was sent where nothing better is known, and where the settings leave the choice."""
    body = b"<p>some words of a page</p>" * 40
    sent = replace(page(body), coded=Coded("gzip", gzip.compress(body)))
    tablet = Tablet.open(tmp_path / "tablet", Memory.make(), Codecs(), {"page": codec}, 0)
    tablet.put(A, Change(RowMeta(type="text/html"), sent), 1)
    row = tablet.read(A)
    assert row is not None
    assert row.page == page(body)
    (value,) = (value for _, value in tablet.items("page"))
    assert (value[0] == 4) == (codec is Codec.DICTIONARY)
    assert tablet.versions(A)[0].size == len(pack_page(page(body)))
    assert tablet.versions(A)[0].stored == len(value)
    tablet.close()


def seen(row: Row | None) -> object:
    return row and (row.key, row.stamp, row.meta, row.page, row.text, row.links, row.columns, row.anchors)


def text_of(row: Row | None) -> str | None:
    assert row is not None
    return row.text


def test_a_row_at_every_time(make: Make) -> None:
    table = make(0)
    assert table.read(A) is None
    for stamp in (10, 30, 20):
        assert table.put(A, Change(RowMeta(status=stamp), page(b"%d" % stamp), f"text {stamp}"), stamp) == stamp
    assert [v.stamp for v in table.versions(A)] == [30, 20, 10]
    assert text_of(table.read(A)) == "text 30"
    assert [text_of(table.read(A, at=at)) for at in (10, 19, 20, 29, 31)] == [
        "text 10", "text 10", "text 20", "text 20", "text 30"]  # fmt: skip
    assert table.read(A, at=9) is None


def test_a_taken_stamp_is_moved_and_nothing_is_overwritten(make: Make) -> None:
    table = make(0)
    stamps = [table.put(A, Change(RowMeta(), text=f"{n}"), 5) for n in range(3)]
    stamps.append(table.put(A, Change(RowMeta(), text="3"), 6))
    assert stamps == [5, 6, 7, 8]
    assert [text_of(table.read(A, at=stamp)) for stamp in stamps] == ["0", "1", "2", "3"]


def test_parts_are_inherited_but_never_across_pages(make: Make) -> None:
    table = make(0)
    link = Link(Url.parse("http://example.org/x"), "x")
    table.put(A, Change(RowMeta(), page(b"one"), "one", [link]), 1)
    table.put(A, Change(RowMeta(title="unchanged")), 2)
    row = table.read(A)
    assert row is not None
    assert (row.raw, row.text, tuple(row.links), row.title) == (b"one", "one", (link,), "unchanged")
    table.put(A, Change(RowMeta(), page(b"two")), 3)
    row = table.read(A)
    assert row is not None
    assert (row.raw, row.text, tuple(row.links)) == (b"two", None, ())
    table.put(A, Change(RowMeta(), text="two"), 4)
    row = table.read(A)
    assert row is not None
    assert (row.raw, row.text) == (b"two", "two")


def test_surplus_versions_go_and_what_the_rest_needs_stays(make: Make) -> None:
    table = make(2)
    table.put(A, Change(RowMeta(), page(b"one"), columns=(("a:b", b"1"),)), 1)
    for stamp in (2, 3, 4):
        table.put(A, Change(RowMeta(depth=stamp), columns=(("a:b", b"%d" % stamp),)), stamp)
    assert [v.stamp for v in table.versions(A)] == [4, 3]
    row = table.read(A)
    assert row is not None
    assert row.raw == b"one"
    assert [cell.value for cell in table.cells(A, "a:b", versions=9)] == [b"4", b"3"]


def test_sparse_columns_by_the_thousand(make: Make) -> None:
    table = make(0)
    columns = tuple((f"rank:{n}", b"%d" % n) for n in range(3000))
    table.put(A, Change(RowMeta(), columns=columns), 7)
    table.put(A, Change(RowMeta(), columns=(("rank:5", b"new"),)), 8)
    assert len(table.cells(A)) == 3000
    assert [cell.value for cell in table.cells(A, "rank:5", versions=2)] == [b"new", b"5"]
    assert [cell.value for cell in table.cells(A, "rank:5", at=7)] == [b"5"]
    assert table.cells(B) == []


def test_anchors_need_no_page(make: Make) -> None:
    table = make(0)
    table.put_anchors(B, 0, 1, [Anchor("http://x/", "old", 1.0), Anchor("http://y/", "y", 1.0)])
    table.put_anchors(B, 3, 1, [Anchor("http://x/", "new", 2.0)])
    assert table.read(B) is None
    assert [(a.source, a.text) for a in table.anchors(B)] == [("http://x/", "new"), ("http://y/", "y")]
    assert table.anchors(A) == []


def test_scan_is_in_order_within_its_range(make: Make) -> None:
    table = make(0)
    for row in (B, A, C):
        for stamp in (1, 2):
            table.put(row, Change(RowMeta(), page(row), "t"), stamp)
    assert [row.key for row in table.scan()] == sorted([A, B, C])
    assert [(row.key, row.raw) for row in table.scan(B, B + b"\0")] == [(B, B)]
    assert [row and row.stamp for row in table.multi_read([C, b"\0\0x\0http\0/", A])] == [2, None, 2]


def test_delete_forgets_the_row_alone(make: Make) -> None:
    table = make(0)
    for row in (A, B):
        table.put(row, Change(RowMeta(), page(b"x"), "x", [], (("c:d", b"x"),)), 1)
        table.put(row, Change(RowMeta(), page(b"y")), 2)
        table.put_anchors(row, 1, 1, [Anchor("http://x/", "x")])
    table.delete(A)
    assert (table.read(A), table.versions(A), table.anchors(A), table.cells(A)) == (None, [], [], [])
    assert [row.key for row in table.scan()] == [B]
    assert len(table.versions(B)) == 2


def test_a_column_without_a_usable_name_is_refused(tmp_path: Path) -> None:
    tablet = open_tablet(tmp_path / "t")
    for name in ("", "a\0b", "x" * 2000):
        with pytest.raises(UserError, match="cannot be named"):
            tablet.put(A, Change(RowMeta(), columns=((name, b""),)), 1)
    assert tablet.read(A) is None
    tablet.close()


ROWS = st.sampled_from([A, B, C])
STAMPS = st.integers(1, 12)
BODIES = st.binary(max_size=12) | st.sampled_from([b"long " * 60, b"<p>" * 200])
TEXTS = st.text(max_size=8)
CHANGES = st.builds(
    Change,
    st.builds(RowMeta, status=st.integers(0, 599), title=st.text(st.characters(exclude_categories=["Cs"]), max_size=5)),
    st.none() | BODIES.map(page),
    st.none() | TEXTS,
    st.none() | st.lists(st.sampled_from([Link(Url.parse("http://x/y"), "t", "r")]), max_size=2).map(tuple),
    st.lists(st.tuples(st.sampled_from(["a:", "a:b", "ab"]), BODIES), max_size=2, unique_by=lambda c: c[0]).map(tuple),
)
ANCHORS = st.lists(
    st.builds(Anchor, st.sampled_from(["http://s/", "http://t/"]), st.sampled_from(["p", "q"]), st.just(1.0)),
    max_size=1,
)


class Comparison(RuleBasedStateMachine):
    """The tablet and the model do the same, and are then asked the same."""

    def __init__(self) -> None:
        super().__init__()
        memory = Path("/dev/shm")  # hundreds of openings, and a disk syncs each of them
        self.folder = Path(tempfile.mkdtemp(prefix="fyke-test-", dir=memory if memory.is_dir() else None))
        self.generation = 0

    @initialize(keep=st.integers(0, 3))
    def begin(self, keep: int) -> None:
        self.keep = keep
        self.model = MemoryTable(keep)
        self.tablet = open_tablet(self.folder / "0", keep)

    @rule(row=ROWS, change=CHANGES, stamp=STAMPS)
    def put(self, row: bytes, change: Change, stamp: int) -> None:
        assert self.tablet.put(row, change, stamp) == self.model.put(row, change, stamp)

    @rule(rows=st.lists(st.tuples(ROWS, CHANGES, STAMPS), min_size=2, max_size=4))
    def put_many_at_once(self, rows: list[tuple[bytes, Change, int]]) -> None:
        batch = self.tablet.batch()
        stamps = [batch.put_row(row, change, stamp) for row, change, stamp in rows]
        self.tablet.write(batch)
        assert stamps == [self.model.put(row, change, stamp) for row, change, stamp in rows]

    @rule(row=ROWS, tablet=st.integers(0, 1), group=st.integers(0, 2), anchors=ANCHORS)
    def put_anchors(self, row: bytes, tablet: int, group: int, anchors: list[Anchor]) -> None:
        self.tablet.put_anchors(row, tablet, group, anchors)
        self.model.put_anchors(row, tablet, group, anchors)

    @rule(row=ROWS)
    def delete(self, row: bytes) -> None:
        self.tablet.delete(row)
        self.model.delete(row)

    @rule()
    def reopen(self) -> None:
        path = self.tablet.path
        self.tablet.close()
        self.tablet = open_tablet(path, self.keep)

    @rule()
    def crash(self) -> None:
        """What the files hold now is what a killed writer leaves; go on from a copy of them."""
        self.generation += 1
        left = self.folder / str(self.generation)
        if self.tablet.was_written:
            self.tablet._db._db.cancel_all_background(True)  # a copy takes longer than the instant of a crash
            shutil.copytree(self.tablet.path, left)
            (left / "LOCK").unlink()
        self.tablet.close()
        self.tablet = open_tablet(left, self.keep)

    @precondition(lambda self: hasattr(self, "tablet"))
    @invariant()
    def same_answers(self) -> None:
        for row in (A, B, C):
            assert [v.stamp for v in self.tablet.versions(row)] == [v.stamp for v in self.model.versions(row)]
            for at in (None, 4, 8):
                assert seen(self.tablet.read(row, at)) == seen(self.model.read(row, at))
            assert self.tablet.anchors(row) == self.model.anchors(row)
            assert self.tablet.cells(row, versions=9) == self.model.cells(row, versions=9)
        assert [seen(r) for r in self.tablet.scan()] == [seen(r) for r in self.model.scan()]
        assert [seen(r) for r in self.tablet.multi_read([C, A])] == [seen(r) for r in self.model.multi_read([C, A])]
        self.statistics_agree()

    def statistics_agree(self) -> None:
        rows = [row for row in (A, B, C) if self.model.versions(row)]
        pages = {(row, v.page) for row in rows for v in self.model.versions(row) if v.page}
        stats = next(iter(self.tablet.ledger.hosts()), None)
        assert (stats.rows, stats.pages) == (len(rows), len(pages)) if stats else not rows

    def teardown(self) -> None:
        if hasattr(self, "tablet"):
            self.tablet.close()
        shutil.rmtree(self.folder)


TestComparison = Comparison.TestCase
TestComparison.settings = settings(
    max_examples=20, stateful_step_count=20, suppress_health_check=[HealthCheck.too_slow]
)
