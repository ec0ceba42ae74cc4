"""Commands as users type them, run in this process: for tests whose subject is not the process."""

from __future__ import annotations

from typing import NamedTuple

from typer.testing import CliRunner

from fyke.cli import run


class Said(NamedTuple):
    """What came of a command, as of a process."""

    returncode: int
    stdout: str
    stderr: str


def fyke(*words: str) -> Said:
    """Run a command line, and have what it says."""
    with CliRunner().isolation() as streams:
        status = run(words)
        out, err = streams[0].getvalue(), streams[1].getvalue()
    return Said(status, out.decode(), err.decode())
