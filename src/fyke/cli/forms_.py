"""The forms of a page: which are safe to send or why not, and what a crawl would ask for; sends nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fyke.cli.echo import echo
from fyke.cli.options import Json, print_json

if TYPE_CHECKING:
    from fyke.sites.form_words import Unsafe
    from fyke.sites.forms import Form
    from fyke.url import Url

MAX_BYTES = 10_000_000
SHOWN = 3
"""Requests that are shown as examples."""

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def forms(
    source: Annotated[str, typer.Argument(metavar="URL|FILE", help="A page, or a file with one.")],
    url: Annotated[str, typer.Option(help="The address of the page in a file.")] = "http://page.invalid/",
    post: Annotated[bool, typer.Option("--post", help="Judge as with --forms post: POST is allowed.")] = False,
    agent: Annotated[str, typer.Option("--user-agent", help="Who asks; robots.txt is read for it.")] = "fyke",
    json: Json = False,
) -> None:
    """Explain each form of a page: safe or why not, what it asks for, and what a crawl would send first.

    Only the page and its site's robots.txt are asked for; no form is sent.

    Example: fyke forms https://example.org/catalogue --json
    """
    from fyke.cli.asking import read_source
    from fyke.errors import FykeError
    from fyke.sites import forms as reading
    from fyke.sites.results import page_words
    from fyke.url import Url

    answer = read_source(source, agent, MAX_BYTES)
    if not 200 <= answer.status < 300:
        raise FykeError(f"{source}: no page, {answer.said}")
    page = Url.parse(answer.url or url)
    found = reading.forms(answer.body, answer.media_type, page)
    allows = _robots(page, agent) if answer.url else lambda target: True
    facts = []
    for form in found:
        why = _judge(form, page, allows, post)
        facts.append(_facts(form, page, why, page_words(answer.body, answer.media_type)))
    for each in facts:
        print_json(each) if json else _show(each)
    if not json and not facts:
        echo("no form")


def _robots(page: Url, agent: str) -> Any:
    """Whether the rules of the page's site allow an address."""
    from fyke.cli.asking import read_source
    from fyke.sites.robots import MAX_BYTES as MOST
    from fyke.sites.robots import Robots
    from fyke.sites.standing import stand

    answer = read_source(page.href, agent, MOST + 1, "/robots.txt")
    verdict = stand(None, answer.status, 0.0, user_agent=agent).verdict.value
    rules = Robots.parse(answer.body if verdict == "rules" else b"")
    return lambda target: verdict != "deny" and rules.allows(agent, target.href)


def _judge(form: Form, page: Url, allows: Any, post: bool) -> Unsafe | None:
    from fyke.sites.form_safety import refusal
    from fyke.sites.form_words import Unsafe

    why = refusal(form, page, post=post)
    return Unsafe.ROBOTS if why is None and form.target.site == page.site and not allows(form.target) else why


def _facts(form: Form, page: Url, why: Unsafe | None, words: list[str]) -> dict[str, Any]:
    from fyke.sites.form_words import MEANING

    fields = [
        {"name": each.name, "kind": each.kind, "value": each.value, "label": each.label, "options": len(each.options)}
        for each in form.fields
    ]
    return {
        "page": page.href,
        "target": form.target.href,
        "method": form.method,
        "safe": why is None,
        "reason": str(why) if why is not None else None,
        "meaning": MEANING[why] if why is not None else "it asks for documents, and does nothing else",
        "fields": fields,
        "sends": _first(form, words) if why is None else [],
    }


def _first(form: Form, words: list[str]) -> list[str]:
    """The first requests of a crawl, as far as they do not depend on answers."""
    from fyke.sites.probing import Probe

    probe, sends = Probe.of(form, [], words), list[str]()
    while len(sends) < SHOWN and (ask := probe.next()) is not None:
        sends.append(ask.href)
        probe.skip()
    return sends


def _show(facts: dict[str, Any]) -> None:
    verdict = "safe" if facts["safe"] else f"not sent ({facts['reason']})"
    echo(f"{facts['method']} {facts['target']}: {verdict}: {facts['meaning']}")
    for each in facts["fields"]:
        said = [each["name"] or "(no name)", each["kind"], f"{each['options']} choices" if each["options"] else ""]
        said += [f"= {each['value'][:60]!r}" if each["value"] else "", each["label"][:60]]
        echo("  " + "  ".join(filter(None, said)))
    for href in facts["sends"]:
        echo(f"  would ask for {href}")
