"""First runs: the CPU-seconds of compiling, by kernel, for ``fyke extract``, a small crawl and everything; then warm.

``python -m bench.cold [extract|crawl|all]…``: each with an empty cache, in one process, so that figures are comparable
on a busy machine too; the last column is the same once more, with the cache filled.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from fyke.cli.warming import SETS

MOST = 12


def run(works: list[str], cache: Path, log: Path) -> float:
    """Run workloads in one process after another; return their CPU-seconds, those of their children included."""
    environment = {**os.environ, "FYKE_CACHE_DIR": str(cache), "FYKE_KERNEL_LOG": str(log)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "fyke.cli.workloads", *works], env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(names: list[str]) -> None:
    for name in names or ["extract", "crawl", "all"]:
        with tempfile.TemporaryDirectory(prefix="fyke-cold-") as folder:
            cache, log = Path(folder) / "cache", Path(folder) / "log"
            works = list(SETS[name])
            cold = run(works, cache, log)
            lines = [line.split("\t") for line in log.read_text(encoding="utf-8").splitlines()]
            warm = run(works, cache, log)
        by: dict[str, float] = defaultdict(float)
        for _, seconds, function, _ in lines:
            by[function] += float(seconds)
        compiling = sum(by.values())
        print(f"{name}: {cold:.1f} s cold, {compiling:.1f} of them compiling {len(lines)} kernels; {warm:.1f} s warm")
        for function, taken in sorted(by.items(), key=lambda item: -item[1])[:MOST]:
            print(f"    {taken:6.2f}  {sum(line[2] == function for line in lines)}×  {function}")


if __name__ == "__main__":
    main(sys.argv[1:])
