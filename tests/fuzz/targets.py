"""All targets, by name."""

from __future__ import annotations

from tests.fuzz.derived_targets import DERIVED
from tests.fuzz.interchange_targets import INTERCHANGE
from tests.fuzz.page_targets import PAGES
from tests.fuzz.store_targets import STORE
from tests.fuzz.target import Target

TARGETS: dict[str, Target] = {target.name: target for target in (*DERIVED, *STORE, *INTERCHANGE, *PAGES)}
