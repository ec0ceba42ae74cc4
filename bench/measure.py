"""What benches share: CPU time, best of several, and a table. The machine is noisy: compare ratios of one run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence


def best_cpu(work: Callable[[], object], repeat: int = 5) -> float:
    """CPU seconds of this process for one call of ``work``, the best of ``repeat``; the first call is warm-up."""
    work()
    best = float("inf")
    for _ in range(repeat):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table; floats with three significant digits."""
    cells = [[f"{cell:,.3g}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    return "\n".join(
        ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(row) + " |" for row in cells)]
    )
