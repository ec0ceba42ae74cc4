"""What fyke makes of a URL: normal form, domain, row key, duplicate key."""

from __future__ import annotations

from typing import Annotated

import typer

from fyke.cli.echo import echo
from fyke.cli.options import Json, print_json
from fyke.url import Url

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def url(
    address: Annotated[str, typer.Argument(metavar="URL", help="An absolute URL.")],
    reference: Annotated[str, typer.Argument(help="A link found at URL, to be joined with it.")] = "",
    json: Json = False,
) -> None:
    """Show what fyke makes of a URL: normal form, domain, row key, duplicate key.

    Example: fyke url http://en.wikipedia.org/wiki/Main_Page /wiki/Wikipedia:General_disclaimer
    """
    named = Url.parse(address)
    if reference:
        named = named.join(reference)
    facts = {
        "url": named.href,
        "host": named.host,
        "domain": named.domain,
        "duplicate_key": named.duplicate_key,
        "row_key": named.key.hex(),
    }
    if json:
        print_json(facts)
        return
    for name, value in facts.items():
        echo(f"{name:14} {value}")
