"""Steering from the page: a form with the server's secret, asked twice, done by ``steering.change`` and logged."""

from __future__ import annotations

import hmac
import math
import re
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request

from fyke.crawl.run import status as statuses
from fyke.crawl.run import steering
from fyke.errors import UserError

_MAX_FORM = 8_192
_NAMES = ("action", "host", "seconds", "pattern", "sure")
_RUNNING = {
    "pause": ({"paused": True}, "Begin no further fetch"),
    "resume": ({"paused": False}, "Go on"),
    "stop": ({"stop": True}, "End the crawl cleanly; `fyke resume` goes on"),
}


async def fields(request: Request, csrf: str) -> dict[str, str]:
    """Return what a form says. Raises ``UserError`` where it is not one of ours."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MAX_FORM:
            raise UserError("the form is too large")
    try:
        given = dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=10))
    except ValueError:
        raise UserError("the form is too large") from None
    if not hmac.compare_digest(given.get("csrf", "").encode("utf-8", "replace"), csrf.encode()):
        raise UserError("the form is an old one; open the page of steering again")
    return {name: given[name].strip() for name in _NAMES if given.get(name)}


def act(store: Path, given: dict[str, str]) -> dict[str, Any]:
    """Ask whether it is meant, or do it; return what the page tells. Raises ``UserError``."""
    changes, words = _wanted(given)
    running = statuses.total(statuses.read_whole(store)[0], time.time()).running
    if given["action"] in _RUNNING and not running:
        raise UserError(f"no crawl is running in {store}; `fyke resume --store {store}` starts one")
    if given.get("sure") != "yes":
        return {"said": "", "asked": words + ".", "fields": given}
    from fyke.crawl.run.runtime import log, logging_to  # it loads another event loop

    asked = steering.change(store, lambda known: steering.merged(known, **changes))
    with logging_to(store):
        log.warning("steered from the dashboard (change %d): %s", asked.number, words)
    return {"said": f"Asked for: {words}.", "asked": "", "fields": {}}


def _wanted(given: dict[str, str]) -> tuple[dict[str, Any], str]:
    action = given.get("action", "")
    if action in _RUNNING:
        return _RUNNING[action]
    if action == "slow":
        host = given.get("host", "").lower()
        try:
            seconds = float(given.get("seconds", ""))
        except ValueError:
            seconds = math.nan
        if not host or not 0 <= seconds <= 86_400:
            raise UserError("slowing down wants a host and seconds from 0 to 86400")
        return {"slow": {host: seconds}}, f"Ask {host} every {seconds:g} s at most"
    if action == "exclude" and given.get("pattern"):
        try:
            re.compile(given["pattern"])
        except re.error as error:
            raise UserError(f"{given['pattern']!r} is no regular expression ({error})") from None
        return {"exclude": [given["pattern"]]}, f"Neither follow nor fetch what matches {given['pattern']!r}"
    raise UserError("the form asks for nothing that is known")
