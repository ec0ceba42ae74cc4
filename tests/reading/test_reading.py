"""One way from bytes to a document: whoever reads a page, reads the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import FrozenInstanceError
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fyke
from fyke.clean.furniture import Hosts
from fyke.cli import run
from fyke.errors import UserError
from fyke.formats.http import Head, build_head, parse_head
from fyke.reading.content import extract
from fyke.reading.conversion import convert_here, prepare
from fyke.reading.page import Page
from fyke.reading.reading import Reader
from fyke.store import RowMeta, Store
from fyke.url import Url
from fyke.values import Drop
from tests.little_site import Answer, serving

URL = Url("http://fish.example/a/b.html")
HTML = Head(200, (("Content-Type", "text/html"),))
SENTENCE = "The quick brown fox jumps over the lazy dog while the river carries its boats slowly down to the sea. "
NAVIGATION = '<nav><ul><li><a href="/">Home</a><li><a href="/news">News</a><li><a href="/about">About</a></ul></nav>'


def page(head: str, body: str) -> bytes:
    start = f"<!doctype html><html lang=en><head><meta charset=utf-8>{head}</head>"
    return f"{start}<body>{NAVIGATION}<main>{body}</main></body></html>".encode()


_WORDS = st.lists(
    st.sampled_from(["fish", "river", "slow", "cœur", "данные", "魚", "ภาษา", "a<b", "&amp; co", "&nbsp;"]), max_size=30
).map(" ".join)
_BLOCK = st.one_of(
    st.builds(
        "<{0}>{1} <a href='{2}'>more</a></{0}>".format,
        st.sampled_from(["p", "h2", "li", "blockquote", "td", "div", "button", "noscript", "select", "b"]),
        _WORDS,
        st.sampled_from(["/x", "y.html", "http://other.example/", "mailto:a@b", "#top", "?q=1", "' rel='nofollow"]),
    ),
    st.builds("<{0}>{1}".format, st.sampled_from(["p", "table", "textarea", "pre", "title", "nav", "!--"]), _WORDS),
)
_PAGE = st.builds(
    lambda head, blocks, sentences: page(head, "".join(blocks) + f"<p>{SENTENCE * sentences}</p>"),
    st.sampled_from([
        "<title>A page</title>", "", "<title>untitled</title><h1>Its heading</h1>", "<base href='http://base.example/d/'>",
        "<meta name=robots content=nofollow>", '<meta property="og:title" content="Fish">',
        '<script type="application/ld+json">{"@type": "Article", "headline": "Fish of the river"}</script>',
    ]),
    st.lists(_BLOCK, max_size=6),
    st.integers(0, 3),
)  # fmt: skip

Told = tuple[str, str, str, list[str]]
"""Title, text, language and links."""


@contextmanager
def served(bodies: list[bytes]) -> Iterator[list[str]]:
    """A site on loopback with these pages; their addresses."""

    with serving({f"/pages/{number}": Answer(body, "text/html") for number, body in enumerate(bodies)}) as site:
        yield [f"{site.root}/pages/{number}" for number in range(len(bodies))]


def stored(folder: Path, urls: list[str]) -> list[Told]:
    with Store.open(folder, mode="r") as store:
        rows = [row for url in urls if (row := store.get(url))]
    assert len(rows) == len(urls)
    return [
        (row.title, row.text or "", row.meta.language, sorted(link.target.href for link in row.links)) for row in rows
    ]


def converted(body: bytes, url: str, folder: Path, capsys: pytest.CaptureFixture[str], command: str) -> Told:
    """What ``fyke convert`` or ``fyke extract`` says of a page."""
    file = folder / "page.html"
    file.write_bytes(body)
    capsys.readouterr()
    run([command, str(file), "--url", url, "--json"])
    said = msgspec.json.decode(capsys.readouterr().out)
    return said["title"], said["text"], said.get("language", ""), sorted(link["url"] for link in said["links"])


@given(st.lists(_PAGE, min_size=8, max_size=12, unique=True))
@settings(max_examples=2, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_page_is_the_same_by_every_way(
    tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str], bodies: list[bytes]
) -> None:
    """Title, text, language and links by a crawl, a WARC import, convert, extract and the library."""
    folder = tmp_path_factory.mktemp("ways")
    with served(bodies) as urls:
        fyke.crawl(urls, folder / "crawled", delay=0.0, max_depth=0)
    told = stored(folder / "crawled", urls)
    assert run(["export", str(folder / "all.warc.gz"), "--store", str(folder / "crawled")]) == 0
    assert run(["import", str(folder / "all.warc.gz"), "--store", str(folder / "imported")]) == 0
    assert stored(folder / "imported", urls) == told
    for body, url, expected in zip(bodies, urls, told, strict=True):
        assert converted(body, url, folder, capsys, "convert") == expected
        assert converted(body, url, folder, capsys, "extract") == expected
        content = fyke.extract(body, url=url)
        links = sorted(link.target.href for link in content.links)
        assert (content.title, content.text, content.language, links) == expected


@pytest.mark.parametrize("shell", ["<noscript>{}</noscript>", "<textarea>{}</textarea>", "<select><option>{}</select>"])
def test_what_is_no_text_for_a_crawl_is_none_for_a_conversion(shell: str) -> None:
    """A page whose words are all in a form, or for who runs no scripts: ``text`` is empty, ``whole`` is not."""
    body = shell.format(SENTENCE).encode()
    made = convert_here(prepare(body, "text/html", URL))
    read = Reader().read(body, HTML, URL)
    assert (made.text, made.language) == (read.text, read.language) == ("", "")
    assert "quick brown" in made.whole
    assert made.failure is None


@pytest.mark.parametrize("size", [10_000, 2_000_000])
def test_what_a_page_asks_for_holds_whatever_its_size(size: int) -> None:
    """Nofollow, robots directives and main content of a page of 10 KB and of 2 MB."""
    filler = f"<p>{SENTENCE}</p>" * (size // (len(SENTENCE) + 7))
    link = '<p><a href="/no" rel=nofollow>no</a> <a href="/yes">yes</a></p>'
    read = Reader("fyke").read(page("", filler + link), HTML, URL)
    assert [link.target.path for link in read.links] == ["/", "/news", "/about", "/yes"]
    assert dict(read.found.dropped) == {Drop.NOFOLLOW: 1}
    assert "Home" not in read.text
    assert SENTENCE.strip() in read.text
    closed = Reader("fyke").read(page('<meta name="robots" content="noindex, nofollow">', filler), HTML, URL)
    assert closed.signals.noindex
    assert not len(closed.links)


@pytest.mark.parametrize(
    ("encoding", "label", "text"),
    [
        ("latin-1", "iso-8859-1", "Der Bär läuft über die Straße, während die Vögel schön singen und alle zuhören."),
        ("cp874", "windows-874", "ภาษาไทย ภาษาไทย ภาษาไทย"),
        ("mac_cyrillic", "x-mac-cyrillic", "Привет, мир: это страница по-русски."),
        ("iso8859_8", "ISO-8859-8-I", "שלום עולם וכל היתר"),
    ],
)
def test_bytes_are_decoded_as_a_browser_would(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], encoding: str, label: str, text: str
) -> None:
    """By ``fyke.extract``, and by ``fyke get --show html`` of a store."""
    body = f"<meta charset={label}><title>t</title><p>{text}</p>".encode(encoding)
    assert fyke.extract(body).text == text
    head = build_head(200, "OK", [("Content-Type", f"text/html; charset={label}")])
    read = Reader().read(body, parse_head(head), URL)
    assert read.text == text
    with Store.open(tmp_path / "s") as store:
        meta = RowMeta(status=200, type="text/html", encoding=read.document.encoding)
        store.put(URL.href, raw=body, response_head=head, meta=meta)
    assert run(["get", URL.href, "--store", str(tmp_path / "s"), "--show", "html"]) == 0
    assert text in capsys.readouterr().out


def test_latin_1_without_a_label_is_no_mojibake() -> None:
    """``fyke.extract`` of bytes that are no UTF-8 gives no U+FFFD."""
    text = "Die Bäume blühen überall, und die Vögel hören nicht auf zu singen, während Käfer krabbeln."
    assert fyke.extract(f"<p>{text}</p>".encode("latin-1")).text == text


def test_a_declared_encoding_counts_in_conversions_too() -> None:
    """Bytes that would be ``café`` by guess: the label decides, as for a browser."""
    made = convert_here(prepare(b"<p>caf\xe9", "text/html; charset=windows-1251"))
    assert made.text == "cafй"


def test_link_headers_say_what_the_page_does_not() -> None:
    said = ("Link", '</true>; rel="canonical", <http://licence.example/>; rel=license')
    read = Reader().read(page("", SENTENCE), Head(200, (*HTML.headers, said)), URL)
    assert (read.meta.canonical, read.meta.licence) == ("http://fish.example/true", "http://licence.example/")
    own = Reader().read(page("<link rel=canonical href=/own>", SENTENCE), Head(200, (*HTML.headers, said)), URL)
    assert (own.meta.canonical, own.meta.licence) == ("http://fish.example/own", "http://licence.example/")


def test_copies_are_known_unless_the_body_was_cut_off() -> None:
    read = Reader().read(page("", SENTENCE), HTML, URL)
    assert read.material().digests() == Reader().read(page("", SENTENCE), HTML, URL).material().digests()
    assert read.material().digests() != read.material(truncated=True).digests()


def test_only_auto_can_favour_precision_or_recall() -> None:
    body = page("", f"<p>{SENTENCE * 3}</p><p>Read more</p>")
    precise, complete = (extract(body, favour=favour).text for favour in ("precision", "recall"))
    assert SENTENCE.strip() in precise
    assert len(precise) <= len(complete)
    with pytest.raises(UserError, match="only the method auto"):
        extract(body, "dom", favour="recall")
    with pytest.raises(UserError, match="take one of precision, recall"):
        extract(body, favour="speed")


def test_a_page_that_was_fetched_does_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        Page("http://fish.example/").text = "other words"  # type: ignore[misc]


def _html(body: str) -> str:
    return extract(page("", body)).html.replace("\n", "")


@pytest.mark.parametrize(
    "markup",
    [
        "<ol><li>one thing that is said here at length</li><li>two things that are said here at length</li></ol>",
        "<ul><li>outer item with words<ul><li>inner item with words and more</li></ul></li></ul>",
        "<table><tr><td><p>a cell of words</p></td><td></td><td>another cell of words</td></tr></table>",
        "<h2>A heading of the second level</h2>",
    ],
)
def test_content_keeps_its_structure(markup: str) -> None:
    """Ordered and nested lists, cells that are empty or hold paragraphs, and h2, in the one writer's HTML."""
    told = f"<p>{SENTENCE * 3}</p>"
    inner = _html(told + markup + told)
    expected = convert_here(prepare(markup.encode(), "text/html")).html
    assert expected in inner


def test_a_reader_that_remembers_hosts_leaves_their_banners_out() -> None:
    promise = "Our promise to you: fresh fish every day, from people who know the sea and love it, to your door."
    given = [
        (f"<body><div><p>{promise}</p></div><div><p>Story {n}: {SENTENCE * 2}</p></div>".encode(), HTML, URL)
        for n in range(8)
    ]
    assert all(promise in reading.text for reading in Reader().read_many(given))
    texts = [reading.text for reading in Reader(hosts=Hosts()).read_many(given)]
    assert promise not in texts[-1]
    assert "Story 7" in texts[-1]
    elsewhere = Reader(hosts=Hosts()).read_many([
        (body, head, Url(f"http://host{n}.example/")) for n, (body, head, _) in enumerate(given)
    ])  # fmt: skip
    assert promise in elsewhere[-1].text


def test_furniture_is_not_in_the_html_of_content() -> None:
    """What is not kept leaves no empty shell behind."""
    inner = _html(f"<p>{SENTENCE * 3}</p>")
    assert inner == f"<p>{(SENTENCE * 3).strip()}</p>"


@pytest.mark.parametrize("make", [bytes, lambda n: b"<" * n, lambda n: b"\xff" * n, lambda n: b"<p>a" * n])
def test_anything_has_a_reading(make: Callable[[int], bytes]) -> None:
    """Any bytes are a value, never an exception."""
    for size in (0, 1, 1000):
        read = Reader().read(make(size), HTML, URL)
        assert isinstance(read.text, str)
        assert isinstance(read.whole, str)


def test_other_formats_are_the_same_value() -> None:
    """A text file is read by its converter: text and whole are one, and X-Robots-Tag is obeyed."""
    plain = Head(200, (("Content-Type", "text/plain"), ("X-Robots-Tag", "noindex, nofollow")))
    read = Reader("fyke").read(b"One line.\n\nAnother line.", plain, URL)
    assert read.text == read.whole == "One line.\n\nAnother line."
    assert read.signals.noindex
    assert not read.weights
    many = Reader().read_many([(page("", f"<p>{SENTENCE} {n}</p>"), HTML, URL) for n in range(3)])
    assert [reading.text.split()[-1] for reading in many] == ["0", "1", "2"]
    assert many[0].digests.text != many[1].digests.text
    assert many[0].sketch.shape == (192,)
