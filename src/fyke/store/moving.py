"""Moving rows: a document that is at another address now keeps its versions, cells and columns."""

from __future__ import annotations

from collections.abc import Sequence

from fyke.store import bodies
from fyke.store.batch import Batch
from fyke.store.cells import COLUMN, LINKS, META, OWN, PAGE, PAST, TEXT
from fyke.store.tablet import Tablet

_CELLS = (PAST, PAGE, TEXT, LINKS, COLUMN)


def move_rows(tablet: Tablet, batch: Batch, pairs: Sequence[tuple[bytes, bytes]]) -> None:
    """Give rows new keys, (old, new) each; what was at a new key goes, unless it moves itself (rows may swap).

    Anchors stay: they point at the address. REQUIRES: all keys are of one host and tablet, no key is old or new twice,
    and ``batch`` puts none of these rows.
    """
    sources = {old for old, _ in pairs}
    found = [(old, new, _cells(tablet, old)) for old, new in pairs]
    for _, new in pairs:
        if new not in sources:
            batch.delete_row(new)
    for old, _, cells in found:
        for family, suffix, _ in cells:
            batch.delete(family, old + suffix)
    listed = [(old, new, version, batch.get(OWN, bodies.body_key(version.meta.digest, old, version.page)))
              for old, new in pairs for version in tablet.versions(old) if version.page]  # fmt: skip
    for old, _, version, _ in listed:
        bodies.forget(batch, old, version.page, version)
    for _, new, cells in found:
        for family, suffix, value in cells:
            batch.put(family, new + suffix, value)
    for _, new, version, here in listed:
        bodies.note(batch, version.meta.digest, new, version.page, here == bodies.HERE)


def _cells(tablet: Tablet, row: bytes) -> list[tuple[str, bytes, bytes]]:
    """Family, what follows the row in the key, and value of all that a row is made of."""
    current = tablet.get(META, row)
    found = [] if current is None else [(META, b"", current)]
    for family in _CELLS:
        found += [(family, key[len(row) :], value) for key, value in tablet.few(family, row + b"\0", row + b"\1")]
    return found
