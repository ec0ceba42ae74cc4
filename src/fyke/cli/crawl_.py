"""Crawl from seeds into a store; the same command goes on where it stopped."""

from __future__ import annotations

import dataclasses
import ipaddress
import sys
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fyke import config
from fyke.cli.common import QUIET
from fyke.cli.echo import be_quiet, echo
from fyke.cli.options import Json, StorePath, Yes, confirmed, flags, print_json, require_files
from fyke.crawl.run.settings import CrawlSettings
from fyke.errors import UserError

if TYPE_CHECKING:
    from fyke.crawl.run.steps import Step
    from fyke.crawl.run.summary import Summary

app = typer.Typer(rich_markup_mode=None, add_completion=False)


Seeds = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SEED...", help="URLs, or @FILE with one a line; @- or - reads stdin. Else --config's seeds."
    ),
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Tell each fetch on stderr, and what else is logged.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help=QUIET)]


@app.command()
@flags(CrawlSettings, lists=("seeds",))
def crawl(
    seeds: Seeds = None,
    store: StorePath = Path("fyke-store"),
    yes: Yes = False,
    verbose: Verbose = False,
    quiet: Quiet = False,
    show_settings: Annotated[
        bool, typer.Option("--show-settings", help="Print the settings that would hold, as TOML, and crawl nothing.")
    ] = False,
    json: Json = False,
    *,
    settings: CrawlSettings,
) -> None:
    """Crawl from seeds into a store; Ctrl-C stops cleanly, and the same command goes on.

    Example: fyke crawl https://example.org/ --max-pages 1000 --store example
    """
    if show_settings:
        show(seeds or [], settings, json)
        return
    confirm(settings, yes)
    run(read_seeds(seeds or []), store, settings, json, verbosity(verbose, quiet))


class Verbosity(Enum):
    """How much is told on stderr."""

    QUIET = 0
    USUAL = 1
    VERBOSE = 2


def verbosity(verbose: bool, quiet: bool) -> Verbosity:
    """Return what ``-v`` and ``-q`` ask for."""
    if verbose and quiet:
        raise UserError("-v and -q are opposites; give one of them")
    if quiet:
        be_quiet()
    return Verbosity.VERBOSE if verbose else Verbosity.QUIET if quiet else Verbosity.USUAL


def show(seeds: Sequence[str], settings: CrawlSettings, json: bool) -> None:
    """Print settings: as TOML that ``--config`` takes, or as JSON; no secret."""
    from fyke.crawl.politeness.identity import without_secrets

    settings = without_secrets(settings)
    if json:
        print_json({"seeds": seeds, **dataclasses.asdict(settings)})
    else:
        echo(f"seeds = {config.toml(seeds)}\n{config.write(settings)}".removesuffix("\n"))


def confirm(settings: CrawlSettings, yes: bool) -> None:
    """Refuse files that are not there; ask before robots.txt is ignored, and before forms are posted."""
    require_files(topic=settings.topic, ca_file=settings.ca_file, browser=settings.browser)
    if settings.forms == "post" and not confirmed("Post forms? Their sites may take that for a person's doing.", yes):
        raise typer.Exit(1)
    if settings.no_robots and not confirmed("Ignore robots.txt? That is for sites of your own.", yes):
        raise typer.Exit(1)


def read_seeds(words: list[str]) -> list[str]:
    """The URLs named on the command line and in files of them; blank lines and # comments are skipped.

    A line of a file that is no URL is named, and left out.
    """
    from fyke.assemble import parse_seed

    seeds = []
    for word in words:
        if not word.startswith("@") and word != "-":
            seeds.append(word)
            continue
        name = "stdin" if word in ("-", "@-") else word[1:]
        try:
            data = sys.stdin.buffer.read() if word in ("-", "@-") else Path(name).read_bytes()
            lines = data.decode("utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"cannot read the seeds in {name}: {error}") from None
        for number, line in enumerate(lines, 1):
            seed = line.strip()
            if not seed or seed.startswith("#"):
                continue
            try:
                parse_seed(seed)
            except UserError as error:
                echo(f"fyke: {name}, line {number}: {error}", err=True)
            else:
                seeds.append(seed)
    if not seeds:
        raise UserError("no seed is a URL; name at least one, like https://example.org/")
    return seeds


def run(
    seeds: list[str], store: Path, settings: CrawlSettings, json: bool, verbosity: Verbosity = Verbosity.USUAL
) -> None:
    """Crawl with a live display, and print what it came to."""
    from fyke import assemble
    from fyke.cli import warming
    from fyke.cli.display import Display
    from fyke.crawl.run import plan

    ordered = settings.topic or settings.order != "breadth" or settings.continuous
    warming.ahead("crawls" if ordered else "crawl")
    if settings.topic:
        settings = dataclasses.replace(settings, topic=trained(Path(settings.topic), store))
    known = plan.read(store)
    if known is not None and verbosity is not Verbosity.QUIET:
        for change in plan.changes(known, plan.Plan(known.seeds, settings)):
            echo(f"fyke: setting changed since the last run: {change}", err=True)
    if (
        not json
        and verbosity is not Verbosity.QUIET
        and lacks_contact([*(known.seeds if known else ()), *seeds], settings)
    ):
        echo("fyke: sites cannot reach you about this crawl: --contact MAIL-OR-URL tells them how", err=True)
    verbose = verbosity is Verbosity.VERBOSE
    with Display(shown=verbosity is Verbosity.USUAL) as display:
        summary = assemble.crawl(seeds, store, settings=settings, progress=display.show, verbose=verbose)
    if json:
        print_json({**dataclasses.asdict(summary), "trace": _trace(store)} if settings.trace else summary)
    elif verbosity is not Verbosity.QUIET or summary.status:
        echo(describe(summary, store), err=verbosity is Verbosity.QUIET)
        if settings.trace:
            show_trace(store, settings.trace)
    if summary.status:
        raise typer.Exit(summary.status)


def lacks_contact(seeds: Sequence[str], settings: CrawlSettings) -> bool:
    """Whether a crawl goes out to sites of others and does not say how to reach whoever crawls."""
    from fyke.url import Url

    if settings.contact or any(sign in settings.user_agent for sign in ("@", "://")):
        return False
    fixed = settings.fixed_addresses()
    return not all(_is_loopback(fixed.get(host, host)) for host in (Url.parse(seed).host for seed in seeds))


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _trace(store: Path) -> list[Step]:
    from fyke.crawl.run.steps import read

    return read(store)


def show_trace(store: Path, urls: tuple[str, ...]) -> None:
    """Print the way of each URL, where redirects led included, and what became of it."""
    from fyke.crawl.run.trace import known
    from fyke.url import Url

    steps = _trace(store)
    for href in dict.fromkeys([*(Url.parse(url).href for url in urls), *(step.url for step in steps)]):
        echo(f"\n{href}")
        own = [step for step in steps if step.url == href]
        for step in own:
            took = f"{step.seconds * 1e3:9.2f} ms" if step.seconds >= 0 else ""
            echo(f"  {step.at - steps[0].at:8.3f} s  {step.room:16} {took:12} {step.said}")
        if not own:
            echo("  nothing happened to it: no page that was crawled links to it")
        echo(f"  in the end: {known(store, href) or 'it is not in the store'}")


def trained(topic: Path, store: Path) -> str:
    """The topic as ``assemble.crawl`` takes it: what has examples is trained first, its model beside it."""
    from fyke.cli.training import model_beside, read_topic, train_file
    from fyke.topic.model import is_model

    try:
        if not topic.exists() or (topic.is_file() and is_model(topic.read_bytes()[:64])):
            return str(topic)
        if not topic.is_dir() and not read_topic(topic)[0].relevant:
            return str(topic)
        target = model_beside(topic)
        made = train_file(topic, store)
        measured = made.model.measured
        target.write_bytes(made.model.encode())
        for warning in made.warnings:
            echo(f"fyke: {warning}", err=True)
        echo(
            f"fyke: {target} is trained on {measured.relevant} relevant and {measured.irrelevant} other pages", err=True
        )
        return str(target)
    except (UserError, OSError) as error:
        echo(f"fyke: {error}", err=True)
        return str(topic)


def describe(summary: Summary, store: Path) -> str:
    """A few lines for a person."""
    amount = f"{summary.pages:,} pages, {summary.bytes / 1e6:,.1f} MB from {summary.hosts:,} hosts"
    lines = [f"{amount} in {summary.seconds:,.1f} s ({summary.cpu_seconds:,.1f} s of CPU)"]
    if summary.requisites:
        lines.append(f"requisites: {summary.requisites:,} images, styles, scripts and fonts of pages")
    for name, counts in (("errors", summary.errors), ("dropped", summary.dropped)):
        if counts:
            lines.append(f"{name}: " + ", ".join(f"{reason} {count:,}" for reason, count in counts.items()))
    if summary.forms:
        lines.append("forms: " + ", ".join(f"{what} {count:,}" for what, count in summary.forms.items()))
    if summary.duplicates:
        lines.append(f"copies: {summary.duplicates:,}, exact or near, are marked")
    if summary.relevant:
        lines.append(f"harvest: {summary.relevant:,} pages are about the topic, {summary.harvest:.1%}")
    for seed, why in list(summary.failed_seeds.items())[:20]:
        lines.append(f"seed {seed} could not be had: {why}")
    if len(summary.failed_seeds) > 20:
        lines.append(f"and {len(summary.failed_seeds) - 20:,} more seeds could not be had")
    if summary.limit:
        lines.append(f"--{summary.limit.replace('_', '-')} is reached")
    if summary.ended == "no-room":
        lines.append("the disk is full: free some of it, or lower --min-free-disk")
    if summary.backed_up is False:
        lines.append(f"the depot does not have everything yet; `fyke resume --store {store}` brings it there")
    if summary.queued:
        why = "are due later than --patience waits" if summary.deferred else "are queued"
        more = f" --{summary.limit.replace('_', '-')} MORE" if summary.limit in ("max_pages", "max_bytes") else ""
        lines.append(f"{summary.queued:,} URLs {why}; `fyke resume --store {store}{more}` goes on")
    return "\n".join(lines)
