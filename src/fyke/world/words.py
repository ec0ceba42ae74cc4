"""Words and sentences: Zipfian vocabularies per language and topic, and paragraphs drawn from them.

The r-th word of a vocabulary has probability ∝ 1/(r + 2.7) (Zipf's law with Mandelbrot's shift). A table holds
each word as often as that, so one draw is one index. Sentences alternate function and content words; content
is two parts topic to one part general.
"""

from __future__ import annotations

import struct
from functools import cache, lru_cache

from fyke.world.chance import draw, stream
from fyke.world.languages import LANGUAGES, TOPICS, Language

SLOTS = 4096
"""Slots of a table: fine enough that a vocabulary of 400 words keeps its rarest ones."""

SHIFT = 2.7
TOPIC_WORDS, GENERAL_WORDS = 220, 260
MOST_WORDS, LEAST_WORDS = 17, 6


def paragraph(language: str, topic: str, words: int, *page: int | str) -> str:
    """A paragraph of about ``words`` words, a pure function of its arguments. Ends with a full stop."""
    speech = LANGUAGES[language]
    function, content = _function_table(language), _content_table(language, topic)
    raw = struct.unpack(f"<{words}H", stream(2 * words, language, topic, words, *page))
    # A function word stands at every other place, but gives way to a content word one time in four.
    chosen = [
        function[r & 4095] if i & 1 == 0 and r < 49152 else content[r & 4095]
        for i, r in enumerate(raw)
    ]  # fmt: skip
    for i in range(1, words):
        if chosen[i] == chosen[i - 1]:
            chosen[i] = content[raw[i] >> 4]
    sentences, at, k = [], 0, 0
    while at < words:
        size = LEAST_WORDS + raw[k] % (MOST_WORDS - LEAST_WORDS)
        if words - at - size < LEAST_WORDS:
            size = words - at
        sentences.append(_sentence(chosen[at : at + size], raw[k], speech))
        at, k = at + size, k + 1
    return speech.stop.join(sentences) + speech.stop.rstrip()


def _sentence(words: list[str], bits: int, speech: Language) -> str:
    first = words[0]
    words[0] = first[:1].upper() + first[1:]
    if len(words) > 9:
        cut = 4 + bits % 4
        return speech.space.join(words[:cut]) + speech.comma + speech.space.join(words[cut:])
    return speech.space.join(words)


@lru_cache(maxsize=65_536)
def title(language: str, topic: str, bits: int) -> str:
    """A title of three to six content words. REQUIRES: ``bits`` are 64 uniform ones."""
    table, speech = _content_table(language, topic), LANGUAGES[language]
    words = [table[(bits >> 12 * k) & 4095] for k in range(3 + (bits >> 60) % 3)]
    words = [w for k, w in enumerate(words) if w not in words[:k]]
    return speech.space.join(w[:1].upper() + w[1:] for w in words)


def content_word(language: str, topic: str, bits: int) -> str:
    """One content word."""
    return _content_table(language, topic)[bits & 4095]


@cache
def vocabulary(language: str, topic: str) -> tuple[str, ...]:
    """The words of a topic in a language, the commonest first; ``general`` is every topic's."""
    speech = LANGUAGES[language]
    if topic == "general":
        real, size = list(speech.general), GENERAL_WORDS
    else:
        real, size = [], TOPIC_WORDS
        if language == "en":
            nouns = TOPICS[topic]
            real = [*nouns, *(_plural(noun) for noun in nouns)]
    words = dict.fromkeys(real)
    k = 0
    while len(words) < size:
        words.setdefault(_made_word(speech, topic, k))
        k += 1
    return tuple(words)


def _plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2] not in "aeo":
        return noun[:-1] + "ies"
    return noun if noun.endswith("s") else noun + ("es" if noun.endswith(("x", "ch", "sh")) else "s")


def _made_word(speech: Language, topic: str, k: int) -> str:
    bits = draw("word", speech.code, topic, k)
    least, most = speech.syllables_per_word
    count = least + bits % (most - least + 1)
    return "".join(speech.syllables[(bits >> 8 + 8 * j) % 256 % len(speech.syllables)] for j in range(count))


@cache
def _function_table(language: str) -> list[str]:
    return _zipf(LANGUAGES[language].function, SLOTS)


@cache
def _content_table(language: str, topic: str) -> list[str]:
    topical = _zipf(vocabulary(language, topic), SLOTS * 2 // 3)
    return topical + _zipf(vocabulary(language, "general"), SLOTS - len(topical))


def _zipf(words: tuple[str, ...], slots: int) -> list[str]:
    """``slots`` words, the r-th of ``words`` in proportion to 1/(r + SHIFT) and each at least once."""
    harmonic = sum(1 / (r + SHIFT) for r in range(1, len(words) + 1))
    spare = slots - len(words)
    table: list[str] = []
    for r, word in enumerate(words, 1):
        table += [word] * (1 + int(spare / ((r + SHIFT) * harmonic)))
    return table + list(words[: slots - len(table)])  # what rounding left over
