"""A slice of the fuzzer: every reader meets some hostile input, and none of it does harm (``python -m tests.fuzz``)."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import guided
from tests.fuzz.inputs import UNGUIDED, keep, kept
from tests.fuzz.target import FORMAT
from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).parents[1]
KINDS = {
    kind: [name for name, target in TARGETS.items() if target.kind == kind]
    for kind in sorted({target.kind for target in TARGETS.values()})
}


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_input_does_no_harm(kind: str, tmp_path: Path) -> None:
    """All targets of a kind in one process: most of the time is its start."""
    cases = 120 if kind == FORMAT else 25
    words = [sys.executable, "-m", "tests.fuzz.child", ";".join(KINDS[kind]), "0", str(cases), "suite", str(tmp_path)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    last = (tmp_path / "note").read_text() if (tmp_path / "note").exists() else "none"
    ended = f"ended with {done.returncode} in {KINDS[kind][len(told) :][:1]}, case {last}: {done.stderr[-2000:]}"
    assert done.returncode == 0, ended
    found = {name: each["found"] for name, each in zip(KINDS[kind], told, strict=True) if each["found"]}
    assert found == {}


@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris, the guided fuzzer, is not installed")
def test_guided_by_coverage_nothing_does_harm() -> None:
    """A thousand inputs on top of the samples and the corpus that was grown; ``python -m tests.fuzz.guided``."""
    names = [name for name in TARGETS if name not in UNGUIDED]
    corpus = sum(len(kept(name)) for name in names)
    done = guided.run(names, runs=corpus + 1000)
    assert done.harm == [], done.told
    assert done.runs > corpus > 500, "all of the corpus was read"


def test_a_corpus_keeps_the_shortest(tmp_path: Path) -> None:
    inputs = [bytes([0, 0]) + b"x" * size for size in (3000, 1000, 1, 2000, 1500, 1800, 0)]
    assert keep("a, b", inputs, tmp_path) == 5
    assert [len(each) for each in kept("a, b", tmp_path)] == [2, 3, 1002, 1502, 1802]


def test_who_decodes_expects_all_that_decoders_raise() -> None:
    """msgspec raises UnicodeDecodeError and RecursionError beside its own errors: catch ``errors.UNREADABLE``."""
    pattern = re.compile(r"(?:except|suppress)\b.*msgspec\.(?:DecodeError|MsgspecError)")
    found = [str(path) for path in (ROOT / "src").rglob("*.py") if pattern.search(path.read_text(encoding="utf-8"))]
    assert found == []
