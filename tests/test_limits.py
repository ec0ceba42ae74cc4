"""Every limit of docs/limits.md is pushed past: what is left is bounded, and what was left out is counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from fyke import limits
from fyke.cli import run
from fyke.convert import convert_here, prepare
from fyke.reading.reading import read
from fyke.sites import robots, sitemap
from tests.limits import crawls, documents, files, pages  # noqa: F401 - their trials
from tests.limits.trial import HERE, HTML, TRIALS
from tests.test_limits_table import rows, told_by_limits


@pytest.mark.parametrize("name", TRIALS)
def test_a_limit_holds_and_is_counted(name: str) -> None:
    told = {each for row in rows() if row.tried == f"`{name}`" for each in told_by_limits(row)}
    limits.take()
    assert TRIALS[name]()
    assert limits.take().keys() >= told


def test_nothing_is_counted_of_what_is_usual() -> None:
    limits.take()
    read(b"<title>t</title><p>Some words <a href=/x>x</a>.", HTML, HERE)
    convert_here(prepare(b"a,b\nc,d\n", "text/csv", HERE))
    convert_here(prepare(b"<?xml version='1.0'?><a b='c'>d &amp; e</a>", "application/xml", HERE))
    sitemap.parse_sitemap(b"<urlset><url><loc>http://a.test/x</loc></url></urlset>")
    robots.Robots.parse(b"User-agent: *\nDisallow: /x\n").allows("fyke", "/y")
    assert limits.take() == {}


def test_a_command_says_that_not_all_was_read(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    page = str(tmp_path / "page.html")
    Path(page).write_bytes(b"<p>Some words of a block that says a little." * 50_100)
    assert run(["extract", page]) == 0
    assert "too much of it: blocks\n" in capfd.readouterr().err
    assert run(["extract", page, "--quiet"]) == 0
    assert capfd.readouterr().err == ""
