"""The README's example runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent.parent / "README.md"


def test_ten_lines_deduplicate_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = (e for e in re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL) if "near_dup" in e)
    text = " ".join(f"word{i}" for i in range(80))
    (tmp_path / "articles").mkdir()
    for name, content in (("a", text), ("b", text + " and a tail"), ("c", "something else")):
        (tmp_path / "articles" / f"{name}.txt").write_text(content)
    monkeypatch.chdir(tmp_path)
    exec(example, {})
    assert capsys.readouterr().out.split() == ["keep", "articles/a.txt", "drop", "articles/b.txt"]
