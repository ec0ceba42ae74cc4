"""``fyke forms``: each form explained, and none sent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fyke.cli import run
from tests import json_schemas
from tests.little_site import Answer, serving

PAGE = """<title>Nets</title><p>eels weirs eels<form action=/find><input name=q><select name=k><option value="">any
<option>fyke<option>creel</select></form><form action=/login method=post><input type=password name=p></form>
<form action=/find method=post><input name=q></form>"""


def told(*words: str, capfd: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    assert run(["forms", *words, "--json"]) == 0
    out = capfd.readouterr().out
    assert json_schemas.faults("forms", out) == []
    return [json.loads(line) for line in out.splitlines()]


def test_a_file_is_explained(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "page.html"
    path.write_text(PAGE)
    search, login, posted = told(str(path), "--url", "https://a.example/x", capfd=capfd)
    assert (search["safe"], search["reason"]) == (True, None)
    assert search["sends"] == [f"https://a.example/find?{data}" for data in ("q=&k=fyke", "q=&k=creel", "q=eels&k=")]
    assert (login["safe"], login["reason"], login["sends"]) == (False, "login", [])
    assert (posted["safe"], posted["reason"]) == (False, "method")
    assert told(str(path), "--post", capfd=capfd)[2]["safe"] is True
    assert run(["forms", str(path)]) == 0
    said = capfd.readouterr().out
    assert "GET http://page.invalid/find: safe" in said
    assert "would ask for http://page.invalid/find?q=eels&k=" in said
    assert "not sent (login)" in said


def test_a_site_is_asked_for_its_page_and_its_rules_alone(capfd: pytest.CaptureFixture[str]) -> None:
    rules = Answer(b"User-agent: *\nDisallow: /find", "text/plain")
    with serving({"/page": Answer(PAGE.encode()), "/robots.txt": rules}) as site:
        found = told(f"{site.root}/page", capfd=capfd)
    assert [each["reason"] for each in found] == ["robots", "login", "method"]
    assert site.paths == ["/page", "/robots.txt"]


def test_mistakes_are_one_sentence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["forms", str(tmp_path / "absent")]) == 2
    assert "cannot read" in capfd.readouterr().err
    assert run(["forms", "http://127.0.0.1:1/"]) == 1
    assert "no answer" in capfd.readouterr().err
    (tmp_path / "empty").write_bytes(b"")
    assert run(["forms", str(tmp_path / "empty")]) == 0
    assert capfd.readouterr().out == "no form\n"
