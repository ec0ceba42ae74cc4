"""What a sitemap says: its pages or parts, when they changed, and what is wrong with it."""

from __future__ import annotations

from typing import Annotated

import typer

from fyke.cli.echo import echo
from fyke.cli.options import Json, print_json

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def sitemap(
    source: Annotated[
        str, typer.Argument(metavar="URL|FILE", help="A sitemap of any kind, or a site to ask for its own.")
    ],
    limit: Annotated[int, typer.Option(min=0, help="Entries to show; 0 for all.")] = 20,
    agent: Annotated[str, typer.Option("--user-agent", help="Who asks.")] = "fyke",
    json: Json = False,
) -> None:
    """Explain a sitemap: kind, entries with lastmod, changefreq and priority, extensions, and faults by reason.

    Example: fyke sitemap https://example.org/sitemap.xml --json
    """
    from fyke.cli.asking import read_source
    from fyke.errors import FykeError
    from fyke.sites.sitemap import MAX_BYTES, parse_sitemap

    answer = read_source(_place(source, agent), agent, MAX_BYTES)
    if not 200 <= answer.status < 300:
        raise FykeError(f"{source}: no sitemap, {answer.said}; fyke robots tells where a site keeps its own")
    found = parse_sitemap(answer.body, answer.url)
    shown = found.sitemaps or found.entries
    shown = shown[:limit] if limit else shown
    if json:
        print_json(
            {
                "kind": found.kind,
                "count": len(found.entries),
                "sitemaps": len(found.sitemaps),
                "news": found.is_news,
                "entries": shown,
                "faults": {str(fault): count for fault, count in found.faults},
            }
        )
        return
    what = "parts" if found.sitemaps else "pages"
    echo(f"{found.kind}: {len(found.sitemaps) or len(found.entries)} {what}{', news' if found.is_news else ''}")
    for entry in shown:
        said = [entry.lastmod, entry.changefreq, f"priority {entry.priority:g}" if entry.priority != 0.5 else ""]
        said += [entry.news.title if entry.news else "", f"{len(entry.images)} images" if entry.images else ""]
        said += [f"{len(entry.alternates)} languages" if entry.alternates else ""]
        echo("  ".join([entry.location, *filter(None, said)]))
    if len(shown) < len(found.sitemaps or found.entries):
        echo(f"… and {len(found.sitemaps or found.entries) - len(shown)} more; --limit 0 shows all")
    for fault, count in found.faults:
        echo(f"fault: {fault} ({count})")


def _place(source: str, agent: str) -> str:
    """Where the sitemap is: of a whole site, the first that its robots.txt names, or else the well-known place."""
    from fyke.cli.asking import read_source
    from fyke.sites.robots import MAX_BYTES, Robots
    from fyke.url import Url

    if "://" not in source or Url.parse(source).target != "/":
        return source
    answer = read_source(source, agent, MAX_BYTES + 1, "/robots.txt")
    named = Robots.parse(answer.body).sitemaps if answer.status == 200 else ()
    return next(iter(named), Url.parse(source).join("/sitemap.xml").href)
