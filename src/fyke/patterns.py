"""Regular expressions of users, in time that grows with the text and not with its square or worse: Google's RE2.

Sites choose the addresses and texts that these are tried on; an engine that backtracks can be held up for ever by one
of them, if the user's pattern repeats a repetition. RE2 knows no look-around and no back references: patterns that have
them go to Python's engine, unless they repeat a repetition. The first ``LONGEST`` characters of a text are looked at.
"""

from __future__ import annotations

import re
from typing import Any

import re2

LONGEST = 20_000
"""Characters of a text in which a pattern is looked for."""
LONGEST_BACKTRACKING = 2_048
"""The same where Python's engine looks: as long as the addresses that a crawl follows."""
LONGEST_PATTERN = 1_000
_CLASSES = re.compile(r"\\[wWdDsSbB]")
"""What RE2 knows of ASCII alone: in other texts, Python's engine looks once more."""
_BACKTRACKING = re.compile(r"\(\?(?:[=!>(]|<[=!]|P=)|\\[1-9]|[*+?}]\+")
"""What RE2 does not know."""
_UNBOUNDED = 100
"""Repetitions from which on one within the other takes for ever."""


class Pattern:
    """A compiled pattern."""

    def __init__(self, text: str, ignore_case: bool = False) -> None:
        """Raises ``ValueError``, whose sentence says what is wrong."""
        if len(text) > LONGEST_PATTERN:
            raise ValueError(f"it has {len(text):,} characters; give at most {LONGEST_PATTERN:,}")
        try:
            plain = re.compile(text, re.IGNORECASE if ignore_case else 0)
        except (re.error, RecursionError, OverflowError) as error:
            raise ValueError(str(error)) from None
        self._search: Any = _linear(text, ignore_case)
        self._more = plain.search if _CLASSES.search(text) and not _repeats_repetition(text) else None
        if self._search is None:
            if _repeats_repetition(text):
                raise ValueError(
                    "it has a look-around, a back reference or a large count, and repeats a repetition as in (a+)+: "
                    "that can take for ever; write it without one of them"
                )
            self._search = lambda given: plain.search(given, 0, LONGEST_BACKTRACKING)

    def search(self, text: str) -> bool:
        """Whether the pattern is found in ``text``."""
        if text.isascii():
            return self._search(text[:LONGEST]) is not None
        text = text[:LONGEST].encode("utf-8", "replace").decode()  # halves of pairs are in no UTF-8
        if self._search(text) is not None:
            return True
        return self._more is not None and self._more(text, 0, LONGEST_BACKTRACKING) is not None


def _linear(text: str, ignore_case: bool) -> Any:
    """Return RE2's search for a pattern; None where it does not know what the pattern wants."""
    if _BACKTRACKING.search(text):
        return None
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not ignore_case
    try:
        return re2.compile(text, options).search
    except re2.error:
        return None


def _repeats_repetition(text: str) -> bool:
    from re import _parser  # type: ignore[attr-defined]  # what Python itself compiles patterns with

    def inside(parsed: Any, repeated: bool) -> bool:
        for name, value in parsed:
            again = str(name) in ("MAX_REPEAT", "MIN_REPEAT") and value[1] > _UNBOUNDED
            if again and repeated:
                return True
            if any(inside(part, repeated or again) for part in _parts(value)):
                return True
        return False

    return inside(_parser.parse(text), False)


def _parts(value: Any) -> Any:
    """Yield the sequences within what an instruction of a pattern holds, however deep they lie in tuples and lists."""
    if isinstance(value, tuple | list):
        for part in value:
            yield from _parts(part)
    elif hasattr(value, "data"):
        yield value
