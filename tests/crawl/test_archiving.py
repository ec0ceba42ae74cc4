"""Files of ``--warc-dir`` that killed processes left open: several agents that start give each its name, once."""

from __future__ import annotations

import gzip
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fyke.crawl.run.archiving import recover

FILES, AGENTS = 200, 4


def test_agents_that_start_at_once_recover_each_file_once(tmp_path: Path) -> None:
    whole, half = gzip.compress(b"a record"), gzip.compress(b"another")[:-3]
    for n in range(FILES):
        (tmp_path / f"fyke-20260101000000-1-{n:05}.warc.gz.open").write_bytes(whole + half if n % 3 else half)
    with ThreadPoolExecutor(AGENTS) as agents:
        for done in [agents.submit(recover, tmp_path) for _ in range(AGENTS)]:
            done.result()
    left = sorted(tmp_path.iterdir())
    assert [path.name for path in left] == [f"fyke-20260101000000-1-{n:05}.warc.gz" for n in range(FILES) if n % 3]
    assert {path.read_bytes() for path in left} == {whole}
