"""Convert any supported format to tagged text: HTML, Markdown, plain text or JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fyke.cli.echo import echo, print_text
from fyke.cli.options import Json, print_json
from fyke.errors import FykeError, UserError

if TYPE_CHECKING:
    from fyke.formats.tags import Table
    from fyke.values import Document

app = typer.Typer(rich_markup_mode=None, add_completion=False)


class Form(StrEnum):
    """What to print."""

    HTML = "html"
    MARKDOWN = "markdown"
    TEXT = "text"
    JSON = "json"


@app.command()
def convert(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Files, folders of files, or - for stdin.")],
    to: Annotated[Form, typer.Option(help="What to print.")] = Form.HTML,
    media_type: Annotated[str, typer.Option(metavar="TYPE", help="The Content-Type that came with the file.")] = "",
    url: Annotated[str, typer.Option(metavar="URL", help="Where it is from: links are joined with it.")] = "",
    tags: Annotated[Path | None, typer.Option(metavar="FILE.toml", help="More synonyms for source tags.")] = None,
    json: Json = False,
) -> None:
    """Convert any supported format to tagged text: HTML, Markdown, plain text or JSON.

    A document that cannot be converted is told on stderr with its reason, and the status is 1.

    Example: fyke convert report.pdf --to text
    """
    form = Form.JSON if json else to
    table = _table(tags)
    paths = list(_paths(files))
    failures = 0
    for path, document in _documents(paths, media_type, url, table):
        _print(path, document, form)
        if document.failure:
            failures += 1
            echo(f"fyke: {path}: {document.failure}: {document.detail}", err=True)
    if failures and len(paths) > 1:
        raise FykeError(f"{failures} of {len(paths)} documents could not be converted; the reasons stand above")
    if failures:
        raise typer.Exit(1)


def _table(tags: Path | None) -> Table:
    from fyke import config
    from fyke.formats.tags import TABLE, Synonyms

    return TABLE if tags is None else TABLE.extended(config.read(Synonyms, tags).tags)


def _paths(files: list[str]) -> Iterator[str]:
    for file in files:
        path = Path(file)
        if file != "-" and not path.exists():
            raise UserError(f"no file {file}; give the path of a file, a folder, or - for stdin")
        if file != "-" and path.is_dir():
            yield from (str(inner) for inner in sorted(path.rglob("*")) if inner.is_file())
        else:
            yield file


def _documents(paths: list[str], media_type: str, url: str, table: Table) -> Iterator[tuple[str, Document]]:
    """Yield each file's document, several files at a time; progress on stderr."""
    from collections import deque
    from concurrent.futures import Future
    from itertools import count, islice

    from fyke.cli import warming
    from fyke.cli.progress import bar
    from fyke.footprint import give_back
    from fyke.reading.content import LARGE
    from fyke.reading.conversion import convert_here, prepare
    from fyke.url import Url
    from fyke.workers.conversion import needs_worker
    from fyke.workers.pool import Pool

    where = Url.parse(url) if url else None
    with Pool() as pool, bar("converting", len(paths), "files") as progress:

        def begin(path: str) -> tuple[str, Future[Document]]:
            source = prepare(_read(path), media_type or None, where, name=path if path != "-" else "", table=table)
            if needs_worker(source):
                warming.ahead("convert")  # a worker would compile in silence
                if len(source.data) > LARGE:
                    give_back()
                return path, pool.submit(source)
            done: Future[Document] = Future()
            done.set_result(convert_here(source))
            return path, done

        waiting = iter(paths)
        running = deque(begin(path) for path in islice(waiting, 2 * pool.size))
        for done in count(1):
            if not running:
                return
            path, future = running.popleft()
            yield path, future.result()
            progress(done)
            running.extend(begin(path) for path in islice(waiting, 1))


def _read(path: str) -> bytes:
    from fyke.reading.conversion import LIMITS

    try:
        with sys.stdin.buffer if path == "-" else Path(path).open("rb") as source:
            return source.read(LIMITS.max_bytes + 1)  # more is refused
    except OSError as error:
        raise FykeError(f"cannot read {path}: {error.strerror}; check its permissions") from None


def _print(path: str, document: Document, form: Form) -> None:
    if form is Form.JSON:
        print_json({"file": path, **_facts(document)})
    elif document.whole and form is Form.MARKDOWN:
        from fyke.formats.markdown import markdown

        print_text(markdown(document.html))
    elif document.whole:
        print_text(document.html if form is Form.HTML else document.text)


def _facts(document: Document) -> dict[str, object]:
    import dataclasses

    return {
        "type": document.media_type,
        "title": document.title,
        "language": document.language,
        "encoding": document.encoding,
        "encoding_from": document.encoding_from,
        "replaced": document.replaced,
        "error": document.failure,
        "detail": document.detail,
        "meta": {key: value for key, value in dataclasses.asdict(document.meta).items() if value},
        "text": document.text,
        "whole": document.whole,
        "html": document.html,
        "tags": [tuple(tag) for tag in document.tags],
        "links": [{"url": link.target.href, "text": link.text, "rel": link.rel} for link in document.links],
        "parts": [{"name": part.name, **_facts(part)} for part in document.parts],
    }
