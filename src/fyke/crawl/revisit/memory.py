"""What revisits teach of a host: whom to believe, and how it says that a page is gone."""

from __future__ import annotations

import msgspec

from fyke.frontier.honesty import Honesty
from fyke.frontier.revisit import Trust
from fyke.url import host_key

_REGRETS = 8


def memory_key(host: str) -> bytes:
    """Return where a host's memory stands in the family ``host``: behind its record."""
    return host_key(host) + b"revisit"


class Regret(msgspec.Struct, frozen=True, array_like=True):
    """A text that some page of a host turned into; if another page does too, it is how the host says "not found"."""

    text: bytes
    before: bytes
    """What that page said until then."""
    sure: bool = False


class HostMemory(msgspec.Struct, array_like=True):
    """What is learnt of a host; key: host key ‖ ``revisit`` in the family ``host``. Version 1."""

    honesty: Honesty = msgspec.field(default_factory=Honesty)
    regrets: list[Regret] = msgspec.field(default_factory=list)
    trust: Trust = msgspec.field(default_factory=Trust)
    """In what its sitemaps and feeds say of changes."""

    def regretted(self, text: bytes) -> bool:
        """Whether a text is the host's way to say that a page is gone."""
        return any(r.sure and r.text == text for r in self.regrets)

    def turned(self, before: bytes, text: bytes) -> None:
        """Note that a page turned from one text into another."""
        for i, regret in enumerate(self.regrets):
            if regret.text == text:
                self.regrets[i] = Regret(text, before, regret.sure or regret.before != before)
                return
        self.regrets = [*self.regrets[-_REGRETS + 1 :], Regret(text, before)]
