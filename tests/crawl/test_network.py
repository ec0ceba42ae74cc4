"""Whose fault it is that nobody answers: hosts that are silent hold up nobody, an outage of ours loses nobody."""

from __future__ import annotations

from fyke.crawl.politeness.network import HOSTS, QUIET, Network


def test_many_that_fail_at_once_are_no_outage_while_others_answer() -> None:
    network = Network()
    for second in range(100):
        network.answered(float(second))
        for i in range(20 * HOSTS):
            network.failed(f"slow{i}.example{i}.org", second + 0.9)
        assert not network.down_since
        assert network.waits(second + 0.9, busy=True) == 0.0


def test_nobody_for_a_while_is_one_until_somebody_answers() -> None:
    network = Network()
    network.answered(100.0)
    for at in (101.0, 100.0 + QUIET):
        assert not network.down_since
        for i in range(HOSTS):
            network.failed(f"host{i}.example{i}.org", at)
    assert network.down_since == 101.0, "since the first that failed"
    assert network.waits(102.0 + QUIET, busy=True) > 102.0 + QUIET
    assert network.answered(200.0)
    assert network.waits(200.0, busy=True) == 0.0
