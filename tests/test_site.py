"""The documentation as a site: every page of the menu is there, links hold, and nothing comes from another host."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
BUILDER = ROOT / ".venv-site" / "bin" / "python"


@pytest.fixture(scope="module")
def site() -> ModuleType:
    """The builder, which needs no mkdocs to be read."""
    spec = importlib.util.spec_from_file_location("site_builder", ROOT / ".ci" / "site.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_of_the_menu_are_there_and_links_lead_somewhere(site: ModuleType, tmp_path: Path) -> None:
    pages = tmp_path / "docs"
    site.write_pages(pages)
    settings = site.menu((ROOT / "mkdocs.yml").read_text("utf-8"), pages)
    named = re.findall(r"(\S+\.md)$", settings, re.MULTILINE)
    assert sorted(named) == sorted(str(page.relative_to(pages)) for page in pages.rglob("*.md"))
    for page in pages.rglob("*.md"):
        text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", text):
            assert (page.parent / target).is_file(), f"{page.relative_to(pages)} links to {target}"


def test_what_comes_from_another_host_is_seen(site: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        "<a href='https://x.test/'>a link loads nothing</a><img src='a.png'><script src='//x.test/y.js'>"
    )
    (tmp_path / "a.css").write_text("@font-face { src: url(https://x.test/f.woff) }")
    assert len(site.foreign(tmp_path)) == 2


@pytest.mark.skipif(not BUILDER.exists(), reason="there is no .venv-site; `make site` makes it")
def test_the_site_is_built_without_a_fault(tmp_path: Path) -> None:
    made = subprocess.run(
        [BUILDER, ROOT / ".ci" / "site.py", tmp_path / "site"], capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "site" / "search" / "search_index.json").is_file()
