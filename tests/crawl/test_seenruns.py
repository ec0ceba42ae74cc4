"""The seen-set of a crawl that outgrows its memory: nothing is forgotten while runs are written and merged."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np

from fyke.crawl.queue.seen_runs import SeenRuns
from fyke.frontier.seen import SeenSet


def test_memory_is_bounded_and_nothing_is_forgotten(tmp_path: Path) -> None:
    wanted = np.random.default_rng(2).integers(1, 2**64 - 1, 200_000, dtype=np.uint64)

    async def run() -> SeenSet:
        seen = SeenSet(limit=10_000)
        runs = SeenRuns(seen, tmp_path)
        for batch in np.array_split(wanted, 400):
            assert seen.add(batch).all()
            runs.relieve()
            assert not seen.add(batch).any()  # whatever is under way
            await asyncio.sleep(0)
        for _ in range(20):
            await runs.finish()
            runs.relieve()
        return seen

    seen = asyncio.run(run())
    assert 1 <= len(seen.runs) <= 4
    assert len(seen) == len(wanted)
    assert seen.contains(wanted).all()
    assert list(tmp_path.iterdir()) == []  # the files have no names
