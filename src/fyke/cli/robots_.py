"""What a site's robots.txt says: groups, delays, sitemaps, and whether a URL may be fetched."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fyke.cli.options import Json, print_json
from fyke.errors import UserError

app = typer.Typer(rich_markup_mode=None, add_completion=False)

_TIMEOUT = 20.0
_REDIRECTS = 5
_MEANING = {
    "rules": "the rules below hold",
    "allow": "there are no rules: everything may be fetched",
    "deny": "the site cannot say: nothing may be fetched for now",
}


@app.command()
def robots(
    source: Annotated[str, typer.Argument(metavar="URL|FILE", help="A site's URL, or a file with a robots.txt.")],
    urls: Annotated[list[str] | None, typer.Argument(metavar="[URL...]", help="May these be fetched?")] = None,
    agent: Annotated[str, typer.Option("--user-agent", help="Who asks: a product token or a User-Agent.")] = "fyke",
    json: Json = False,
) -> None:
    """Explain a robots.txt: groups, delays, sitemaps, and whether each URL may be fetched.

    Example: fyke robots https://example.org/ /private/page
    """
    import asyncio

    from fyke.sites.robots import Robots
    from fyke.sites.standing import stand

    status, body = asyncio.run(_ask(source, agent)) if "://" in source else (200, _read(Path(source)))
    verdict = stand(None, status, 0.0, user_agent=agent).verdict.value
    rules = Robots.parse(body if verdict == "rules" else b"")
    group = rules.group(agent)
    asked = {url: verdict != "deny" and rules.allows(agent, url) for url in urls or []}
    facts = {
        "status": status,
        "verdict": verdict,
        "agent": agent,
        "group": group.agent if group else None,
        "allow": [rule.decode("utf-8", "replace") for rule in group.allow] if group else [],
        "disallow": [rule.decode("utf-8", "replace") for rule in group.disallow] if group else [],
        "delay": group.delay if group else None,
        "sitemaps": rules.sitemaps,
        "agents": sorted(rules.groups),
        "urls": asked,
    }
    if json:
        print_json(facts)
        return
    typer.echo(f"{f'status {status}' if status else 'no answer'}: {_MEANING[verdict]}")
    typer.echo(f"groups: {', '.join(sorted(rules.groups)) or 'none'}; {agent} reads {facts['group'] or 'none'}")
    if group:
        for kind, patterns in (("allow", group.allow), ("disallow", group.disallow)):
            for pattern in patterns:
                typer.echo(f"  {kind:9} {pattern.decode('utf-8', 'replace')}")
        typer.echo(f"  delay     {'none' if group.delay is None else f'{group.delay:g} s'}")
    for sitemap in rules.sitemaps:
        typer.echo(f"sitemap: {sitemap}")
    for url, allowed in asked.items():
        typer.echo(f"{'may be fetched' if allowed else 'must not be fetched'}: {url}")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; give a file or a URL with its scheme") from None


async def _ask(address: str, agent: str) -> tuple[int, bytes]:
    """Return status and body of a site's robots.txt, after at most five redirects; status 0 for no answer."""
    from fyke.clock import SystemClock
    from fyke.fetch.address import Veto
    from fyke.fetch.dns import Resolver
    from fyke.fetch.http import FetchSettings, HttpTransport
    from fyke.sites.robots import MAX_BYTES
    from fyke.url import Url
    from fyke.values import Moved, Request

    site = Url.parse(address)
    if site.scheme not in ("http", "https"):
        raise UserError(f"{address} is not on the web; give an http: or https: URL, or a file")
    clock = SystemClock()
    settings = FetchSettings(user_agent=agent, max_body=MAX_BYTES + 1, fetch_timeout=_TIMEOUT)
    transport = HttpTransport(settings, Resolver(clock), Veto(frozenset({site.host})), clock)
    try:
        outcome = await transport.fetch(Request(Url(site.site + "/robots.txt")))
        for _ in range(_REDIRECTS):
            if not isinstance(outcome, Moved):
                break
            outcome = await transport.fetch(Request(outcome.target))
    finally:
        await transport.close()
    return (outcome.exchange.status, outcome.exchange.body) if outcome.exchange else (0, b"")
