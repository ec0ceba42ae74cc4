from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.bits import codes, stream
from fyke.bits.coding import Code

ALL = ["unary", "gamma", "delta", "zeta1", "zeta2", "zeta3", "zeta7", "golomb1", "golomb3", "golomb10", "golomb16"]
LARGE = ["gamma", "delta", "zeta2", "zeta3", "zeta5", "exp_golomb5"]
ALL += ["rice0", "rice4", "exp_golomb0", "exp_golomb3", "minimal1000"]

# Computed by hand from the definitions; ζ₃ and γ also stand in Boldi and Vigna's tables.
BY_HAND = {
    "unary": ["1", "01", "001", "0001"],
    "gamma": ["1", "010", "011", "00100", "00101", "00110", "00111", "0001000"],
    "delta": ["1", "0100", "0101", "01100", "01101", "01110", "01111", "00100000"],
    "zeta2": ["10", "110", "111", "01000", "01001", "01010", "01011", "011000"],
    "zeta3": ["100", "1010", "1011", "1100", "1101", "1110", "1111", "0100000"],
    "golomb3": ["10", "110", "111", "010", "0110", "0111", "0010"],
    "rice2": ["100", "101", "110", "111", "0100"],
    "exp_golomb1": ["10", "11", "0100", "0101", "0110"],
    "minimal5": ["00", "01", "10", "110", "111"],
}


def bits(code: Code, value: int) -> str:
    words, length = code.encode(np.array([value]))
    return "".join(f"{w:064b}" for w in words.tolist())[:length]


@pytest.mark.kernel
@pytest.mark.parametrize("name", BY_HAND)
def test_codewords_by_hand(name: str) -> None:
    code = Code.parse(name)
    assert [bits(code, n) for n in range(len(BY_HAND[name]))] == BY_HAND[name]
    values = np.arange(len(BY_HAND[name]))
    words, length = code.encode(values)
    assert length == code.cost(values) == sum(map(len, BY_HAND[name]))
    assert code.decode(words, len(values)).tolist() == values.tolist()


@pytest.mark.kernel
def test_nu_maps_integers_to_naturals() -> None:
    assert [codes.nat(x) for x in (0, -1, 1, -2, 2, -3, 3)] == list(range(7))
    assert [codes.integer(n) for n in range(7)] == [0, -1, 1, -2, 2, -3, 3]


@pytest.mark.parametrize("name", ALL)
def test_round_trip_of_all_small_numbers_and_code_lengths(name: str) -> None:
    code = Code.parse(name)
    values = np.arange(1000 if name.startswith(("minimal", "unary")) else 70_000)
    if code.name in {"golomb", "rice"}:
        values = values[:5000]
    words, length = code.encode(values)
    assert length == code.cost(values)
    assert np.array_equal(code.decode(words, values.size), values)


@given(st.lists(st.integers(0, 2**60 - 2)), st.sampled_from(LARGE))
def test_round_trip_of_large_numbers(values: list[int], name: str) -> None:
    code = Code.parse(name)
    words, length = code.encode(np.array(values, np.int64))
    assert code.decode(words, len(values)).tolist() == values
    again = stream.from_bytes(stream.to_bytes(words, length))
    assert code.decode(again, len(values)).tolist() == values, "the byte form keeps every bit"


@pytest.mark.kernel
@pytest.mark.parametrize("name", [*ALL, "exp_golomb12", "exp_golomb30", "rice30"])
def test_any_bits_decode_to_naturals(name: str) -> None:
    """A negative number of a damaged stream would send its reader out of its arrays."""
    chance = np.random.default_rng(7)
    code = Code.parse(name)
    long_prefix = np.array([7, 2**64 - 1, 2**64 - 1, 0], np.uint64)
    for words in (np.zeros(3, np.uint64), chance.integers(0, 2**63, 4).astype(np.uint64), np.full(2, 1, np.uint64),
                  long_prefix):  # fmt: skip
        values = code.decode(words, 40)
        assert values.size == 40
        assert (values >= 0).all()


@pytest.mark.kernel
def test_bits_are_copied_at_any_alignment() -> None:
    source = np.random.default_rng(1).integers(0, 2**63, 8).astype(np.uint64)
    text = "".join(f"{w:064b}" for w in source.tolist())
    for start, count, position in ((0, 100, 3), (61, 131, 64), (5, 0, 9), (130, 200, 127)):
        target = np.zeros(8, np.uint64)
        assert stream.copy_bits(source, start, count, target, position) == position + count
        copied = "".join(f"{w:064b}" for w in target.tolist())
        assert copied[position : position + count] == text[start : start + count]
        assert "1" not in copied[:position] + copied[position + count :]


@pytest.mark.parametrize("name", ["", "zeta", "zeta0", "zeta17", "gamma3", "huffman", "golomb0", "rice31", "ζ3"])
def test_foreign_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="not a code"):
        Code.parse(name)


def test_names_round_trip() -> None:
    assert [str(Code.parse(name)) for name in ALL] == ALL
