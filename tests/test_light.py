"""Light where the work is light: what a small task loads, and that a small crawl is one process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import startup

KERNELS = {"numba", "llvmlite", "numpy"}
HEAVY = {
    *KERNELS, "rocksdict", "matplotlib", "xberg", "lxml", "pycurl", "aiodns", "pypdfium2", "mammoth", "pyarrow",
    "fastwarc", "resiliparse", "rich", "asyncio", "multiprocessing",
}  # fmt: skip
"""What no small task needs."""
PAGE = "<title>A page</title><p>" + "A sentence of the page, and one more of its words. " * 20
ROBOTS = "User-agent: *\nDisallow: /private\n"


def loaded(code: str, folder: Path) -> set[str]:
    """Run ``code`` in a fresh interpreter; return the modules that it loaded."""
    (folder / "page.html").write_text(PAGE)
    (folder / "robots.txt").write_text(ROBOTS)
    told = folder / "told.json"
    code += f"\nimport sys, json; json.dump(list(sys.modules), open({str(told)!r}, 'w'))"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    return set(json.loads(told.read_text()))


def command(*words: str) -> str:
    return f"from fyke.cli import run; assert run({list(words)!r}) == 0"


@pytest.mark.parametrize(
    ("code", "needs"),
    [
        (command("--help"), set()),
        (command("url", "http://example.org/a?b"), set()),
        (command("robots", "robots.txt", "/private/x"), set()),
        (command("extract", "--help"), set()),
        (command("extract", "page.html"), KERNELS),
        (f"import fyke; assert fyke.extract({PAGE!r}).text", KERNELS),
        ("import fyke; fyke.simhash('a few words of a text')", KERNELS),
        (f"import fyke; fyke.Robots.parse({ROBOTS.encode()!r})", set()),
    ],
)
def test_a_small_task_loads_no_heavy_library_that_it_does_not_need(code: str, needs: set[str], tmp_path: Path) -> None:
    assert HEAVY & {name.partition(".")[0] for name in loaded(code, tmp_path)} <= needs


@pytest.mark.parametrize("code", ["import fyke", f"import fyke; fyke.extract({PAGE!r})", command("--help")])
def test_the_synthetic_web_and_the_lecture_cost_nobody_else_anything(code: str) -> None:
    rooms = ("fyke.world", "fyke.lecture", "fyke.simulate")
    code += f"\nimport sys; print(*[m for m in sys.modules if m.startswith({rooms!r})])"
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert said.splitlines()[-1] == ""


@pytest.fixture
def one_page() -> Iterator[str]:
    with startup.one_page() as address:
        yield address


def test_a_crawl_of_one_page_starts_no_other_process(one_page: str, tmp_path: Path) -> None:
    code = (
        f"import fyke, resource; summary = fyke.crawl([{one_page!r}], 'store', delay=0.0); assert summary.pages == 1; "
        # Where no child was ever waited for, the largest of them has no size.
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    result = subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, capture_output=True, text=True)
    assert result.stdout == "0\n"


def test_a_plain_crawl_loads_nothing_that_renders_fills_forms_or_orders(one_page: str, tmp_path: Path) -> None:
    crawl = command("crawl", one_page, "--store", "store", "--delay", "0", "--json")
    rooms = ("playwright", "fyke.browser", "fyke.rendering", "fyke.sites.scripted", "fyke.crawl.discovery.rendering",
             "fyke.crawl.discovery.subrequests", "fyke.crawl.discovery.forms", "fyke.sites.probing",
             "fyke.topic.model", "fyke.topic.opic", "fyke.crawl.order.quality", "fyke.crawl.order.topic",
             "rich")  # fmt: skip
    assert [name for name in sorted(loaded(crawl, tmp_path)) if name.startswith(rooms)] == []
