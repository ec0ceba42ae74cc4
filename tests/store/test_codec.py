"""Codecs: what was encoded is decoded, whatever became of the settings; damage is named."""

from __future__ import annotations

import contextlib
import gzip
import random

import brotli
import hypothesis.strategies as st
import pytest
import zstandard
from hypothesis import given

from fyke.errors import StorageError
from fyke.formats.http_body import CODINGS
from fyke.store import codec as module
from fyke.store.codec import Codec, Codecs, as_sent, dictionary_id, is_worth, may_be_worth, train
from fyke.values import Coded

SAMPLES = [b"<html><nav>home about contact</nav><p>%d %d</p></html>" % (n, n * n) * 20 for n in range(200)]
MADE = train(SAMPLES, 16_000)
assert MADE is not None
KNOWN = {dictionary_id(MADE): MADE}
CODECS = Codecs()


@given(st.sampled_from(list(Codec)), st.binary(max_size=300) | st.sampled_from(SAMPLES), st.booleans())
def test_round_trip(codec: Codec, data: bytes, with_dictionary: bool) -> None:
    identity = next(iter(KNOWN)) if with_dictionary else b""
    value = CODECS.encode(codec, data, identity, KNOWN.get)
    assert Codecs().decode(value, KNOWN.get) == data
    if len(data) >= 64 and codec is Codec.DICTIONARY:
        assert value[0] == (3 if with_dictionary else 2)


def compressed(coding: str, body: bytes) -> bytes:
    if coding == "gzip":
        return gzip.compress(body)
    return brotli.compress(body) if coding == "br" else zstandard.compress(body)


@given(st.sampled_from(CODINGS), st.binary(max_size=300) | st.sampled_from(SAMPLES), st.binary(max_size=99), st.data())
def test_a_body_stays_as_it_was_sent(coding: str, body: bytes, heads: bytes, data: st.DataObject) -> None:
    value = as_sent(heads, Coded(coding, compressed(coding, body)))
    assert CODECS.decode(value, KNOWN.get) == heads + body
    cut = data.draw(st.integers(0, len(value) - 1))
    with contextlib.suppress(StorageError):
        assert len(CODECS.decode(value[:cut], KNOWN.get)) <= len(heads + body)
    with pytest.raises(StorageError, match="decompressed"):
        CODECS.decode(as_sent(heads, Coded(coding, b"no such thing")), KNOWN.get)


@given(st.binary(max_size=60))
def test_damage_is_an_error_or_bytes_but_no_crash(value: bytes) -> None:
    try:
        CODECS.decode(value, KNOWN.get)
    except StorageError as error:
        assert "fyke store check" in str(error)  # noqa: PT017 - most random bytes are damaged, some are plain


def test_a_lying_length_does_not_ask_for_memory() -> None:
    frame = b"\x28\xb5\x2f\xfd\xe0" + (1 << 50).to_bytes(8, "little") + b"\0" * 20
    with pytest.raises(StorageError, match="claims more than"):
        CODECS.decode(b"\2" + frame, KNOWN.get)


def test_a_missing_dictionary_is_named() -> None:
    value = CODECS.encode(Codec.DICTIONARY, SAMPLES[0], next(iter(KNOWN)), KNOWN.get)
    with pytest.raises(StorageError, match="is missing"):
        Codecs().decode(value, lambda identity: None)


def test_too_little_makes_no_dictionary() -> None:
    assert train([], 16_000) is None
    assert train([b"x"] * 3, 16_000) is None


def test_dictionaries_at_hand_are_bounded_and_do_not_thrash(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice as many dictionaries as can be kept, used in turns: most pages go without, few are digested."""
    monkeypatch.setattr(module, "KEPT", 4 * 980_000)
    dictionaries = {}
    for n in range(8):
        made = train([sample + b"%d" % n for sample in SAMPLES], 8_000)
        assert made is not None
        dictionaries[dictionary_id(made)] = made
    assert len(dictionaries) == 8
    asked: list[bytes] = []

    def find(identity: bytes) -> bytes | None:
        asked.append(identity)
        return dictionaries[identity]

    codecs = Codecs()
    values = [codecs.encode(Codec.DICTIONARY, SAMPLES[0], i, find) for _ in range(40) for i in dictionaries]
    assert len(asked) <= 4 + 320 // module.PATIENCE + 1
    assert {value[0] for value in values} == {2, 3}
    assert all(codecs.decode(value, find) == SAMPLES[0] for value in values)


def test_a_dictionary_is_worth_it_where_pages_share_more_than_words() -> None:
    chance = random.Random(5)
    words = ["".join(chance.choices("abcdefghijklmnoprstuvw", k=chance.randint(2, 11))) for _ in range(5000)]
    noise = [" ".join(chance.choices(words, k=2000)).encode() for _ in range(40)]
    frame = " ".join(chance.choices(words, k=1800)).encode()
    site = [frame + " ".join(chance.choices(words, k=200)).encode() for _ in range(40)]
    for pages, worth in ((noise, False), (site, True)):
        dictionary = train(pages[:30], 64 << 10)
        assert dictionary is not None
        assert is_worth(dictionary, pages[30:]) is worth
        assert may_be_worth(pages[2:6], pages[:2]) is worth, "told without training"
