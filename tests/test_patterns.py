"""Regular expressions of users: the same answers as Python's engine, and no address of a site holds a crawl up."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.patterns import LONGEST_PATTERN, Pattern

BAD = ("(a+)+$", "(a|a)*b", "(a|aa)+$", "(.*a){20}$", r"(\w+\s?)*!", "(x+x+)+y", "^(([a-z])+.)+[A-Z]([a-z])+$")
TRY = """
import sys
from fyke.patterns import Pattern
for pattern in {patterns!r}:
    Pattern(pattern).search("a" * 20_000 + "!")
    Pattern(pattern, ignore_case=True).search("aA" * 5_000)
"""


def test_no_text_takes_long() -> None:
    """In a process with a few seconds of processor time: Python's engine would not come to an end."""
    code = "import resource; resource.setrlimit(resource.RLIMIT_CPU, (10, 10))" + TRY.format(patterns=BAD)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]


@pytest.mark.parametrize("pattern", [r"^(?!x)(a+)+$", r"(\w+)+\1$", r"(?<=a)(b*)*c", "(?:(?=x)(y+)*)+"])
def test_what_could_take_for_ever_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="for ever"):
        Pattern(pattern)


@pytest.mark.parametrize("pattern", ["(", "*", "[a", "(?P<n>x)(?P<n>y)", "a" * (LONGEST_PATTERN + 1), r"\8", "(" * 900])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        Pattern(pattern)


PATTERNS = (
    r"/news/", r"\.pdf$", r"^https?://[^/]+/$", r"(?i)PRINT", r"[?&]page=\d{2,}", r"/(?!en/)[a-z]{2}/", r"(\d)\1", "é",
    r"\bcat\b", r"a.c", r"", r"x*", r"(?:one|two)/three", r"\w+@\w+", r"(?<!s)://",
)  # fmt: skip


@given(st.sampled_from(PATTERNS), st.text(alphabet="/:.?&=apgehtsx01 é\ud800CcA", max_size=40))
def test_it_finds_what_python_finds(pattern: str, text: str) -> None:
    plain = text.encode("utf-8", "replace").decode()
    if plain.isascii() or "\\b" not in pattern:  # a boundary of words is where letters of ASCII end, too
        assert Pattern(pattern).search(text) == bool(re.search(pattern, plain))
        assert Pattern(pattern, ignore_case=True).search(text) == bool(re.search(pattern, plain, re.IGNORECASE))


def test_words_of_all_scripts() -> None:
    assert Pattern(r"рыба\w+", ignore_case=True).search("Рыбалка и рыбаки")
    assert Pattern(r"\bрыба\b").search("свежая рыба и сети")
    assert not Pattern(r"\d{4}").search("рыба")
