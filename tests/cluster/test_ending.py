"""The end of a crawl over machines: told once all have rested at one moment, and never before."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from fyke.cluster.ending import NEVER, Quiet, Rounds
from fyke.crawl.run.board import Heartbeat


@dataclass
class Agent:
    """One agent on one node: it works off what it has, and may send a letter for each piece."""

    work: int = 0
    received: int = 0
    pages: int = 0
    beats: float = 0.0
    outbox: list[int] = field(default_factory=list)
    sign: Heartbeat = field(default_factory=Heartbeat)
    quiet: Quiet = field(default_factory=Quiet)
    round: int = 0
    said: tuple[int, int] = NEVER

    def beat(self) -> None:
        self.beats += 1
        resting = not self.work and not self.outbox
        self.sign = Heartbeat(self.beats, 1.0 if resting else 0.0, self.received, self.pages)


STEPS = st.lists(st.tuples(st.sampled_from(["work", "deliver", "beat", "report", "hear"]), st.integers(0, 2)))


@given(STEPS, st.lists(st.integers(0, 2), max_size=20))
def test_never_before_all_rest(steps: list[tuple[str, int]], letters: list[int]) -> None:
    agents, rounds, left, now = [Agent(work=2), Agent(), Agent()], Rounds(), list(letters), 1
    for what, number in steps:
        agent = agents[number]
        if what == "work" and agent.work:
            agent.work -= 1
            agent.pages += 1
            if left:
                agent.outbox.append(left.pop())
        elif what == "deliver" and agent.outbox:  # taken in there, and acknowledged here, at one moment
            other = agents[agent.outbox.pop(0)]
            other.work += 1
            other.received += 1
        elif what == "beat":
            agent.beat()
        elif what == "report":
            agent.said = agent.quiet.look([agent.sign], agent.round)
            ended = rounds.look([each.said for each in agents])
            now = rounds.now
            assert not ended or not any(each.work or each.outbox for each in agents)
        elif what == "hear":
            agent.round = now


def test_it_is_told_when_all_rest() -> None:
    agents, rounds = [Agent(), Agent()], Rounds()
    told = []
    for agent in agents * 10:
        agent.beat()
        agent.said = agent.quiet.look([agent.sign], agent.round)
        told.append(rounds.look([each.said for each in agents]))
        agent.round = rounds.now
    assert any(told), "all rest, and nobody says so"


def test_a_node_without_agents_is_quiet() -> None:
    quiet = Quiet()
    assert quiet.look([], 1) == (2, 1)
    assert quiet.look([], 4) == (2, 4)


def test_agents_that_are_started_anew_are_not_quiet() -> None:
    quiet = Quiet()
    resting = Heartbeat(1.0, 5.0, 0, 0)
    quiet.look([resting], 1)
    quiet.moved()
    since, _ = quiet.look([Heartbeat(2.0, 5.0, 0, 0)], 3)
    assert since == 4
