"""Mutations: what may happen to the bytes of a file, and what a hostile page may be made of. All from one generator."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

Files = dict[str, bytes]

_EDGES = sorted({value + d for k in (0, 4, 7, 8, 15, 16, 24, 31, 32, 40, 48, 62, 63, 64) for value in (1 << k,)
                 for d in (-1, 0, 1)})  # fmt: skip
"""Numbers at which counts, offsets and lengths go wrong."""
_NUMBER = re.compile(rb"-?\d{1,20}(?:\.\d+)?")
_WORDS: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 1e308, -0.0, "", "x", "\0", "\u202e", "../../../etc/passwd", "/", "0" * 400, [], {},
    [[]], [None] * 50, {"a": {"a": {"a": []}}}, "http://[::1", "(", "(a+)+$", "é" * 300,
)  # fmt: skip


def edge(chance: random.Random) -> int:
    """A number at an edge, of either sign, or a small one."""
    value = chance.choice(_EDGES) if chance.random() < 0.7 else chance.randrange(300)
    return -value if chance.random() < 0.2 else value


def _flip(data: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(data))
    data[at] ^= 1 << chance.randrange(8)


def _set(data: bytearray, chance: random.Random) -> None:
    data[chance.randrange(len(data))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))


def _word(data: bytearray, chance: random.Random) -> None:
    """A whole number of 2, 4 or 8 bytes, at its boundary as often as not."""
    size = chance.choice((2, 4, 8))
    if len(data) < size:
        return
    at = chance.randrange(len(data) - size + 1)
    at -= at % size if chance.random() < 0.5 else 0
    order = "little" if chance.random() < 0.8 else "big"
    data[at : at + size] = (edge(chance) % (1 << 8 * size)).to_bytes(size, order)  # type: ignore[arg-type]


def _written(data: bytearray, chance: random.Random) -> None:
    """A number that stands there in digits."""
    found = [*_NUMBER.finditer(data)]
    if found:
        one = chance.choice(found)
        data[one.start() : one.end()] = str(edge(chance)).encode()


def _cut(data: bytearray, chance: random.Random) -> None:
    del data[chance.randrange(len(data)) :]


def _remove(data: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(data))
    del data[at : at + chance.choice((1, 2, 8, 64, 4096))]


def _repeat(data: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(data))
    some = data[at : at + chance.choice((1, 8, 64, 512))]
    data[at:at] = some * chance.choice((1, 2, 30))


def _insert(data: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(data) + 1)
    data[at:at] = chance.randbytes(chance.choice((1, 4, 8, 100)))


def _deep(data: bytearray, chance: random.Random) -> None:
    """Nesting without an end: what calls itself for each level runs out of stack."""
    at = chance.randrange(len(data) + 1)
    data[at:at] = chance.choice((b"[", b'{"a":', b"\x91", b"\x81\xa1a", b"(", b"<b>")) * chance.choice(
        (200, 2000, 20_000)
    )


_CHANGES: tuple[Callable[[bytearray, random.Random], None], ...] = (
    _flip, _flip, _set, _set, _word, _word, _word, _written, _cut, _remove, _repeat, _insert, _deep,
)  # fmt: skip


def damaged(data: bytes, chance: random.Random, other: bytes = b"") -> bytes:
    """Bytes with a few changes, some of them of the form that JSON and MessagePack give them."""
    if chance.random() < 0.5 and (told := _retold(data, chance)) is not None:
        return told
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        if not changed:
            changed += chance.randbytes(8)
        chance.choice(_CHANGES)(changed, chance)
    if other and chance.random() < 0.05:  # the beginning of one, the end of another
        changed[chance.randrange(len(changed) + 1) :] = other[chance.randrange(len(other)) :]
    return bytes(changed)


def _retold(data: bytes, chance: random.Random) -> bytes | None:
    """What JSON or MessagePack says, with another value somewhere; None where it is neither."""
    line, newline, rest = data.partition(b"\n")
    for decode, encode in ((json.loads, _json), (msgspec.msgpack.decode, msgspec.msgpack.encode)):
        for part, behind in ((data, b""), (line, newline + rest)):
            try:
                value = decode(part)
                if isinstance(value, (dict, list)):
                    return encode(_changed(value, chance)) + behind
            except (ValueError, TypeError, RecursionError, msgspec.MsgspecError, OverflowError):
                continue
    return None


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def _changed(value: Any, chance: random.Random) -> Any:
    """A tree with one leaf or branch exchanged, removed or doubled."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice([*value])
        if chance.random() < 0.1:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: _changed(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.9:
        at = chance.randrange(len(value))
        if chance.random() < 0.2:
            return value[:at] + value[at + 1 :] if chance.random() < 0.5 else value[: at + 1] + value[at:]
        return [*value[:at], _changed(value[at], chance), *value[at + 1 :]]
    if isinstance(value, bytes):
        return damaged(value, chance) if value else b"\0" * 7
    if isinstance(value, int) or chance.random() < 0.4:
        return max(-(2**63), min(edge(chance), 2**64 - 1))
    return chance.choice(_WORDS)


def hostile(samples: Sequence[bytes], pieces: Sequence[bytes], chance: random.Random) -> bytes:
    """A page: a damaged sample, a heap of pieces, one piece very often, or one within the other very deep."""
    way = chance.randrange(5)
    if way <= 1:
        return damaged(chance.choice(samples), chance, chance.choice(samples))
    if way == 2:
        return b"".join(chance.choice(pieces) for _ in range(chance.choice((3, 30, 300, 3000))))
    if way == 3:
        some = b"".join(chance.choice(pieces) for _ in range(chance.choice((1, 2, 3))))
        whole = some * (chance.choice((1000, 30_000, 300_000)) // max(1, len(some)))
        return whole if chance.random() < 0.5 else chance.choice(samples) + whole
    sample = chance.choice(samples)
    at = chance.randrange(len(sample) + 1)
    return sample[:at] + b"".join(chance.choice(pieces) for _ in range(chance.choice((1, 5, 50)))) + sample[at:]
