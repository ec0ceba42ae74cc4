"""Evidence that a site gives itself: comments that mark where its content begins and ends."""

from __future__ import annotations

import numpy as np

from fyke.clean.columns import FIRST
from fyke.clean.elements import Array
from fyke.clean.page import Page

_MARKS = (
    (b"google_ad_section_start", b"google_ad_section_end"),
    (b"startclickprintinclude", b"endclickprintinclude"),
    (b"begin article", b"end article"),
)
_LEAST = 0.05
"""Of the page's blocks must stand between the marks, or the marks are of something else."""


def marked_by_site(page: Page) -> Array | None:
    """Mark the blocks that the site's own comments call content; None where there are no such comments."""
    tokens = page.tokens
    if tokens.remarks[0, 1] == 0:
        return None
    remarks = [(s, tokens.page[s:e].tobytes().lower()) for s, e in tokens.remarks.tolist() if e]
    for begin, end in _MARKS:
        at = tokens.starts[page.blocks[:, FIRST]]
        inside = np.zeros(len(at), bool)
        opened = -1
        for start, remark in [*remarks, (tokens.page.size, end)]:
            if begin in remark and b"ignore" not in remark and opened < 0:
                opened = start
            elif end in remark and opened >= 0:
                inside |= (at > opened) & (at < start)
                opened = -1
        if inside.mean() >= _LEAST:
            return inside
    return None
