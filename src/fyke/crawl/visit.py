"""A visit: one contact of a host, for its robots.txt or for a page, from the lease to what came of it.

::

    lease ─▶ dead? ─▶ permission ─▶ address, gate ─▶ fetch ─▶ arrived: read and committed (fyke.crawl.commit)
               │          │               │            │
               │          │               │            └ nobody there: the site is closed for a while
               │          │               └ its turn comes later: the URL goes back to its place
               │          └ unknown: robots.txt is fetched instead, the URL goes back; refused: a row that says so
               └ a row that says why

A visit is no task: ``begin`` takes it as far as it can go at once, the transport tells when it has arrived, and the
agent takes all that have arrived in one go (``take``). Names that are not known and robots.txt are asked for beside.
A failure belongs to what failed: to the URL, to its site (``_unreached``), or to our own network (politeness.network).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable

from msgspec.structs import replace

from fyke.crawl.arrival import Arrival, Arrivals, contact_of
from fyke.crawl.capture import refused
from fyke.crawl.commit import PageWriter
from fyke.crawl.context import FetchContext
from fyke.crawl.discovery.discovery import Discovery, places
from fyke.crawl.hooks import Hook, before_fetch
from fyke.crawl.politeness.login import Logins, Session
from fyke.crawl.politeness.network import UNREACHABLE, Network, rest
from fyke.crawl.queue.later import REVISIT
from fyke.crawl.queue.queues import Queues
from fyke.crawl.revisit.revisits import Revisits
from fyke.crawl.run.runtime import log
from fyke.errors import FykeError
from fyke.frontier.host import GIVE_UP
from fyke.frontier.keys import is_posted, is_requisite
from fyke.frontier.leases import Lease
from fyke.frontier.politeness import Contact
from fyke.interfaces import Names, Resolved
from fyke.sites.forms import request_of
from fyke.sites.standing import Permission, Verdict
from fyke.url import Url
from fyke.values import Drop, Failed, Outcome, Reason, Request

GATE_RETRY = 1.0
"""Seconds until a host that another contact holds is tried again."""
UNREACHED = frozenset({Reason.DNS, Reason.CONNECT, Reason.TLS})
"""Failures of a site, not of a URL: no server was asked, so none has said anything of its rules."""
_THERE = frozenset({Reason.RESET, Reason.PROTOCOL})
"""Failures of a server that was connected to: it answers badly, but our network is up."""
_FINAL = {Reason.TLS: GIVE_UP, Reason.DNS: 2}
"""What a certain failure counts: a certificate will be wrong again, and a name that is not there twice is not there."""


class Visits:
    """Makes the visits of one agent."""

    def __init__(
        self,
        context: FetchContext,
        queues: Queues,
        writer: PageWriter,
        discovery: Discovery,
        revisits: Revisits | None,
        beside: Callable[[Coroutine[None, None, None]], None],
        wake: Callable[[], None],
    ) -> None:
        """``beside(work)`` runs what must wait for somebody; ``wake()`` tells that a visit has arrived."""
        self.network = Network()
        self.context = context
        self.under_way = 0
        """Visits that have begun and not ended."""
        self.refuses: Callable[[Url], Drop | None] | None = None
        """Why a URL that was queued is no longer wanted."""
        politeness = queues.frontier.politeness
        self.arrived = Arrivals(context.clock, min([politeness.delay, *politeness.hosts.values()]), wake)
        self._clock = context.clock
        assert context.gate is not None
        self._gate = context.gate
        self._queues = queues
        self._frontier = queues.frontier
        self._writer = writer
        self._discovery = discovery
        self._revisits = revisits
        self._beside = beside

    # ---- from the lease to the fetch

    def begin(self, lease: Lease) -> None:
        """Contact a host once: for its robots.txt, or for the page. No page ends the crawl."""
        self.under_way += 1
        try:
            self._begin(lease)
        except (FykeError, OSError):  # a disk
            raise
        except Exception:
            self.fault(lease)

    def _begin(self, lease: Lease) -> None:
        url, now = lease.entry.url, self._clock.now()
        permission = self.context.permissions.known(url, self._queues.tablet, now)
        if why := self._frontier.sites.dead(lease.site, now):
            self.arrived.add(Arrival(lease, Request(url), Failed(url, Reason(why)), is_answer=False))
        elif permission is not None and permission.standing.verdict is Verdict.DENY:
            # The site's robots.txt cannot be had, so nothing may be fetched: it waits until it is asked again.
            self._close(lease, permission.standing.expires, "robots.txt")
        elif permission is not None and not permission.allows(url):
            self._refuse(lease, Drop.ROBOTS)
        elif self.refuses is not None and (refusal := self.refuses(url)):
            self._refuse(lease, refusal)
        elif url.href in self.context.quarantined:
            self._refuse(lease, Reason.QUARANTINED)
        elif is_posted(lease.entry.kind) and not (self._writer.forms is not None and self._writer.forms.post):
            self._refuse(lease, Drop.POST)  # of a run that was allowed to
        elif is_requisite(lease.entry.kind) and self._queues.tablet(url).version(url.key) is not None:
            self._writer.lister.forget(lease, None)  # a page of the crawl, too
            self.end(lease)
        elif self.context.names is None:
            self._enter(lease, permission)
        elif (found := self.context.names.known(lease.host)) is not None:
            self._enter(lease, permission, found)
        else:
            self._beside(self._resolve(lease, permission, self.context.names))

    async def _resolve(self, lease: Lease, permission: Permission | None, names: Names) -> None:
        try:
            found = await names.resolve(lease.host)
            if found.addresses and self.network.named():
                self._frontier.open(UNREACHABLE, self._clock.now())
            self._enter(lease, permission, found)
        except (FykeError, OSError):
            raise
        except Exception:
            self.fault(lease)
        self._queues.flush()

    def _enter(self, lease: Lease, permission: Permission | None, found: Resolved | None = None) -> None:
        """Pass the gate; or put the URL back until the host's address is free, or its name can be resolved."""
        host, now = lease.host, self._clock.now()
        if found is not None and not found.addresses:
            failed = Failed(lease.entry.url, Reason.DNS, detail=found.detail, certain=found.no_such_name)
            self._unreached(lease, failed, resolver_silent=found.resolver_silent)
        elif busy := self._gate.enter(host, now):
            self._frontier.done(lease, now, keep=True, not_before=busy)
            self.end(lease)
        elif permission is None:
            self._beside(self._ask_permission(lease))
        elif self.context.logins is not None and self.context.logins.wants(lease.site):
            self._beside(self._log_in(lease, self.context.logins))
        elif self.context.before_fetch is not None:
            self._beside(self._ask_hook(lease, self.context.before_fetch))
        else:
            self._fetch_page(lease)

    async def _ask_hook(self, lease: Lease, hook: Hook) -> None:
        """Fetch a page as the user's hook wants it, or not at all."""
        why, headers = await before_fetch(hook, lease.entry.url)
        try:
            if why:
                self._gate.leave(lease.host, self._clock.now())
                self._refuse(lease, Drop.HOOK)
            else:
                self._fetch_page(lease, headers)
        except (FykeError, OSError):
            raise
        except Exception:
            self.fault(lease)
        self._queues.flush()

    def _fetch_page(self, lease: Lease, headers: tuple[tuple[str, str], ...] = ()) -> None:
        entry, url = lease.entry, lease.entry.url
        try:
            if not entry.kind:  # a page, for the first time
                request = Request(url)
            elif entry.kind == REVISIT and self._revisits is not None:
                request = self._revisits.request(entry, self._queues.tablet(url), self._clock.now())
            elif is_posted(entry.kind):
                request = request_of(url)
            else:
                request = Request(url, validators=self._discovery.validators(entry, self._queues.tablet(url)))
            if headers:
                request = replace(request, headers=headers)
        except BaseException:
            self._gate.leave(lease.host, self._clock.now())
            raise

        def done(outcome: Outcome) -> None:
            self._gate.leave(lease.host, self._clock.now())
            self.arrived.add(Arrival(lease, request, outcome))

        self.context.start(request, done)

    # ---- what came

    def take(self, arrivals: Iterable[Arrival]) -> list[Arrival]:
        """Return those of the arrivals that say something of their page; the others are back in their queues."""
        telling = []
        for each in arrivals:
            try:
                if not each.is_answer or self._tells(each.lease, each.outcome):
                    telling.append(each)
            except (FykeError, OSError):
                raise
            except Exception:
                self.fault(each.lease)
        return telling

    def _tells(self, lease: Lease, outcome: Outcome) -> bool:
        logins = self.context.logins
        if logins is not None and logins.knows(lease.site):
            session, now = logins.look(lease.site, outcome), self._clock.now()
            if session is Session.ENDED:
                self._frontier.done(lease, now, contact_of(outcome, 0.0, now), keep=True)
                self.end(lease)
                return False
            if session is Session.NEVER:
                self._refuse(lease, Reason.LOGIN)
                return False
        if isinstance(outcome, Failed) and outcome.reason in UNREACHED:
            self._unreached(lease, outcome)
            return False
        if self._heard(lease, outcome) or not self.network.down_since:
            return True
        now = self._clock.now()  # what is silent in an outage counts no try
        self._close(lease, now + rest(0), UNREACHABLE, contact_of(outcome, 0.0, now))
        return False

    def end(self, lease: Lease) -> None:
        """A visit is over: what followed from it is committed."""
        self.under_way -= 1
        if self._writer.came_to_document(lease):
            self.context.limit.spend()
            if lease.entry.href in self.context.suspects:
                self.context.acquit(lease.entry.href)
        else:
            self.context.limit.give_back()

    def fault(self, lease: Lease) -> None:
        """Note a fault of ours, which has just been raised: the URL's row says that it could not be read."""
        log.exception("a fault of ours with %s", lease.entry.href)
        if self._frontier.holds(lease):  # else it is still queued on disk, for the next run
            self._writer.keep(lease, refused(lease.entry.depth, self._clock.now(), Reason.UNREADABLE), None)
        self.end(lease)

    def _refuse(self, lease: Lease, why: Drop | Reason) -> None:
        self._writer.keep(lease, refused(lease.entry.depth, self._clock.now(), why), None)
        self.end(lease)

    def _heard(self, lease: Lease, outcome: Outcome) -> bool:
        """Whether somebody answered, so that our network is up; learns from either."""
        now, exchange = self._clock.now(), outcome.exchange
        if exchange is None and not (isinstance(outcome, Failed) and outcome.reason in _THERE):
            self._doubt(lease.host, now)
            return False
        self._frontier.sites.reached(lease.site)
        if (
            self._writer.troubles
            and exchange is not None
            and not isinstance(outcome, Failed)
            and not exchange.incomplete
        ):
            self._writer.troubles.pop(lease.site, None)
        if self.network.answered(now):
            opened = self._frontier.open(UNREACHABLE, now)
            log.warning("the network is back; %d sites are tried again", opened)
        return True

    def _doubt(self, host: str, now: float) -> None:
        was_down = self.network.down_since
        self.network.failed(host, now)
        if self.network.down_since and not was_down:
            log.warning("nobody can be reached (%s last): our own network seems to be down", host)

    def _unreached(self, lease: Lease, outcome: Failed, *, resolver_silent: bool = False) -> None:
        """A site could not be reached: it is closed for a while, and its URLs wait with it, or are given up.

        That its name could not be resolved counts nothing while no name can (``resolver_silent``).
        """
        now, site, frontier = self._clock.now(), lease.site, self._frontier
        certain = outcome.certain or outcome.reason is Reason.TLS
        counts = certain or (self.network.is_up(now) and not resolver_silent)
        if not certain:
            self._doubt(lease.host, now)
        weight = (_FINAL.get(outcome.reason, 1) if certain else 1) if counts else 0
        if counts:
            failures = frontier.sites.failures(site) + weight
        else:
            failures = (self.network.unnamed if resolver_silent else self.network.silence)(lease.host)
        until, why = now + rest(failures), outcome.reason if counts else UNREACHABLE
        contact = None if outcome.reason is Reason.DNS else Contact(now, 0.0)
        self._writer.troubled(site, outcome)
        if frontier.sites.close(site, until, why, weight):
            self._writer.fail(lease, outcome, contact, now, final=True)
            self.end(lease)
        else:
            self._close(lease, until, why, contact)

    def _close(self, lease: Lease, until: float, why: str, contact: Contact | None = None) -> None:
        """Put a URL back and let its site wait."""
        self._frontier.sites.close(lease.site, until, why)
        self._frontier.done(lease, self._clock.now(), contact, keep=True)
        number = self._queues.tablet_of(lease.entry.url)
        batch = self._queues.store.tablet(number).batch()
        self._queues.write_site(batch, lease.site)
        self._queues.commit(number, batch)
        self.end(lease)

    # ---- robots.txt, logins, and whom else we ask

    async def _log_in(self, lease: Lease, logins: Logins) -> None:
        """Log in to the site, which is ours for that long; its URL waits."""
        entered = True  # by whoever led here

        async def fetch(request: Request) -> Outcome:
            nonlocal entered
            waits, entered = not entered, False
            self._writer.tally.contacts += 1
            return await self._pass_gate(request, waits=waits)

        try:
            wait, said = await logins.log_in(lease.site, fetch)
            now = self._clock.now()
            if wait:
                log.warning("login refused: %s (%s)", lease.site, said)
                self._writer.troubled(lease.site, Failed(lease.entry.url, Reason.LOGIN, detail=said))
                self._close(lease, now + wait, "login refused")
            else:
                self._writer.troubles.pop(lease.site, None)
                self._frontier.done(lease, now, Contact(now, 0.0), keep=True)
                self.end(lease)
        except (FykeError, OSError):
            raise
        except Exception:
            self.fault(lease)
        self._queues.flush()

    async def _ask_permission(self, lease: Lease) -> None:
        started, url = self._clock.now(), lease.entry.url
        try:
            self._answered(lease, await self.context.permissions.ask(url, self._pass_gate), started)
        except (FykeError, OSError):
            raise
        except Exception:
            self.fault(lease)
        self._queues.flush()

    def _answered(self, lease: Lease, outcome: Outcome, started: float) -> None:
        url, now = lease.entry.url, self._clock.now()
        self._writer.tally.contacts += 1
        if isinstance(outcome, Failed) and outcome.url.site == url.site:
            if outcome.reason in UNREACHED:
                self._unreached(lease, outcome)
                return
            if outcome.reason is Reason.PRIVATE_ADDRESS:
                self._writer.fail(lease, Failed(url, outcome.reason, detail=outcome.detail), None, now)
                self.end(lease)
                return
        if not self._heard(lease, outcome) and self.network.down_since:
            self._close(lease, now + rest(0), UNREACHABLE, contact_of(outcome, started, now))
            return
        number = self._queues.tablet_of(url)
        tablet = self._queues.store.tablet(number)
        batch = tablet.batch()
        permission = self.context.permissions.answered(batch, tablet, url, outcome, now)
        if permission.standing.verdict is Verdict.DENY and isinstance(outcome, Failed):
            self._writer.troubled(lease.site, outcome, "robots.txt: ")
        self._frontier.set_crawl_delay(lease.host, permission.delay)
        self._frontier.done(lease, now, contact_of(outcome, started, now), keep=True)
        self._queues.write_site(batch, lease.site)
        if self._discovery.sitemaps:
            self._queues.offer(batch, number, self._writer.lister.wanted(batch, places(url, permission)), now)
        self._queues.commit(number, batch)
        self.end(lease)

    async def fetch(self, request: Request) -> Outcome:
        """Fetch what is no page of the crawl (a hub is asked), once its host may be contacted."""
        self._writer.tally.contacts += 1
        return await self._pass_gate(request, waits=True)

    async def _pass_gate(self, request: Request, *, waits: bool) -> Outcome:
        """Fetch, where the host is ours already; else wait for it (``waits``): it may be another agent's."""
        host = request.url.host
        while waits and (busy := self._gate.enter(host, self._clock.now())):
            # A contact under way is claimed for as long as it may take, and mostly over in a moment.
            await self._clock.sleep(min(busy - self._clock.now(), GATE_RETRY))
        try:
            return await self.context.transport.fetch(request)
        finally:
            self._gate.leave(host, self._clock.now())
