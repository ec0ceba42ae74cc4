"""What commands share: flags made of a configuration's fields, JSON output, pictures."""

from __future__ import annotations

import codecs
import contextlib
import dataclasses
import functools
import inspect
import shutil
import sys
import typing
from collections.abc import Callable, Collection, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from fyke import config
from fyke.cli.echo import json_escaped, plain
from fyke.errors import UserError
from fyke.units import unit_of

Json = Annotated[bool, typer.Option("--json", help="Print JSON: one object, or one per line for a listing.")]

StorePath = Annotated[Path, typer.Option(metavar="DIR", help="The store.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def confirmed(question: str, yes: bool) -> bool:
    """Put a question to the user; ``--yes`` answers it. Raises ``UserError`` where nobody is there to answer."""
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UserError(f"{question} Nobody is there to answer; give --yes")
    return typer.confirm(plain(question), err=True)


def require_files(**named: str) -> None:
    """Raise ``UserError`` where an option names a file, a folder or a program that is not there."""
    for name, said in named.items():
        if said and not Path(said).expanduser().exists() and shutil.which(said) is None:
            raise UserError(f"--{name.replace('_', '-')}: there is no {said}; name a file that is there")


def address(said: str, store: Path) -> str:
    """Return the URL of a document as people write it: a URL, or the path of a local file (``~/notes.md``).

    What begins as no path does is one in a store of local files, or if it is there; else it is taken for a URL.
    """
    from fyke.desktop.plan import is_desktop

    is_path = said.startswith(("~", "/", ".")) or is_desktop(store) or Path(said).exists()
    if "://" in said or not said or not is_path:
        return said
    from fyke.store.imports.files import file_url

    path = Path(said).expanduser().absolute()
    true = path.parent.resolve() / path.name if path.name not in ("", "..") else path.resolve()
    return file_url(true).href + "/" * (said.endswith("/") and true.name != "")


_AT_ONCE = 1 << 20


def print_json(value: object) -> None:
    """Write ``value`` as one line of JSON to stdout."""
    data, out = msgspec.json.encode(value), sys.stdout.buffer
    decoder = codecs.getincrementaldecoder("utf-8")()
    for begin in range(0, len(data), _AT_ONCE):  # of a long line no second copy is made
        out.write(json_escaped(decoder.decode(data[begin : begin + _AT_ONCE])).encode())
    out.write(b"\n")
    out.flush()


def needs(module: str, extra: str, what: str) -> None:
    """Raise ``UserError`` where a part that the plain install leaves out is not there. Ask before the work begins."""
    if find_spec(module) is None:
        raise UserError(f"{what} needs {module}, which is not installed; add it with: pip install 'fyke[{extra}]'")


PICTURES = frozenset({".png", ".svg", ".pdf"})


def needs_plot(picture: Path | None) -> None:
    """Raise ``UserError`` where a picture is asked for and nothing is there to draw it."""
    if picture is None:
        return
    if picture.suffix.lower() not in PICTURES:
        raise UserError(f"cannot draw {picture}: name a file that ends in {', '.join(sorted(PICTURES))}")
    needs("matplotlib", "plot", f"drawing {picture}")


def needs_parquet(*files: Path | None) -> None:
    """Raise ``UserError`` where one of the files is Parquet and nothing is there to write it."""
    for file in files:
        if file is not None and file.suffix == ".parquet":
            needs("pyarrow", "parquet", f"{file}")


@contextlib.contextmanager
def drawing(picture: Path) -> Iterator[None]:
    """Turn what goes wrong while a picture is drawn into one sentence."""
    needs_plot(picture)
    try:
        yield
    except (OSError, ValueError) as error:
        raise UserError(f"cannot draw {picture}: {error}; name another file") from None


def flags(
    kind: type[Any], only: Collection[str] = (), lists: Collection[str] = (), **defaults: object
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command one flag for each field of ``kind`` and ``--config FILE``; it receives ``settings``.

    The decorated function has a keyword parameter ``settings: kind``; its other parameters are its own. ``defaults``
    are this command's own, where they differ from those of ``kind``; with ``only`` the other fields have no flag.
    ``lists`` are parameters of the command that take lists of words: where the line gives none, the file may.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        fields = [field for field in dataclasses.fields(kind) if field.metadata.get("flag", True)]
        fields = [field for field in fields if not only or field.name in only]
        own = [p for p in inspect.signature(command).parameters.values() if p.name != "settings"]
        hints = typing.get_type_hints(kind, include_extras=True)
        own_hints = typing.get_type_hints(command, include_extras=True)

        @functools.wraps(command)
        def wrapper(**given: Any) -> None:
            file: Path | None = given.pop("config", None)
            chosen = {field.name: given.pop(field.name) for field in fields}
            chosen = {name: list(v) if isinstance(v, tuple) else v for name, v in chosen.items() if v != []}
            for name in lists:
                if not given.get(name) and file is not None:
                    given[name] = config.lookup(file, name, list[str]) or []
            command(settings=config.read(kind, file, chosen, defaults, lists), **given)

        added = [_flag(field, hints[field.name], defaults.get(field.name, field.default)) for field in fields]
        added.append(
            inspect.Parameter(
                "config",
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=Annotated[Path | None, typer.Option(metavar="FILE.toml", help="Read settings from a file.")],
            )
        )
        parameters = [p.replace(annotation=own_hints[p.name]) for p in own]
        parameters.sort(key=lambda p: p.kind)
        return _with_parameters(wrapper, [*parameters, *added])

    return decorate


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Let parameters of a command be frozen dataclasses whose fields are its options, declared as typer's are."""
    hints = typing.get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if dataclasses.is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    for own in inspect.signature(command).parameters.values():
        named = [(own.name, hints[own.name], own.default)]
        if own.name in groups:
            kinds = typing.get_type_hints(groups[own.name], include_extras=True)
            named = [(field.name, kinds[field.name], field.default) for field in dataclasses.fields(groups[own.name])]
        parameters += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for name, kind, default in named
        ]

    @functools.wraps(command)
    def wrapper(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in dataclasses.fields(kind)})
        command(**given)

    return _with_parameters(wrapper, parameters)


def _with_parameters(wrapper: Callable[..., None], parameters: list[inspect.Parameter]) -> Callable[..., None]:
    """Give a function the signature that typer is to see."""
    wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {p.name: p.annotation for p in parameters}
    del wrapper.__wrapped__  # type: ignore[attr-defined]  # the old one
    return wrapper


def _flag(field: dataclasses.Field[Any], hint: Any, default: Any) -> inspect.Parameter:
    """Return the parameter of one field: absent on the command line means None, so a file or default decides."""
    unit = unit_of(hint)
    if unit is not None and default is not None:
        hint, default = str, unit.write(default) if default else ""
    repeated = typing.get_origin(hint) is tuple
    shown = "" if repeated or default in ("", None, False) else f" [default: {default}]"
    kind: Any = list[typing.get_args(hint)[0]] if repeated else hint  # type: ignore[misc]
    name = field.name.replace("_", "-")
    # A switch that is off has one name; one that is on has another to turn it off.
    names = [f"--{name}/--no-{name}" if default is True else f"--{name}"] if hint is bool else []
    metavar = unit.name if unit is not None else None
    flag = typer.Option(*names, help=field.metadata.get("help", "") + shown, show_default=False, metavar=metavar)
    annotation = Annotated[kind | None, flag]
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
