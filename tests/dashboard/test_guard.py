"""Who may look: every case by a raw socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fyke.store import Store
from tests.dashboard.serving import Served, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("guarded")
    with Store.open(folder / "s") as store:
        store.put("http://a.test/", raw=b"<p>x", text="x")
    with serving(folder / "s", "--metrics") as served:
        yield served


def test_the_token_becomes_a_cookie_and_leaves_the_address(served: Served) -> None:
    answer = served.ask(f"/doc?url=http%3A%2F%2Fa.test%2F&t={served.token}", "Sec-Fetch-Site: none")
    assert (answer.status, answer.headers["location"]) == (303, "/doc?url=http%3A%2F%2Fa.test%2F")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"fyke-{served.port}=")
    assert served.token not in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert served.get("/").status == 200
    assert served.ask(f"//evil.test/x?t={served.token}").headers["location"] == "/evil.test/x"


@pytest.mark.parametrize(
    "path", ["/", "/events", "/doc?url=http://a.test/", "/static/app.js", "/nowhere", "/?t=", "/?t=x"]
)
def test_nothing_without_token_or_cookie(served: Served, path: str) -> None:
    assert served.ask(path).status == 403
    assert served.ask(path, f"Cookie: fyke-{served.port}=x; fyke-1={served.cookie}").status == 403


HOSTS = (
    "evil.test", "evil.test:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1:{port}.evil.test", "0.0.0.0:{port}",
    "127.0.0.1:{port}@evil.test", "[::1]:{port}", "",
)  # fmt: skip


@pytest.mark.parametrize("host", HOSTS)
def test_no_other_host(served: Served, host: str) -> None:
    answer = served.ask(f"/?t={served.token}", f"Cookie: {served.cookie}", host=host.format(port=served.port))
    assert answer.status in (400, 421)
    assert "set-cookie" not in answer.headers


def test_host_is_named_once(served: Served) -> None:
    both = f"GET / HTTP/1.1\r\nHost: {served.host}\r\nHost: evil.test\r\nCookie: {served.cookie}\r\n\r\n"
    none = f"GET / HTTP/1.0\r\nCookie: {served.cookie}\r\nConnection: close\r\n\r\n"
    assert {served.send(both.encode()).status, served.send(none.encode()).status} <= {400, 421}
    assert served.ask("/", f"Cookie: {served.cookie}", host=f"LOCALHOST:{served.port}").status == 200


@pytest.mark.parametrize("line", ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Origin: http://evil.test",
                                  "Origin: null", "Origin: http://127.0.0.1:1"])  # fmt: skip
def test_no_other_site(served: Served, line: str) -> None:
    assert served.ask("/", f"Cookie: {served.cookie}", line).status == 403
    assert served.ask(f"/?t={served.token}", line).status == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "FOO"])
def test_only_reading(served: Served, method: str) -> None:
    for path in ("/", "/control"):
        assert served.ask(path, f"Cookie: {served.cookie}", method=method).status in (400, 405)
    head = served.ask("/", f"Cookie: {served.cookie}", method="HEAD")
    assert (head.status, head.body) == (200, "")


def test_every_answer_has_the_headers(served: Served) -> None:
    answers = [
        served.get("/"),
        served.get("/static/app.js"),
        served.get("/nowhere"),
        served.ask("/"),
        served.get("/search?after=x"),
    ]
    assert [each.status for each in answers] == [200, 200, 404, 403, 400]
    for each in answers:
        policy = each.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert each.headers["x-content-type-options"] == "nosniff"
        assert each.headers["cache-control"] == "no-store"


def test_long_and_odd_addresses_are_answered(served: Served) -> None:
    odd = [
        "/?" + "a" * 20_000, "/?" + "&".join(f"a{n}=1" for n in range(99)), "/doc", "/doc?url=%ff%00",
        "/doc?url=http://[", "/search?prefix=%00&after=zz", "/search?prefix=://", "/doc?url=x&at=9e9", "/%ff",
        "/doc?url=http://a.test/&at=" + "9" * 18, "/host?name=%00", "/queue?host=a%20b", "/errors/of",
        "/compare?url=http://a.test/&a=1&b=2", "/static/../app.py", "/static/%2e%2e%2fapp.py", "/similar?url=-x",
        "/search?after=ffffffff", "/search?prefix=a%20b", "/search?prefix=file:///etc/", "/hosts?part=99999999",
        "/raw?url=mailto:x",
    ]  # fmt: skip
    for path in odd:
        answer = served.get(path)
        assert answer.status < 500, (path, answer)
        assert "Traceback" not in answer.body


def test_metrics_want_the_bearer_token(served: Served) -> None:
    assert served.get("/metrics").status == 401
    assert served.ask("/metrics", "Authorization: Bearer x").status == 401
    answer = served.ask("/metrics", f"Authorization: Bearer {served.token}")
    assert answer.status == 200
    assert answer.body.endswith("# EOF\n")
    assert "\nfyke_up 0\n" in answer.body


def test_the_command_tells_what_is_wrong(served: Served, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from fyke.cli import run

    assert run(["dashboard", "--store", str(tmp_path / "none")]) == 2
    with Store.open(tmp_path / "s"):
        pass
    assert run(["dashboard", "--store", str(tmp_path / "s"), "--port", str(served.port)]) == 2
    (tmp_path / "token").write_text("short")
    assert run(["dashboard", "--store", str(tmp_path / "s"), "--token-file", str(tmp_path / "token")]) == 2
    assert len(capfd.readouterr().err.strip().splitlines()) == 3


def test_without_its_libraries_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from fyke.cli import options, run

    monkeypatch.setattr(options, "find_spec", lambda name: None)
    assert run(["dashboard"]) == 2
    assert "pip install 'fyke[dashboard]'" in capfd.readouterr().err
