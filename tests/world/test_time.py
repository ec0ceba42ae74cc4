"""Time in a world: Poisson changes, validators, births and deaths, feeds and sitemaps, failures."""

from __future__ import annotations

import gzip
import math
import re
from datetime import datetime

import fastfeedparser
import lxml.etree
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.url import Url
from fyke.world import RobotsKind, Validity, World
from fyke.world.change import Changes
from fyke.world.config import DAY, START
from fyke.world.http import Fault
from fyke.world.site import SITEMAP_EVERY, allows
from tests.world.conftest import ask, steady

MONTH = START + 30 * DAY


@given(st.floats(0.01, 20), st.lists(st.floats(0, 60), min_size=2, max_size=8))
def test_version_is_a_pure_function_of_time(rate: float, days: list[float]) -> None:
    asked = Changes(rate, (1, 2))
    versions = {day: asked.version(START + day * DAY) for day in days}
    assert {day: Changes(rate, (1, 2)).version(START + day * DAY) for day in reversed(days)} == versions
    ordered = sorted(days)
    assert [versions[d] for d in ordered] == sorted(versions[d] for d in ordered)


def test_changes_are_poisson() -> None:
    """Over 2,000 pages: the mean count is λT within 4σ, the variance equals it, gaps are memoryless."""
    rate, days = 0.7, 20.0
    counts = [Changes(rate, (9, page)).version(START + days * DAY) for page in range(2000)]
    mean = sum(counts) / 2000
    wanted = rate * days
    assert abs(mean - wanted) < 4 * math.sqrt(wanted / 2000)
    variance = sum((c - mean) ** 2 for c in counts) / 2000
    assert variance == pytest.approx(wanted, rel=0.15)
    unchanged = sum(Changes(rate, (9, p)).version(START + DAY) == 0 for p in range(2000)) / 2000
    assert unchanged == pytest.approx(math.exp(-rate), abs=0.045)


def test_rates_spread_widely(world: World) -> None:
    rates = sorted(t.rate for t in map(world.truth, steady(world)) if t.rate)
    assert rates[len(rates) // 20] < 0.03
    assert rates[-len(rates) // 20] > 4


def test_main_text_changes_with_the_version_and_only_then(world: World) -> None:
    changed = 0
    for url in steady(world)[::9]:
        before, after = world.truth(url, START), world.truth(url, MONTH)
        if before.status == after.status == 200 and not url.endswith("/"):
            assert world.version(url, MONTH) == after.version
            assert (before.main_text == after.main_text) == (before.version == after.version), url
            changed += before.version != after.version
    assert changed > 20


def test_honest_validators_tell_the_truth_and_others_lie(world: World) -> None:
    lies = set()
    for host in world.hosts:
        if host.flaky:
            continue
        for url in [*world.pages(host.name)][host.sections + 1 :: 3]:
            old, new = world.truth(url, START), world.truth(url, MONTH)
            if old.status != 200 or new.status != 200:
                continue
            held = dict(ask(world, url, START).headers)
            by_etag = ask(world, url, MONTH, etag=held.get("ETag", "")).status == 304
            by_date = ask(world, url, MONTH, since=held.get("Last-Modified", "")).status == 304
            same = old.version == new.version
            if host.validity is Validity.HONEST:
                assert by_etag == by_date == same, url
            elif (by_etag, by_date) != (same, same):
                lies.add(host.validity)
    assert lies == {Validity.NOW, Validity.FROZEN, Validity.NONE}


def test_rotating_advertising_is_no_change(world: World) -> None:
    host = next(h for h in world.hosts if h.rotating_ads and h.validity is Validity.HONEST and not h.flaky)
    url = next(u for u in world.pages(host.name) if world.truth(u).rate == 0 and u.endswith(".html"))
    one, other = ask(world, url, START), ask(world, url, START + DAY)
    assert one.body != other.body
    assert dict(one.headers)["ETag"] == dict(other.headers)["ETag"]
    assert world.truth(url, START).main_text == world.truth(url, START + DAY).main_text


def test_pages_appear_and_go(world: World) -> None:
    born = gone = 0
    for host in world.hosts:
        for url in [*world.pages(host.name)][host.sections + 1 :]:
            truth = world.truth(url)
            if truth.born > START and not host.flaky and not host.soft_errors:
                assert ask(world, url, truth.born - 1).status == 404
                assert ask(world, url, truth.born).status == 200
                assert world.version(url, truth.born - 1) is None
                born += 1
            if truth.gone < math.inf and not host.flaky:
                status = ask(world, url, truth.gone).status
                assert status == (200 if host.soft_errors else world.truth(url, truth.gone).status)
                assert world.truth(url, truth.gone).soft_error == host.soft_errors
                gone += 1
    assert born > 30
    assert gone > 30


def test_listings_change_when_members_appear_or_go(world: World) -> None:
    late = next(t for t in map(world.truth, steady(world)) if t.born > START and "/private/" not in t.url)
    section = late.url.rpartition("/")[0] + "/"
    before, after = world.truth(section, late.born - 1), world.truth(section, late.born)
    assert late.url not in before.links
    assert late.url in after.links
    assert after.version > before.version


def test_feeds_tell_new_pages_at_once(world: World) -> None:
    for host in (world.hosts[0], world.hosts[1]):
        late = [t for t in map(world.truth, world.pages(host.name)) if t.born > START]
        for truth in late[:3]:
            old = ask(world, f"{world.bases[host.number]}/feed.xml", truth.born - 1).body
            new = ask(world, f"{world.bases[host.number]}/feed.xml", truth.born + 1).body
            assert truth.url.encode() not in old
            parsed = fastfeedparser.parse(new)
            assert parsed.entries[0].link == truth.url
            assert (b"<ttl>" in new) == (not host.atom)


def test_sitemaps_hold_exactly_the_mapped_pages(world: World) -> None:
    indexes = packed = 0
    big = World(type(world.config)(seed=8, hosts=3, pages=2500))
    for at in (world, big):
        for host in at.hosts[:12]:
            base = at.bases[host.number]
            if host.flaky:
                continue
            answer = ask(at, f"{base}/sitemap.xml", MONTH)
            names = re.findall(r"<loc>([^<]+)", answer.body.decode())
            if b"sitemapindex" in answer.body:
                indexes += 1
                files, names = names, []
                for file in files:
                    body = ask(at, file, MONTH).body
                    packed += file.endswith(".gz")
                    body = gzip.decompress(body) if file.endswith(".gz") else body
                    names += [e.text or "" for e in lxml.etree.fromstring(body).iter("{*}loc")]
            assert names == at.mapped(host.name, MONTH)
    assert indexes
    assert packed


def test_lastmod_is_honest_where_the_host_is(world: World) -> None:
    assert world.hosts[0].validity is Validity.HONEST
    body = ask(world, f"{world.bases[0]}/sitemap.xml", MONTH).body.decode()
    made = MONTH // SITEMAP_EVERY * SITEMAP_EVERY
    checked = 0
    for url, lastmod in re.findall(r"<loc>([^<]+)</loc><lastmod>([^<]+)", body):
        truth = world.truth(url, made)
        if truth.version:
            assert datetime.fromisoformat(lastmod).timestamp() == int(truth.changed)
            checked += 1
    assert checked > 20


def longest_match(rules: str, target: str) -> bool:
    """RFC 9309 for the group ``*``, as a test's own matcher."""
    group = rules.replace("\r", "").split("User-Agent: *\n")[1]
    best = (0, True)
    for kind, path in re.findall(r"^(Allow|Disallow): (\S+)", group, re.MULTILINE):
        pattern = re.escape(path).replace(r"\*", ".*")
        pattern = pattern[:-2] + "$" if pattern.endswith(r"\$") else pattern
        if re.match(pattern, target):
            best = max(best, (len(path), kind == "Allow"))
    return best[1]


def test_allowed_is_what_robots_txt_says(world: World) -> None:
    kinds = set()
    for host in world.hosts:
        answer = ask(world, f"{world.bases[host.number]}/robots.txt", START)
        kinds.add(host.robots)
        wanted = {RobotsKind.BROKEN: 503, RobotsKind.ABSENT: 404, RobotsKind.REDIRECT: 301}.get(host.robots, 200)
        assert answer.status == (200 if wanted == 404 and host.soft_errors else wanted)
        if wanted == 301:
            answer = ask(world, world.bases[host.number] + dict(answer.headers)["Location"], START)
        targets = [Url.parse(u).target for u in world.pages(host.name)] + ["/ad/click/3", "/x.bak", "/x.bakery"]
        for target in [x + q for x in targets for q in ("", "?print=1")]:
            if answer.status == 200:
                assert allows(host, target) == longest_match(answer.body.decode(), target), target
            else:
                assert allows(host, target) == (answer.status == 404)
    assert kinds == set(RobotsKind)


def test_redirects_end_at_a_page_or_never(world: World) -> None:
    lengths = set()
    for number in range(1, 64):
        url, hops = f"{world.bases[0]}/moved/{number}", 0
        while (truth := world.truth(url)).redirect:
            assert dict(ask(world, url, START).headers)["Location"] in (
                truth.redirect,
                Url.parse(truth.redirect).target,
            )
            url, hops = truth.redirect, hops + 1
        assert truth.status == 200, url
        lengths.add(hops)
    assert lengths == {1, 3}
    loop = f"{world.bases[0]}/loop/a-0"
    assert world.truth(world.truth(loop).redirect).redirect == loop


def test_flaky_hosts_fail_one_time_in_five_and_recover(world: World) -> None:
    host = next(h for h in world.hosts if h.flaky)
    page = [*world.pages(host.name)][host.sections + 1]
    answers = [ask(world, page, START + 10 * k) for k in range(400)]
    failed = [a for a in answers if a.status == 503]
    assert 50 < len(failed) < 115
    assert {a.fault for a in failed} == set(Fault)
    assert answers[0] == ask(world, page, START)
    assert world.truth(page).status == 200


def test_soft_errors_say_200_and_are_known(world: World) -> None:
    host = next(h for h in world.hosts if h.soft_errors)
    url = f"{world.bases[host.number]}/missing/7.html"
    assert ask(world, url, START).status == 200
    assert world.truth(url).soft_error
    assert b"not found" in ask(world, url, START).body
