"""Near copies: a text with so many words replaced that its resemblance to the original is about a wanted one.

Resemblance is the Jaccard coefficient of the sets of word 5-grams of the main texts (words: runs of letters
and digits, in lower case). Replacing one word spoils at most five 5-grams, so with n of them and k words
replaced, J ≈ (n - 5k)/(n + 5k): k = n(1 - J)/(5(1 + J)). What came out is computed, not assumed.
"""

from __future__ import annotations

import re

from fyke.world.chance import draw

WANTED = (1.0, 0.97, 0.94, 0.91, 0.88, 0.85, 0.7, 0.5)
SHINGLE = 5
_WORD = re.compile(r"\w+")


def shingles(text: str) -> set[tuple[str, ...]]:
    """The word 5-grams of a text; a shorter text is one shingle."""
    words = _WORD.findall(text.lower())
    if len(words) < SHINGLE:
        return {tuple(words)}
    return set(zip(*(words[k:] for k in range(SHINGLE)), strict=False))


def jaccard(a: str, b: str) -> float:
    """The resemblance of two main texts."""
    one, other = shingles(a), shingles(b)
    return len(one & other) / len(one | other)


def edited(paragraphs: list[str], spare: list[str], wanted: float, *page: int | str) -> list[str]:
    """``paragraphs`` with words replaced by ``spare`` ones, down to a Jaccard of about ``wanted``.

    REQUIRES: a language that writes spaces; ``spare`` words are letters only.
    """
    words = [text.split(" ") for text in paragraphs]
    sizes = [len(w) for w in words]
    total = sum(sizes)
    count = round(total * (1 - wanted) / (SHINGLE * (1 + wanted)))
    for k in range(count):
        # Evenly spread with a jitter, so that spoilt 5-grams rarely overlap.
        at = min(total - 1, int((k + (draw("edit", *page, k) % 64) / 64) * total / count))
        for row in words:
            if at < len(row):
                old = row[at]
                new = spare[draw("spare", *page, k) % len(spare)]
                row[at] = new + old[len(old.rstrip(".,;")) :]
                break
            at -= len(row)
    return [" ".join(row) for row in words]
