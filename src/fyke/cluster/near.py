"""Near copies over machines: the sketch of a page goes to the nodes that three of its minima name.

Each node has an index (fyke.crawl.duplicates.near) of what it was asked about. Two texts of Jaccard J agree in one of
three minima with probability 1 − (1 − J)³: .992 at .8, .999 at .9. The node of a minimum is chosen by rendezvous
(Thaler and Ravishankar 1998): where nodes come and go, only their own share moves.

Which of two copies is the original their ranks say, to whichever node and in whichever order they come. So every node
that knows both may tell, and where nodes have come or gone it is enough that all rows are asked about again.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from functools import lru_cache

import msgspec
import xxhash

from fyke.crawl.duplicates.near import ASK, Answer
from fyke.dedupe.index import SAME_TEXT
from fyke.dedupe.sketch import Sketch
from fyke.errors import UNREADABLE

PLACES = 3
"""Minima of a sketch that name the nodes to be asked about it."""
PATIENCE = 5.0
"""Seconds that an answer of another node is waited for; two of three answers find nearly as much."""

AskNode = Callable[[str, bytes], Awaitable[bytes]]
"""Asks the index of a node: encoded sketches in, encoded answers out, empty where it does not answer."""

_decode_sketches = msgspec.msgpack.Decoder(list[Sketch]).decode
_decode_answers = msgspec.msgpack.Decoder(list[Answer]).decode
_encode = msgspec.msgpack.Encoder().encode
_PAIR, _EMPTY = b"\x92", b"\x90"
"""MessagePack's beginning of two values, and the list of nothing: a pair of what was told and what is missing."""


class Routing:
    """Which of ``nodes`` know the copies of a text."""

    def __init__(self, nodes: Iterable[str], members: int = 0) -> None:
        """``members`` is another number where one of them has begun anew (``Registrar.members``)."""
        self.nodes, self._members = tuple(sorted(nodes)), members
        self._owner = lru_cache(1 << 16)(self._choose)

    @property
    def number(self) -> int:
        """Another one for each set of nodes, of 63 bits; 0 where there are none."""
        told = _encode((self.nodes, self._members))
        return xxhash.xxh3_64_intdigest(told) >> 1 if self.nodes else 0

    def follow(self, nodes: Iterable[str], members: int) -> Routing:
        """The routing among these nodes: this one, where they are the same."""
        changed = tuple(sorted(nodes)) != self.nodes or members != self._members
        return Routing(nodes, members) if changed else self

    def _choose(self, minimum: bytes) -> str:
        return max(self.nodes, key=lambda node: xxhash.xxh3_64_intdigest(minimum + node.encode()))

    def places(self, sketch: Sketch) -> list[str]:
        """The node of each minimum."""
        return [self._owner(bytes((place,)) + sketch.signature[2 * place : 2 * place + 2]) for place in range(PLACES)]


async def ask(data: bytes, routing: Routing, ask_node: AskNode) -> bytes:
    """Ask what an agent sent (``ASK`` or ``FEED``, then sketches); return what was told (``Told``), encoded.

    Empty where there is a new page of which nobody told, or nobody at all.
    """
    kind = data[:1]
    if len(routing.nodes) == 1:  # it is asked for all of them, and tells all: nothing is decoded on the way
        only = await _said(ask_node, routing.nodes[0], data)
        return only and _PAIR + only + _EMPTY
    try:
        sketches = _decode_sketches(data[1:])
    except UNREADABLE:
        return b""
    shares: dict[str, list[int]] = defaultdict(list)
    for number, sketch in enumerate(sketches):
        for node in set(routing.places(sketch)):
            shares[node].append(number)
    asked = [kind + _encode([sketches[number] for number in numbers]) for numbers in shares.values()]
    told = await asyncio.gather(*(_ask(ask_node, node, data) for node, data in zip(shares, asked, strict=True)))
    answers = [Answer()] * len(sketches)
    heard: set[int] = set()
    missing: set[int] = set()
    for numbers, said in zip(shares.values(), told, strict=True):
        (missing if said is None else heard).update(numbers)
        for number, answer in zip(numbers, said or (), strict=False):
            answers[number] = _both(answers[number], answer)
    return _encode((answers, sorted(missing))) if kind != ASK or len(heard) == len(sketches) else b""


async def _said(ask_node: AskNode, node: str, data: bytes) -> bytes:
    try:
        async with asyncio.timeout(PATIENCE):
            return await ask_node(node, data)
    except (OSError, TimeoutError):
        return b""


async def _ask(ask_node: AskNode, node: str, data: bytes) -> list[Answer] | None:
    said = await _said(ask_node, node, data)
    try:
        return _decode_answers(said) if said else None
    except UNREADABLE:
        return None


def _both(one: Answer, other: Answer) -> Answer:
    """What two nodes say of a page."""
    copies = tuple(dict.fromkeys((*one.copies, *other.copies)))
    return msgspec.structs.replace(max(one, other, key=_strength), copies=copies)


def _strength(answer: Answer) -> tuple[bool, float, str]:
    return answer.method == SAME_TEXT, answer.similarity, answer.original
