r"""What commands say to a person: every line goes through one filter, since titles, URLs and errors are others' words.

A terminal obeys what it is sent: ESC and its kin move the cursor, set the title, or paste; an override of
direction makes a name read backwards. So control characters are shown as Python would write them (``\x1b``), and
nothing is markup. JSON keeps them, escaped: it is what programs read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

# C0 but tab and newline, DEL and C1; embeddings, overrides and isolates of direction; halves of pairs; annotations.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufff9-\ufffb]")
_MARKS = re.compile("[\u061c\u200e\u200f]")
"""Marks of direction: invisible, common in honest Arabic and Hebrew, and nothing to a terminal."""


_quiet = False
_verbose = False


def plain(text: object) -> str:
    """Return ``text`` without anything that a terminal would obey."""
    said = _MARKS.sub("", str(text).replace("\r\n", "\n"))
    return _UNSAFE.sub(lambda found: repr(found[0])[1:-1], said)


_AT_ONCE = 1_000_000


def print_text(text: str) -> None:
    """Print a text of any length on stdout, filtered, as it is; a line's end at its end is not doubled."""
    begin, stop = 0, len(text) - text.endswith("\n")
    while stop - begin > _AT_ONCE:  # of a long text no second copy is made
        end = text.rfind("\n", begin, begin + _AT_ONCE) + 1 or begin + _AT_ONCE
        typer.echo(plain(text[begin:end]), nl=False)
        begin = end
    typer.echo(plain(text[begin:stop]))


def echo(text: object = "", *, err: bool = False, fg: str | None = None, bold: bool | None = None) -> None:
    """Print a line on stdout or stderr, filtered; ``fg`` and ``bold`` are for terminals."""
    said = plain(text)
    typer.echo(typer.style(said, fg=fg, bold=bold) if fg or bold else said, err=err)


def note(text: object) -> None:
    """Tell the user something on stderr that is no error; ``-q`` leaves it out."""
    if not _quiet:
        echo(text, err=True)


def console(stderr: bool = False) -> Console:
    """Return rich's console, to which ``[b]`` is text and no markup; what it prints is filtered before."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, emoji=False, quiet=stderr and _quiet)


def show(table: RenderableType) -> None:
    """Print a table; a line is one line, without blanks at its end, where another program or a file reads it."""
    screen = console()
    if screen.is_terminal:
        screen.print(table)
        return
    screen.width = 1 << 16
    with screen.capture() as capture:
        screen.print(table)
    typer.echo("\n".join(line.rstrip() for line in capture.get().splitlines()))


def is_quiet() -> bool:
    """Whether only errors are told on stderr."""
    return _quiet


def is_verbose() -> bool:
    """Whether what is logged is told, and where an error came from."""
    return _verbose


def be_quiet() -> None:
    """Tell nothing on stderr but errors, from now on."""
    global _quiet  # noqa: PLW0603 - of the process
    _quiet = True


def be_verbose() -> None:
    """Tell on stderr what is logged, from now on, and where errors come from."""
    global _verbose  # noqa: PLW0603 - of the process
    import logging

    _verbose = True
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")


def usual() -> None:
    """Undo what ``-v`` and ``-q`` did: a process may run several command lines."""
    global _quiet, _verbose  # noqa: PLW0603 - of the process
    _quiet = _verbose = False


def json_escaped(text: str) -> str:
    """Return JSON that says the same without a character that a terminal would obey."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
