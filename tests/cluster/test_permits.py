"""Permits over machines: never more documents than are wanted, and in the end as many."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from fyke.cluster.permits import ANY, Permits, Spending

EVENTS = st.lists(st.tuples(st.sampled_from(["beat", "take", "keep", "drop", "die"]), st.integers(0, 2)), max_size=200)


@given(st.integers(1, 30), EVENTS)
def test_never_more_than_wanted_and_in_the_end_as_many(wanted: int, events: list[tuple[str, int]]) -> None:
    permits, nodes, documents = Permits(wanted, 0), {n: Spending() for n in range(3)}, 0

    def beat(number: int) -> None:
        told = nodes[number]
        told = replace(told, granted=permits.grant(str(number), told))
        if permits.wants_back(str(number)):
            free = told.granted - told.taken
            told = replace(told, taken=told.taken + free, returned=told.returned + free)
        nodes[number] = told

    for what, number in events:
        told = nodes[number]
        under_way = told.taken - told.documents - told.returned
        if what == "beat":
            beat(number)
        elif what == "take" and told.taken < told.granted:
            nodes[number] = replace(told, taken=told.taken + 1)
        elif what == "keep" and under_way:
            nodes[number] = replace(told, documents=told.documents + 1)
            documents += 1
        elif what == "drop" and under_way:
            nodes[number] = replace(told, taken=told.taken - 1)
        elif what == "die":
            permits.forget(str(number))
            nodes[number] = Spending()
        assert documents <= wanted
    for _ in range(60 * wanted):  # everybody works on what they may
        for number in range(2):
            told = nodes[number]
            came = told.granted - told.documents - told.returned
            documents += came
            nodes[number] = replace(told, taken=told.granted, documents=told.documents + came)
            beat(number)
        idle = nodes[2]  # one has nothing to do
        nodes[2] = replace(idle, taken=idle.documents + idle.returned)
        beat(2)
        if permits.reached(documents):
            break
    assert documents == wanted


def test_without_a_limit_there_are_as_many_as_anybody_likes() -> None:
    assert Permits(0, 0).grant("a", Spending()) == ANY
