"""One politeness for each address over machines: gaps grow with the machines that use it."""

from __future__ import annotations

from pathlib import Path

from fyke.crawl.politeness.addresses import AddressUse, count, counts_for
from fyke.crawl.politeness.gate import Gate
from fyke.frontier.politeness import Politeness


def beat(*tables: AddressUse) -> None:
    """All nodes beat once."""
    told = [table.recent() for table in tables]
    for table, mine in zip(tables, told, strict=True):
        table.learn(mine, counts_for(mine, count(told)))


def test_a_first_contact_waits_until_all_machines_know_of_it(tmp_path: Path) -> None:
    one, other = AddressUse(tmp_path / "one"), AddressUse(tmp_path / "other")
    assert one.machines(7) == 0
    beat(one, other)
    assert one.machines(7) == 0, "the others have not heard of it"
    beat(one, other)
    assert one.machines(7) == 1
    assert other.machines(7) == 0
    beat(one, other)
    assert one.machines(7) == 2, "it is told before the other begins"
    beat(one, other)
    assert other.machines(7) == 2
    assert one.machines(8) == 0, "another address"


def test_agents_of_a_machine_share_the_table(tmp_path: Path) -> None:
    node, agent = AddressUse(tmp_path / "one"), AddressUse(tmp_path / "one")
    agent.machines(5)
    beat(node)
    beat(node)
    assert agent.machines(5) == 1


def test_the_gap_of_an_address_grows_with_the_machines() -> None:
    number = [1]
    gate = Gate(Politeness(1.0), 60.0, address_of=lambda host: "10.0.0.1", machines=lambda key: number[0])
    assert gate.enter("a.test", 100.0) == 0.0
    assert gate.enter("b.test", 100.0) == 100.2
    gate.leave("a.test", 100.0)
    number[0] = 3
    again = Gate(Politeness(1.0), 60.0, address_of=lambda host: "10.0.0.1", machines=lambda key: number[0])
    assert again.enter("a.test", 100.0) == 0.0
    assert abs(again.enter("b.test", 100.0) - 100.6) < 1e-6
    number[0] = 0
    assert again.enter("c.test", 200.0) > 200.0, "nobody knows yet how many there are"
