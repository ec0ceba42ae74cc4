"""Which language a page is in: what the page declares, else what a detector finds.

The detector is resiliparse's (Apache 2.0): distances between byte n-grams. Templates declare ``en`` on pages of any
language, but a text classifier that was trained on English finds such a page irrelevant anyway, and detection costs
as much as classification.
"""

from __future__ import annotations

from resiliparse.parse.lang import detect_fast

UNSURE = 1200
"""Distances above are no better than a guess, as resiliparse says."""
SAMPLE = 1500
"""Characters looked at: the detector costs about 50 µs for them."""
LEAST = 60
"""Characters below which nothing can be said."""


def language_of(text: str, declared: str = "") -> str:
    """Return the language as a primary subtag (``en``); empty where it is not known."""
    primary = declared.strip().lower().replace("_", "-").partition("-")[0]
    if primary or len(text) < LEAST:
        return primary
    found, distance = detect_fast(text[:SAMPLE])
    return str(found) if distance <= UNSURE and found != "unknown" else ""
