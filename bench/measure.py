"""What benches share: CPU time, best of several, tables, figures. The machine is noisy: compare ratios of one run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

SHARED = Path(os.environ.get("FYKE_SHARED", Path(__file__).parent.parent.parent / "shared"))
"""Where public data is that benches are measured on, beside the project."""
FIGURES = "FYKE_BENCH_FIGURES"
"""The file that ``figure`` appends to; ``python -m bench`` names it and makes docs/benchmarks.md of it."""


class Figure(msgspec.Struct, frozen=True):
    """One row of docs/benchmarks.md: what fyke takes, gives or finds, beside its peers in the same run."""

    what: str
    unit: str
    fyke: float
    peers: dict[str, float] = {}
    size: str = ""
    """How much work it was measured on."""


def figure(what: str, unit: str, fyke: Any, peers: Mapping[str, Any] | None = None, size: str = "") -> None:
    """Hand a figure back to ``python -m bench``; of a bench that is run alone, nothing."""
    if FIGURES in os.environ:
        numbers = {name: float(value) for name, value in (peers or {}).items() if isinstance(value, int | float)}
        with Path(os.environ[FIGURES]).open("ab") as file:
            file.write(msgspec.json.encode(Figure(what, unit, float(fyke), numbers, size)) + b"\n")


def best_cpu(work: Callable[[], object], repeat: int = 5) -> float:
    """CPU seconds of this process for one call of ``work``, the best of ``repeat``; the first call is warm-up."""
    work()
    best = float("inf")
    for _ in range(repeat):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best


def stolen() -> float:
    """CPU seconds that this machine has not had so far, as others had them: where they grow, wall times say little."""
    try:
        return int(Path("/proc/stat").read_text().split("\n", 1)[0].split()[8]) / os.sysconf("SC_CLK_TCK")
    except OSError:  # another system
        return 0.0


def number(value: object) -> str:
    """A cell: floats with three significant digits, none of them lost to an exponent."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    cells = [[number(cell) for cell in row] for row in rows]
    return "\n".join(
        ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(row) + " |" for row in cells)]
    )
