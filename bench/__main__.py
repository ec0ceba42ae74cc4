"""Run every bench at its default size, one process each: ``make bench``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

NOT_BENCHES = {"__init__", "__main__", "boosting", "crawl_site", "measure", "real_pages", "train_content"}


def main() -> int:
    status = 0
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem not in NOT_BENCHES:
            print(f"\n## bench.{path.stem}\n", flush=True)
            status |= subprocess.run([sys.executable, "-m", f"bench.{path.stem}"], check=False).returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
