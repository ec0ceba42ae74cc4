"""`fyke world` and `fyke demo` as a user meets them: real processes that end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

# Without robots.txt there is no Crawl-delay to wait for, without other formats no worker to start.
SMALL = ["--hosts", "5", "--pages", "100", "--no-robots", "--no-formats"]


def fyke(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fyke", *words], capture_output=True, text=True, timeout=60, check=False
    )


def test_demo_tells_the_story_and_ends(tmp_path: Path) -> None:
    result = fyke("demo", *SMALL, "--out", str(tmp_path))
    assert result.returncode == 0, result.stderr
    assert "A correct crawl" in result.stdout
    assert "Try next" in result.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"slope.png", "freshness.png", "policies.png"}
    assert all(path.stat().st_size > 5000 for path in tmp_path.iterdir())


def test_demo_prints_json(tmp_path: Path) -> None:
    facts = json.loads(fyke("demo", "--json", *SMALL, "--out", str(tmp_path)).stdout)
    assert facts["hosts"]["hosts"] == 5
    assert facts["crawl"]["found"] == facts["crawl"]["expected"] > 20
    assert facts["crawl"]["early"] == 0
    assert facts["copies"]["copy_precision"] > 0.8
    assert facts["noise"]["f1_after"] > max(0.8, facts["noise"]["f1_before"])
    ages = facts["freshness"]["policies"]
    assert ages["age-optimal"]["age_days"] < ages["uniform"]["age_days"]
    assert 0 < facts["archive"]["bytes_per_document"] < 400
    assert 0 < facts["policies"]["pagerank_at_a_quarter"]["opic"] <= 1


def test_facts_and_truth_as_json() -> None:
    rows = [json.loads(line) for line in fyke("world", "--facts", "--json", *SMALL).stdout.splitlines()]
    assert len(rows) == 5
    truth = json.loads(fyke("world", "--truth", rows[0]["url"], "--json", *SMALL).stdout)
    assert truth["status"] == 200
    assert truth["links"]


def test_world_serves_until_interrupted() -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "fyke", "world", *SMALL], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert running.stderr is not None
        assert running.stderr.readline().startswith("serving on 127.0.0.1:")
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=30)
    finally:
        running.kill()
        running.wait()
    assert running.returncode == 0, err
    assert out.count("--resolve ") == 5
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("words", "part"), [(["--hosts", "0"], "hosts"), (["--pages", "10"], "pages"), (["--truth", "http://x/"], "'x'")]
)
def test_mistakes_are_named(words: list[str], part: str) -> None:
    result = fyke("world", *words)
    assert result.returncode == 2
    assert part in result.stderr
    assert "Traceback" not in result.stderr
