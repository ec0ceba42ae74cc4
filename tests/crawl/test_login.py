"""What answers show of a session that was begun by a form."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fyke.cli import run as fyke_command
from fyke.crawl.politeness.auth import Login
from fyke.crawl.politeness.login import WORDLESS, Logins, Session
from fyke.fetch.sessions import Sessions
from fyke.url import Url
from fyke.values import Exchange, Fetched
from tests.little_site import page, serving

SITE = "https://wiki.test"
LOGIN = Login(SITE, f"{SITE}/login", (("password", "x"),), logged_in="Log out, Änne")


def answer(path: str, body: str, kind: str = "text/html; charset=utf-8") -> Fetched:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n".encode()
    return Fetched(Url(SITE + path), Exchange(b"", head, body.encode(), 200, 0.0, 0.0))


def test_a_page_without_the_words_shows_that_the_session_ended() -> None:
    logins = Logins([LOGIN])
    assert logins.look(SITE, answer("/1", "<p>one</p>Log out, Änne")) is Session.LASTS
    assert logins.look(SITE, answer("/2", "<p>Please log in to see this.</p>")) is Session.ENDED
    assert logins.wants(SITE)
    assert logins.look(SITE, answer("/2", "<p>two</p>Log out, Änne")) is Session.LASTS
    assert logins.look(SITE, answer("/3", "plain words", "text/plain")) is Session.LASTS, "only pages have them"


def test_pages_that_lack_the_words_right_after_a_login_are_like_that() -> None:
    logins = Logins([LOGIN])
    for n in range(WORDLESS):
        assert logins.look(SITE, answer(f"/{n}", "<p>a frame</p>")) is Session.ENDED
        assert logins.look(SITE, answer(f"/{n}", "<p>a frame</p>")) is Session.LASTS
    assert logins.look(SITE, answer("/next", "<p>a frame</p>")) is Session.LASTS, "nobody logs in for it"
    ended = answer("/next", "<form><input type=password name=p></form>")
    assert logins.look(SITE, ended) is Session.ENDED, "a form still shows it"


def test_cookies_of_sites_without_an_account_are_kept_for_a_resume(tmp_path: Path) -> None:
    pages = {"/": page("home", "/1", "/2", "/3"), **{f"/{n}": page(f"page {n}") for n in range(1, 4)}}
    pages["/"] = replace(pages["/"], headers={"Set-Cookie": "basket=7; Path=/"})
    with serving(pages) as site:
        words = ["crawl", site.root, "--store", str(tmp_path / "s"), "--delay", "0", "--agents", "1", "--no-sitemaps"]
        assert fyke_command([*words, "--max-pages", "1"]) == 0
        begun = len(site.requests)
        assert fyke_command(["resume", "--store", str(tmp_path / "s"), "--max-pages", "0"]) == 0
        later = [headers.get("cookie") for path, headers in site.requests[begun:] if path != "/robots.txt"]
    assert later == ["basket=7"] * 3


def test_cookies_of_an_account_are_not_kept() -> None:
    lines = [f"{domain}\tFALSE\t/\tFALSE\t0\tname\tvalue" for domain in ("wiki.test", "sub.wiki.test", "shop.test")]
    sessions = Sessions(private=[SITE], kept=lines)
    assert [line.split("\t")[0] for line in sessions.anonymous()] == ["shop.test"]
