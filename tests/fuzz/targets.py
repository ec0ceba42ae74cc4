"""All targets, by name."""

from __future__ import annotations

from tests.fuzz.file_targets import FILES
from tests.fuzz.page_targets import PAGES
from tests.fuzz.target import Target

TARGETS: dict[str, Target] = {target.name: target for target in (*FILES, *PAGES)}
