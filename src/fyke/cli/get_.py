"""One document of a store: its text, bytes, links, anchors, facts or versions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from fyke.cli.echo import echo, print_text
from fyke.cli.options import Json, StorePath, address, print_json
from fyke.errors import StorageError, UserError

if TYPE_CHECKING:
    from fyke.store import Row

app = typer.Typer(rich_markup_mode=None, add_completion=False)


class Show(StrEnum):
    """What to print."""

    TEXT = "text"
    WHOLE = "whole"
    MARKDOWN = "markdown"
    RAW = "raw"
    HTML = "html"
    RENDERED = "rendered"
    LINKS = "links"
    ANCHORS = "anchors"
    META = "meta"
    VERSIONS = "versions"


@app.command()
def get(
    said: Annotated[str, typer.Argument(metavar="URL", help="An absolute URL, or a local file: ~/notes.md.")],
    store: StorePath = Path("fyke-store"),
    show: Annotated[Show, typer.Option(help="What to print.")] = Show.TEXT,
    at: Annotated[str, typer.Option(metavar="TIME", help="The version of that time: 2026-11-15T12:00 (UTC).")] = "",
    snippet: Annotated[str, typer.Option(metavar="WORDS", help="Only the best passage for these words.")] = "",
    json: Json = False,
) -> None:
    """Show one document of a store.

    Example: fyke get https://example.org/ --snippet "tropical fish"
    """
    from fyke.store import Store
    from fyke.store.snippets import snippet as best_passage

    with Store.open(store, mode="r") as opened:
        url = address(said, store)
        row = opened.get(url, at=parse_time(at) if at else None)
        if row is None and at and opened.get(url) is not None:
            raise StorageError(f"{said} has no version as old as {at}; `--show versions` shows which it has")
        if row is None:
            raise StorageError(f"{said} is not in {store}; `fyke list` shows what is")
        if snippet:
            passage = best_passage(row.whole or "", snippet)
            if json:
                print_json({"url": row.url, "snippet": passage.marked(), "found": passage.found})
            else:
                echo(passage.marked())
        elif json:
            _print_as_json(row, show)
        else:
            _print(row, show)


def parse_time(text: str) -> datetime:
    """Read an ISO 8601 time, UTC unless it says otherwise. Raises ``UserError``."""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise UserError(f"{text!r} is no date or time; write 2026-11-15 or 2026-11-15T12:00:00") from None
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def facts(row: Row) -> dict[str, object]:
    """What is known of a row, by the names of the contract, with what the file system said of a local file."""
    from fyke.store.facts import facts as known

    return known(row, _of_file(row) if row.url.startswith("file:") else {})


def _of_browser(row: Row) -> dict[str, object]:
    """Why a page was rendered, and what came of it."""
    from fyke.crawl.discovery.rendering import TOLD

    told = row.columns.get(TOLD)
    return {} if told is None else {"render": told.decode("utf-8", "replace")}


def _rendered(row: Row) -> str:
    """The page as a browser showed it. Raises ``StorageError`` where none did."""
    from fyke.crawl.discovery.rendering import RENDERED

    html = row.columns.get(RENDERED)
    if html is None:
        raise StorageError(f"{row.url} was not rendered; `fyke render` does it now, `fyke crawl --render` always")
    return html.decode("utf-8", "replace")


def _of_file(row: Row) -> dict[str, object]:
    """What the file system said of a local file: owner, mode, when it was modified."""
    from fyke.desktop.documents import COLUMN

    packed = row.columns.get(COLUMN)
    return {} if packed is None else dict(msgspec.msgpack.decode(packed))


def _raw(row: Row) -> bytes:
    """The bytes of a document; of a local file those that it has now, if it is still the one that was read."""
    kept = row.raw
    if kept is not None or not row.url.startswith("file:") or not row.meta.digest:
        return kept or b""
    from fyke.store.codec import sha1
    from fyke.store.imports.files import path_of
    from fyke.url import Url

    path = path_of(Url(row.url))
    try:
        body = path.read_bytes()
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}; the store holds its text") from None
    if sha1(body) != row.meta.digest:
        raise StorageError(f"{path} has changed since it was read; run `fyke desktop` again, or show its text")
    return body


def _print(row: Row, show: Show) -> None:
    from fyke.store.facts import iso

    if show is Show.RAW:
        sys.stdout.buffer.write(_raw(row))
        sys.stdout.buffer.flush()
    elif show in _TEXTS:
        print_text(_TEXTS[show](row))
    elif show is Show.LINKS:
        for link in row.links:
            echo(f"{link.target.href}\t{link.text}")
    elif show is Show.ANCHORS:
        for anchor in row.anchors:
            echo(f"{anchor.source}\t{anchor.text}")
    elif show is Show.VERSIONS:
        for when in row.versions:
            echo(iso(when))
    else:
        for name, value in (facts(row) | _of_browser(row)).items():
            echo(f"{name:14} {_shown(value)}")


def _shown(value: object) -> str:
    """A fact in words: what a list holds by commas, pairs by colons."""
    if not isinstance(value, tuple | list):
        return str(value)
    return ", ".join(": ".join(map(str, each)) if isinstance(each, tuple | list) else str(each) for each in value)


def _print_as_json(row: Row, show: Show) -> None:
    if show is Show.META:
        print_json(facts(row) | _of_browser(row))
    elif show is Show.LINKS:
        for link in row.links:
            print_json({"url": link.target.href, "text": link.text, "rel": link.rel})
    elif show is Show.ANCHORS:
        for anchor in row.anchors:
            print_json({"url": anchor.source, "text": anchor.text, "seen": anchor.when})
    elif show is Show.VERSIONS:
        for version in reversed(list(row.history())):
            print_json(facts(version))
    else:
        print_json({"url": row.url, show.value: _TEXTS.get(show, _decoded)(row)})


def _decoded(row: Row) -> str:
    from fyke.reading.stored import decoded_body

    return decoded_body(row)


def _markdown(row: Row) -> str:
    from fyke.workers.rows import markdown_of

    return markdown_of(row)


_TEXTS: dict[Show, Callable[[Row], str]] = {
    Show.TEXT: lambda row: row.text or "",
    Show.WHOLE: lambda row: row.whole or "",
    Show.MARKDOWN: _markdown,
    Show.HTML: _decoded,
    Show.RENDERED: _rendered,
}
