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


def test_a_server_that_was_a_bit_late_is_left_alone_for_the_whole_gap() -> None:
    """It answers 12 ms later than usual: it may have seen the request by so much later, too."""
    one = gate()
    assert one.enter("a.example", 100.0) == 0.0
    one.sent("a.example", 100.0)
    one.leave("a.example", 100.03)  # as its network and it are
    assert one.enter("b.example", 100.2) == 0.0
    one.sent("b.example", 100.2)
    one.leave("b.example", 100.242)
    wait = one.enter("c.example", 100.4)
    assert abs(wait - 100.412) < 1e-6
    assert one.enter("c.example", wait) == 0.0


def test_a_page_that_takes_long_holds_up_nobody_else_at_its_address() -> None:
    one = gate()
    for host, at, took in (("a.example", 100.0, 0.03), ("b.example", 100.2, 0.15)):
        assert one.enter(host, at) == 0.0
        one.sent(host, at)
        one.leave(host, at + took)
    assert one.enter("c.example", 100.4) == 0.0
