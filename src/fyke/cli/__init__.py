"""The command line: one file per command, loaded only when it is called.

A command is a module of this package with a ``typer.Typer`` named ``app``; ``COMMANDS`` lists it with the
line that ``fyke --help`` prints. Mistakes of the user end in one sentence and status 2, failed work in one
sentence and status 1; see fyke.errors.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import typer
from typer._click.exceptions import ClickException, NoArgsIsHelpError
from typer._click.shell_completion import CompletionItem
from typer.core import TyperGroup

import fyke
from fyke import limits
from fyke.cli.common import dress
from fyke.cli.echo import echo, is_verbose, note, usual
from fyke.errors import FykeError, UserError

COMMANDS: dict[str, str] = {
    "crawl": "Crawl from seeds into a store; the same command goes on where it stopped.",
    "resume": "Go on with a stopped or crashed crawl, with the settings it was started with.",
    "control": "Steer a crawl: pause, resume, stop, add seeds, slow a host down, exclude URLs.",
    "status": "What a crawl is doing, and why it waits: pages, queue, hosts, errors by reason.",
    "dashboard": "The live page of a crawl on 127.0.0.1: what it does, why it waits, each document with its versions.",
    "freshness": "How fresh a store's copies are: now, per host, and over the crawl.",
    "cluster": "A crawl over many machines, and what is made of it there; try shows it on this one.",
    "login": "Try the logins of a file of accounts, and show what says that they work; no secret is printed.",
    "fetch": "One page or a few, now, without a store: Markdown, text, HTML or JSON of any format.",
    "render": "One page as a browser shows it, beside what its server sent: text, links, requests, a picture.",
    "robots": "What a site's robots.txt says: groups, delays, sitemaps, and whether a URL may be fetched.",
    "sitemap": "What a sitemap says: its pages or parts, when they changed, and what is wrong with it.",
    "feed": "What a feed says: its items, how often it posts, when to ask it again, and who pushes it.",
    "forms": "The forms of a page: which are safe to send or why not, and what a crawl would ask for; sends nothing.",
    "url": "What fyke makes of a URL: normal form, domain, row key, duplicate key.",
    "get": "One document of a store: its text, bytes, links, anchors, facts or versions.",
    "list": "The documents of a store: url, status, type, length, fetched, duplicate-of.",
    "similar": "Search by example: the stored near-duplicates of one document.",
    "import": "Documents into a store: WARC, WACZ, WET, ARC, TREC, JSON lines, Parquet, folders, parts of an archive.",
    "export": "A store as files: WARC, WACZ, WET, TREC Web, or a dataset (JSON lines, Parquet, Arrow), by the ending.",
    "desktop": "Local files into a store, once or from now on; why a file is or is not in it; a path gone for good.",
    "store": "Look after a store: check, stats, compact, split, delete, prune, merge, backup, restore, fetch.",
    "convert": "Convert any supported format to tagged text: HTML, Markdown, plain text or JSON.",
    "extract": "The main content of an HTML page, by one method or by all.",
    "dedupe": "Near-duplicates of a collection: pairs and clusters, by MinHash, simhash, fingerprints or digests.",
    "archive": "Compressed archives of document summaries with their web graph: build, show, combine, sub.",
    "graph": "Web graphs in WebGraph's BV form: convert, stats, rank.",
    "simulate": "Crawl an archive's web virtually, by one or several policies, and compare them.",
    "topic": "Topics for focused crawls: train a model from examples, words and patterns; test it on a page.",
    "demo": "Start a small web on loopback and show fyke at work on it; ends by itself.",
    "lecture": "Every worked example of the lecture notes, done by fyke, its numbers beside those of the notes.",
    "world": "Serve a synthetic web with ground truth on loopback, for anyone's crawler.",
    "config": "The settings that a crawl would have, or that of a store has: TOML for --config, or JSON.",
    "doctor": "What this machine offers and lacks: cores, disk, kernel cache, namespaces, browser, inotify watches.",
    "warm": "Compile the kernels ahead, for one command or for all; later runs start at once.",
}
"""Command name to its line in ``fyke --help``: the first line of the module ``fyke.cli.<name>_``."""

PURPOSES: dict[str, tuple[str, ...]] = {
    "Crawl": ("crawl", "resume", "control", "status", "dashboard", "freshness", "cluster", "login"),
    "Look at one page or site": ("fetch", "render", "robots", "sitemap", "feed", "forms", "url"),
    "Use what is stored": ("get", "list", "similar", "import", "export", "desktop", "store"),
    "Read documents, find copies": ("convert", "extract", "dedupe"),
    "Archive, rank, simulate, focus": ("archive", "graph", "simulate", "topic"),
    "Learn and try": ("demo", "lecture", "world"),
    "Set up": ("config", "doctor", "warm"),
}
"""What people want to do, and the commands for it: the chapters of ``fyke --help``."""

RENAMED: dict[str, dict[str, str]] = {"dedupe": {"--words": "--ngram", "--permutations": "--num-perm"}}
"""Options of a command that had another name in the version before, which still works."""

YOUNG = 250_000
"""Objects between two looks for young cycles: what a start makes lives on, and looking at it costs an eighth of it."""


def command_module(name: str) -> str:
    """Return the module of a command; the underscore keeps ``import_`` and ``list_`` out of Python's way."""
    return f"fyke.cli.{name}_"


_CTRL_C = 130
"""What typer makes of a KeyboardInterrupt."""


class _Commands(TyperGroup):
    """A group that imports a command's module when the command is asked for, not before."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        command = typer.main.get_command(importlib.import_module(command_module(cmd_name)).app)
        command.name = cmd_name
        return dress(command)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = max(map(len, COMMANDS))
        for purpose, names in PURPOSES.items():
            with formatter.section(purpose):
                formatter.write_dl([(f"{name:{width}}", COMMANDS[name]) for name in names])

    def shell_complete(self, ctx: Any, incomplete: str) -> list[CompletionItem]:
        """Complete a command's name without loading the commands."""
        if not incomplete or incomplete.isalnum():
            return [CompletionItem(name, help=line) for name, line in COMMANDS.items() if name.startswith(incomplete)]
        return super().shell_complete(ctx, incomplete)


app = typer.Typer(
    cls=_Commands,
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        echo(f"fyke {fyke.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "-V", "--version", help="Print the version and exit.", is_eager=True, callback=_print_version
    ),
) -> None:
    """Crawl the web politely into a store of clean, deduplicated, versioned documents.

    Start with: fyke demo
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave the process with its status."""
    if sys.platform == "win32":
        sys.exit("fyke: Windows by itself is not supported; run fyke in WSL, which `wsl --install` sets up")
    gc.set_threshold(YOUNG)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one is enough for us, and where there is one a crawl can fork
    atexit.register(gc.freeze)  # an end that looks for cycles in all that was loaded takes a fifth of a small crawl
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever stops a service wants no less than Ctrl-C
    status = run(sys.argv[1:] if arguments is None else arguments)
    for number in (signal.SIGINT, signal.SIGTERM):
        # The work is done. Ignored, since Python takes handlers of its own away before it frees its modules.
        signal.signal(number, signal.SIG_IGN)
    sys.exit(status)


def run(arguments: Sequence[str]) -> int:
    """Run one command line; return its status: 0 done, 1 the work failed, 2 the words are wrong, 3 interrupted."""
    usual()
    limits.take()
    try:
        return _run(arguments)
    finally:
        if met := limits.take():
            note(f"fyke: not all was read, as there was too much of it: {', '.join(sorted(met))}")


def _run(arguments: Sequence[str]) -> int:
    try:
        status = typer.main.get_command(app).main(_renamed(arguments), prog_name="fyke", standalone_mode=False)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except ClickException as error:
        echo(f"fyke: {_usage(error)}", err=True)
        return error.exit_code
    except typer.Abort:
        echo("fyke: not done", err=True)
        return 1
    except FykeError as error:
        if is_verbose():
            traceback.print_exc()
        echo(f"fyke: {error}", err=True)
        return 2 if isinstance(error, UserError) else 1
    except OSError as error:
        if error.filename is None:
            raise
        echo(f"fyke: {error.filename}: {error.strerror}; name another file or folder", err=True)
        return 1
    if status == _CTRL_C:
        echo("fyke: interrupted", err=True)
        return 3
    return status if isinstance(status, int) else 0


def _renamed(arguments: Sequence[str]) -> list[str]:
    """Return the words of a command line with today's names of options; a line on stderr tells of each."""
    names = RENAMED.get(arguments[0], {}) if arguments else {}
    words = []
    for word in arguments:
        name, equals, value = word.partition("=")
        if name in names:
            echo(f"fyke: {name} is called {names[name]} now, and its old name will go", err=True)
            word = names[name] + equals + value  # noqa: PLW2901
        words.append(word)
    return words


def _usage(error: ClickException) -> str:
    """What is wrong with a command line, and where to read what is right, in one line."""
    said = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    words = context.command_path if context is not None else "fyke"
    return f"{said[:1].lower()}{said[1:]}; `{words} --help` tells what there is"
