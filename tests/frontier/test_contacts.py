"""The table of contacts: claims exclude one another, run out, and are never early."""

from __future__ import annotations

import multiprocessing
from multiprocessing.queues import SimpleQueue
from multiprocessing.shared_memory import SharedMemory
from multiprocessing.synchronize import Lock
from threading import Lock as ThreadLock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.frontier.contacts import ContactTable, address_key, table_bytes


def table(addresses: int = 8) -> ContactTable:
    return ContactTable(memoryview(bytearray(table_bytes(addresses))), ThreadLock())


def test_claim_release_and_expiry() -> None:
    contacts = table()
    assert contacts.claim(5, 100.0, 30.0) == 0.0
    assert contacts.claim(5, 101.0, 30.0) == 130.0
    contacts.release(5, 103.0)
    assert contacts.claim(5, 102.0, 30.0) == 103.0
    assert contacts.claim(5, 103.0, 30.0) == 0.0
    assert contacts.claim(5, 134.0, 30.0) == 0.0, "the claim of an agent that died runs out"


def test_the_gap_of_an_address_counts_from_when_the_request_was_sent() -> None:
    """On a busy machine that is later than it was begun, and the next one must not come too soon after it."""
    contacts = table()
    assert contacts.reserve(7, 100.0, 0.2) == 100.0
    assert contacts.start(7, 100.0, 0.2, 100.0) == 0.0
    contacts.late(7, 100.15, 0.2)
    assert contacts.reserve(7, 100.2, 0.2) == pytest.approx(100.35)
    assert contacts.start(7, 100.2, 0.2, 100.2) == pytest.approx(100.35)
    assert contacts.start(7, 100.36, 0.2, 100.35) == 0.0


def test_who_asks_for_a_slot_after_a_late_contact_comes_later_by_as_much() -> None:
    """Else those that were promised a slot before would be overtaken, once each is put off."""
    contacts = table()
    assert [contacts.reserve(7, 100.0, 0.2) for _ in range(2)] == [100.0, pytest.approx(100.2)]
    assert contacts.start(7, 100.0, 0.2, 100.0) == 0.0
    contacts.late(7, 100.05, 0.2)
    assert contacts.start(7, 100.2, 0.2, 100.2) == pytest.approx(100.25), "the second, put off"
    assert contacts.reserve(7, 100.2, 0.2) == pytest.approx(100.45), "the third"
    assert contacts.start(7, 100.26, 0.2, 100.25) == 0.0
    assert contacts.start(7, 100.45, 0.2, 100.45) == pytest.approx(100.46)


def test_who_comes_alone_makes_nobody_wait_for_longer_than_the_gap() -> None:
    """Later than it might have is not late: its slot was handed out as it came."""
    contacts = table()
    for now in (100.0, 100.25, 100.45):  # a page that took 50 ms, and one that took none
        assert contacts.reserve(7, now, 0.2) == now
        assert contacts.start(7, now, 0.2, now) == 0.0


def test_who_takes_the_place_of_an_agent_lets_go_of_what_it_held() -> None:
    contacts = table()
    assert contacts.claim(5, 100.0, 180.0, owner=1) == 0.0
    assert contacts.claim(6, 100.0, 180.0, owner=2) == 0.0
    assert contacts.reserve(7, 100.0, 50.0) == 100.0
    contacts.disown(1, 102.0)
    assert contacts.claim(5, 101.0, 180.0, owner=1) == 102.0, "after the least gap"
    assert contacts.claim(5, 102.0, 180.0, owner=1) == 0.0
    assert contacts.claim(6, 102.0, 180.0, owner=1) == 280.0, "another's claim stands"
    assert contacts.reserve(7, 101.0, 50.0) == 150.0


@pytest.mark.parametrize(
    ("address", "has_key"),
    [
        ("127.0.0.1", False),
        ("127.8.9.1", False),
        ("::1", False),
        ("[::1]", False),
        ("::ffff:127.0.0.1", False),
        ("192.0.2.1", True),
        ("2001:db8::1", True),
        ("a.test", False),
    ],
)
def test_loopback_has_no_gap(address: str, has_key: bool) -> None:
    assert (address_key(address) is not None) is has_key


def test_mapped_address_is_the_same_server() -> None:
    assert address_key("::ffff:192.0.2.1") == address_key("192.0.2.1")


@given(
    st.lists(st.tuples(st.integers(1, 2**64 - 1) | st.integers(1, 90), st.floats(0, 5), st.booleans()), max_size=300)
)
def test_never_two_claims_at_once(steps: list[tuple[int, float, bool]]) -> None:
    """Against a dict; a small table fills up, and then says "busy" rather than forget."""
    contacts, held, now = table(1), dict[int, float](), 0.0
    for key, wait, ends in steps:
        now += wait
        if ends and held.get(key, 0.0) > now:
            held[key] = now + 1.0
            contacts.release(key, held[key])
        busy = contacts.claim(key, now, 10.0)
        if held.get(key, 0.0) > now:
            assert busy == held[key]
        elif busy == 0.0:
            held[key] = now + 10.0
        else:
            assert busy > now
            assert busy in held.values()


def _claim_many(memory: SharedMemory, lock: Lock, rounds: int, results: SimpleQueue[int]) -> None:
    assert memory.buf is not None
    contacts = ContactTable(memory.buf, lock)
    won = sum(contacts.claim(1 + step, 0.0, 1e9) == 0.0 for step in range(rounds))
    contacts.close()
    results.put(won)


def test_several_processes_share_one_table() -> None:
    context = multiprocessing.get_context("fork")
    memory = SharedMemory(create=True, size=table_bytes(4096))
    try:
        lock, results = context.Lock(), context.SimpleQueue()
        processes = [context.Process(target=_claim_many, args=(memory, lock, 2000, results)) for _ in range(3)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        assert sum(results.get() for _ in processes) == 2000, "each key is claimed by exactly one process"
    finally:
        memory.close()
        memory.unlink()
