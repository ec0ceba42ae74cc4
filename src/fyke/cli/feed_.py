"""What a feed says: its items, how often it posts, when to ask it again, and who pushes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from fyke.cli.echo import echo
from fyke.cli.options import Json, print_json

if TYPE_CHECKING:
    from fyke.cli.asking import Answer
    from fyke.sites.feed import Feed, Item

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def feed(
    source: Annotated[str, typer.Argument(metavar="URL|FILE", help="A feed: RSS, Atom, RDF, CDF, JSON; or a page.")],
    limit: Annotated[int, typer.Option(min=0, help="Items to show; 0 for all.")] = 20,
    agent: Annotated[str, typer.Option("--user-agent", help="Who asks.")] = "fyke",
    json: Json = False,
) -> None:
    """Explain a feed: its items with canonical fields, its rhythm, its hub, and faults by reason.

    Example: fyke feed https://example.org/feed.xml
    """
    from fyke.cli.asking import read_source
    from fyke.clock import SystemClock
    from fyke.errors import FykeError
    from fyke.sites.feed import MAX_BYTES, FeedKind, parse_feed
    from fyke.sites.polling import Posting, next_poll

    answer = read_source(source, agent, MAX_BYTES)
    found = parse_feed(answer.body, answer.url)
    if found.kind is FeedKind.NONE and (named := _named(answer)):
        answer = read_source(named, agent, MAX_BYTES)
        found = parse_feed(answer.body, answer.url)
    if not 200 <= answer.status < 300:
        raise FykeError(f"{source}: no feed, {answer.said}; give a feed or a page that names one")
    now = SystemClock().now()
    posting = Posting().after(now, 0, [item.published for item in found.items])
    wait = next_poll(posting, found.rhythm, now) - now
    shown = found.items[:limit] if limit else found.items
    rhythm = found.rhythm
    if json:
        print_json(
            {
                "kind": found.kind,
                "title": found.title,
                "link": found.link,
                "language": found.language,
                "count": len(found.items),
                "items": shown,
                "ttl": rhythm.ttl,
                "period": rhythm.period,
                "skip_hours": sorted(rhythm.skip_hours),
                "skip_days": sorted(rhythm.skip_days),
                "items_per_day": round(posting.rate * 86_400, 3),
                "next_poll": round(wait),
                "self": found.self_url,
                "hubs": found.hubs,
                "faults": {str(fault): count for fault, count in found.faults},
            }
        )
        return
    _tell(found, shown, posting.rate * 86_400, wait)


def _tell(found: Feed, shown: Sequence[Item], a_day: float, wait: float) -> None:
    """Say in words what a feed holds and when it wants to be asked again."""
    rhythm = found.rhythm
    echo(f"{found.kind}: {found.title or 'no title'}, {len(found.items)} items")
    for item in shown:
        echo(f"{item.meta.published or item.meta.updated or '-':20}  {item.title}  {item.link}")
    wishes = [
        f"ttl {rhythm.ttl / 60:g} min" if rhythm.ttl else "",
        f"every {rhythm.period:g} s" if rhythm.period else "",
    ]
    echo(
        f"posts {a_day:.2g} items a day"
        f"{''.join('; says ' + wish for wish in wishes if wish)}; to be polled in {wait / 60:.0f} min"
    )
    for hub in found.hubs:
        echo(f"hub: {hub}")
    for fault, count in found.faults:
        echo(f"fault: {fault} ({count})")


def _named(answer: Answer) -> str:
    """The first feed that a page on the web names."""
    from fyke.formats.http import NO_HEAD
    from fyke.reading.reading import Reader
    from fyke.url import Url

    feeds = Reader().page(answer.body, NO_HEAD, Url.parse(answer.url), "text/html").found.feeds if answer.url else ()
    return feeds[0].href if feeds else ""
