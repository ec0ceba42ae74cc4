"""Running targets: processes that try cases, replaced when one dies; what they found, and the table of it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
SILENT = 120.0
"""Seconds after which a case that takes no processor time is a hang; a busy machine is slow, not wrong."""
STARTING = 600.0
"""Seconds that a process has to make its samples and read them; the first ever compiles kernels."""


@dataclass(slots=True)
class Result:
    """What came of a target's cases."""

    name: str
    kind: str
    cases: int = 0
    refused: int = 0
    crashes: list[str] = field(default_factory=list)
    hangs: list[str] = field(default_factory=list)
    tracebacks: list[str] = field(default_factory=list)
    slowest: float = 0.0
    grown: float = 0.0
    """Megabytes that the process grew by."""

    @property
    def faults(self) -> list[str]:
        """Everything that must not be."""
        return self.crashes + self.hangs + self.tracebacks


def run_target(name: str, kind: str, cases: int, seed: str, first: int = 0, step: int = 2500) -> Result:
    """Try ``cases`` cases from number ``first`` on."""
    result = Result(name, kind)
    at, end = first, first + cases
    ram = Path("/dev/shm")  # files are written ten thousand times
    with tempfile.TemporaryDirectory(prefix="fyke-fuzz-", dir=ram if ram.is_dir() else None) as folder:
        while at < end and len(result.crashes) + len(result.hangs) < 20:
            last = min(at + step, end)
            told = _child(name, at, last, seed, Path(folder), result)
            result.cases += (told + 1 if told is not None else last) - at
            at = told + 1 if told is not None else last
    return result


def _child(name: str, first: int, last: int, seed: str, folder: Path, result: Result) -> int | None:
    """Run one process; return the case at which it died, None where it did not."""
    words = [sys.executable, "-m", "tests.fuzz.child", name, str(first), str(last), seed, str(folder)]
    note = folder / "note"
    note.unlink(missing_ok=True)
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        waited = 0.0
        while True:
            before = note.read_bytes() if note.exists() else b""
            try:
                out, err = process.communicate(timeout=SILENT)
                break
            except subprocess.TimeoutExpired:
                waited += SILENT
                if note.read_bytes() == before if note.exists() else waited > STARTING:
                    process.kill()
    if process.returncode == 0 and out.strip():
        told = json.loads(out.splitlines()[-1])
        result.refused += told["refused"]
        result.slowest = max(result.slowest, told["slowest"])
        result.grown = max(result.grown, told["grown"])
        result.tracebacks += [f"{name} {case}: {what} ({where})" for case, what, where in told["found"]]
        return None
    if not note.exists() or not note.read_bytes():
        raise RuntimeError(f"the target {name} does not start: {err[-3000:]}")
    case = int(note.read_bytes())
    hung = process.returncode in (-signal.SIGPROF, -signal.SIGKILL)
    last_words = " | ".join(err.strip().splitlines()[-12:])
    (result.hangs if hung else result.crashes).append(f"{name} {case}: ended by {process.returncode}: {last_words}")
    return case


def table(results: Iterable[Result]) -> str:
    """The results as a Markdown table."""
    lines = [
        "| reader | cases | refused | crashes | hangs > 2 s | tracebacks | slowest case | memory grew |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for r in results:
        counts = f"{len(r.crashes)} | {len(r.hangs)} | {len(r.tracebacks)}"
        lines.append(
            f"| {r.name} | {r.cases:,} | {r.refused:,} | {counts} | {1000 * r.slowest:.0f} ms | {r.grown:.0f} MB |"
        )
    return "\n".join(lines) + "\n"
