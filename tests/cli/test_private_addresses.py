"""No page, redirect, sitemap, feed or hub leads into a private network: whoever asks, one veto is asked."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from fyke import fetching
from fyke.assemble import crawl
from fyke.cli import run
from fyke.fetching import Memory
from fyke.store import Store
from tests.little_site import Answer, moved, page, serving


@pytest.fixture
def inside() -> Iterator[socket.socket]:
    """A service on an address that no user named; whoever connects there has lost."""
    with socket.create_server(("127.0.0.2", 0)) as server:
        server.settimeout(0)
        yield server
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.parametrize("command", ["fetch", "robots", "sitemap", "feed"])
def test_a_redirect_into_a_private_network_is_refused(
    inside: socket.socket, command: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fetching.Fetcher.__init__, "__defaults__", (Memory(),))
    private = f"http://127.0.0.2:{inside.getsockname()[1]}/secret"
    with serving({"/robots.txt": moved(private), "/x": moved(private)}) as site:
        run([command, f"{site.root}/robots.txt" if command == "robots" else f"{site.root}/x"])
        said = capfd.readouterr()
        assert site.paths, (said.out, said.err)


def test_what_a_seed_does_not_name_is_not_contacted(inside: socket.socket, tmp_path: Path) -> None:
    """Links, redirects, sitemaps, feeds, hubs, canonical addresses and images that all point inside."""
    where = f"http://127.0.0.2:{inside.getsockname()[1]}"
    listing = f"<urlset><url><loc>{where}/listed</loc></url></urlset>".encode()
    feed = (
        f'<rss><channel><atom:link xmlns:atom="http://www.w3.org/2005/Atom" rel="hub" href="{where}/hub"/>'
        f"<item><link>{where}/item</link></item></channel></rss>"
    ).encode()
    pages = {
        "/robots.txt": Answer(f"Sitemap: {where}/sitemap.xml\nSitemap: /sitemap.xml\n".encode(), "text/plain"),
        "/sitemap.xml": Answer(listing, "application/xml"),
        "/feed.xml": Answer(feed, "application/rss+xml"),
        "/moved": moved(f"{where}/moved"),
        "/": Answer(
            f'<link rel=canonical href="{where}/c"><link rel=alternate type="application/rss+xml" href="/feed.xml">'
            f'<meta http-equiv=refresh content="9; url={where}/r"><a href="{where}/a">a</a><a href="/moved">m</a>'
            f'<img src="{where}/i.png"><link rel=stylesheet href="{where}/s.css">'.encode(),
            "text/html",
        ),
        "/other": page("Other"),
    }
    with serving(pages) as site:
        crawl([f"{site.root}/"], tmp_path / "s", scope="any", delay=0.0, agents=1, requisites=True)
    with Store.open(tmp_path / "s", "r") as store:
        refused = {row.url: row.meta.error for row in store.scan(parts=()) if row.url.startswith(where)}
    assert refused
    assert set(refused.values()) == {"private-address"}
