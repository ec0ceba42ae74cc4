"""Who may fetch what: the robots.txt of each site, asked for when needed and kept in the tablet.

A standing (fyke.sites.standing) stands in the family ``host`` behind the host's own record: host key ‖ site. What
was used lately stays in memory.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

from fyke.limits import note
from fyke.sites.standing import Permission, Standing, Verdict, heard
from fyke.store import Batch, Tablet
from fyke.url import Url
from fyke.values import Moved, Outcome, Request

_KEPT = 20_000
"""Permissions in memory: about 2 KB each for a usual robots.txt."""
_REDIRECTS = 5
"""RFC 9309 asks for at least five."""


class Fetch(Protocol):
    """A fetch that keeps the gaps."""

    async def __call__(self, request: Request, *, waits: bool) -> Outcome:
        """Fetch; with ``waits``, once the host may be contacted."""
        ...


class Permissions:
    """What the sites of an agent's tablets allow."""

    def __init__(self, user_agent: str, *, ignore: bool = False) -> None:
        """``ignore`` allows everything and asks nobody."""
        self._agent = user_agent
        self._kept: OrderedDict[str, Permission] = OrderedDict()
        self._everything = Permission(Standing(Verdict.ALLOW, expires=float("inf")), user_agent) if ignore else None

    def known(self, url: Url, tablet_of: Callable[[Url], Tablet | None], now: float) -> Permission | None:
        """What holds for ``url`` now; None where its robots.txt must be asked for first.

        ``tablet_of`` says None for a site that is another agent's: what is remembered counts.
        """
        if self._everything is not None:
            return self._everything
        site = url.site
        permission = self._kept.get(site)
        if permission is None:
            tablet = tablet_of(url)
            stored = tablet.get("host", Standing.key(url)) if tablet is not None else None
            if stored is None:
                return None
            permission = self._keep(site, Standing.decode(stored))
        return permission if permission.standing.expires > now else None

    async def ask(self, url: Url, fetch: Fetch) -> Outcome:
        """Fetch the robots.txt of ``url``'s site, over redirects; return the last answer.

        REQUIRES: the host of ``url`` may be contacted now; for those of redirects ``fetch`` waits.
        """
        outcome = await fetch(Request(url.join("/robots.txt")), waits=False)
        for _ in range(_REDIRECTS):
            if not isinstance(outcome, Moved):
                break
            outcome = await fetch(Request(outcome.target), waits=True)
        if isinstance(outcome, Moved):
            note("robots-redirects")
        return outcome

    def answered(self, batch: Batch, tablet: Tablet, url: Url, outcome: Outcome, now: float) -> Permission:
        """Take an answer in: what holds from now on, written to ``batch``."""
        stored = tablet.get("host", Standing.key(url))
        permission = self.heard(url, outcome, now, Standing.decode(stored) if stored else None)
        batch.put("host", Standing.key(url), permission.standing.encode())
        return permission

    def heard(self, url: Url, outcome: Outcome, now: float, before: Standing | None = None) -> Permission:
        """Take an answer in, and remember it for a while; what was known ``before`` counts where it is an error."""
        return self._keep(url.site, heard(before, outcome.exchange, now, self._agent))

    def _keep(self, site: str, standing: Standing) -> Permission:
        permission = self._kept[site] = Permission(standing, self._agent)
        self._kept.move_to_end(site)
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return permission
