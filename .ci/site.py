"""The documentation as a site: ``python .ci/site.py OUT`` with mkdocs-material, and nothing of it from the network.

The pages are those of docs/, README (as the first), and the others of the root; a reference of every room is made
of the docstrings. Fails where a link or an anchor leads nowhere, and where a built page would load anything from
another host.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "fyke"
TOP = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security-policy.md",
    "CHANGELOG.md": "changelog.md",
}
"""Pages of the root, and what they are in the site; README is the first."""

sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "src"))
from tests.face import Node, told  # noqa: E402 - beside this file, not installed
from tests.source import tree  # noqa: E402


def write_pages(pages: Path) -> None:
    """Write every page of the site below ``pages``, with links that hold there."""
    shutil.copytree(ROOT / "docs", pages)
    for page in pages.rglob("*.md"):
        page.write_text(linked(page.read_text("utf-8"), page.parent.relative_to(pages)), "utf-8")
    for name, target in TOP.items():
        text = (
            (ROOT / name)
            .read_text("utf-8")
            .replace("](docs/howto)", "](howto/README.md)")
            .replace("](docs)", "](tour.md)")
        )
        for other, moved in TOP.items():
            text = text.replace(f"]({other}", f"]({moved}")
        (pages / target).write_text(re.sub(r"\]\(docs/", "](", text), "utf-8")
    (pages / "reference").mkdir()
    for room, text in rooms():
        (pages / "reference" / f"{room}.md").write_text(text, "utf-8")


def menu(settings: str, pages: Path) -> str:
    """The settings with the rooms in the menu, and below them the pages that it does not name."""
    named = set(re.findall(r"(\S+\.md)$", settings, re.MULTILINE))
    every = {str(page.relative_to(pages)) for page in pages.rglob("*.md")}
    rooms = sorted(page for page in every if page.startswith("reference/"))
    chapters = {"Rooms": rooms, "More": sorted(every - named - set(rooms))}
    return settings + "".join(
        f"  - {title}:\n" + "".join(f"      - {page}\n" for page in of) for title, of in chapters.items() if of
    )


def linked(text: str, folder: Path) -> str:
    """A page of docs/ with its links to pages of the root, which lie beside it here."""
    for name, target in TOP.items():
        text = text.replace(f"]({'../' * (len(folder.parts) + 1)}{name}", f"]({'../' * len(folder.parts)}{target}")
    return text


def rooms() -> Iterator[tuple[str, str]]:
    """Each room with its page: every module, its docstring, and its public names with theirs."""
    for folder in [SOURCE, *sorted(p for p in SOURCE.iterdir() if (p / "__init__.py").is_file())]:
        room = "fyke" if folder == SOURCE else folder.name
        files = folder.glob("*.py") if folder == SOURCE else folder.rglob("*.py")
        parts = [f"# {room}"]
        for path in sorted(files, key=lambda p: (p.name != "__init__.py", p)):
            module = ".".join(["fyke", *path.relative_to(SOURCE).with_suffix("").parts]).removesuffix(".__init__")
            parts += of_module(module, tree(path))
        yield room, "\n\n".join(parts) + "\n"


def of_module(module: str, parsed: ast.Module) -> Iterator[str]:
    """A module's heading, docstring and public names."""
    names = list(dict.fromkeys(n.name for n in parsed.body if isinstance(n, Node) and not n.name.startswith("_")))
    said = (ast.get_docstring(parsed) or "").replace("``", "`")
    yield f"## {module}\n\n{said}"
    if not module.startswith("fyke.cli."):  # what they do, `--help` says
        yield from (told(module, name).replace(f"`{module}`\n\n", "", 1) for name in names)


class Loaded(HTMLParser):
    """What a page loads when it is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what this element loads from elsewhere."""
        for name, value in attrs:
            loads = name in {"src", "srcset", "poster", "data"} or (name == "href" and tag == "link")
            if loads and re.match(r"(https?:)?//", value or ""):
                self.found.append(f"<{tag} {name}={value}>")


def foreign(site: Path) -> list[str]:
    """What the built site would load from other hosts."""
    found = []
    for page in site.rglob("*.html"):
        loaded = Loaded()
        loaded.feed(page.read_text("utf-8"))
        found += [f"{page.relative_to(site)}: {each}" for each in loaded.found]
    for style in site.rglob("*.css"):
        found += [
            f"{style.relative_to(site)}: {each}"
            for each in re.findall(r"url\(['\"]?https?://[^)]*", style.read_text("utf-8"))
        ]
    return found


def main(out: str) -> None:
    """Build the site in ``out``, and look it over."""
    with tempfile.TemporaryDirectory(prefix="fyke-site-") as name:
        write_pages(Path(name) / "docs")
        Path(name, "mkdocs.yml").write_text(
            menu((ROOT / "mkdocs.yml").read_text("utf-8"), Path(name) / "docs"), "utf-8"
        )
        made = subprocess.run(  # noqa: S603 - our own; not --quiet: with it, --strict sees nothing
            [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(Path(out).absolute())],
            cwd=name, check=False, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        )  # fmt: skip
    if made.returncode:
        told_of = [line for line in made.stderr.splitlines() if not line.startswith("INFO")]
        sys.exit("\n".join([*told_of, "the site has faults"]))
    if wrong := foreign(Path(out)):
        sys.exit("the site would load from other hosts:\n" + "\n".join(wrong))
    pages = len(list(Path(out).rglob("*.html")))
    print(
        f"{out}: {pages} pages; `python -m http.server -d {out}` shows them, or open {out}/index.html (without search)"
    )


if __name__ == "__main__":
    main(sys.argv[1])
