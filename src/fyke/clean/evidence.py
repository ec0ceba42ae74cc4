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
    if not len(page.remarks):
        return None
    remarks = [(at, page.markup.source(at).lower()) for at in page.remarks.tolist()]
    for begin, end in _MARKS:
        at = page.blocks[:, FIRST]
        inside = np.zeros(len(at), bool)
        opened = -1
        for start, remark in [*remarks, (len(page.markup), end)]:
            if begin in remark and b"ignore" not in remark and opened < 0:
                opened = start
            elif end in remark and opened >= 0:
                inside |= (at > opened) & (at < start)
                opened = -1
        if inside.mean() >= _LEAST:
            return inside
    return None
