"""The gate: hosts one contact at a time, addresses in turn, and nobody waits longer than that asks for."""

from __future__ import annotations

from fyke.crawl.politeness.gate import Gate
from fyke.frontier.politeness import Politeness

GAP = 0.2


def gate() -> Gate:
    return Gate(Politeness(delay=GAP, address_delay=GAP), 180.0, address_of=lambda host: "93.184.0.1")


def test_a_host_that_is_still_busy_uses_up_no_slot_of_its_address() -> None:
    """Else who comes a moment too early, as the frontier's and the gate's ideas of an end differ, waits a whole gap."""
    one = gate()
    assert one.enter("a.example", 100.0) == 0.0
    one.leave("a.example", 100.05)
    busy = one.enter("a.example", 100.2499)
    assert 100.2499 < busy <= 100.25 + 1e-6
    assert one.enter("a.example", busy) == 0.0


def test_without_a_lease_nobody_is_contacted() -> None:
    leased = [False]
    made = Gate(Politeness(delay=0.0), 180.0, lease=lambda: leased[0])
    assert made.enter("a.test", 100.0) > 100.0
    leased[0] = True
    assert not made.enter("a.test", 101.0)


def test_hosts_of_one_address_come_a_gap_after_the_last_request_was_sent() -> None:
    one = gate()
    assert one.enter("a.example", 100.0) == 0.0
    one.sent("a.example", 100.08)  # our loop was busy
    wait = one.enter("b.example", 100.2)
    assert abs(wait - 100.28) < 1e-6
    assert one.enter("b.example", wait) == 0.0
