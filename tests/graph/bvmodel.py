"""The BV format of Boldi and Vigna in plain Python, as the model that fyke's writer must match bit by bit.

Written from the format's description (docs/graph.md), as strings of 0 and 1, one list at a time, with nothing of fyke
but the parameters. A list is: its length; how far back the list is that it copies from; which runs of that one are
copied; the rest as intervals and residuals. Of the lists in the window the one that costs least is copied, the nearest
of equals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from fyke.graph.properties import Parameters

Code = Callable[[int], str]


def unary(x: int) -> str:
    return "0" * x + "1"


def gamma(x: int) -> str:
    binary = f"{x + 1:b}"
    return unary(len(binary) - 1) + binary[1:]


def delta(x: int) -> str:
    binary = f"{x + 1:b}"
    return gamma(len(binary) - 1) + binary[1:]


def zeta(k: int) -> Code:
    def code(x: int) -> str:
        h = ((x + 1).bit_length() - 1) // k
        low, values = 1 << h * k, (1 << h * k + k) - (1 << h * k)
        return unary(h) + minimal_binary(x + 1 - low, values)

    return code


def minimal_binary(x: int, values: int) -> str:
    """One of ``values`` numbers: the first ones take a bit less, as many as there are words to spare."""
    bits = (values - 1).bit_length()
    spare = (1 << bits) - values
    return f"{x:0{bits - 1}b}" if x < spare and bits > 1 else "" if x < spare else f"{x + spare:0{bits}b}"


def natural(x: int) -> int:
    """An integer as a natural number: 0, -1, 1, -2, 2 …"""
    return 2 * x if x >= 0 else -2 * x - 1


@dataclass(frozen=True)
class Codes:
    """The code of each component."""

    outdegrees: Code
    references: Code
    block_count: Code
    blocks: Code
    residuals: Code
    offsets: Code

    @classmethod
    def of(cls, parameters: Parameters) -> Codes:
        named = {"GAMMA": gamma, "DELTA": delta, "UNARY": unary, "ZETA": zeta(parameters.zeta_k)}
        usual = {
            "OUTDEGREES": gamma, "REFERENCES": unary, "BLOCK_COUNT": gamma, "BLOCKS": gamma, "RESIDUALS": named["ZETA"],
            "OFFSETS": gamma,
        }  # fmt: skip
        for flag in filter(None, (word.strip() for word in parameters.flags.split("|"))):
            component, _, name = flag.rpartition("_")
            usual[component] = named[name]
        return cls(**{component.lower(): code for component, code in usual.items()})


def runs_copied(source: Sequence[int], target: frozenset[int]) -> list[int]:
    """The lengths of runs of ``source`` that are and are not in ``target``, in turn; the last goes without saying."""
    runs = [(kept, len(list(run))) for kept, run in groupby(source, target.__contains__)]
    first = [] if runs and runs[0][0] else [0]
    return [*first, *(length for _, length in runs)][:-1]


def intervals_and_rest(numbers: Sequence[int], shortest: int) -> tuple[list[tuple[int, int]], list[int]]:
    """Runs of consecutive numbers, at least ``shortest`` long, as (first, length), and the other numbers."""
    intervals, rest = [], []
    for _, group in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        if shortest and len(run) >= shortest:
            intervals.append((run[0], len(run)))
        else:
            rest += run
    return intervals, rest


def list_bits(node: int, own: Sequence[int], back: int, source: Sequence[int], codes: Codes, p: Parameters) -> str:
    """What stands for a list after its length, copied from that of ``back`` nodes before (0: from none)."""
    bits = codes.references(back) if p.window else ""
    extra = list(own)
    if back:
        runs = runs_copied(source, frozenset(own))
        bits += codes.block_count(len(runs))
        bits += "".join(codes.blocks(length - (place > 0)) for place, length in enumerate(runs))
        extra = [number for number in own if number not in set(source)]
    if not extra:
        return bits
    intervals, rest = intervals_and_rest(extra, p.min_interval)
    if p.min_interval:
        bits += gamma(len(intervals))
        end = None
        for first, length in intervals:
            bits += gamma(natural(first - node) if end is None else first - end - 1) + gamma(length - p.min_interval)
            end = first + length
    if rest:
        bits += codes.residuals(natural(rest[0] - node))
        bits += "".join(codes.residuals(later - sooner - 1) for sooner, later in pairwise(rest))
    return bits


def encode(adjacency: Sequence[Sequence[int]], parameters: Parameters) -> tuple[bytes, bytes, int]:
    """Return .graph, .offsets, and the bits of the former. REQUIRES: lists are sorted and repeat nothing."""
    codes = Codes.of(parameters)
    longest_chain = parameters.max_chain if parameters.max_chain >= 0 else len(adjacency)
    stream: list[str] = []
    offsets = [codes.offsets(0)]
    chains: list[int] = []
    for node, own in enumerate(adjacency):
        near = range(1, min(parameters.window, node) + 1)
        sources = [n for n in (node - back for back in near) if adjacency[n] and chains[n] < longest_chain]
        ways = [(list_bits(node, own, 0, (), codes, parameters), -1)]
        ways += [(list_bits(node, own, node - n, adjacency[n], codes, parameters), chains[n]) for n in sources]
        bits, chain = min(ways, key=lambda way: len(way[0])) if own else ("", -1)
        chains.append(chain + 1)
        stream.append(codes.outdegrees(len(own)) + bits)
        offsets.append(codes.offsets(len(stream[-1])))
    whole = "".join(stream)
    return as_bytes(whole), as_bytes("".join(offsets)), len(whole)


def as_bytes(bits: str) -> bytes:
    """Bits, the first the highest of its byte, filled up with zeros."""
    bits += "0" * (-len(bits) % 8)
    return int("1" + bits, 2).to_bytes(len(bits) // 8 + 1, "big")[1:]
