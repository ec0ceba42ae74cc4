"""``fyke render``: one page as a browser shows it, every request by the rules of a fetch."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from fyke import fetching
from fyke.browser import process
from fyke.cli import run
from fyke.fetching import Memory
from tests.browser.showing import program
from tests.json_schemas import schema_of
from tests.little_site import Answer, moved, page, serving

SHELL = b"<!doctype html><title>x</title><div id=app></div><script src=/app.js></script><img src=/i.png>"
APP = b"""const get = (path) => fetch(path).then(r => r.text()).catch(() => 'none');
Promise.all(['/api.json', '/private/x.json', '/moved.json'].map(get)).then(all => {
  app.innerHTML = '<h1>Made by a script</h1><p>' + 'words of the page '.repeat(30) + all.join(' ')
    + [1, 2, 3, 4, 5, 6].map(n => `<a href=/p/${n}>p${n}</a>`).join(' ') })"""
SITE = {
    "/robots.txt": Answer(b"User-agent: *\nDisallow: /private/", "text/plain"),
    "/": Answer(SHELL),
    "/app.js": Answer(APP, "text/javascript"),
    "/api.json": Answer(b'"from the api"', "application/json"),
    "/private/x.json": Answer(b'"secret"', "application/json"),
    "/moved.json": moved("/there.json"),
    "/there.json": Answer(b'"from there"', "application/json"),
    "/old": moved("/script"),
    "/script": Answer(b"<script>location.replace('/')</script>"),
    "/loop": Answer(b"<script>location.replace('/pool')</script>"),
    "/pool": Answer(b"<script>location.replace('/loop')</script>"),
    "/plain": page("Plain", "/a", "/b"),
    "/table.csv": Answer(b"a,b\n1,2\n", "text/csv"),
}


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching.Fetcher.__init__, "__defaults__", (Memory(),))


def test_a_scripted_page_says_what_its_server_did_not(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    program()
    with serving(SITE) as site:
        shot = tmp_path / "p.png"
        assert run(["render", f"{site.root}/", "--delay", "0", "--json", "--shot", str(shot)]) == 0
        said = json.loads(capsys.readouterr().out)
    jsonschema.validate(said, schema_of("render"))
    assert "Made by a script" in said["html"]
    assert "from the api" in said["text"]
    assert "from there" in said["text"]
    assert "secret" not in said["text"]
    assert [link["url"].rpartition("/")[2] for link in said["links"]] == ["1", "2", "3", "4", "5", "6"]
    assert said["gained"]
    assert said["suspect"]
    assert shot.read_bytes().startswith(b"\x89PNG")
    # Nobody else asked, and nothing that robots.txt forbids.
    wanted = {"/robots.txt", "/", "/app.js", "/i.png", "/api.json", "/moved.json", "/there.json"}
    assert set(site.paths) == wanted
    assert {headers["user-agent"] for _, headers in site.requests} == {site.headers("/")["user-agent"]}
    assert {"url": f"{site.root}/private/x.json", "kind": "fetch", "length": 0, "refused": "robots"} in said["requests"]


def test_compare_tells_what_it_is_worth(capsys: pytest.CaptureFixture[str]) -> None:
    program()
    with serving(SITE) as site:
        assert run(["render", f"{site.root}/old", "--delay", "0", "--compare"]) == 0
        said = capsys.readouterr().out
        assert "worth it: yes" in said
        assert "6 (6 new)" in said
        assert "an empty place that a script fills" in said
        assert run(["render", f"{site.root}/plain", "--delay", "0", "--compare"]) == 0
        assert "worth it: no" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("path", "why"),
    [("/nothing", "client-error"), ("/private/x", "robots"), ("/table.csv", "unsupported"), ("/loop", "redirects")],
)
def test_what_is_not_shown_has_a_reason(path: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    program()
    with serving(SITE) as site:
        assert run(["render", f"{site.root}{path}", "--delay", "0"]) == 1
    assert why in capsys.readouterr().err


def test_without_a_browser_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["render", "http://example.org/", "--browser", "/no/such/browser"]) == 2
    monkeypatch.setattr(process, "PROGRAMS", ("no-such-browser",))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", "/no/such/folder")
    assert run(["render", "http://example.org/"]) == 2
    monkeypatch.setattr(process, "find_spec", lambda name: None)
    assert run(["render", "http://example.org/"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert all(line.startswith("fyke: ") for line in said)
    assert "apt install chromium-headless-shell" in said[-2]
    assert "pip install 'fyke[browser]'" in said[-1]


LAYOUT = b"""<!doctype html><title>t</title><style>nav { width: 200px; float: left; background: #ddd; font-size: 11px }
main { margin-left: 260px; font-size: 17px }</style><nav><p>Home and much else that every page of the site has to say
</p></nav><main><p id=m></p></main>
<script>m.textContent = 'Words that a script wrote into the middle. '.repeat(20)</script>"""


def test_the_visual_method_gets_a_true_layout(capsys: pytest.CaptureFixture[str]) -> None:
    program()
    with serving({"/": Answer(LAYOUT)}) as site:
        assert run(["extract", "--method", "layout", "--render", f"{site.root}/"]) == 0
        said = capsys.readouterr().out
        assert "Words that a script wrote" in said
        assert "Home and much else" not in said
        assert run(["extract", "--method", "layout", "--render", f"{site.root}/nothing"]) == 1
