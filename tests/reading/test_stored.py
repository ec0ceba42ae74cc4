"""What is known of a stored document is what a crawl had of it; and what an import adds to one."""

from __future__ import annotations

from pathlib import Path

import pytest

from fyke.formats.http import build_head
from fyke.reading.importing import Enricher
from fyke.reading.stored import decoded_body, kinds_of, material_of, signals_of, text_of
from fyke.store import Change, Page, Row, RowMeta, Store
from fyke.url import Url
from fyke.values import NO_SIGNALS, Meta

URL = "http://fish.example/"
HEAD = build_head(200, "OK", [("Content-Type", "text/html; charset=koi8-r")])
SENTENCE = "Рыба плывёт вниз по реке, и никто не знает, где она остановится на ночь и когда поплывёт дальше. "
BODY = (
    f"<title>Рыба</title><meta name=robots content='noindex, noarchive'><nav><a href=/>Дом</a></nav>"
    f"<main><h1>Рыба</h1><p>{SENTENCE * 3}</p></main>"
).encode("koi8-r")


def row(folder: Path, meta: RowMeta, **parts: object) -> Row:
    with Store.open(folder) as store:
        store.put(URL, meta=meta, **parts)  # type: ignore[arg-type]
    with Store.open(folder, mode="r") as store:
        found = store.get(URL)
        assert found is not None
        _ = found.page, found.text, found.raw, found.weights
        return found


@pytest.fixture
def page(tmp_path: Path) -> Row:
    """A page that came without its text, as from a WARC file."""
    meta = RowMeta(status=200, type="text/html", document=Meta(canonical="http://fish.example/true"))
    return row(tmp_path / "page", meta, raw=BODY, response_head=HEAD)


@pytest.fixture
def bare(tmp_path: Path) -> Row:
    """A document that has a text, and no page."""
    return row(tmp_path / "bare", RowMeta(status=200, type="text/html"), text="only words")


def test_a_page_without_its_text_has_that_which_a_crawl_would_have_found(page: Row, bare: Row) -> None:
    assert text_of(page).startswith("Рыба\nРыба плывёт")
    assert "Дом" not in text_of(page)
    assert "Дом" in decoded_body(page)
    assert (text_of(bare), decoded_body(bare)) == ("only words", "")


def test_a_page_says_of_its_use_what_it_said_to_the_crawl(page: Row, bare: Row) -> None:
    assert signals_of(page, "fyke").noindex
    assert signals_of(bare, "fyke") == NO_SIGNALS
    assert kinds_of(bare) == []


def test_copies_of_a_stored_page_are_known_by_its_body_text_and_true_address(page: Row, bare: Row) -> None:
    known = material_of(page)
    assert (known.body, known.main, known.truncated) == (BODY, text_of(page), False)
    assert known.canonical == "http://fish.example/true"
    assert (material_of(bare).body, material_of(bare).canonical) == (b"", "")


def test_an_import_counts_the_documents_that_have_a_text_now() -> None:
    enrich = Enricher()
    given = [
        (Url(URL), Change(RowMeta(status=200, type="text/html"), Page(b"", HEAD, BODY))),
        (Url(URL + "two"), Change(RowMeta(status=200, type="text/html"), Page(b"", HEAD, BODY))),
        (Url(URL + "image"), Change(RowMeta(status=200, type="image/gif"), Page(b"", b"", b"GIF89a\0\0\0\0"))),
        (Url(URL + "nothing"), Change(RowMeta(status=404), Page(b"", b"", b""))),
    ]
    page, _, image, nothing = enrich(given)
    assert page.meta.title == "Рыба"
    assert page.meta.signals is not None
    assert page.meta.signals.noindex
    assert image.text is None
    assert nothing == given[3][1]
    assert (enrich.take(), enrich.take()) == (2, 0)
