"""Which language a text is in, with a score: the only module that knows the detector.

The detector is CLD2 (pycld2; code and tables Apache 2.0, tables inside the package, nothing is downloaded): quadgrams
of letters, and the script alone where one language has it. bench/language.py measures it beside ten others.
A code is ISO 639: two letters where there are two, as pages declare it; Norwegian that is not Nynorsk is Bokmål (nb).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

import pycld2

from fyke.values import BLOCK_END

SAMPLES = 150, 500
"""Characters looked at, from where each third of the text begins: first so many, which CLD2 looks at once (what has 256
bytes and is of no clear language twice); where these leave a doubt, so many. More are no better (bench/language.py).
About 8 µs and 30 µs, where other work empties the cache in between 11 and more."""
DOUBT = 0.1, 0.9
"""Scores from and below which a longer look is worth its time: below are texts of no language."""
LIKELY = 0.5
"""Scores below are no better than a guess."""

LEAST = 40
"""Characters below which ``language_of`` does not believe the detector."""

_REFUSED = re.compile("[\0-\x08\x0b\x0e-\x1f\x7f-\x9f\ufdd0-\ufdef" + "".join(
    f"{chr(plane << 16 | 0xFFFE)}-{chr(plane << 16 | 0xFFFF)}" for plane in range(17)
) + "\ud800-\udfff]")  # fmt: skip
"""Controls, noncharacters and lone surrogates: the detector takes no text that holds one."""
_CODES = {"iw": "he", "jw": "jv", "no": "nb", "bh": "bho", "mo": "ro", "in": "id", "ji": "yi", "un": "", "xxx": ""}
"""Old codes; and no language."""
_JOKES = frozenset({"zzb", "zze", "zzh", "zzp", "tlh"})
_HALF_SURE = 300.0
"""CLD2's score per KB at which half of its answers are right (bench/language.py shows the shares)."""


class Language(NamedTuple):
    """A language, and how sure that is."""

    code: str
    """Empty where the text tells nothing."""
    score: float
    """0 … 1: about how often such an answer is right, by the share of the text that is in the language."""


UNKNOWN = Language("", 0.0)


def identify(text: str) -> Language:
    """Return the language of most of a text. Bounded time; any text."""
    short, long = SAMPLES
    found = _look(_sample(text, short))
    return _look(_sample(text, long)) if DOUBT[0] <= found.score < DOUBT[1] and len(text) > short else found


def _sample(text: str, size: int) -> str:
    if len(text) <= size:
        return text
    third, part = len(text) // 3, size // 3
    return f"{text[:part]} {text[third : third + part]} {text[2 * third : 2 * third + part]}"


def _look(text: str) -> Language:
    text = text.replace(BLOCK_END, "\n")
    try:
        _, _, found = pycld2.detect(text, isPlainText=True, bestEffort=True)
    except (pycld2.error, UnicodeEncodeError):
        _, _, found = pycld2.detect(_REFUSED.sub(" ", text), isPlainText=True, bestEffort=True)
    _, code, percent, score = found[0]
    code = primary(code)
    if not code or code == "xx" or code in _JOKES:
        return UNKNOWN
    sure = score**3 / (score**3 + _HALF_SURE**3)
    return Language(code, round(percent / 100 * sure, 3))


def language_of(text: str, declared: str = "") -> str:
    """Return what a page declares, else what its text likely is in; empty where neither tells."""
    if code := primary(declared):
        return code
    found = identify(text) if len(text) >= LEAST else UNKNOWN
    return found.code if found.score >= LIKELY else ""


def primary(tag: str) -> str:
    """Return the language of a tag that somebody declared (``en-GB``, ``zh_Hant``, ``iw``) as ``identify`` writes it.

    Empty where the tag is none.
    """
    return _primary(tag[:40])


@lru_cache(maxsize=512)
def _primary(tag: str) -> str:
    code = tag.strip().lower().replace("_", "-").partition("-")[0]
    return _CODES.get(code, code) if 2 <= len(code) <= 3 and code.isascii() and code.isalpha() else ""
