"""What every command has: short names of the common options, ``-v`` and ``-q``, and ``-h``."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup, TyperOption

from fyke.cli import echo

SHORT = {
    "--agents": "-a",
    "--config": "-c",
    "--help": "-h",
    "--json": "-j",
    "--limit": "-n",
    "--max-depth": "-d",
    "--max-pages": "-n",
    "--method": "-m",
    "--output": "-o",
    "--policy": "-p",
    "--port": "-p",
    "--quiet": "-q",
    "--store": "-s",
    "--threshold": "-t",
    "--to": "-t",
    "--user-agent": "-A",
    "--verbose": "-v",
    "--yes": "-y",
}
"""One letter for an option, the same in every command that has it."""

VALUES = {
    "--auth": "FILE.toml",
    "--browser": "PATH",
    "--ca-file": "FILE",
    "--contact": "MAIL-OR-URL",
    "--cookies": "FILE",
    "--depot": "DIR-OR-URL",
    "--exclude": "REGEX",
    "--header": "'NAME: VALUE'",
    "--include": "REGEX",
    "--is-part-of": "NAME",
    "--memory": "SIZE",
    "--plugins": "KIND=MODULE:NAME",
    "--port": "PORT",
    "--proxy": "URL",
    "--public-url": "URL",
    "--resolve": "HOST:ADDRESS",
    "--topic": "FILE-OR-DIR",
    "--trace": "URL",
    "--tree": "DIR",
    "--user-agent": "NAME",
    "--warc-dir": "DIR",
    "--websub": "PORT",
    "--weights": "PATTERN=WEIGHT",
}
"""What the value of an option is called, as the documentation calls it, where its command does not say."""
_BY_TYPE = {"int": "N", "int range": "N", "float": "N", "float range": "N", "path": "PATH"}

QUIET = "Tell nothing on stderr but errors."
VERBOSE = "Tell on stderr what is logged, and where an error came from."


def by_default(name: str, bare: bool = False) -> type[TyperGroup]:
    """Return a kind of group whose command ``name`` is meant where none is named; with ``bare`` without a word, too."""

    class ByDefault(TyperGroup):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            named = args and (args[0] in self.commands or args[0] in ("-h", "--help"))
            return list(super().parse_args(ctx, args if named or not (args or bare) else [name, *args]))

    return ByDefault


def dress(command: Any) -> Any:
    """Give a command of typer, and those below it, what all have; return it."""
    below = getattr(command, "commands", None)
    if below:
        for name in below:
            below[name] = dress(below[name])
    if not below:
        _add(command, "--verbose", VERBOSE, echo.be_verbose)
        _add(command, "--quiet", QUIET, echo.be_quiet)
    for parameter in command.params:
        _call(parameter)
        short = SHORT.get(parameter.opts[0])
        if short is not None and short not in parameter.opts:
            parameter.opts.insert(0, short)
    return command


def _call(parameter: Any) -> None:
    """Name the value that a parameter takes: as in VALUES, by its type, or by its own last word."""
    kind, option = parameter.type.name, parameter.opts[0]
    if parameter.metavar is None and kind not in ("boolean", "choice"):
        own = option.rpartition("-")[2].upper() + ("..." if parameter.nargs < 0 else "")
        parameter.metavar = VALUES.get(option) or (_BY_TYPE.get(kind, own) if option.startswith("-") else own)


def _add(command: Any, name: str, told: str, wanted: Any) -> None:
    """Add a switch that acts before the command runs, unless the command has one of that name itself."""
    if all(name not in parameter.opts for parameter in command.params):
        command.params.append(
            TyperOption(
                param_decls=[name],
                is_flag=True,
                default=False,
                expose_value=False,
                help=told,
                callback=lambda _context, _parameter, given: wanted() if given else None,
            )
        )
