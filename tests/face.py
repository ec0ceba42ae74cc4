"""Draws docs/python.md: the public names and the values they return, from the source's own docstrings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import fyke
from tests.source import SOURCE, tree

CHAPTERS = {
    "Pages": ("fetch", "extract", "convert", "decode"),
    "Crawling": ("crawl", "pages", "pages_async"),
    "The store": ("Store",),
    "Duplicates": ("near_duplicates", "DuplicateIndex", "minhash", "simhash"),
    "Sites": ("Robots", "parse_sitemap", "parse_feed"),
    "Archives, graphs, simulation": ("Archive", "Graph", "simulate"),
}
VALUES = {
    "fyke.reading.page": ("Page",),
    "fyke.content": ("Content", "Block"),
    "fyke.values": ("Document", "Candidates"),
    "fyke.links": ("Link", "Links"),
    "fyke.description": ("Described", "Meta"),
    "fyke.crawl.run.summary": ("Summary",),
    "fyke.store.row": ("Row",),
    "fyke.store.cells": ("RowMeta",),
    "fyke.dedupe.discover": ("Duplicates", "Pair", "Cluster"),
    "fyke.dedupe.index": ("Match",),
    "fyke.sites.sitemap": ("Sitemap", "Entry"),
    "fyke.sites.feed": ("Feed", "Item"),
    "fyke.archive.archive": ("Summary", "Summaries"),
    "fyke.simulate.measures": ("Simulation", "Curve"),
}
"""What the face returns or takes, by the module that defines it."""

HEAD = """# The Python face

`import fyke` gives these names and no others; everything else is imported from its own room
([ARCHITECTURE.md](../ARCHITECTURE.md)). This page is drawn from the docstrings (`make docs`)."""

Node = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def page() -> str:
    """The reference of the Python face."""
    parts = [HEAD]
    for chapter, names in CHAPTERS.items():
        parts.append(f"## {chapter}")
        parts += [told(fyke._FACE[name], name, "fyke.") for name in names]
    parts.append("## Values\n\nWhat the names above return, or take.")
    parts += [told(module, name) for module, names in VALUES.items() for name in names]
    return "\n\n".join(parts) + "\n"


def told(module: str, name: str, prefix: str = "") -> str:
    """One name: its signature, docstring, fields and methods."""
    node = found(module, name)
    lines = [f"### {prefix}{name}", f"`{module}`" if not prefix else "", code(f"{prefix}{name}", node), prose(node)]
    if isinstance(node, ast.ClassDef):
        rows = [*fields(node), *members(node)]
        if rows:
            lines.append("| | |\n|---|---|\n" + "\n".join(rows))
    return "\n\n".join(line for line in lines if line)


def found(module: str, name: str) -> Node:
    """The definition of a name; of overloads the last, which has the docstring."""
    path = SOURCE.joinpath(*module.split(".")[1:])
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return [n for n in tree(path).body if isinstance(n, Node) and n.name == name][-1]


def code(name: str, node: Node) -> str:
    """The call, as Python writes it; of a class that is opened or parsed, nothing."""
    if isinstance(node, ast.ClassDef):
        makers = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
        made = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
        if made is None or not name.startswith("fyke.") or makers & {"open", "parse"}:
            return ""
        node = made
    return f"```\n{name}({arguments(node)}){returned(node)}\n```"


def returned(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The arrow and what is returned, where that is something."""
    what = ast.unparse(node.returns) if node.returns else "None"
    return "" if what == "None" else f" -> {what}"


def arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The arguments without ``self``, as written."""
    return re.sub(r"^(self|cls)(, |$)", "", ast.unparse(node.args))


def prose(node: Node) -> str:
    """The docstring as Markdown."""
    return (ast.get_docstring(node) or "").replace("``", "`")


def fields(node: ast.ClassDef) -> Iterator[str]:
    """A row for each public field, with the docstring below it."""
    for field, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and field.target.id[0] != "_":
            said = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            yield row(f".{field.target.id}: {ast.unparse(field.annotation)}", str(said))


def members(node: ast.ClassDef) -> Iterator[str]:
    """A row for each public method and property."""
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name[0] != "_":
            marks = {ast.unparse(mark).split(".")[-1] for mark in method.decorator_list}
            what = returned(method)
            if marks & {"property", "cached_property"}:
                yield row(f".{method.name}{what.replace(' -> ', ': ')}", prose(method))
            else:
                owner = node.name if "classmethod" in marks else ""
                yield row(f"{owner}.{method.name}({arguments(method)}){what}", prose(method))


def row(signature: str, said: str) -> str:
    """A row of a table; bars within it are escaped."""
    cells = (f"`{signature}`", " ".join(said.replace("``", "`").split()))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
