"""Logging in by a form, as a person would: its hidden fields go back with it, and a page shows whether it worked.

A session ends without a word, so every page of such an origin is looked at: a 401, a way to the login page, a form
that asks for a password, or a page without the words that all pages have say that it has ended. Then the URL waits in
its queue, one login is made, and it is asked for again; a login that is refused closes the origin for a while that
doubles.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from fyke.crawl.politeness.auth import Login
from fyke.formats.encoding import decoded
from fyke.formats.http import parse_head
from fyke.formats.media_types import HTML
from fyke.formats.sniff import sniff
from fyke.limits import note
from fyke.sites.forms import forms
from fyke.url import Url
from fyke.values import Failed, Fetched, Moved, Outcome, Request

FIRST_WAIT = 300.0
"""Seconds after a login that was refused, then twice as long each time."""
MAX_WAIT = 6 * 3600.0
_DOUBLINGS = 10  # of which some lead beyond MAX_WAIT
MAX_HOPS = 5
PATIENCE = 3
"""Times that one URL may find the session ended right after a login, until it is believed that it is always so."""

WORDLESS = 3
"""Pages that lack the words of a session right after a login, until it is believed that not all pages have them."""

_PASSWORD = re.compile(rb"""<input\b[^>]{0,2000}\btype\s*=\s*["']?password\b""", re.IGNORECASE)
_NO_TEXT = frozenset({"hidden", "submit", "button", "image", "reset", "checkbox", "radio", "file", "password"})
_ENDING = re.compile(
    r"(?i)[/=?&._-](?:log|sign)[._-]?(?:out|off)(?![a-z])|[/=](?:delete|remove|destroy|unsubscribe|deactivate)(?![a-z])"
)
_REMEMBERED = 1000

Fetch = Callable[[Request], Awaitable[Outcome]]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a login came to."""

    is_in: bool
    said: str
    """In words, without secrets."""


def ends_session(url: Url) -> bool:
    """Whether following a link would likely end a session or destroy something."""
    return bool(_ENDING.search(url.target))


def asks_password(body: bytes) -> bool:
    """Whether a page asks for a password."""
    return bool(_PASSWORD.search(body, 0, 2_000_000))


async def log_in(login: Login, fetch: Fetch) -> Evidence:
    """Log in; the cookies that show it are in the jar of whoever fetches. Never raises for what a site does."""
    outcome = await _follow(Request(Url(login.page)), login.origin, fetch)
    if not isinstance(outcome, Fetched):
        return Evidence(False, f"the login page could not be had: {_why(outcome)}")
    request = fill_in(login, outcome)
    if request is None:
        return Evidence(False, f"{outcome.url.href} has no form that asks for what there is to fill in")
    if request.url.site != login.origin:
        return Evidence(False, f"the form leads to {request.url.site}; an account is of one origin")
    outcome = await _follow(request, login.origin, fetch)
    if login.check:
        outcome = await _follow(Request(Url(login.check)), login.origin, fetch)
    return _judge(login, outcome)


def _judge(login: Login, outcome: Outcome) -> Evidence:
    where = outcome.url.href
    if not isinstance(outcome, Fetched):
        return Evidence(False, f"{where}: {_why(outcome)}")
    if login.logged_in:
        found = login.logged_in in text_of(outcome)
        return Evidence(found, f"{where} {'shows' if found else 'does not show'} {login.logged_in!r}")
    asked = asks_password(outcome.exchange.body)
    return Evidence(not asked, f"{where} {'asks for a password' if asked else 'asks for no password'}")


def text_of(outcome: Fetched) -> str:
    """The body as text."""
    head = parse_head(outcome.exchange.response_head)
    return decoded(outcome.exchange.body, head.get("content-type")).text


def fill_in(login: Login, outcome: Fetched) -> Request | None:
    """Return what sends the login form of a page, filled in; None where it has none that fits."""
    head = parse_head(outcome.exchange.response_head)
    for form in forms(outcome.exchange.body, head.get("content-type"), outcome.url):
        values = _values(login, dict(form.inputs))
        if values is not None:
            return form.filled(values)
    return None


def _values(login: Login, inputs: dict[str, str]) -> dict[str, str] | None:
    """What is filled in, by the names of the form, which are given with their types; None where it is another form."""
    secret = next((name for name, kind in inputs.items() if kind == "password"), None)
    shown = next((name for name, kind in inputs.items() if kind not in _NO_TEXT), None)
    found = {}
    for name, value in login.fields:
        own = name if name in inputs else {"password": secret, "username": shown}.get(name)
        if own is None:
            return None
        found[own] = value
    return found


async def _follow(request: Request, origin: str, fetch: Fetch) -> Outcome:
    """Fetch, and go where the answer leads within the origin."""
    outcome = await fetch(request)
    for _ in range(MAX_HOPS):
        if not isinstance(outcome, Moved) or outcome.target.site != origin:
            break
        outcome = await fetch(Request(outcome.target))
    else:
        note("login-redirects")
    return outcome


def _why(outcome: Outcome) -> str:
    if isinstance(outcome, Failed):
        return outcome.detail or outcome.reason
    return f"leads to {outcome.target.href}" if isinstance(outcome, Moved) else "no document"


class Session(Enum):
    """What an answer shows."""

    LASTS = "the session lasts"
    ENDED = "it has ended: the URL is asked for again after a login"
    NEVER = "logging in does not help this URL"


class _State:
    """Of one origin."""

    def __init__(self, login: Login) -> None:
        self.login = login
        self.is_in = False
        self.failures = 0
        self.said = ""
        self.wordless = 0


class Logins:
    """The origins of one agent that are logged in to by a form."""

    def __init__(self, logins: Iterable[Login]) -> None:
        self._states = {login.origin: _State(login) for login in logins}
        self._doubted: OrderedDict[str, int] = OrderedDict()

    def knows(self, origin: str) -> bool:
        """Whether there is an account."""
        return origin in self._states

    def wants(self, origin: str) -> bool:
        """Whether one must log in before anything else."""
        state = self._states.get(origin)
        return state is not None and not state.is_in

    async def log_in(self, origin: str, fetch: Fetch) -> tuple[float, str]:
        """Log in; return how long to wait where that was refused, 0 where it was not, and what was said."""
        state = self._states[origin]
        evidence = await log_in(state.login, fetch)
        state.is_in, state.said = evidence.is_in, evidence.said
        if evidence.is_in:
            state.failures = 0
            return 0.0, evidence.said
        wait: float = min(FIRST_WAIT * 2.0 ** min(state.failures, _DOUBLINGS), MAX_WAIT)
        state.failures += 1
        return wait, evidence.said

    def look(self, origin: str, outcome: Outcome) -> Session:
        """Say what an answer shows of the session."""
        state = self._states[origin]
        if not self._shows_end(state, outcome):
            doubted = bool(self._doubted) and self._doubted.pop(outcome.url.href, 0) > 0
            if not _lacks_words(state, outcome):
                return Session.LASTS
            if doubted:  # a login did not help: the page is like that
                state.wordless += 1
                return Session.LASTS
        state.is_in = False
        doubts = self._doubted[outcome.url.href] = self._doubted.pop(outcome.url.href, 0) + 1
        if len(self._doubted) > _REMEMBERED:
            self._doubted.popitem(last=False)
        return Session.ENDED if doubts <= PATIENCE else Session.NEVER

    def _shows_end(self, state: _State, outcome: Outcome) -> bool:
        if outcome.exchange is None:
            return False
        if outcome.exchange.status == 401:
            return True
        if isinstance(outcome, Moved):
            return outcome.target.site == state.login.origin and outcome.target.path == Url(state.login.page).path
        if not isinstance(outcome, Fetched) or not asks_password(outcome.exchange.body):
            return False
        phrase = state.login.logged_in
        return not phrase or phrase not in text_of(outcome)


def _lacks_words(state: _State, outcome: Outcome) -> bool:
    """Whether a page has not the words that show a session, where pages have them."""
    phrase = state.login.logged_in
    if not phrase or state.wordless >= WORDLESS or not isinstance(outcome, Fetched):
        return False
    body = outcome.exchange.body
    if phrase.encode() in body:
        return False
    declared = parse_head(outcome.exchange.response_head).get("content-type")
    return sniff(body, declared, outcome.url.path) == HTML and phrase not in text_of(outcome)
