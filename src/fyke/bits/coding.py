"""Codes by name, and streams of several codes read by tables: the next bits give values and lengths at once.

``Code`` names a code of bits/codes.py with its parameter. ``Codes`` holds several with two tables each, whatever the
code: the next 11 bits give one number and its length, or up to four numbers and the length of all. Longer codewords
go through ``read_code``.

A *cursor* is (position, buffer, left): ``buffer`` holds the bits from ``position`` on, of which ``left`` are good.
Reading through one costs a shift and a table; reading at a position costs the fetch of two words besides. A cursor
begins as (position, 0, 0).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fyke.bits import stream
from fyke.bits.codes import read_code, total_len, write_all
from fyke.bits.jit import inlined, kernel, leaf
from fyke.bits.stream import peek

NAMES = ("unary", "gamma", "delta", "zeta", "golomb", "rice", "exp_golomb", "minimal")
PARAMETERS = {"zeta": (1, 16), "golomb": (1, 1 << 30), "rice": (0, 30), "exp_golomb": (0, 30), "minimal": (1, 1 << 30)}
"""Codes that take a parameter, with its least and greatest value."""
TABLE_BITS = 11
"""Of these tables several stay in the first-level cache, and few codewords of skewed streams are longer."""
SLACK = 3
"""Places after the last number that ``read_values`` may write to."""


@dataclass(frozen=True, slots=True)
class Code:
    """A code with its parameter: ``str(Code.parse("zeta3")) == "zeta3"``."""

    name: str
    parameter: int = 0

    def __post_init__(self) -> None:
        low, high = PARAMETERS.get(self.name, (0, 0))
        if self.name not in NAMES or not low <= self.parameter <= high:
            raise ValueError(f"not a code: {str(self)!r}; write one of {', '.join(NAMES)}, as in gamma, zeta3 or rice4")

    @classmethod
    def parse(cls, text: str) -> Code:
        """Return the code called ``text``, as in ``delta`` or ``zeta3``. Raises ``ValueError``."""
        match = re.fullmatch(r"([a-z_]+)(\d{0,10})", text)
        return cls(match[1], int(match[2] or 0)) if match else cls(text)

    def __str__(self) -> str:
        return self.name + (str(self.parameter) if self.name in PARAMETERS else "")

    @property
    def kind(self) -> int:
        """The number of the code in kernels."""
        return NAMES.index(self.name)

    def cost(self, values: NDArray[np.int64]) -> int:
        """Return the bits that ``values`` take."""
        return int(total_len(np.asarray(values, np.int64), self.kind, self.parameter))

    def encode(self, values: NDArray[np.int64]) -> tuple[stream.Words, int]:
        """Return ``values`` as a bit stream and its length in bits."""
        values = np.asarray(values, np.int64)
        words = stream.room_for(self.cost(values))
        return words, int(write_all(words, 0, values, self.kind, self.parameter))

    def decode(self, words: stream.Words, count: int, position: int = 0) -> NDArray[np.int64]:
        """Return the next ``count`` values of a stream."""
        values = np.empty(count + SLACK, np.int64)
        read_all(words, position, values, count, Codes.of([self]))
        return values[:count]


class Codes(NamedTuple):
    """Several codes, by number, as kernels take them."""

    kinds: NDArray[np.int64]
    parameters: NDArray[np.int64]
    ones: NDArray[np.uint32]
    """For each code and each start of 11 bits: value << 6 | length, or 0 where the codeword is longer."""
    fours: NDArray[np.uint64]
    """Up to four codewords: the values at bits 8, 22, 36 and 50, how many at bit 4 (0 for none), their length."""

    @classmethod
    def of(cls, codes: Sequence[Code]) -> Codes:
        """Return ``codes`` with their tables; the tables of a code are made once a process."""
        kinds = np.array([code.kind for code in codes], np.int64)
        parameters = np.array([code.parameter for code in codes], np.int64)
        tables = [_tables(code) for code in codes]
        return cls(kinds, parameters, np.stack([ones for ones, _ in tables]), np.stack([fours for _, fours in tables]))


@lru_cache(maxsize=256)
def _tables(code: Code) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
    ones, fours = np.zeros(1 << TABLE_BITS, np.uint32), np.zeros(1 << TABLE_BITS, np.uint64)
    fill_tables(ones, fours, code.kind, code.parameter)
    return ones, fours


@kernel
def fill_tables(ones: Any, fours: Any, kind: Any, parameter: Any) -> None:
    """Note value and length of the codewords at the start of every 11 bits, where they hold them whole."""
    words = np.zeros(2, np.uint64)
    for start in range(ones.size):
        words[0] = np.uint64(start) << np.uint64(64 - TABLE_BITS)
        end = np.int64(0)
        count = 0
        entry = np.uint64(0)
        while count < 4:
            value, after = read_code(words, end, kind, parameter)
            if after > TABLE_BITS or value >= 1 << 14:
                break
            if count == 0:
                ones[start] = np.uint32((value << 6) | after)
            entry |= np.uint64(value) << np.uint64(8 + 14 * count)
            end = after
            count += 1
        fours[start] = entry | np.uint64((count << 4) | end)


@inlined
def read(words: Any, position: Any, codes: Any, number: Any) -> Any:
    """Return (value, next position) of the next codeword, which is of ``codes``' code ``number``."""
    entry = codes.ones[number, peek(words, position) >> np.uint64(64 - TABLE_BITS)]
    if entry != 0:
        return np.int64(entry >> 6), position + np.int64(entry & 63)
    return read_code(words, position, codes.kinds[number], codes.parameters[number])


@inlined
def take(words: Any, position: Any, buffer: Any, left: Any, codes: Any, number: Any) -> Any:
    """Return (value, cursor): the next codeword, through a cursor."""
    if left < TABLE_BITS:
        buffer = peek(words, position)
        left = np.int64(64)
    entry = codes.ones[number, buffer >> np.uint64(64 - TABLE_BITS)]
    if entry != 0:
        length = np.int64(entry & 63)
        return np.int64(entry >> 6), position + length, buffer << np.uint64(length), left - length
    value, position = read_code(words, position, codes.kinds[number], codes.parameters[number])
    return np.int64(value), position, np.uint64(0), np.int64(0)


@inlined
def read_values(words: Any, position: Any, codes: Any, number: Any, count: Any, values: Any) -> Any:
    """Read ``count`` numbers into ``values``; return the next position. REQUIRES: SLACK places more in ``values``."""
    buffer, left = np.uint64(0), np.int64(0)
    i = np.int64(0)
    while i + 4 <= count:
        if left < TABLE_BITS:
            buffer = peek(words, position)
            left = np.int64(64)
        entry = codes.fours[number, buffer >> np.uint64(64 - TABLE_BITS)]
        if entry == np.uint64(0):
            values[i], position = read_code(words, position, codes.kinds[number], codes.parameters[number])
            i += 1
            left = np.int64(0)
            continue
        # All four, so that nothing depends on how many they are; what is too much is overwritten.
        values[i] = np.int64((entry >> np.uint64(8)) & np.uint64(0x3FFF))
        values[i + 1] = np.int64((entry >> np.uint64(22)) & np.uint64(0x3FFF))
        values[i + 2] = np.int64((entry >> np.uint64(36)) & np.uint64(0x3FFF))
        values[i + 3] = np.int64(entry >> np.uint64(50))
        length = np.int64(entry & np.uint64(15))
        i += np.int64((entry >> np.uint64(4)) & np.uint64(7))
        position += length
        buffer = buffer << np.uint64(length)
        left -= length
    while i < count:
        values[i], position, buffer, left = take(words, position, buffer, left, codes, number)
        i += 1
    return position


@leaf
def read_all(words: Any, position: Any, values: Any, count: Any, codes: Any) -> Any:
    """Read ``count`` numbers of the first code; return the next position. REQUIRES: SLACK places more."""
    return read_values(words, position, codes, 0, count, values)
