"""A process of atheris: it mutates inputs and keeps those that reach what nobody reached before, until its time is up.

``python -m tests.fuzz.guided_child TARGET[;TARGET…] FOLDER [words of libFuzzer…]``; a byte before each input chooses
the target. Python is watched, kernels only where they are Python, too (``NUMBA_DISABLE_JIT=1``): the compiler would
stumble over the marks.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from pathlib import Path

import atheris

ROOT = Path(__file__).parents[2]


def compiled_modules() -> list[str]:
    """Name the modules that have kernels."""
    sources = ROOT / "src"
    return [
        ".".join(path.relative_to(sources).with_suffix("").parts).removesuffix(".__init__")
        for path in (sources / "fyke").rglob("*.py")
        if path.parent.name == "bits" or "fyke.bits.jit" in path.read_text(encoding="utf-8")
    ]


def again(names: str, folder: Path) -> str:
    """Write a program that starts a process like this one: libFuzzer does that when it merges."""
    script = folder / "again"
    words = shlex.join([sys.executable, "-m", "tests.fuzz.guided_child", names, str(folder)])
    script.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    script.chmod(0o700)
    return str(script)


def main(names: str, folder: Path, words: list[str]) -> None:
    """Fuzz; the process ends in libFuzzer."""
    plain = os.environ.get("NUMBA_DISABLE_JIT", "0") != "0"
    with atheris.instrument_imports(include=["fyke"], exclude=[] if plain else compiled_modules()):
        from tests.fuzz.inputs import Inputs
        from tests.fuzz.targets import TARGETS
    own = Path(tempfile.mkdtemp(dir=folder))
    readers = [Inputs(TARGETS[name], own) for name in names.split(";")]
    seeds = own / "seeds"
    seeds.mkdir()
    for r, reader in enumerate(readers):
        for s, seed in enumerate(reader.seeds()):
            (seeds / f"{r}-{s}").write_bytes(bytes([r]) + seed)

    def one(data: bytes) -> None:
        if data:
            readers[data[0] % len(readers)].read(data[1:])

    if "-merge=1" not in words:  # what is merged is beside the seeds
        words = [*words, str(seeds)]
    atheris.Setup([again(names, folder), *words], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
