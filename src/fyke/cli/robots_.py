"""What a site's robots.txt says: groups, delays, sitemaps, and whether a URL may be fetched."""

from __future__ import annotations

from typing import Annotated

import typer

from fyke.cli.echo import echo
from fyke.cli.options import Json, print_json

app = typer.Typer(rich_markup_mode=None, add_completion=False)

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
    from fyke.cli.asking import read_source
    from fyke.sites.robots import MAX_BYTES, Robots
    from fyke.sites.standing import stand

    answer = read_source(source, agent, MAX_BYTES + 1, "/robots.txt")
    status, body = answer.status, answer.body
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
        "usage": [
            {"path": path.decode("utf-8", "replace"), "purpose": purpose, "allowed": allowed}
            for path, purpose, allowed in (group.usage if group else ())
        ],
        "sitemaps": rules.sitemaps,
        "agents": sorted(rules.groups),
        "urls": asked,
    }
    if json:
        print_json(facts)
        return
    echo(f"{answer.said}: {_MEANING[verdict]}")
    echo(f"groups: {', '.join(sorted(rules.groups)) or 'none'}; {agent} reads {facts['group'] or 'none'}")
    if group:
        for kind, patterns in (("allow", group.allow), ("disallow", group.disallow)):
            for pattern in patterns:
                echo(f"  {kind:9} {pattern.decode('utf-8', 'replace')}")
        echo(f"  delay     {'none' if group.delay is None else f'{group.delay:g} s'}")
        for path, purpose, allowed in group.usage:
            echo(f"  use       {purpose} {'allowed' if allowed else 'refused'} of {path.decode('utf-8', 'replace')}")
    for sitemap in rules.sitemaps:
        echo(f"sitemap: {sitemap}")
    for url, allowed in asked.items():
        echo(f"{'may be fetched' if allowed else 'must not be fetched'}: {url}")
