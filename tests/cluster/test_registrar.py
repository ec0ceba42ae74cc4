"""The registrar: never two leases for a tablet, whatever the network and the nodes do; and in the end an even share."""

from __future__ import annotations

import random
from math import inf

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from fyke.cluster.lease import Lease
from fyke.cluster.registrar import GRACE, LEASE, Beat, Registrar
from fyke.errors import UserError
from tests.cluster.virtual import VirtualCluster

TABLETS = 13


def assert_one_lease_each(cluster: VirtualCluster) -> None:
    for tablet, nodes in cluster.contacting().items():
        assert len(nodes) == 1, f"tablet {tablet} has {nodes} at {cluster.now}"


def assert_even(cluster: VirtualCluster) -> None:
    sizes = sorted(len(node.holds) for node in cluster.nodes.values())
    assert sum(sizes) == cluster.tablets
    assert sizes[-1] - sizes[0] <= 1
    assert sorted(cluster.contacting()) == list(range(cluster.tablets))


class Cluster(RuleBasedStateMachine):
    """Whatever happens to nodes, network and registrar, in any order."""

    @initialize(seed=st.integers(0, 2**32), nodes=st.integers(1, 5))
    def begin(self, seed: int, nodes: int) -> None:
        self.cluster = VirtualCluster(TABLETS, random.Random(seed))
        self.cluster.watch = lambda: assert_one_lease_each(self.cluster)
        for _ in range(nodes):
            self.cluster.join()

    @rule(seconds=st.floats(0.1, 20.0))
    def time_passes(self, seconds: float) -> None:
        self.cluster.run(seconds)

    @rule(
        what=st.sampled_from(["kill", "stop", "wake", "cut", "cut", "mend", "leave", "drain"]), which=st.integers(0, 9)
    )
    def something_happens_to_a_node(self, what: str, which: int) -> None:
        nodes = list(self.cluster.nodes.values())
        if nodes:
            getattr(self.cluster, what)(nodes[which % len(nodes)])

    @rule()
    def a_node_joins(self) -> None:
        if len(self.cluster.nodes) < 8:
            self.cluster.join()

    @rule(seconds=st.floats(0.0, 15.0))
    def the_registrar_is_started_anew(self, seconds: float) -> None:
        self.cluster.lose_registrar()
        self.cluster.run(seconds)
        self.cluster.restart_registrar()


TestCluster = Cluster.TestCase
TestCluster.settings = settings(max_examples=100, stateful_step_count=25, deadline=None)


@pytest.mark.parametrize("seed", range(5))
def test_when_nothing_more_happens_all_have_an_even_share(seed: int) -> None:
    chance = random.Random(seed)
    cluster = VirtualCluster(TABLETS * 7, chance, lossy=False)
    cluster.watch = lambda: assert_one_lease_each(cluster)
    for _ in range(5):
        cluster.join()
    for _ in range(12):
        cluster.run(chance.uniform(0, 20))
        nodes = list(cluster.nodes.values())
        act = chance.choice(["kill", "join", "join", "leave", "stop", "cut"])
        if act == "join" or len(nodes) < 2:
            cluster.join()
        else:
            getattr(cluster, act)(chance.choice(nodes))
    for node in cluster.nodes.values():
        cluster.wake(node)
        cluster.mend(node)
    cluster.run(60)
    assert_even(cluster)
    before = cluster.opened.copy()
    cluster.run(60)
    assert cluster.opened == before, "nothing moves where nothing changes"


def test_a_dead_nodes_tablets_are_taken_over_after_the_lease_and_no_sooner() -> None:
    cluster = VirtualCluster(12, random.Random(1), lossy=False)
    nodes = [cluster.join() for _ in range(3)]
    cluster.run(30)
    assert_even(cluster)
    lost = set(nodes[0].holds)
    cluster.kill(nodes[0])
    cluster.run(LEASE)
    assert not lost & set(cluster.contacting())
    cluster.run(GRACE + 2.5)
    assert_even(cluster)


def test_known_exits_do_not_wait() -> None:
    cluster = VirtualCluster(12, random.Random(1), lossy=False)
    nodes = [cluster.join() for _ in range(3)]
    cluster.run(30)
    cluster.leave(nodes[0])
    cluster.run(1.5)
    assert_even(cluster)


def test_a_joining_node_gets_its_share_and_nobody_else_moves_anything() -> None:
    cluster = VirtualCluster(64, random.Random(2), lossy=False)
    for _ in range(4):
        cluster.join()
    cluster.run(40)
    assert_even(cluster)
    before = cluster.opened.copy()
    new = cluster.join()
    cluster.run(30)
    assert_even(cluster)
    assert cluster.opened - before == {new.name: len(new.holds)}


def test_a_drained_node_has_nothing_left_and_gets_nothing() -> None:
    cluster = VirtualCluster(20, random.Random(3), lossy=False)
    nodes = [cluster.join() for _ in range(4)]
    cluster.run(30)
    cluster.drain(nodes[0])
    cluster.run(20)
    assert not nodes[0].holds
    assert sorted(len(node.holds) for node in nodes[1:]) == [6, 7, 7]


def test_a_registrar_that_is_started_anew_leaves_the_tablets_where_they_are() -> None:
    cluster = VirtualCluster(64, random.Random(4), lossy=False)
    nodes = [cluster.join() for _ in range(4)]
    cluster.run(60)
    held, before = {node.name: set(node.holds) for node in nodes}, cluster.opened.copy()
    cluster.lose_registrar()
    cluster.run(5)
    cluster.restart_registrar()
    cluster.run(2)
    assert cluster.contacting(), "leases of the former one still hold"
    cluster.run(LEASE + GRACE + 2)
    assert {node.name: set(node.holds) for node in nodes} == held
    assert cluster.opened == before
    assert_even(cluster)


@pytest.mark.parametrize("turn", [1, -1])
def test_of_two_that_hold_a_tablet_the_newer_claim_counts(turn: int) -> None:
    registrar = Registrar(2, 0.0, term=2)
    for beat in (Beat("zombie", 1, 1, holds={0: 5, 1: 6}), Beat("owner", 2, 1, holds={0: 9}))[::turn]:
        registrar.beat(beat, 1.0)
    registrar.look(LEASE + GRACE)
    assert registrar.owners() == {0: "owner", 1: "zombie"}


def test_a_lease_counts_from_when_the_beat_was_sent() -> None:
    """The answer was under way for nine seconds, of which the registrar knows nothing."""
    registrar, lease = Registrar(1, 0.0), Lease("one", 1, 1000.0)
    beat = lease.beat(1000.0, {})
    answer = registrar.beat(beat, 0.0)
    assert answer is not None
    lease.answered(beat.number, answer, 1009.0)
    assert lease.until({0}) == 1010.0
    assert not lease.is_lost(1038.0)
    assert lease.is_lost(1040.0)


def test_a_node_that_wakes_after_a_take_over_contacts_nobody_while_it_holds_what_others_have() -> None:
    registrar, lease = Registrar(2, 0.0), Lease("one", 1, 0.0)

    def answered(now: float, holds: dict[int, int]) -> None:
        beat = lease.beat(now, holds)
        answer = registrar.beat(beat, now)
        assert answer is not None
        lease.answered(beat.number, answer, now)

    answered(0.0, {})
    answered(1.0, {0: 1, 1: 2})
    assert lease.until({0, 1}) == 1.0 + LEASE
    registrar.beat(Beat("two", 2, 1), 20.0)  # the first one sleeps; the second has both tablets
    answered(21.0, {0: 1, 1: 2})
    assert lease.until({0, 1}) == -inf
    assert lease.until({}) == 21.0 + LEASE, "its agents stopped, it may begin with what it is given"


def test_what_a_node_does_not_know_of_it_has_not_released() -> None:
    """It is given two tablets and asked for one again before it hears of either; its next beat says nothing of them."""
    registrar, lease = Registrar(2, 0.0), Lease("one", 1, 0.0)
    first, second = lease.beat(0.0, {}), lease.beat(0.5, {})
    given = registrar.beat(first, 0.1)
    assert given is not None
    assert given.tablets == {0, 1}
    registrar.beat(Beat("two", 2, 1), 0.2)  # it joins, and is to have one of them
    registrar.beat(second, 0.6)
    other = registrar.beat(Beat("two", 2, 2), 0.7)
    assert other is not None
    assert not other.tablets
    lease.answered(first.number, given, 0.8)
    assert lease.until({0, 1}) == LEASE
    known = registrar.beat(lease.beat(1.0, {0: 1, 1: 1}), 1.1)
    assert known is not None
    (kept,) = known.tablets
    lease.answered(3, known, 1.2)
    registrar.beat(lease.beat(2.0, {kept: 1}), 2.1)
    other = registrar.beat(Beat("two", 2, 3), 2.2)
    assert other is not None
    assert other.tablets == {1 - kept}


@pytest.mark.parametrize("now", [-1e6, 0.0, 1e6])
def test_who_holds_what_another_node_has_may_contact_nobody_whatever_its_clock_says(now: float) -> None:
    registrar, lease = Registrar(2, 0.0), Lease("one", 1, now)
    registrar.beat(Beat("two", 2, 1), 0.0)
    answer = registrar.beat(lease.beat(now, {0: 1}), 0.1)
    assert answer is not None
    lease.answered(1, answer, now + 0.2)
    assert not answer.leased
    assert lease.until({0}) < now < lease.until(())


def test_a_beat_that_others_have_overtaken_is_not_heeded() -> None:
    registrar = Registrar(2, 0.0)
    assert registrar.beat(Beat("one", 1, 2), 0.0) is not None
    assert registrar.beat(Beat("one", 1, 1), 0.1) is None
    assert registrar.beat(Beat("one", 1, 2), 0.2) is None


def test_a_process_that_was_started_anew_waits_for_its_former_lease() -> None:
    registrar = Registrar(4, 0.0)
    first = registrar.beat(Beat("one", 1, 1), 0.0)
    assert first is not None
    assert first.tablets == {0, 1, 2, 3}
    again = registrar.beat(Beat("one", 2, 1), 5.0)
    assert again is not None
    assert again.waiting
    registrar.goodbye("one", 1, 5.0)  # somebody knows that it has ended
    again = registrar.beat(Beat("one", 2, 2), 5.1)
    assert again is not None
    assert again.tablets == {0, 1, 2, 3}


def test_a_node_of_another_version_is_refused_with_a_sentence() -> None:
    registrar = Registrar(4, 0.0, version="1.2")
    with pytest.raises(UserError, match=r"node one runs fyke 1\.1, the head 1\.2; install the same"):
        registrar.beat(Beat("one", 1, 1, version="1.1"), 0.0)


def test_a_node_that_a_new_registrar_does_not_hear_keeps_its_lease_alone() -> None:
    cluster = VirtualCluster(12, random.Random(6), lossy=False)
    cluster.watch = lambda: assert_one_lease_each(cluster)
    nodes = [cluster.join() for _ in range(3)]
    cluster.run(30)
    cluster.cut(nodes[0])
    cluster.lose_registrar()
    cluster.restart_registrar()
    cluster.run(LEASE - 2)
    assert nodes[0].name in {name for names in cluster.contacting().values() for name in names}
    cluster.run(LEASE)
    assert sorted(cluster.contacting()) == list(range(12))
