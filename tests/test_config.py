from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from fyke import config
from fyke.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Settings:
    max_pages: int = config.option(100, "How many.")
    user_agent: str = "fyke"
    hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.max_pages < 1:
            raise ValueError(f"max_pages: {self.max_pages} is below 1")


def write(folder: Path, text: str) -> Path:
    path = folder / "fyke.toml"
    path.write_text(text)
    return path


def test_command_line_wins_over_file_and_file_over_default(tmp_path: Path) -> None:
    path = write(tmp_path, 'max_pages = 7\nhosts = ["a", "b"]')
    assert config.read(Settings, path, {"max_pages": None, "user_agent": "x"}) == Settings(7, "x", ("a", "b"))
    assert config.read(Settings, path, {"max_pages": 9}).max_pages == 9
    assert config.read(Settings) == Settings()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("max_page = 7", ["max_page", "did you mean 'max_pages'", "fyke.toml"]),
        ("user-agent = 'x'", ["user-agent", "did you mean 'user_agent'"]),
        ("max_pages = 'many'", ["max_pages", "int", "fyke.toml"]),
        ("max_pages = 0", ["max_pages: 0 is below 1"]),
        ("max_pages = = 3", ["not TOML", "line 1"]),
    ],
)
def test_mistakes_are_named_with_the_remedy(tmp_path: Path, text: str, words: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        config.read(Settings, write(tmp_path, text))
    for word in words:
        assert word in str(caught.value)


def test_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.toml"):
        config.read(Settings, tmp_path / "nowhere.toml")
