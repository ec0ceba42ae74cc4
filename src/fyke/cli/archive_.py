"""Compressed archives of document summaries with their web graph: build, show, combine, sub."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fyke.cli.echo import echo
from fyke.cli.options import Json, StorePath, drawing, grouped, needs_plot, print_json
from fyke.cli.progress import stages
from fyke.errors import UserError

if TYPE_CHECKING:
    from fyke.archive.combine import Coding
    from fyke.archive.preprocess import Preprocessing

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True)


class ModeName(StrEnum):
    """What ``--mode`` takes."""

    PAPER = "paper"
    FYKE = "fyke"


Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The collection's folder.")]
Workers = Annotated[int, typer.Option(min=0, help="Cores to work on; 0 for all.")]


@dataclass(frozen=True, slots=True)
class Codes:
    """How summaries are written."""

    mode: Annotated[
        ModeName, typer.Option(help="paper: the codes of Orlandi and Vigna; fyke: smaller, with references.")
    ] = ModeName.FYKE
    code: Annotated[
        list[str] | None, typer.Option(metavar="STREAM=CODE", help="A code of your choice, as gap=zeta3.")
    ] = None
    window: Annotated[int, typer.Option(min=0, help="How far back a reference may lie (fyke mode).")] = 32
    max_chain: Annotated[int, typer.Option(min=0, help="Longest chain of references (fyke mode).")] = 1

    def coding(self) -> Coding:
        """Return these choices for the room."""
        from fyke.archive.combine import Coding

        pairs = [code.partition("=") for code in self.code or []]
        return Coding(self.mode, tuple((stream, code) for stream, _, code in pairs), self.window, self.max_chain)


@dataclass(frozen=True, slots=True)
class Terms:
    """Which words are terms."""

    min_documents: Annotated[int, typer.Option(min=1, help="Drop terms in fewer documents.")] = 20
    max_documents: Annotated[int | None, typer.Option(min=1, help="Drop terms in more documents.")] = None
    stemmer: Annotated[str, typer.Option(help="A Snowball stemmer, or none.")] = "porter"
    stopwords: Annotated[str, typer.Option(metavar="FILE", help="english, none, or a file of words.")] = "english"

    def preprocessing(self) -> Preprocessing:
        """Return these choices for the room."""
        from fyke.archive.preprocess import Preprocessing, read_stopwords

        return Preprocessing(self.stemmer, read_stopwords(self.stopwords), self.min_documents, self.max_documents)


@app.callback()
def _group() -> None:
    """Compressed archives of document summaries with their web graph.

    Example: fyke archive build collection --from pages.jsonl
    """


@app.command()
@grouped
def build(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to make.")],
    *,
    store: StorePath = Path("fyke-store"),
    source: Annotated[
        list[Path] | None,
        typer.Option("--from", metavar="FILE", help="Pages from WARC or JSONL (url, text, links), not a store."),
    ] = None,
    terms: Terms,
    codes: Codes,
    memory: Annotated[int, typer.Option(min=1, metavar="MB", help="Memory of the first pass.")] = 512,
    workers: Workers = 1,
    part: Annotated[str, typer.Option(metavar="I/N", help="Only scan the I-th of N parts; then `combine`.")] = "",
    json: Json = False,
) -> None:
    """Build an archive and its graph from a store, from WARC files, or from pages in JSON lines.

    Example: fyke archive build collection --store fyke-store
    """
    from fyke.collection import build as collection
    from fyke.collection.pages import Source

    for file in source or []:
        if not file.is_file():
            raise UserError(f"{file} is not a file; give WARC, or JSONL with url, text and links in each line")
    preprocessing, coding = terms.preprocessing(), codes.coding()
    chosen = Source(tuple(source or ()), store)
    with _progress() as shown:
        if part:
            pages = collection.scan_part(chosen.pages(_part(part)), out, preprocessing, memory << 20)
            if json:
                print_json({"part": part, "pages": pages, "folder": str(out)})
            return
        cores = workers or os.cpu_count() or 1
        collection.build_from(chosen, out, preprocessing, coding, memory << 20, cores, shown)
    show(out, json=json)


@app.command()
@grouped
def combine(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to make.")],
    parts: Annotated[list[Path], typer.Argument(metavar="PART...", help="Folders that `build --part` made.")],
    *,
    codes: Codes,
    workers: Workers = 0,
    json: Json = False,
) -> None:
    """Make one archive of parts that were scanned apart.

    Example: fyke archive combine collection part-1 part-2
    """
    from fyke.collection import build as collection

    with _progress() as shown:
        collection.combine(parts, out, codes.coding(), shown, workers or os.cpu_count() or 1)
    show(out, json=json)


@app.command()
def show(
    folder: Folder,
    plot: Annotated[
        Path | None, typer.Option(metavar="OUT.png", help="Draw terms by rank and gaps by frequency.")
    ] = None,
    json: Json = False,
) -> None:
    """Show what an archive holds and what each part of it costs; draw the paper's two figures of it.

    Example: fyke archive show collection
    """
    from fyke.archive.archive import Archive
    from fyke.archive.facts import facts

    needs_plot(plot)
    archive = Archive.open(folder)
    if plot is not None:
        from fyke.archive.figures import draw

        with drawing(plot):
            draw(archive).savefig(plot, dpi=120)
    said = facts(archive)
    if json:
        print_json(said)
        return
    width = max(map(len, said))
    for name, value in said.items():
        if isinstance(value, dict):
            echo(f"{name}:")
            for key, inner in value.items():
                echo(f"  {key:{width - 2}} {inner}")
        else:
            echo(f"{name:{width}} {value}")


@app.command()
def sub(
    folder: Folder,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder of the sub-archive.")],
    sample: Annotated[
        float, typer.Option(min=0, max=1, help="A share of the documents; smaller samples lie within larger.")
    ] = 1.0,
    host: Annotated[list[str] | None, typer.Option(help="Only documents of this host; repeatable.")] = None,
    topic: Annotated[Path | None, typer.Option(metavar="FILE", help="Only documents about this text.")] = None,
    since: Annotated[str, typer.Option(metavar="TIME", help="Only documents fetched then or later.")] = "",
    before: Annotated[str, typer.Option(metavar="TIME", help="Only documents fetched earlier.")] = "",
    seed: Annotated[int, typer.Option(min=0, help="Of the sample.")] = 0,
    json: Json = False,
) -> None:
    """Lay a sub-archive over an archive, without copying a summary.

    Example: fyke archive sub collection tenth --sample 0.1
    """
    import numpy as np

    from fyke.archive.archive import Archive
    from fyke.cli.get_ import parse_time
    from fyke.collection.build import graph_of, hosts_of
    from fyke.simulate.topic import from_words

    if out.resolve() == folder.resolve():
        raise UserError(f"{out} is the archive itself; name another folder for the sub-archive")
    archive = Archive.open(folder)
    keep = np.zeros(len(archive), bool)
    keep[archive.sample(sample, seed)] = True
    if host:
        names, of_node = hosts_of(graph_of(archive))
        for name in host:
            if name not in names:
                raise UserError(f"no document of {folder} is of host {name!r}; hosts begin with {', '.join(names[:3])}")
        keep &= np.isin(of_node[archive.below(np.arange(len(archive)))], [names.index(name) for name in host])
    if topic is not None:
        keep &= from_words(archive, _text(topic)).score(archive, np.arange(len(archive))) > 0
    if since or before:
        fetched = archive.fetched()
        if not fetched.any():
            raise UserError(f"{folder} does not know when its documents were fetched; build it from a store or WARC")
        keep &= fetched > 0
        if since:
            keep &= fetched >= parse_time(since).timestamp()
        if before:
            keep &= fetched < parse_time(before).timestamp()
    made = archive.sub(np.flatnonzero(keep), out)
    if json:
        print_json({"folder": str(out), "documents": len(made)})
    else:
        echo(f"{out}: {len(made):,} of {len(archive):,} documents")


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UserError(f"{file} cannot be read ({error.strerror}); give a text file") from None


def _part(text: str) -> tuple[int, int]:
    number, _, count = text.partition("/")
    if not (number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count)):
        raise UserError(f"not a part: {text!r}; write I/N as in 1/4")
    return int(number) - 1, int(count)


@contextmanager
def _progress() -> Iterator[Callable[[str, int], None]]:
    """A line on stderr that counts pages, where stderr is a terminal."""
    with stages() as shown:
        yield lambda what, pages: shown(what, pages, None)
