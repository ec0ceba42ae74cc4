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


COUNTING = """
import threading
from fyke.spawning import has_one_thread

held = threading.Event()
other = threading.Thread(target=held.wait)
print(has_one_thread())
other.start()
print(has_one_thread())
held.set()
"""


def test_only_a_process_of_one_thread_may_be_forked() -> None:
    done = subprocess.run([sys.executable, "-c", COUNTING], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


def test_the_agents_of_a_command_are_forked_and_read_the_same_pages(tmp_path: Path) -> None:
    """They share what is loaded: none starts a Python of its own."""
    words = [sys.executable, "-X", "importtime", "-m", "fyke", "crawl", "--store", str(tmp_path / "s"), "--agents", "2"]
    with serving({"/": page("Home", "/1", "/2"), "/1": page("One"), "/2": page("Two")}) as site:
        done = subprocess.run(
            [*words, "--delay", "0", "--json", site.root + "/"], capture_output=True, text=True, check=True
        )
    assert '"pages":3' in done.stdout.replace(" ", "")
    assert done.stderr.count(" fyke.crawl.agent\n") == 1
