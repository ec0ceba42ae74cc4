"""Whom to believe: what a host's ETag, Last-Modified and 304 were worth so far, learnt from what the texts did.

Some servers say that everything was modified just now, some that nothing ever was. The text decides: of each visit
that brought one, it is known whether the validators told the truth. A 304 brings none, so a host is asked
without validators now and then, as often as it has yet to prove that a change makes it answer.
"""

from __future__ import annotations

import msgspec

AUDIT_AT_MOST = 32
"""One visit in so many is unconditional, even of a host that never lied."""


class Honesty(msgspec.Struct, array_like=True, omit_defaults=True):
    """Counts of one host; a few bytes beside its record. Version 1."""

    told: float = 0.0
    """Texts that had changed, and so had the validators."""
    missed: float = 0.0
    """Texts that had changed under the same validators: a 304 of this host means nothing."""
    idle: float = 0.0
    """New validators for the same text: an advertisement, or "just now"."""
    dated: float = 0.0
    """Changes whose Last-Modified lay between the two visits."""
    misdated: float = 0.0
    """Changes whose Last-Modified did not, and dates that moved without a change."""
    bytes: float = 0.0
    """Mean size of a page, for the choice between GET and HEAD."""

    @property
    def believes_304(self) -> bool:
        """Whether "unchanged" is taken for true."""
        return self.missed == 0 or self.told >= 9 * self.missed

    @property
    def believes_dates(self) -> bool:
        """Whether Last-Modified tells when the page changed."""
        return self.dated >= 3 and self.dated >= 9 * self.misdated

    @property
    def validators_good(self) -> bool:
        """Whether the same validators mean the same text, and other ones another, nearly always."""
        return self.told >= 4 and self.told >= 9 * (self.missed + self.idle)

    def audits(self, draw: float) -> bool:
        """Whether to ask without validators this time. ``draw`` is uniform in [0, 1): chance is the caller's."""
        if not self.believes_304:
            return True
        return draw < 1 / min(2 + 4 * self.told, AUDIT_AT_MOST)

    def asks_head(self, large: float) -> bool:
        """Whether a HEAD pays: pages of at least ``large`` bytes, good validators, and no 304 to be had for a GET."""
        return self.bytes >= large and self.validators_good

    def compared(self, *, same_text: bool, same_validators: bool, date_between: bool | None, date_moved: bool) -> None:
        """Learn from two texts of a page and their validators.

        ``date_between``: whether the new Last-Modified lies between the visits; None where there is none.
        """
        self._fade()
        if same_text:
            self.idle += not same_validators
            self.misdated += date_moved
            return
        if same_validators:
            self.missed += 1
        else:
            self.told += 1
        if date_between is not None:
            self.dated += date_between
            self.misdated += not date_between

    def sized(self, length: int) -> None:
        """Note the size of a page."""
        self.bytes += (length - self.bytes) / 8 if self.bytes else length

    def _fade(self) -> None:
        """Let old counts fade: hosts change their servers."""
        if self.told + self.missed + self.idle >= 256:
            for name in ("told", "missed", "idle", "dated", "misdated"):
                setattr(self, name, getattr(self, name) / 2)
