"""How commands read one thing from a file or from the web, over at most five redirects."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fyke.errors import UserError

_TIMEOUT = 20.0
_REDIRECTS = 5


@dataclass(frozen=True, slots=True)
class Answer:
    """What a file or a server said."""

    status: int
    """200 for a file that could be read, 0 for no answer."""
    body: bytes
    url: str = ""
    """Where the body was found in the end; empty for a file."""
    media_type: str = ""
    """The Content-Type that came with it."""
    why: str = ""
    """Why there is no answer: ``dns: Domain name not found``."""

    @property
    def said(self) -> str:
        """The status, or why there is none, in words."""
        return f"status {self.status}" if self.status else f"no answer ({self.why})"


def read_source(source: str, agent: str, max_bytes: int, path: str = "") -> Answer:
    """Read the file ``source``, or where it is a URL ask the web; ``path`` replaces that of the URL."""
    if "://" in source:
        from fyke.fetching import run

        return run(_ask(source, agent, max_bytes, path))
    try:
        with Path(source).open("rb") as file:
            return Answer(200, file.read(max_bytes + 1))  # a byte more, so that it is seen to be too long
    except OSError as error:
        raise UserError(f"cannot read {source}: {error.strerror}; give a file or a URL with its scheme") from None


async def _ask(address: str, agent: str, max_bytes: int, path: str) -> Answer:
    from fyke.clock import SystemClock
    from fyke.config import build
    from fyke.crawl.run.settings import CrawlSettings
    from fyke.fetch.http import USER_AGENT
    from fyke.fetching import open_transport
    from fyke.formats.http import parse_head
    from fyke.url import Url
    from fyke.values import Failed, Moved, Request

    url = Url.parse(address)
    if url.scheme not in ("http", "https"):
        raise UserError(f"{address} is not on the web; give an http: or https: URL, or a file")
    agent = USER_AGENT if agent == "fyke" else agent
    said = {"user_agent": agent, "max_body": max_bytes, "fetch_timeout": _TIMEOUT}
    settings = build(CrawlSettings, said, "the command line")
    transport = open_transport([address], settings, SystemClock())
    try:
        outcome = await transport.fetch(Request(url.join(path) if path else url))
        for _ in range(_REDIRECTS):
            if not isinstance(outcome, Moved):
                break
            outcome = await transport.fetch(Request(outcome.target))
    finally:
        await transport.close()
    exchange = outcome.exchange
    if exchange is None:
        why = ": ".join(filter(None, (str(outcome.reason), outcome.detail))) if isinstance(outcome, Failed) else ""
        return Answer(0, b"", outcome.url.href, why=why)
    media_type = parse_head(exchange.response_head).get("content-type")
    return Answer(exchange.status, exchange.body, outcome.url.href, media_type)
