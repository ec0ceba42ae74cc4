"""Instantaneous codes of natural numbers: unary, γ, δ, ζ, Golomb, Rice, Exp-Golomb, minimal binary.

Each code has ``len_*`` (bits), ``write_*`` (next position) and ``read_*`` (value, next position) over a bit stream
(fyke.bits.stream). The range is 0 ≤ n < 2³¹ for unary-prefixed codes with a small parameter and 0 ≤ n < 2⁶² in
general (ζ: while (h+1)k ≤ 62); all are written most significant bit first and agree bit for bit with
WebGraph's (dsiutils, dsi-bitstream). Whatever the bits, what is read is a natural number.

=============  ==========================================================  ===============================
code           n is written as                                              reference
=============  ==========================================================  ===============================
unary          n zeros, a one                                               (length n + 1)
gamma          unary(⌊log₂(n+1)⌋), the rest of n+1 in binary                Elias 1975
delta          gamma(⌊log₂(n+1)⌋), the rest of n+1 in binary                Elias 1975
zeta k         unary(h), minimal binary of n+1−2^(hk) below 2^((h+1)k)−2^(hk)  Boldi and Vigna 2005
golomb b       unary(n div b), minimal binary of n mod b below b            Golomb 1966
rice k         unary(n >> k), k low bits                                    Golomb with b = 2^k
exp_golomb k   gamma(n >> k), k low bits                                    Teuhola 1978
minimal b      ⌊log₂ b⌋ or ⌈log₂ b⌉ bits for 0 ≤ n < b                      truncated binary
=============  ==========================================================  ===============================

Where the code is chosen at run time it is two integers, its kind and its parameter (``read_code``). bits/coding.py
gives codes their names, and reads streams of them by tables.
"""

# ruff: noqa: D103 - the table below says what each code is, and the verbs are the same for all
from __future__ import annotations

from typing import Any

import numpy as np

from fyke.bits.jit import inlined, leading_zeros, leaf
from fyke.bits.stream import peek, read_bits, write_bits

UNARY, GAMMA, DELTA, ZETA, GOLOMB, RICE, EXP_GOLOMB, MINIMAL = range(8)
MOST = 1 << 62
"""What the upper part of a number is cut to: no code is written for more, but a damaged stream may say so."""


@inlined
def log2(n: Any) -> Any:
    """Return ⌊log₂ n⌋. REQUIRES: n > 0."""
    return 63 - leading_zeros(np.uint64(n))


# Unary. Length n + 1.


@inlined
def len_unary(n: Any) -> Any:
    return n + 1


@inlined
def write_unary(words: Any, position: Any, n: Any) -> Any:
    return write_bits(words, position + n, 1, 1)


@inlined
def read_unary(words: Any, position: Any) -> Any:
    word = peek(words, position)
    zeros = 0
    while word == np.uint64(0):
        zeros += 64
        if position + zeros >= words.size << 6:
            return zeros, position + zeros
        word = peek(words, position + zeros)
    zeros += leading_zeros(word)
    return zeros, position + zeros + 1


# Minimal binary: the first 2^⌈log₂ b⌉ − b numbers below b take one bit less than the others.


@inlined
def len_minimal(n: Any, bound: Any) -> Any:
    short = log2(bound)
    return short + (n >= (2 << short) - bound)


@inlined
def write_minimal(words: Any, position: Any, n: Any, bound: Any) -> Any:
    short = log2(bound)
    threshold = (2 << short) - bound
    if n < threshold:
        return write_bits(words, position, n, short)
    return write_bits(words, position, n + threshold, short + 1)


@inlined
def read_minimal(words: Any, position: Any, bound: Any) -> Any:
    short = log2(bound)
    threshold = (2 << short) - bound
    value, after = read_bits(words, position, short)
    if value < threshold:
        return value, after
    value, after = read_bits(words, position, short + 1)
    return value - threshold, after


# γ. Length 2⌊log₂(n+1)⌋ + 1; probability about 1/2n².


@inlined
def len_gamma(n: Any) -> Any:
    return 2 * log2(n + 1) + 1


@inlined
def write_gamma(words: Any, position: Any, n: Any) -> Any:
    width = log2(n + 1)
    return write_bits(words, position + width, n + 1, width + 1)


@inlined
def read_gamma(words: Any, position: Any) -> Any:
    word = peek(words, position)
    zeros = leading_zeros(word)
    if zeros < 32:
        return np.int64((word << np.uint64(zeros)) >> np.uint64(63 - zeros)) - 1, position + 2 * zeros + 1
    zeros = min(zeros, 62)
    value, position = read_bits(words, position + zeros, zeros + 1)
    return max(value, 1) - 1, position  # 0 beyond the end


# δ. Length about log₂ n + 2 log₂ log₂ n.


@inlined
def len_delta(n: Any) -> Any:
    width = log2(n + 1)
    return len_gamma(width) + width


@inlined
def write_delta(words: Any, position: Any, n: Any) -> Any:
    width = log2(n + 1)
    position = write_gamma(words, position, width)
    return write_bits(words, position, n + 1 - (1 << width), width)


@inlined
def read_delta(words: Any, position: Any) -> Any:
    width, position = read_gamma(words, position)
    width = min(width, 62)
    value, position = read_bits(words, position, width)
    return value + (1 << width) - 1, position


# ζ_k: a power law of exponent about 1 + 1/k. ζ₁ is γ.


@inlined
def len_zeta(n: Any, k: Any) -> Any:
    h = log2(n + 1) // k
    left = 1 << (h * k)
    return h + 1 + h * k + k - (n + 1 - left < left)


@inlined
def write_zeta(words: Any, position: Any, n: Any, k: Any) -> Any:
    h = log2(n + 1) // k
    left = 1 << (h * k)
    position = write_unary(words, position, h)
    if n + 1 - left < left:
        return write_bits(words, position, n + 1 - left, h * k + k - 1)
    return write_bits(words, position, n + 1, h * k + k)


@inlined
def read_zeta(words: Any, position: Any, k: Any) -> Any:
    word = peek(words, position)
    h = leading_zeros(word)
    width = h * k + k - 1
    position += h + 1
    if width > 61:  # no such code is written: a damaged stream, or its end
        return np.int64(0), position
    rest = word << np.uint64(h + 1) if h + width < 63 else peek(words, position)
    left = 1 << (h * k)
    value = np.int64((rest >> np.uint64(1)) >> np.uint64(63 - width))
    if value < left:
        return value + left - 1, position + width
    return np.int64((rest >> np.uint64(1)) >> np.uint64(62 - width)) - 1, position + width + 1


# Golomb and Rice: a geometric distribution.


@inlined
def len_golomb(n: Any, b: Any) -> Any:
    return n // b + 1 + len_minimal(n % b, b)


@inlined
def write_golomb(words: Any, position: Any, n: Any, b: Any) -> Any:
    return write_minimal(words, write_unary(words, position, n // b), n % b, b)


@inlined
def read_golomb(words: Any, position: Any, b: Any) -> Any:
    quotient, position = read_unary(words, position)
    rest, position = read_minimal(words, position, b)
    return min(quotient, MOST // b) * b + rest, position


@inlined
def len_rice(n: Any, k: Any) -> Any:
    return (n >> k) + 1 + k


@inlined
def write_rice(words: Any, position: Any, n: Any, k: Any) -> Any:
    return write_bits(words, write_unary(words, position, n >> k), n & ((1 << k) - 1), k)


@inlined
def read_rice(words: Any, position: Any, k: Any) -> Any:
    high, position = read_unary(words, position)
    low, position = read_bits(words, position, k)
    return (min(high, MOST >> k) << k) + low, position


# Exp-Golomb: γ for what exceeds k bits.


@inlined
def len_exp_golomb(n: Any, k: Any) -> Any:
    return len_gamma(n >> k) + k


@inlined
def write_exp_golomb(words: Any, position: Any, n: Any, k: Any) -> Any:
    return write_bits(words, write_gamma(words, position, n >> k), n & ((1 << k) - 1), k)


@inlined
def read_exp_golomb(words: Any, position: Any, k: Any) -> Any:
    high, position = read_gamma(words, position)
    low, position = read_bits(words, position, k)
    return (min(high, MOST >> k) << k) + low, position


# Any code, chosen at run time: the branch is the same for a whole stream, so it costs next to nothing.


@leaf
def len_code(n: Any, kind: Any, parameter: Any) -> Any:
    if kind == GAMMA:
        return len_gamma(n)
    if kind == ZETA:
        return len_zeta(n, parameter)
    if kind == DELTA:
        return len_delta(n)
    if kind == UNARY:
        return len_unary(n)
    if kind == GOLOMB:
        return len_golomb(n, parameter)
    if kind == RICE:
        return len_rice(n, parameter)
    if kind == EXP_GOLOMB:
        return len_exp_golomb(n, parameter)
    return len_minimal(n, parameter)


@leaf
def write_code(words: Any, position: Any, n: Any, kind: Any, parameter: Any) -> Any:
    if kind == GAMMA:
        return write_gamma(words, position, n)
    if kind == ZETA:
        return write_zeta(words, position, n, parameter)
    if kind == DELTA:
        return write_delta(words, position, n)
    if kind == UNARY:
        return write_unary(words, position, n)
    if kind == GOLOMB:
        return write_golomb(words, position, n, parameter)
    if kind == RICE:
        return write_rice(words, position, n, parameter)
    if kind == EXP_GOLOMB:
        return write_exp_golomb(words, position, n, parameter)
    return write_minimal(words, position, n, parameter)


@leaf
def read_code(words: Any, position: Any, kind: Any, parameter: Any) -> Any:
    if kind == GAMMA:
        return read_gamma(words, position)
    if kind == ZETA:
        return read_zeta(words, position, parameter)
    if kind == DELTA:
        return read_delta(words, position)
    if kind == UNARY:
        return read_unary(words, position)
    if kind == GOLOMB:
        return read_golomb(words, position, parameter)
    if kind == RICE:
        return read_rice(words, position, parameter)
    if kind == EXP_GOLOMB:
        return read_exp_golomb(words, position, parameter)
    return read_minimal(words, position, parameter)


# ν: integers to naturals, 0 −1 1 −2 2 … to 0 1 2 3 4 …


@inlined
def nat(x: Any) -> Any:
    """Return ν(x) = 2x for x ≥ 0, 2|x| − 1 for x < 0."""
    return 2 * x if x >= 0 else -2 * x - 1


@inlined
def integer(n: Any) -> Any:
    """Return the x with ν(x) = n."""
    return (n >> 1) ^ -(n & 1)


@leaf
def total_len(values: Any, kind: Any, parameter: Any) -> Any:
    total = 0
    for i in range(values.size):
        total += len_code(values[i], kind, parameter)
    return total


@leaf
def write_all(words: Any, position: Any, values: Any, kind: Any, parameter: Any) -> Any:
    for i in range(values.size):
        position = write_code(words, position, values[i], kind, parameter)
    return position
