"""Queue keys sort as they are read, and give back what went in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fyke.frontier.keys import (
    Entry,
    SiteRecord,
    host_of,
    is_record_key,
    later_due,
    later_key,
    later_range,
    queue_key,
    record_key,
    sequence_of,
)
from fyke.url import Url, host_key

HOST = st.sampled_from(["a.test", "b.test", "xn--bcher-kva.example", "[::1]", "127.0.0.1"])
TIME = st.floats(0, 4e9)


SITE = st.builds("{}://{}{}".format, st.sampled_from(["http", "https"]), HOST, st.sampled_from(["", ":81", ":8443"]))


@given(SITE, st.integers(1, 255), st.integers(0, 2**64 - 1))
def test_queue_key_there_and_back(site: str, priority: int, sequence: int) -> None:
    key = queue_key(site, priority, sequence)
    assert sequence_of(key) == sequence
    assert key.startswith(b"s" + host_key(host_of(site)))
    assert host_of(site) == Url(site + "/").host
    assert Url(site + "/").site == site
    assert is_record_key(record_key(site))
    assert not is_record_key(host_key(host_of(site)) + site.encode())


@given(SITE, SITE, st.integers(1, 8), st.integers(1, 8))
def test_queues_of_sites_do_not_mix(one: str, two: str, first: int, second: int) -> None:
    if one < two:
        bounds = (queue_key(one, 1, 0), queue_key(one, 255, 2**64 - 1))
        assert not bounds[0] <= queue_key(two, second, 7) <= bounds[1]


@given(SITE, st.lists(st.tuples(st.integers(1, 8), st.integers(0, 2**40)), min_size=2, max_size=8))
def test_a_hosts_queue_sorts_by_priority_then_sequence(host: str, places: list[tuple[int, int]]) -> None:
    keys = [queue_key(host, priority, sequence) for priority, sequence in places]
    assert [places[keys.index(key)] for key in sorted(keys)] == sorted(places)


@given(TIME, TIME)
def test_later_keys_sort_by_time(one: float, two: float) -> None:
    url = Url("http://a.test/x")
    first, end = later_range(one)
    assert abs(later_due(later_key(one, url)) - one) <= 2e-6
    assert first <= later_key(one, url) < end
    if two >= one + 1e-5:
        assert later_key(one, url) < later_key(two, url)
        assert later_key(two, url) >= end


def test_host_key_begins_every_row_key_of_the_host() -> None:
    for href in ("http://a.test/", "https://a.test:8443/x?y"):
        assert Url(href).key.startswith(host_key("a.test"))


def test_values_there_and_back() -> None:
    entry = Entry("http://a.test/", 3, depth=2, tries=1, generation=4, kind="feed")
    assert Entry.decode(entry.encode()) == entry
    assert entry.url == Url("http://a.test/")
    record = SiteRecord(1, "a.test", ((1, 0, 5), (8, 2, 2)), 1.5, 2.0, 0.25, 3)
    assert SiteRecord.decode(record.encode()) == record
