"""``python -m tests.fuzz.guided``: readers under a fuzzer guided by coverage (atheris); status 1 if one did harm.

All readers share the time, or those that ``--only`` names have it; ``--plain`` runs kernels as Python, ten times slower
but watched. It begins with the samples and the corpus of ``tests/fuzz/corpus``; ``--keep`` puts the shortest inputs
that reach more than the samples there. What did harm lies in ``.fuzz/``, and ``--repeat FILE`` reads it again.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.inputs import UNGUIDED, Inputs, keep, kept
from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).parents[2]
HARM = ROOT / ".fuzz"
LONGEST = 8192
"""Bytes of an input."""
HANG = 10
"""Seconds after which an input is a hang; on a busy machine two pass quickly."""
MEGABYTES = 2048


@dataclass(frozen=True, slots=True)
class Fuzzed:
    """What came of it."""

    runs: int
    coverage: int
    harm: list[Path]
    told: str
    """The end of what the process said."""


def run(names: list[str], seconds: int = 0, plain: bool = False, keeping: bool = False, runs: int = -1) -> Fuzzed:
    """Fuzz the targets in one process, for so many seconds after its start, or so many inputs."""
    ram = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="fyke-fuzz-", dir=ram if ram.is_dir() else None) as made:
        folder = Path(made)
        corpus = folder / "corpus"
        corpus.mkdir()
        for r, name in enumerate(names):
            for i, data in enumerate(kept(name)):
                (corpus / f"{r}-{i}").write_bytes(bytes([r]) + data)
        harm = folder / "harm"
        harm.mkdir()
        words = [
            f"-max_total_time={seconds}",
            f"-runs={runs}",
            f"-max_len={LONGEST}",
            f"-timeout={HANG}",
            f"-rss_limit_mb={MEGABYTES}",
        ]
        told = _child(names, folder, [*words, f"-artifact_prefix={harm}/", str(corpus)], plain)
        if keeping:
            _keep(names, folder, corpus, plain)
        found = []
        for file in sorted(harm.iterdir()):
            HARM.mkdir(exist_ok=True)
            name = names[file.read_bytes()[0] % len(names)]
            found.append(HARM / f"{name.replace(' ', '-')}.{file.name}")
            found[-1].write_bytes(file.read_bytes()[1:])
    ended = re.findall(r"Done (\d+) runs", told)
    coverage = re.findall(r"cov: (\d+)", told)
    return Fuzzed(int(ended[-1]) if ended else 0, int(coverage[-1]) if coverage else 0, found, told[-4000:])


def _child(names: list[str], folder: Path, words: list[str], plain: bool) -> str:
    """Run atheris in a process of its own; what it said."""
    call = [sys.executable, "-m", "tests.fuzz.guided_child", ";".join(names), str(folder), *words]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1" if plain else "0"}
    done = subprocess.run(
        call, cwd=ROOT, env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
    )  # fmt: skip
    if done.returncode and "INFO: seed corpus" not in done.stdout:
        raise RuntimeError(f"atheris does not start: {done.stdout[-3000:]}")
    return done.stdout


def _keep(names: list[str], folder: Path, corpus: Path, plain: bool) -> None:
    """Keep the inputs that reach more than the samples do."""
    best = folder / "best"
    seeds = next(folder.glob("tmp*/seeds"))
    shutil.copytree(seeds, best)
    samples = {file.name for file in best.iterdir()}
    _child(names, folder, ["-merge=1", str(best), str(corpus)], plain)
    inputs = [file.read_bytes() for file in best.iterdir() if file.name not in samples]
    for r, name in enumerate(names):
        keep(name, (data[1:] for data in inputs if data and data[0] % len(names) == r))


def repeat(file: Path) -> None:
    """Read what did harm once more, here."""
    target = next(each for name, each in TARGETS.items() if file.name.startswith(f"{name.replace(' ', '-')}."))
    with tempfile.TemporaryDirectory() as folder:
        Inputs(target, Path(folder)).read(file.read_bytes())


def main() -> int:
    """Run what was asked for."""
    words = argparse.ArgumentParser(prog="python -m tests.fuzz.guided", description=__doc__)
    words.add_argument("--only", nargs="*", default=[], help="names of targets; all by default")
    words.add_argument("--seconds", type=int, default=60)
    words.add_argument("--plain", action="store_true", help="kernels as Python")
    words.add_argument("--keep", action="store_true", help="keep what reaches more than the samples")
    words.add_argument("--repeat", type=Path, help="a file that did harm")
    asked = words.parse_args()
    if asked.repeat:
        repeat(asked.repeat)
        return 0
    names = [name for name in TARGETS if name not in UNGUIDED and (not asked.only or name in asked.only)]
    done = run(names, asked.seconds, asked.plain, asked.keep)
    print(f"{len(names)} readers, {done.runs:,} runs, coverage {done.coverage:,}, {len(done.harm)} did harm")
    if done.harm:
        print(done.told, *done.harm, sep="\n")
    return 1 if done.harm else 0


if __name__ == "__main__":
    sys.exit(main())
