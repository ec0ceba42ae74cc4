"""Try the logins of a file of accounts, and show what says that they work; no secret is printed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fyke.cli.echo import echo
from fyke.cli.options import Json, print_json, require_files
from fyke.crawl.run.settings import CrawlSettings
from fyke.errors import UserError

if TYPE_CHECKING:
    from fyke.crawl.politeness.auth import Account

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def login(
    auth: Annotated[Path, typer.Option("--auth", help="The accounts, as for fyke crawl.")],
    ca_file: Annotated[str, typer.Option("--ca-file", help="Certificate authorities to trust.")] = "",
    resolve: Annotated[
        list[str] | None, typer.Option("--resolve", metavar="HOST:ADDRESS", help="To use instead of asking DNS.")
    ] = None,
    json: Json = False,
) -> None:
    """Log in to each site of the file once, and say what came of it.

    Example: fyke login --auth accounts.toml
    """
    from fyke.crawl.politeness.auth import read_auth

    require_files(ca_file=ca_file)
    try:
        fixed = CrawlSettings(resolve=tuple(resolve or ())).fixed_addresses()
    except ValueError as error:
        raise UserError(str(error)) from None
    found = asyncio.run(_try_all(read_auth(auth), ca_file, fixed))
    for each in found:
        if json:
            print_json(each)
        else:
            echo(f"{each['origin']} ({each['kind']}): {'logged in' if each['ok'] else 'refused'}: {each['evidence']}")
    if not all(each["ok"] for each in found):
        raise typer.Exit(1)


async def _try_all(accounts: list[Account], ca_file: str, fixed: dict[str, str]) -> list[dict[str, Any]]:
    from fyke.clock import SystemClock
    from fyke.fetch.address import AddressPolicy
    from fyke.fetch.dns import Resolver
    from fyke.fetch.http import FetchSettings, HttpTransport
    from fyke.fetch.sessions import Sessions
    from fyke.url import Url

    clock = SystemClock()
    urls = [Url(f"{each.origin}/") for each in accounts]
    sessions = Sessions(
        (),
        {each.origin: each.credentials for each in accounts if each.credentials is not None},
        [line for each in accounts for line in each.cookies],
        [each.origin for each in accounts],
    )
    veto = AddressPolicy((url.host for url in urls), ports=((url.host, url.port) for url in urls))
    transport = HttpTransport(FetchSettings(ca_file=ca_file), Resolver(clock, fixed), veto, clock, sessions)
    try:
        return [await _try(each, transport) for each in accounts]
    finally:
        await transport.close()


async def _try(account: Account, transport: Any) -> dict[str, Any]:
    from fyke.crawl.politeness.login import Evidence, log_in
    from fyke.url import Url
    from fyke.values import Failed, Request

    if account.login is not None:
        evidence = await log_in(account.login, transport.fetch)
    else:
        url = f"{account.origin}/"
        outcome = await transport.fetch(Request(Url(url)))
        said = outcome.detail if isinstance(outcome, Failed) else f"status {outcome.exchange.status}"
        evidence = Evidence(not isinstance(outcome, Failed), f"{url}: {said}")
    return {"origin": account.origin, "kind": account.kind, "ok": evidence.is_in, "evidence": evidence.said}
