"""Near copies over machines: the sketch of a page goes to the nodes that three of its minima name.

Each node has an index (fyke.crawl.duplicates.near) of what it was asked about. Two texts of Jaccard J agree in one of
three minima with probability 1 − (1 − J)³: .992 at .8, .999 at .9. The node of a minimum is chosen by rendezvous
(Thaler and Ravishankar 1998): where nodes come and go, only their own share moves.

Of two copies that are asked about at once each must not be called the other's. So of all nodes that know both one
decides: that of the first minimum in which they agree (``LookAlikes.ask_sketches``).
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache

import msgspec
import xxhash

from fyke.crawl.duplicates.near import ASK, PLACES, Answer, Asked
from fyke.dedupe.index import SAME_TEXT
from fyke.dedupe.sketch import Sketch
from fyke.errors import UNREADABLE

PATIENCE = 5.0
"""Seconds that an answer of another node is waited for; two of three answers find nearly as much."""

AskNode = Callable[[str, bytes], Awaitable[bytes]]
"""Asks the index of a node: encoded ``Asked`` in, encoded answers out, empty where it does not answer."""

_decode_sketches = msgspec.msgpack.Decoder(list[Sketch]).decode
_decode_answers = msgspec.msgpack.Decoder(list[Answer]).decode
_encode = msgspec.msgpack.Encoder().encode


class Routing:
    """Which of ``nodes`` know the copies of a text."""

    def __init__(self, nodes: Sequence[str]) -> None:
        self.nodes = tuple(sorted(nodes))
        self._owner = lru_cache(1 << 16)(self._choose)

    def _choose(self, minimum: bytes) -> str:
        return max(self.nodes, key=lambda node: xxhash.xxh3_64_intdigest(minimum + node.encode()))

    def places(self, sketch: Sketch) -> dict[str, int]:
        """The nodes to ask, and for which minima: bit j stands for minimum j."""
        found: dict[str, int] = defaultdict(int)
        for place in range(PLACES):
            found[self._owner(bytes((place,)) + sketch.signature[2 * place : 2 * place + 2])] |= 1 << place
        return found


async def ask(data: bytes, routing: Routing, ask_node: AskNode) -> bytes:
    """Ask what an agent sent (``ASK`` or ``FEED``, then sketches); return the answers, empty where one is missing."""
    kind = data[:1]
    try:
        sketches = _decode_sketches(data[1:])
    except UNREADABLE:
        return b""
    shares: dict[str, list[int]] = defaultdict(list)
    asked: dict[str, list[Asked]] = defaultdict(list)
    for number, sketch in enumerate(sketches):
        for node, places in routing.places(sketch).items():
            shares[node].append(number)
            asked[node].append((sketch, places))
    told = await asyncio.gather(*(_ask(ask_node, node, kind + _encode(asked[node])) for node in shares))
    if kind != ASK:
        return _encode(all(said is not None for said in told))
    best = [Answer()] * len(sketches)
    heard: set[int] = set()
    for numbers, said in zip(shares.values(), told, strict=True):
        for number, answer in zip(numbers, said or (), strict=False):
            heard.add(number)
            best[number] = max(best[number], answer, key=_strength)
    return _encode(best) if len(heard) == len(sketches) else b""


async def _ask(ask_node: AskNode, node: str, data: bytes) -> list[Answer] | None:
    try:
        async with asyncio.timeout(PATIENCE):
            said = await ask_node(node, data)
        return _decode_answers(said) if said else None
    except (OSError, TimeoutError, *UNREADABLE):
        return None


def _strength(answer: Answer) -> tuple[bool, float, str]:
    return answer.method == SAME_TEXT, answer.similarity, answer.original
