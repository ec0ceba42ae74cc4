"""One page as a browser shows it, beside what its server sent: text, links, requests, a picture."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fyke.cli.crawl_ import confirm
from fyke.cli.echo import echo, note, print_text
from fyke.cli.fetch_ import tell
from fyke.cli.options import Json, Yes, flags, print_json
from fyke.crawl.run.settings import FETCH_OPTIONS, RENDER_OPTIONS, CrawlSettings
from fyke.errors import StorageError

if TYPE_CHECKING:
    from fyke.rendering import Shown

app = typer.Typer(rich_markup_mode=None, add_completion=False)


class Show(StrEnum):
    """What ``--show`` takes."""

    TEXT = "text"
    HTML = "html"
    LINKS = "links"
    REQUESTS = "requests"


@app.command()
@flags(CrawlSettings, FETCH_OPTIONS + RENDER_OPTIONS)
def render(
    url: Annotated[str, typer.Argument(metavar="URL", help="The page.")],
    show: Annotated[Show, typer.Option(help="What to print of the page as it was shown.")] = Show.TEXT,
    compare: Annotated[bool, typer.Option("--compare", help="Print what the browser gained over the server.")] = False,
    shot: Annotated[Path | None, typer.Option(metavar="OUT.png", help="Draw the whole page, with its images.")] = None,
    yes: Yes = False,
    json: Json = False,
    *,
    settings: CrawlSettings,
) -> None:
    """Show a page in a browser and print what it says, or (--compare) what that is worth.

    Every request of the page is fyke's own: robots.txt and the gap between two requests to a host are kept, so a page
    with ten scripts takes ten gaps. What did not come is told on stderr with its reason, and the status is 1.

    Example: fyke render https://example.org/ --compare
    """
    from fyke.browser.chromium import warning
    from fyke.browser.process import find_program
    from fyke.browser.values import Looks
    from fyke.rendering import render as shown_by

    confirm(settings, yes)
    find_program(settings.browser)
    if said := warning():
        note(f"fyke: {said}")
    found = shown_by(url, settings, Looks(shot=shot is not None), everything=shot is not None, waiting=tell)
    if shot is not None and found.rendered.shot:
        try:
            shot.write_bytes(found.rendered.shot)
        except OSError as error:
            raise StorageError(f"{shot} can not be written ({error.strerror}): name another file") from None
        note(f"{shot}: {found.page.url}")
    if json:
        print_json(_facts(found))
    elif compare:
        _compare(found)
    else:
        _print(found, show)
    if found.page.error:
        detail = f": {found.page.detail}" if found.page.detail else ""
        echo(f"fyke: {found.page.url}: {found.page.error}{detail}", err=True)
        raise typer.Exit(1)


def _print(found: Shown, show: Show) -> None:
    if show is Show.REQUESTS:
        for each in found.rendered.answers:
            echo(f"{each.refused or each.status}\t{each.length}\t{each.asked.kind}\t{each.asked.url}")
    elif found.page.error:
        return
    elif show is Show.LINKS:
        for link in found.page.links:
            echo(f"{link.target.href}\t{link.text}")
    else:
        print_text(found.rendered.html if show is Show.HTML else found.page.text)


def _compare(found: Shown) -> None:
    server, page, answers = found.server, found.page, found.rendered.answers
    refused = sum(bool(each.refused) for each in answers)
    echo(f"{'':10} {'server':>10} {'rendered':>10}")
    echo(f"{'text':10} {len(server.text):>10,} {len(page.text):>10,} characters")
    echo(f"{'links':10} {len(server.links):>10,} {len(page.links):>10,} ({found.new_links} new)")
    echo(f"{'bytes':10} {len(server.raw):>10,} {len(page.raw):>10,}")
    echo(f"{'requests':10} {1:>10,} {len(answers):>10,} ({refused} refused)")
    echo(f"{'seconds':10} {'':>10} {found.rendered.seconds:>10.1f}")
    echo(f"\nlooks scripted: {found.suspect or 'no'}")
    echo(f"worth it: {'yes' if found.gained else 'no'}")


def _facts(found: Shown) -> dict[str, object]:
    rendered, page = found.rendered, found.page
    facts: dict[str, object] = {
        "url": page.url,
        "status": page.status,
        "seconds": round(rendered.seconds, 3),
        "server": {"length": len(found.server.raw), "text": len(found.server.text), "links": len(found.server.links)},
        "requests": [
            {"url": each.asked.url, "kind": each.asked.kind, "length": each.length}
            | ({"refused": each.refused} if each.refused else {"status": each.status})
            for each in rendered.answers
        ],
        "new_links": found.new_links,
        "gained": found.gained,
    }
    more: dict[str, object] = {
        "requested": page.requested if page.requested != page.url else "",
        "redirects": list(page.redirects),
        "error": page.error,
        "detail": page.detail,
        "truncated": page.truncated,
        "suspect": found.suspect,
        "title": page.title,
        "language": page.language,
        "text": page.text,
        "html": rendered.html,
        "links": [{"url": link.target.href, "text": link.text, "rel": link.rel} for link in page.links],
    }
    return facts | {name: value for name, value in more.items() if value}
