"""Snippets: the passage of a text that shows best what the query words are about, with the words marked."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fyke.text.words import located, words

LENGTH = 240
"""Characters of a passage: two or three lines of a result page."""
MAX_WORDS = 200_000
MAX_CHARACTERS = 2_000_000
"""Words and characters of a text that are looked at: a snippet from further down helps nobody."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """A passage ``text`` of a document, and where in it the query words stand."""

    text: str
    marks: tuple[tuple[int, int], ...]
    found: int
    """How many different query words it holds."""

    def marked(self, before: str = "**", after: str = "**") -> str:
        """The passage with its words between ``before`` and ``after``."""
        parts, place = [], 0
        for start, end in self.marks:
            parts += [self.text[place:start], before, self.text[start:end], after]
            place = end
        return "".join([*parts, self.text[place:]])


def snippet(text: str, query: str, length: int = LENGTH) -> Snippet:
    """Return the best passage of at most about ``length`` characters: most different words, then most, then earliest.

    Words match whole, in any case; in scripts without spaces two neighbouring characters do. Where none is found the
    passage is the beginning of the text.
    """
    wanted = set(words(query))
    text = text[:MAX_CHARACTERS]
    hits = [(start, end, word) for word, start, end in located(text, MAX_WORDS) if word in wanted]
    start = _best_start(hits, length)
    start, end = _whole_words(text, start, length)
    marks = _joined([(a - start, b - start) for a, b, _ in hits if a >= start and b <= end])
    found = len({word for a, b, word in hits if a >= start and b <= end})
    lead, trail = "… " if start else "", " …" if end < len(text) else ""
    # One for one, so that the marks stay where they are.
    passage = re.sub(r"\s", " ", text[start:end])
    return Snippet(lead + passage + trail, tuple((a + len(lead), b + len(lead)) for a, b in marks), found)


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join spans that share a character, as pairs of Chinese characters do."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start < joined[-1][1]:
            joined[-1] = joined[-1][0], end
        else:
            joined.append((start, end))
    return joined


def _best_start(hits: list[tuple[int, int, str]], length: int) -> int:
    """Slide a window over the hits; it begins at a hit, a quarter of the room before it."""
    best, best_start, last = (0, 0), 0, 0
    counts: dict[str, int] = {}
    for first, (start, _, word) in enumerate(hits):
        while last < len(hits) and hits[last][1] <= start + length * 3 // 4:
            counts[hits[last][2]] = counts.get(hits[last][2], 0) + 1
            last += 1
        score = (sum(1 for count in counts.values() if count), last - first)
        if score > best:
            best, best_start = score, start
        counts[word] = counts.get(word, 0) - 1
    return max(0, best_start - length // 4)


def _whole_words(text: str, start: int, length: int) -> tuple[int, int]:
    """Move the ends of a passage to white space where there is some nearby."""
    if start:
        space = text.find(" ", start, start + length // 4)
        start = space + 1 if space >= 0 else start
    end = min(len(text), start + length)
    if end < len(text):
        space = text.rfind(" ", start + length // 2, end)
        end = space if space >= 0 else end
    return start, end
