from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from typer.testing import CliRunner

from fyke.cli.options import flags
from fyke.config import option


@dataclass(frozen=True, slots=True)
class Settings:
    max_pages: int = option(100, "How many pages.")
    strict: bool = option(False, "Be strict.")
    resolve: tuple[str, ...] = option((), "HOST:ADDRESS, repeatable.")
    name: str | None = option(None, "A name.")


app = typer.Typer()


@app.command()
@flags(Settings)
def command(seeds: Annotated[list[str], typer.Argument()], *, settings: Settings) -> None:
    """Print what was understood."""
    print(seeds, settings)


def run(*words: str) -> str:
    result = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output.strip()


def test_flags_are_fields() -> None:
    assert (
        run("a", "b", "--max-pages", "7", "--strict", "--resolve", "h:1", "--resolve", "g:2")
        == str((["a", "b"], Settings(7, True, ("h:1", "g:2")))).strip("()").replace("], Settings", "] Settings") + ")"
    )


def test_a_command_may_have_other_defaults_which_a_file_and_the_line_overrule(tmp_path: Path) -> None:
    other = typer.Typer()

    @other.command()
    @flags(Settings, max_pages=5, strict=True)
    def own(*, settings: Settings) -> None:
        print(settings)

    def said(*words: str) -> str:
        return CliRunner().invoke(other, list(words), catch_exceptions=False).output.strip()

    file = tmp_path / "s.toml"
    file.write_text("strict = false\n")
    assert said() == str(Settings(5, True))
    assert said("--config", str(file)) == str(Settings(5, False))
    assert said("--config", str(file), "--max-pages", "4") == str(Settings(4, False))


def test_file_decides_where_the_command_line_is_silent(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text("max_pages = 3\nname = 'n'\n")
    assert run("a", "--config", str(file)) == f"['a'] {Settings(3, name='n')}"
    assert run("a", "--config", str(file), "--max-pages", "4") == f"['a'] {Settings(4, name='n')}"
    assert run("a") == f"['a'] {Settings()}"
