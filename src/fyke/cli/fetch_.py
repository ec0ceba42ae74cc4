"""One page or a few, now, without a store: Markdown, text, HTML or JSON of any format."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from fyke.cli.crawl_ import confirm, read_seeds
from fyke.cli.echo import echo, note, print_text
from fyke.cli.options import Json, Yes, flags, print_json
from fyke.crawl.run.settings import FETCH_OPTIONS, CrawlSettings

if TYPE_CHECKING:
    from fyke.reading.page import Page

app = typer.Typer(rich_markup_mode=None, add_completion=False)
_LONG = 3.0  # seconds that a person would wonder about


class Form(StrEnum):
    """What ``--to`` takes."""

    MARKDOWN = "markdown"
    TEXT = "text"
    HTML = "html"
    JSON = "json"


@app.command()
@flags(CrawlSettings, FETCH_OPTIONS)
def fetch(
    urls: Annotated[list[str], typer.Argument(metavar="URL...", help="URLs, or @FILE with one a line; @- is stdin.")],
    to: Annotated[Form, typer.Option(help="What to print: the main content of a page, all of another format.")] = (
        Form.MARKDOWN
    ),
    yes: Yes = False,
    json: Json = False,
    *,
    settings: CrawlSettings,
) -> None:
    """Fetch a page or a few, politely and without a store, and print what they say.

    Redirects are followed; robots.txt and the gap between two requests to a host are kept. PDF, Office and other
    formats are converted. What did not come is told on stderr with its reason, and the status is 1.

    Example: fyke fetch https://example.org/ --to text
    """
    from fyke.cli import warming
    from fyke.fetching import fetch_all, parse_url

    confirm(settings, yes)
    asked = read_seeds(urls)
    for url in asked:
        parse_url(url)
    warming.ahead("extract")
    failed = 0
    for page in fetch_all(asked, settings, tell):
        if json or to is Form.JSON:
            print_json(facts(page))
        elif not page.error or page.text:
            print_text(getattr(page, to.value))
        if page.error:
            failed += 1
            echo(f"fyke: {page.url}: {page.error}" + (f": {page.detail}" if page.detail else ""), err=True)
    if failed:
        raise typer.Exit(1)


def tell(host: str, seconds: float) -> None:
    """Say for how long a host is left alone, where a person would wonder."""
    if seconds > _LONG:
        note(f"fyke: {host} is left alone for {seconds:.0f} s between two requests, as it asks")


def facts(page: Page) -> dict[str, object]:
    """What is known of a page, by the names that rows have; what does not apply is left out."""
    named: dict[str, object] = {
        "url": page.url,
        "status": page.status,
        "type": page.type,
        "length": len(page.raw),
        "fetched": datetime.fromtimestamp(page.fetched, UTC).isoformat().replace("+00:00", "Z"),
    }
    more = {
        "requested": page.requested if page.requested != page.url else "",
        "redirects": list(page.redirects),
        "error": page.error,
        "detail": page.detail,
        "truncated": page.truncated,
        "title": page.title,
        "language": page.language,
        "robots": list(page.robots),
        **{name: getattr(page.meta, name) for name in page.meta.__slots__},
        "markdown": page.markdown if not page.error or page.text else "",
        "text": page.text,
        "links": [{"url": link.target.href, "text": link.text, "rel": link.rel} for link in page.links],
    }
    return named | {name: value for name, value in more.items() if value}
