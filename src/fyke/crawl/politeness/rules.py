"""Which URLs a crawl takes: the scope is asked where a link is found, the trap judge where its host is owned."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from fyke.crawl.mail.outbox import Offer
from fyke.crawl.run.settings import CrawlSettings
from fyke.formats.media_types import TypeFilter
from fyke.frontier.keys import REQUISITE, Entry
from fyke.sites.scope import Scope, SeedScope
from fyke.sites.traps import HostHistory, TrapJudge, TrapLimits
from fyke.url import Url
from fyke.values import Drop

BAD_PORTS = frozenset(
    (
        0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
        110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530,
        531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190,
        5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
    )
)  # fmt: skip
"""Ports that browsers never contact, as other protocols live there (WHATWG Fetch, "bad port")."""
_HISTORIES = 20_000
"""Hosts whose history is in memory, 50 kB each at the most and a few hundred bytes usually."""


class Rules:
    """Judges URLs that were found."""

    def __init__(self, scope: Scope, judge: TrapJudge, known: Callable[[str], int] = lambda host: 0) -> None:
        """``known`` tells how many URLs of a host are known already, when its history begins."""
        self._scope = scope
        self._judge = judge
        self._known = known
        self._histories: OrderedDict[str, HostHistory] = OrderedDict()
        self.hops_off = 0
        """Links that may be followed out of the scope."""
        self.refusals: list[Callable[[Url], Drop | None]] = []
        """Further judges of what belongs."""
        self.budgeted: set[str] = set()
        """URLs about to be queued that have a budget of their own: requests of a form."""

    @classmethod
    def of(
        cls,
        settings: CrawlSettings,
        seeds: Sequence[Url],
        scope: Scope | None = None,
        known: Callable[[str], int] = lambda host: 0,
    ) -> Rules:
        """The rules that the settings ask for."""
        endings = TypeFilter(settings.types).endings() if settings.types else ()
        scope = scope or SeedScope(seeds, settings.scope, settings.include, settings.exclude, endings=endings)
        limits = TrapLimits(settings.max_depth, settings.max_host_pages, settings.host_pages())
        rules = cls(scope, TrapJudge(limits), known)
        rules.hops_off = settings.hops_off
        return rules

    def belongs(self, url: Url) -> Drop | None:
        """Why ``url`` is outside of the crawl; None where it belongs."""
        if not url.href.startswith(("http://", "https://")):
            return Drop.SCHEME
        if url.port in BAD_PORTS:
            return Drop.PORT
        for refusal in self.refusals:
            if why := refusal(url):
                return why
        return self._scope.judge(url)

    def refuses(self, url: Url) -> Drop | None:
        """Why ``url`` is not fetched, though a page needs it, wherever it is; None where it may be."""
        if url.port in BAD_PORTS:
            return Drop.PORT
        excludes = getattr(self._scope, "excludes", None)
        return Drop.EXCLUDED if excludes is not None and excludes(url.href) else None

    def next_hop(self, entry: Entry, redirected: bool) -> int:
        """The number of the link that leads from a page out of the scope; 0 where none may. A redirect is none."""
        inside = not entry.off and (not entry.depth or self._scope.judge(entry.url) is not Drop.SCOPE)
        hop = entry.off + (not redirected) if entry.off else 1 if inside else 2  # the first is what led here
        return hop if hop <= self.hops_off else 0

    def belongs_or_is_near(self, url: Url) -> Drop | None:
        """The same as ``belongs`` for a link that may lead out of the scope."""
        why = self.belongs(url)
        if why is not Drop.SCOPE:
            return why
        return self._scope.judge(url, anywhere=True) if isinstance(self._scope, SeedScope) else None

    def numbered(self, offers: list[Offer], hop: int) -> list[Offer]:
        """Return offers, those that are out of the scope with the number of the link that led there."""
        outside = (self._scope.judge(Url(each.href)) is Drop.SCOPE for each in offers)
        return [replace(each, off=hop) if out else each for each, out in zip(offers, outside, strict=True)]

    def admit(self, url: Url) -> None:
        """Count ``url`` among the seeds: a seed led there."""
        admit = getattr(self._scope, "admit", None)
        if admit is not None:
            admit(url)

    def worth(self, url: Url, depth: int, now: float) -> Drop | None:
        """Why ``url`` looks like a trap or is beyond a limit; None where it is worth queueing. Asked once each."""
        if url.href.startswith(REQUISITE):
            return None
        budgeted = bool(self.budgeted) and url.href in self.budgeted
        return self._judge.judge(url, depth, now, self._history(url.host), budgeted=budgeted)

    def learn(self, url: Url, text: int, repeats: bool) -> Drop | None:
        """Learn from a page that came: the hash of its text, and whether it repeats another page of its host.

        Returns what is wrong with it (``TrapJudge.report``).
        """
        return self._judge.report(url, self._history(url.host), text, repeats)

    def _history(self, host: str) -> HostHistory:
        history = self._histories.get(host)
        if history is None:
            history = self._histories[host] = HostHistory(urls=self._known(host))
            if len(self._histories) > _HISTORIES:
                self._histories.popitem(last=False)
        self._histories.move_to_end(host)
        return history
