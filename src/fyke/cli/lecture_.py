"""Every worked example of the lecture notes, done by fyke, its numbers beside those of the notes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fyke.cli.echo import echo
from fyke.cli.options import Json, needs, print_json
from fyke.errors import StorageError, UserError
from fyke.outputs import making

if TYPE_CHECKING:
    from fyke.lecture.example import Example, Fact

app = typer.Typer(rich_markup_mode=None, add_completion=False)


MARK = "fyke lecture"
"""What is written into each picture, so that only our own are replaced."""


@app.command()
def lecture(
    about: Annotated[
        list[str] | None, typer.Argument(metavar="WORD...", help="Only examples with such a word in title or chapter.")
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the notes' files there, and do no example."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Draw the notes' figures there, and do no example.")
    ] = None,
    json: Json = False,
) -> None:
    """Do the worked examples of the lecture notes; status 1 where a number differs.

    Example: fyke lecture simhash
    """
    if write is not None:
        _write(write, json)
        return
    if plot is not None:
        _plot(plot, json)
        return
    from fyke.lecture.all import EXAMPLES

    wanted = [word.lower() for word in about or []]
    chosen = [
        example
        for example in EXAMPLES
        if not wanted or any(word in f"{example.title} {example.chapter} {example.module}".lower() for word in wanted)
    ]
    if not chosen:
        raise UserError(f"no example speaks of {' or '.join(about or [])}; `fyke lecture` shows them all")
    wrong = total = 0
    for example in chosen:
        facts = list(example.facts())
        total += len(facts)
        wrong += sum(not fact.agrees for fact in facts)
        _show(example, facts, json)
    if not json:
        verdict = f"{wrong} differ" if wrong else "all agree"
        echo(f"{len(chosen)} examples, {total} numbers: {verdict}")
    if wrong:
        raise typer.Exit(1)


def _show(example: Example, facts: list[Fact], json: bool) -> None:
    if json:
        print_json(
            {"title": example.title, "chapter": example.chapter, "module": example.module, "by": example.by}
            | {"facts": [{"what": f.what, "notes": f.notes, "fyke": f.fyke, "agrees": f.agrees} for f in facts]}
        )
        return
    echo(example.title, bold=True)
    echo(f"  {example.chapter}; {example.module}")
    echo(_line("", example.by, "fyke"))
    for fact in facts:
        line = _line(fact.what, fact.notes, fact.fyke)
        echo(line) if fact.agrees else echo(f"{line}   DIFFERS", fg="red")
    echo("")


def _write(folder: Path, json: bool) -> None:
    from fyke.lecture.texts import FILES

    def own(folder: Path) -> frozenset[str]:
        return frozenset(name for name, data in FILES.items() if _holds(folder / name, data))

    try:
        with making(folder, "folder of the notes' files", own) as new:
            for name, data in FILES.items():
                (new / name).write_bytes(data)
    except OSError as error:
        raise StorageError(f"{folder} can not be written ({error.strerror}): name a folder of your own") from None
    if json:
        print_json({"folder": str(folder), "files": list(FILES)})
    else:
        echo(f"{folder}: {', '.join(FILES)}")


def _plot(folder: Path, json: bool) -> None:
    """Draw every figure into a folder, which is made."""
    needs("matplotlib", "plot", f"drawing into {folder}")
    from fyke.lecture.figures import FIGURES

    files = [f"{name}.png" for name in FIGURES]

    def own(folder: Path) -> frozenset[str]:
        return frozenset(name for name in files if _is_ours(folder / name))

    try:
        with making(folder, "folder of the notes' figures", own) as new:
            for name, drawn in FIGURES.items():
                drawn().savefig(new / f"{name}.png", dpi=110, metadata={"Software": MARK})
    except OSError as error:
        raise StorageError(f"{folder} can not be written ({error.strerror}): name a folder of your own") from None
    if json:
        print_json({"folder": str(folder), "files": files})
    else:
        echo(f"{folder}: {', '.join(files)}")


def _is_ours(file: Path) -> bool:
    return file.is_file() and MARK.encode() in file.read_bytes()[:4096]


def _holds(file: Path, data: bytes) -> bool:
    return file.is_file() and file.read_bytes() == data


def _line(what: str, notes: str, found: str) -> str:
    break_ = f"\n{'':58} " if len(notes) > 27 else " "
    return f"  {what:56} {notes:27}{break_}{found}"
