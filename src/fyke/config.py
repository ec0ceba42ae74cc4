"""Configuration: frozen dataclasses whose fields are at once TOML keys and command-line flags.

A setting has one name and one way to be set: field ``max_pages`` of a dataclass is ``max_pages`` in TOML
and ``--max-pages`` on the command line; the command line wins over the file, the file over the default.
A field's help is its ``metadata["help"]``, made by ``option``. Durations and sizes may be text (fyke.units).
"""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from fyke.errors import ConfigError, UserError
from fyke.units import unit_of

C = TypeVar("C")


def option(default: Any, help: str) -> Any:  # noqa: A002 - it is what --help prints
    """Declare a setting: what it does, what it costs, why this value."""
    return dataclasses.field(default=default, metadata={"help": help})


def tables(help: str) -> Any:  # noqa: A002
    """Declare settings of single things (hosts), by name: tables of the file, ``[hosts."example.org"]``; no flag."""
    return dataclasses.field(default_factory=dict, metadata={"help": help, "flag": False})


def read(
    kind: type[C],
    path: Path | None = None,
    overrides: Mapping[str, object] | None = None,
    defaults: Mapping[str, object] | None = None,
    others: Collection[str] = (),
) -> C:
    """Return a ``kind`` from its defaults, or ``defaults``, the TOML file at ``path``, and ``overrides`` but None.

    ``others`` are keys of the file that are no settings (``lookup``). Raises ``ConfigError`` that names the file, the
    key and the remedy.
    """
    settings: dict[str, object] = {**(defaults or {})}
    if path is not None:
        lists = {name for name, hint in get_type_hints(kind).items() if get_origin(hint) is tuple}
        for key, value in _read_toml(path).items():
            if key not in others:
                settings[key] = _pairs(value) if key in lists and isinstance(value, dict) else value
    settings.update({key: value for key, value in (overrides or {}).items() if value is not None})
    return build(kind, settings, where=str(path) if path else "the settings")


def build(kind: type[C], settings: Mapping[str, object], where: str = "the settings") -> C:
    """Return a ``kind`` made of ``settings``; an unknown key is an error that names the nearest known one."""
    known = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]  # kind is a dataclass
    for key in settings:
        if key not in known:
            near = difflib.get_close_matches(key.replace("-", "_"), known, n=1, cutoff=0.0)
            raise ConfigError(f"unknown key {key!r} in {where}; did you mean {near[0]!r}?")
    try:
        return msgspec.convert(_plain(kind, settings, where), kind)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{_explain(str(error))} in {where}") from None
    except ValueError as error:  # a dataclass that checks itself in __post_init__
        raise ConfigError(f"{error} in {where}") from None


def lookup(path: Path, key: str, kind: type[C]) -> C | None:
    """Return what the TOML file at ``path`` says for ``key``; None where it says nothing. Raises ``ConfigError``."""
    try:
        value = _read_toml(path).get(key)
        return None if value is None else msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{key}: {error} in {path}") from None


def write(settings: object) -> str:
    """Return a dataclass as the TOML that ``read`` reads, each key with its help."""
    hints = get_type_hints(type(settings), include_extras=True)
    lines, after = [], []
    for field in dataclasses.fields(settings):  # type: ignore[arg-type]  # it is one
        value, unit = getattr(settings, field.name), unit_of(hints[field.name])
        said = f"# {field.metadata.get('help', '')}"
        if isinstance(value, dict):
            after += [said] if value else [said, f'# [{field.name}."…"]']
            after += [f"[{field.name}.{toml(name)}]\n{write(each)}" for name, each in value.items()]
        elif value is not None:
            lines += [said, f"{field.name} = {toml(unit.write(value) if unit is not None else value)}"]
    return "\n".join([*lines, *after]) + "\n"


def toml(value: object) -> str:
    """Return a string, number, truth or a list of them as TOML."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    # A JSON string is a TOML string, but for DEL.
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")


def _plain(kind: type[Any], settings: Mapping[str, object], where: str) -> dict[str, object]:
    """``settings`` with the numbers of durations and sizes that are written as text, in tables too."""
    hints = get_type_hints(kind, include_extras=True)
    found = dict(settings)
    for key, value in settings.items():
        unit = unit_of(hints[key])
        if unit is not None and isinstance(value, str):
            try:
                found[key] = unit.parse(value)
            except UserError as error:
                raise ValueError(f"{key}: {error}") from None
        elif isinstance(value, dict) and (inner := _of_tables(hints[key])) is not None:
            found[key] = {name: _table(inner, each, f'[{key}."{name}"] of {where}') for name, each in value.items()}
    return found


def _of_tables(hint: object) -> type[Any] | None:
    """Return the dataclass that the tables of a ``dict[str, dataclass]`` are."""
    inner = get_args(hint)[1] if get_origin(hint) is dict else None
    return inner if dataclasses.is_dataclass(inner) and isinstance(inner, type) else None


def _table(kind: type[Any], table: object, where: str) -> object:
    if isinstance(table, kind):
        return msgspec.to_builtins(table)
    return msgspec.to_builtins(build(kind, table, where)) if isinstance(table, dict) else table


def _read_toml(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}; give the path of a TOML file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}; write lines like max_pages = 1000") from None


def _pairs(table: Mapping[str, object]) -> list[str]:
    """A table as the command line writes it: ``[weights]`` with ``"/news/" = 4`` is ``--weights /news/=4``."""
    return [f"{key}={value}" for key, value in table.items()]


def _explain(message: str) -> str:
    """Turn msgspec's "Expected `int`, got `str` - at `$.max_pages`" into a sentence about the key."""
    what, _, place = message.partition(" - at `$.")
    return f"{place.rstrip('`')}: {what[0].lower()}{what[1:]}" if place else what
