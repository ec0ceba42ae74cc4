"""The shapes of what commands print with ``--json``: JSON Schemas in docs/json, one for each command and subcommand.

``python -m tests.json_schemas`` takes the tour, and writes a first schema for each command that has none, inferred from
what it said; what it says of fields that may be absent, and what they mean, is for a person to write.
"""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import jsonschema
import typer

from fyke.cli import COMMANDS, command_module

FOLDER = Path(__file__).parent.parent / "docs" / "json"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
SHARED = {"dedupe-find": "dedupe", "desktop-scan": "desktop", "world-serve": "world"}
"""Commands that have the schema of another: the one that is meant where none is named."""
GROUPS = frozenset({"archive", "graph", "store", "topic"})
"""Commands whose second word is a command."""

BESIDES = {"dedupe": ("plan", "merge", "find"), "desktop": ("scan", "check", "purge"), "world": ("serve", "bench")}
"""Commands whose second word may be one."""

Schema = dict[str, Any]


def name_of(step: str) -> str:
    """Return the name of the schema of a command line: ``list``, ``store-check``, ``dedupe-plan``."""
    words = shlex.split(step)
    words = words[words.index("fyke") + 1 :]
    grouped = words[0] in GROUPS or " ".join(words[1:2]) in BESIDES.get(words[0], ())
    return "-".join(words[:2]) if grouped else words[0]


def schema_of(name: str) -> Schema:
    """Return the schema of a command; a missing one is an error that says how to make it."""
    path = FOLDER / f"{name}.json"
    assert path.is_file(), f"{path} is missing: run python -m tests.json_schemas, and tell what the fields mean"
    found: Schema = json.loads(path.read_text(encoding="utf-8"))
    return found


def faults(name: str, output: str) -> list[str]:
    """Return where what a command said, an object a line, is not as its schema has it."""
    shape = jsonschema.Draft202012Validator(schema_of(name))
    return [
        f"{fault.json_path}: {fault.message[:200]}"
        for line in output.splitlines()
        for fault in shape.iter_errors(json.loads(line))
    ]


def commands() -> Iterator[str]:
    """Yield the name of the schema of each command and subcommand that takes ``--json``."""
    for name in COMMANDS:
        command = typer.main.get_command(import_module(command_module(name)).app)
        parts = {f"{name}-{part}": each for part, each in getattr(command, "commands", {}).items()} or {name: command}
        for whole, each in parts.items():
            if any(parameter.name == "json" for parameter in each.params):
                yield SHARED.get(whole, whole)


def inferred(value: Any) -> Schema:
    """Return the narrowest schema of a value."""
    if isinstance(value, dict):
        properties = {key: inferred(each) for key, each in value.items()}
        return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
    if isinstance(value, list):
        items: Schema = {}
        for each in value:
            items = merged(items, inferred(each)) if items else inferred(each)
        return {"type": "array", "items": items} if items else {"type": "array"}
    kinds = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
    return {"type": kinds[type(value)]}


def merged(one: Schema, other: Schema) -> Schema:
    """Return the schema of what either allows."""
    if one == other or not other:
        return one
    if one.get("type") == other.get("type") == "object":
        properties = dict(one["properties"])
        for key, each in other["properties"].items():
            properties[key] = merged(properties[key], each) if key in properties else each
        required = [key for key in one["required"] if key in other["required"]]
        return {**one, "properties": properties, "required": required}
    if one.get("type") == other.get("type") == "array":
        return {"type": "array", "items": merged(one.get("items", {}), other.get("items", {})) or other["items"]}
    kinds = {*_kinds(one), *_kinds(other)}
    if {"integer", "number"} <= kinds:
        kinds.discard("integer")
    if kinds & {"object", "array"}:
        return {"anyOf": [one, other]}
    return {"type": sorted(kinds) if len(kinds) > 1 else kinds.pop()}


def _kinds(schema: Schema) -> list[str]:
    kind = schema.get("type", [])
    return [kind] if isinstance(kind, str) else list(kind)


def main() -> None:
    """Take the tour, and write the schemas that are missing."""
    from fyke.world.serve import serve
    from tests import walkthrough
    from tests.test_walkthrough import TOUR, walk

    found: dict[str, Schema] = {}
    with tempfile.TemporaryDirectory(prefix="fyke-schemas-") as folder, serve(walkthrough.WORLD) as served:
        for step, output in walk(TOUR, walkthrough.stage(served, Path(folder), delay=0.0), "--json").items():
            name = name_of(step)
            for line in output.splitlines():
                schema = inferred(json.loads(line))
                found[name] = merged(found[name], schema) if name in found else schema
    FOLDER.mkdir(exist_ok=True)
    for name, schema in found.items():
        path = FOLDER / f"{name}.json"
        if not path.exists():
            title = {"$schema": DIALECT, "title": f"fyke {name.replace('-', ' ')} --json"}
            path.write_text(json.dumps({**title, **schema}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            print(f"made {path.relative_to(FOLDER.parent.parent)}")


if __name__ == "__main__":
    main()
