"""The main content of an HTML page, by one method or by all."""

from __future__ import annotations

import codecs
import sys
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import fyke
from fyke.cli.echo import echo, note, print_text
from fyke.cli.options import Json, drawing, grouped, needs_plot, print_json
from fyke.errors import FykeError, StorageError, UserError

if TYPE_CHECKING:
    from fyke.values import Block, Content

app = typer.Typer(rich_markup_mode=None, add_completion=False)


class MethodName(StrEnum):
    """What ``--method`` takes."""

    AUTO = "auto"
    PLATEAU = "plateau"
    SLICES = "slices"
    DOM = "dom"
    LAYOUT = "layout"
    ALL = "all"


class Form(StrEnum):
    """What ``--to`` takes."""

    TEXT = "text"
    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"


class Favour(StrEnum):
    """What ``--favour`` takes."""

    PRECISION = "precision"
    RECALL = "recall"


class Show(StrEnum):
    """What ``--show`` takes."""

    CONTENT = "content"
    BLOCKS = "blocks"
    TEXT = "text"
    HTML = "html"


@dataclass(frozen=True, slots=True)
class How:
    """How content is found."""

    method: Annotated[MethodName, typer.Option(help="How content is found; `all` compares.")] = MethodName.AUTO
    select: Annotated[str, typer.Option(metavar="CSS", help="Content is what stands in these elements.")] = ""
    favour: Annotated[
        Favour | None, typer.Option(help="What the method auto should rather have: nothing wrong, or nothing missed.")
    ] = None
    model: Annotated[Path | None, typer.Option(metavar="FILE", help="A model trained on pages of your own.")] = None

    def names(self) -> list[str]:
        """Return the methods to take. Raises ``UserError`` where options contradict one another."""
        from fyke.reading.content import METHODS

        if (self.favour or self.model) and self.method not in (MethodName.AUTO, MethodName.ALL):
            raise UserError("--favour and --model are for the method auto: leave them out, or take --method auto")
        if self.select and self.method is not MethodName.AUTO:
            raise UserError("--select says where the content is: leave --method out")
        if self.select:
            return [f"css:{self.select}"]
        return list(METHODS) if self.method is MethodName.ALL else [self.method.value]

    def favour_of(self, name: str) -> str:
        """Return what a method should rather have."""
        return self.favour.value if self.favour is not None and name == MethodName.AUTO else ""


@dataclass(frozen=True, slots=True)
class Kept:
    """What of the content is kept."""

    comments: Annotated[bool, typer.Option(help="Keep comments that the method chose.")] = True
    tables: Annotated[bool, typer.Option(help="Keep tables that the method chose.")] = True
    captions: Annotated[bool, typer.Option(help="Keep captions that the method chose.")] = True
    links: Annotated[bool, typer.Option(help="Keep links in HTML and Markdown.")] = True


@app.command()
@grouped
def extract(
    file: Annotated[str, typer.Argument(metavar="FILE", help="An HTML file; - reads standard input.")],
    *,
    to: Annotated[Form, typer.Option(help="What the content is printed as.")] = Form.TEXT,
    show: Annotated[
        Show, typer.Option(help="`blocks` prints every block with its weight; `text` and `html` are those of --to.")
    ] = Show.CONTENT,
    plot: Annotated[Path | None, typer.Option(metavar="OUT.png", help="Draw the document slope curve.")] = None,
    url: Annotated[str | None, typer.Option(help="Where the page is from: makes its links absolute.")] = None,
    how: How,
    kept: Kept,
    render: Annotated[
        bool, typer.Option("--render", help="FILE is a URL: take the page as a browser shows it, with its layout.")
    ] = False,
    json: Json = False,
) -> None:
    """Print the main content of an HTML page.

    Example: fyke extract page.html --to markdown
    """
    from fyke.reading.content import extract as found_by
    from fyke.url import Url

    form = Form.JSON if json else Form(show) if show in (Show.TEXT, Show.HTML) else to
    needs_plot(plot)
    chosen = how.names()
    html = _rendered(file) if render else _read(Path(file))
    url = url or (file if render else None)
    if url is not None:
        Url.parse(url)
    for name in chosen:
        content = found_by(html, _method(name, how.model), url, favour=how.favour_of(name), **asdict(kept))
        if form is Form.JSON:
            print_json(_facts(name, content, show))
        else:
            if len(chosen) > 1:
                echo(f"== {name}: {len(content.text.split())} words")
            _print(content, form, show)
    if plot is not None:
        from fyke.reading.content import draw

        with drawing(plot):
            draw(fyke.decode(html)[0].encode("utf-8", "replace"), chosen).savefig(plot, dpi=120)
        note(f"{plot}: the slope curve of {file}")


def _method(name: str, model: Path | None) -> Any:
    """Return a method by its name; ``auto`` with the model of a file, where one is given."""
    from fyke.reading.content import Auto, Model

    if model is None or name != MethodName.AUTO:
        return name
    try:
        return Auto(model=Model.from_bytes(model.read_bytes()))
    except OSError as error:
        raise UserError(f"{model} can not be read ({error.strerror}): name a model that was trained") from None


def _rendered(url: str) -> bytes:
    """The page at ``url`` as a browser shows it; each element tells its box, font and colours."""
    from fyke.browser.values import Looks
    from fyke.cli.fetch_ import tell
    from fyke.crawl.run.settings import CrawlSettings
    from fyke.reading.content import RENDERED
    from fyke.rendering import render

    shown = render(url, CrawlSettings(), Looks(script=f"() => {{ {RENDERED} }}"), everything=True, waiting=tell)
    if shown.page.error:
        raise FykeError(f"{shown.page.url}: {shown.page.error}" + (shown.page.detail and f": {shown.page.detail}"))
    return codecs.BOM_UTF8 + shown.rendered.html.encode("utf-8", "replace")


_MOST = 1 << 26
"""Bytes of a file that are read, as of any page (fyke.formats.markup.MAX_BYTES)."""


def _read(file: Path) -> bytes:
    try:
        with sys.stdin.buffer if str(file) == "-" else file.open("rb") as source:
            return source.read(_MOST)
    except OSError as error:
        raise StorageError(f"{file} can not be read ({error.strerror}): name an HTML file, or - for input") from error


def _facts(method: str, content: Content, show: Show) -> dict[str, object]:
    import dataclasses

    said = ("author", "date", "site", "description", "language", "licence", "image")
    facts: dict[str, object] = {
        "method": method, "title": content.title, "kind": content.kind,
        **{name: value for name in said if (value := getattr(content, name))},
        "meta": {name: value for name, value in dataclasses.asdict(content.meta).items() if value},
        "text": content.text, "markdown": content.markdown,
        "links": [{"url": link.target.href, "text": link.text, "rel": link.rel} for link in content.links],
    }  # fmt: skip
    if show is Show.HTML:
        facts["html"] = content.html
    if show is Show.BLOCKS:
        facts["blocks"] = content.blocks
    return facts


def _print(content: Content, form: Form, show: Show) -> None:
    if show is Show.BLOCKS:
        for block in content.blocks:
            _show(block)
    elif form is Form.HTML:
        print_text(content.html)
    elif form is Form.MARKDOWN:
        print_text(content.markdown)
    else:
        print_text(content.text)


def _show(block: Block) -> None:
    colour = "green" if block.main else "yellow" if block.weight >= 0.2 else "bright_black"
    mark = "+" if block.main else " "
    echo(f"{mark}{block.weight:5.2f} {block.kind:10} {' '.join(block.text.split())}", fg=colour)
