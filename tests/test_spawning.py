"""Processes of ours run nothing of the caller's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.little_site import page, serving

SCRIPT = """
import sys
import fyke

print("begun", flush=True)
summary = fyke.crawl([sys.argv[1]], "s", agents=2, delay=0.0, sitemaps=False)
print(summary.pages)
"""


def test_a_script_without_a_guard_runs_once(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    with serving({"/": page("Home", "/1"), "/1": page("One")}) as site:
        done = subprocess.run(
            [sys.executable, "script.py", site.root + "/"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
    assert done.stdout.split() == ["begun", "2"], done.stderr
