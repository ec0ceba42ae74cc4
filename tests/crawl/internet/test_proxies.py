"""Crawls through other people's proxies, and certificates that are wrong: the proxy's log and the rows tell."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from fyke.errors import UserError
from fyke.fetch.proxy import Proxy, without_password
from tests.crawl.internet.net import Internet, _end, page, run_inside, site

QUICK = ("--delay", "0.02", "--agents", "1", "--no-sitemaps")
JUDGES = Path(os.environ.get("FYKE_JUDGES", Path(__file__).parents[3] / ".venv-judges" / "bin"))
PROGRAMS = {
    "http": ("proxy", "--hostname", "127.0.0.1", "--port", "8899", "--log-level", "INFO"),
    "socks5": ("pproxy", "-l", "socks5://127.0.0.1:8899", "-v"),
    "socks5h": ("pproxy", "-l", "socks5://127.0.0.1:8899", "-v"),
}


@pytest.mark.parametrize("kind", sorted(PROGRAMS))
def test_a_crawl_through_a_real_proxy(kind: str) -> None:
    if not (JUDGES / PROGRAMS[kind][0]).exists():
        pytest.skip(f"the judges are not at {JUDGES}; make them with `make judges`")
    found = run_inside(proxied, kind=kind)
    assert found["missing"] == [], found
    assert found["told"], "the proxy tells of it"
    assert found["private"] == "private-address", "what a page links to in a private network is vetoed as ever"
    assert found["inside"] == 0


async def proxied(net: Internet, kind: str) -> Any:
    net.host("a.example", "93.184.1.1", site(6, ["http://10.0.0.5/inside", "http://b.example/"]))
    net.host("b.example", "93.184.1.2", site(3))
    net.host("secure.example", "93.184.1.3", site(3))
    await net.open(tls_ports=(443,))
    program, *words = PROGRAMS[kind]
    log = (net.folder / "proxy.log").open("wb")
    process = await asyncio.create_subprocess_exec(str(JUDGES / program), *words, stdout=log, stderr=log)
    net._stack.callback(_end, process)
    await answering(8899)
    crawl = await net.crawl(
        "http://a.example/", "https://secure.example/", *QUICK, "--scope", "any", "--proxy", f"{kind}://127.0.0.1:8899"
    )
    rows = net.rows()
    wanted = {f"http://a.example/{i or ''}" for i in range(6)} | {f"http://b.example/{i or ''}" for i in range(3)}
    wanted |= {f"https://secure.example/{i or ''}" for i in range(3)}
    process.terminate()
    await process.wait()
    told = (net.folder / "proxy.log").read_text()
    return {
        "missing": sorted(wanted - net.pages()),
        "told": "93.184.1.1" in told or "a.example" in told,
        "private": rows.get("http://10.0.0.5/inside"),
        "inside": told.count("10.0.0.5"),
        "summary": [crawl.summary, crawl.stderr[-1000:], told[-1500:]],
    }


async def answering(port: int) -> None:
    async with asyncio.timeout(700):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                return
            except OSError:
                await asyncio.sleep(0.05)


def test_a_host_may_have_a_proxy_of_its_own() -> None:
    """One goes through a proxy that resolves, one directly; the proxy of the others is not there."""
    if not (JUDGES / "pproxy").exists():
        pytest.skip(f"the judges are not at {JUDGES}; make them with `make judges`")
    found = run_inside(by_host)
    assert found["pages"] == ["http://direct.example/", "http://own.example/"]
    assert found["through"] == [True, False, False], "own, direct, other"
    assert "canary" not in found["kept"]


async def by_host(net: Internet) -> Any:
    for n, name in enumerate(("own.example", "direct.example", "other.example"), 1):
        net.host(name, f"93.184.1.{n}", site(1))
    await net.open()
    log = (net.folder / "proxy.log").open("wb")
    process = await asyncio.create_subprocess_exec(
        str(JUDGES / "pproxy"), "-l", "socks5://127.0.0.1:8899#anna:canary", "-v", stdout=log, stderr=log
    )
    net._stack.callback(_end, process)
    await answering(8899)
    (net.folder / "crawl.toml").write_text(
        'proxy = "http://127.0.0.1:9"\npatience = 1\n[hosts."direct.example"]\nproxy = "none"\n'
        '[hosts."own.example"]\nproxy = "socks5h://anna:canary@127.0.0.1:8899"\n'
    )
    seeds = [f"http://{name}.example/" for name in ("own", "direct", "other")]
    await net.crawl(*seeds, *QUICK, "--config", str(net.folder / "crawl.toml"))
    process.terminate()
    await process.wait()
    told = (net.folder / "proxy.log").read_text()
    kept = b"".join(path.read_bytes() for path in net.store.glob("*.json")).decode()
    return {
        "pages": sorted(net.pages()),
        "through": [f"{name}.example" in told for name in ("own", "direct", "other")],
        "kept": kept,
    }


def test_a_proxy_that_is_not_there_loses_nothing() -> None:
    found = run_inside(no_proxy)
    assert found["asked"] == 0, "nobody is contacted without it"
    assert found["first"] == {}
    assert found["missing"] == []


async def no_proxy(net: Internet) -> Any:
    net.host("a.example", "93.184.1.1", site(3))
    await net.open()
    words = ("http://a.example/", *QUICK)
    first = await net.crawl(*words, "--patience", "1", "--proxy", "http://127.0.0.1:9")
    asked = len(net.log)
    await net.crawl(*words, "--patience", "600")  # the site is left alone for some seconds more
    wanted = {f"http://a.example/{i or ''}" for i in range(3)}
    return {"asked": asked, "first": first.summary["errors"], "missing": sorted(wanted - net.pages())}


def test_a_wrong_certificate_closes_its_site_alone_and_can_be_accepted() -> None:
    found = run_inside(wrong_certificate)
    assert found["verified"] == {"https://wrong.example/": "tls"}
    assert found["accepted"] == "200"
    assert "certificate" in found["recorded"]
    assert found["good"] == ""


async def wrong_certificate(net: Internet) -> Any:
    from fyke.store import Store

    net.host("good.example", "93.184.1.1", site(2))
    await net.open(tls_ports=(443,))  # its certificate is not for the next one
    net.host("wrong.example", "93.184.1.2", lambda request: page("wrong"))
    seeds = ("https://wrong.example/", "https://good.example/")
    await net.crawl(*seeds, *QUICK)
    verified = {url: told for url, told in net.rows().items() if "wrong" in url}
    net.folder.joinpath("store").rename(net.folder / "first")
    await net.crawl(*seeds, *QUICK, "--tls", "accept")
    with Store.open(net.store, "r") as store:
        wrong, good = store.get(seeds[0]), store.get(seeds[1])
        assert wrong is not None
        assert good is not None
        return {
            "verified": verified,
            "accepted": str(wrong.meta.status),
            "recorded": wrong.meta.tls,
            "good": good.meta.tls,
        }


def test_what_is_no_proxy_is_said_without_its_password() -> None:
    with pytest.raises(UserError) as told:
        Proxy.parse("ftp://anna:secret@127.0.0.1:1")
    assert "secret" not in str(told.value)
    assert without_password("http://anna:secret@p.example:3128/") == "http://anna@p.example:3128/"
    proxy = Proxy.parse("socks5h://anna:s%40t@127.0.0.1")
    assert (proxy.port, proxy.resolves, proxy.login) == (1080, True, "anna:s@t")
    assert "s@t" not in repr(proxy)
