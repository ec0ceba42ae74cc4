"""The end of a crawl over machines, by facts: at one moment nobody had anything to do, and nothing was in the mail.

What is in the mail is in its sender's outbox, and who has an outbox that is not empty does not rest. So it is enough
that there is a moment at which all agents rested. Clocks differ and reports are late, hence rounds: the head begins
round R once every node has confirmed R - 1, and a node confirms R when all its agents have shown themselves again since
it heard of R, resting and without having received anything since it began to be quiet. If it was quiet before it
confirmed R - 1, and confirms R, it was quiet when the head began R. Where that is true of all, that was the moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fyke.crawl.run.board import Heartbeat

NEVER = (0, -1)
"""What a node says that is not quiet."""


class Quiet:
    """A node's side: since which round its agents rest, and which round that confirms."""

    def __init__(self) -> None:
        self._signs: Sequence[Heartbeat] = ()
        self._since, self._confirmed = NEVER
        self._round = 0
        self._heard: Sequence[Heartbeat] = ()

    def look(self, signs: Sequence[Heartbeat], round_: int) -> tuple[int, int]:
        """See the agents' signs, knowing of ``round_``; return the rounds since which and up to which all was quiet."""
        if any(not sign.idle_until for sign in signs):
            self._signs, (self._since, self._confirmed) = (), NEVER
            return NEVER
        if self._since < 1 or list(map(_work, signs)) != list(map(_work, self._signs)):
            # Counted as of the next round: the head may have begun that already.
            self._since, self._confirmed, self._signs = round_ + 1, round_, signs
            self._round, self._heard = round_, signs
        if round_ != self._round:
            self._round, self._heard = round_, signs
        if all(now.beat > then.beat for now, then in zip(signs, self._heard, strict=True)):
            self._confirmed = round_
        return self._since, self._confirmed

    def moved(self) -> None:
        """The agents have been started anew, or have ended."""
        self._since, self._confirmed = NEVER


def _work(sign: Heartbeat) -> tuple[int, int]:
    return sign.received, sign.pages


class Rounds:
    """The head's side."""

    def __init__(self) -> None:
        self.now = 1
        """The round."""

    def look(self, told: Iterable[tuple[int, int]]) -> bool:
        """Take what every node last said (``Quiet.look``); return whether the crawl has ended.

        REQUIRES: they have all the tablets between them, and none of them is on the move.
        """
        said = list(told)
        if not said:
            return False
        least = min(confirmed for _, confirmed in said)
        if least == self.now and max(since for since, _ in said) < self.now:
            return True
        if least >= self.now:
            self.now += 1
        return False
