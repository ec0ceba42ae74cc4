"""Cookies that sites set, kept over a stop: those of sites without an account, by domain, with what is known of hosts.

In the family ``host``: behind the record of the domain ``cookies``, a list of lines as Netscape's files have them.
"""

from __future__ import annotations

from collections import defaultdict

import msgspec

from fyke.errors import UNREADABLE
from fyke.fetch.sessions import Sessions
from fyke.store import Store
from fyke.url import host_key

_COOKIES = b"cookies"
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[str]).decode


def read_kept(store: Store) -> dict[bytes, list[str]]:
    """Return the cookies that the tablets of a store keep, by domain; nothing of what is no list of them."""
    found = {}
    for number in store.owned:
        for key, value in store.tablet(number).items("host"):
            if key.endswith(b"\0" + _COOKIES):
                try:
                    found[key] = [line for line in _decode(value) if line.count("\t") == 6]
                except UNREADABLE:
                    continue
    return found


class Cookies:
    """Keeps the cookies of one agent's sessions."""

    def __init__(self, store: Store, sessions: Sessions, kept: dict[bytes, list[str]]) -> None:
        self._store, self._sessions, self._kept = store, sessions, kept
        self._met = 0

    def keep(self) -> None:
        """Write those that were set since the last time."""
        if self._met == self._sessions.met:
            return
        self._met = self._sessions.met
        now: defaultdict[bytes, list[str]] = defaultdict(list, {key: [] for key in self._kept})
        for line in self._sessions.anonymous():
            domain = line.split("\t", 1)[0].removeprefix("#HttpOnly_").lstrip(".")
            now[host_key(domain) + _COOKIES].append(line)
        for key, lines in now.items():
            if self._kept.get(key) != lines:
                number = self._store.tablet_of(key)
                tablet = self._store.tablet(number if number in self._store.owned else self._store.owned[0])
                batch = tablet.batch()
                batch.put("host", key, _encode(lines))
                tablet.write(batch)
        self._kept = dict(now)
