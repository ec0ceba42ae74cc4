"""Applications of real React, Vue and Svelte: a crawl with ``--render auto`` finds their pages, by the rules."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from fyke.assemble import crawl
from fyke.store import Store
from tests.browser.applications import FRAMEWORKS, RECORDS, built, name, site, text
from tests.browser.showing import program
from tests.little_site import Site, serving

DELAY = 0.05


@dataclass
class Crawled:
    """A crawl of the three, and what their servers saw."""

    store: Path
    sites: dict[str, Site]

    def home(self, framework: str) -> str:
        return self.sites[framework].root.replace("127.0.0.1", f"{framework}.test")


def crawled(folder: Path, store: Path, render: str) -> Crawled:
    with ExitStack() as stack:
        sites = {each: stack.enter_context(serving(site(each, folder))) for each in FRAMEWORKS}
        made = Crawled(store, sites)
        crawl(
            [made.home(each) for each in FRAMEWORKS], store, agents=1, sitemaps=False, delay=DELAY, allow_private=True,
            resolve=tuple(f"{each}.test:127.0.0.1" for each in FRAMEWORKS), render=render, render_scroll=5,
        )  # fmt: skip
    return made


@pytest.fixture
def applications(pytestconfig: pytest.Config) -> Path:
    program()
    return built(pytestconfig.cache.mkdir("applications"))


def test_every_record_is_found_its_text_is_right_and_gaps_are_kept(applications: Path, tmp_path: Path) -> None:
    shown = crawled(applications, tmp_path / "s", "auto")
    for framework, served in shown.sites.items():
        home, shell = shown.home(framework), (applications / framework / "index.html").read_bytes()
        with Store.open(shown.store, "r") as store:
            rows = {number: store.get(f"{home}/record/{number}") for number in range(1, RECORDS + 1)}
        for number, row in rows.items():
            assert row is not None, (framework, number)
            assert (row.text or "").count(text(framework, number)) == 1, (framework, number)
            assert row.title in (name(number), f"Record {number}")
            assert row.raw == shell
        # Scripts are had once, and the data of each page once.
        assert served.paths.count("/assets/main.js") == 1
        assert served.paths.count(f"/api/record/{RECORDS}") == 1
        assert len(served.spans) > 2 * RECORDS
        assert min(after[0] - before[1] for before, after in pairwise(served.spans)) >= DELAY


def test_without_rendering_nothing_but_the_shell_is_found(applications: Path, tmp_path: Path) -> None:
    plain = crawled(applications, tmp_path / "s", "never")
    for served in plain.sites.values():
        assert sorted(served.paths) == ["/", "/robots.txt"]
