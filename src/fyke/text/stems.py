"""Stems and stopwords: Snowball's stemmers by name (PyStemmer), and the English list that comes with them."""

from __future__ import annotations

from collections.abc import Callable

import Stemmer

NONE = "none"

# The English list that Snowball publishes with its stemmers, contractions split as words are here.
ENGLISH = frozenset(
    """
    i me my myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers
    herself it its itself they them their theirs themselves what which who whom this that these those am is are
    was were be been being have has had having do does did doing will would shall should can could may might
    must ought a an the and but if or because as until while of at by for with about against between into
    through during before after above below to from up down in out on off over under again further then once
    here there when where why how all any both each few more most other some such no nor not only own same so
    than too very s t don now isn aren wasn weren hasn haven hadn doesn didn won wouldn shan shouldn cannot
    couldn mustn let ll ve re d m
    """.split()  # noqa: SIM905 - a text to be read
)
STOPWORDS: dict[str, frozenset[str]] = {"english": ENGLISH, NONE: frozenset()}


def names() -> list[str]:
    """Return the stemmers there are."""
    return [*Stemmer.algorithms(True), NONE]


def stemmer(name: str) -> Callable[[str], str]:
    """Return what makes the stem of a word. REQUIRES: ``name`` is one of ``names``."""
    if name == NONE:
        return str
    stem: Callable[[str], str] = Stemmer.Stemmer(name, 0).stemWord
    return stem
