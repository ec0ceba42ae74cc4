"""`fyke world` and `fyke demo` as a user meets them: what they tell, and that their processes end."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from fyke.cli import demo_acts, run
from tests import json_schemas

# No Crawl-delay to wait for, no worker to start for other formats, no trap to give up.
SMALL = ["--hosts", "5", "--pages", "60", "--no-robots", "--no-formats", "--no-traps"]


def test_demo_tells_the_story_draws_and_leaves_a_store(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The facts on stdout; the story, as always with ``--json`` what is for people, on stderr."""
    out = tmp_path / "demo"
    words = [sys.executable, "-m", "fyke", "demo", "--json", *SMALL, "--out", str(out)]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    for act in demo_acts.ACTS:
        assert f". {(act.__doc__ or '').splitlines()[0].rstrip('.')}" in result.stderr.replace("\n", " ")
    pictures = {"slope.png", "freshness.png", "policies.png"}
    assert {path.name for path in out.iterdir()} == {"README.txt", "store", *pictures}
    assert all((out / name).stat().st_size > 5000 for name in pictures)
    facts = json.loads(result.stdout)
    assert json_schemas.faults("demo", result.stdout) == []
    assert facts["hosts"]["hosts"] == 5
    assert facts["crawl"]["found"] == facts["crawl"]["expected"] > 20
    assert facts["crawl"]["early"] == 0
    assert facts["copies"]["copy_precision"] > 0.8
    assert facts["noise"]["f1_after"] > max(0.8, facts["noise"]["f1_before"])
    ages = facts["freshness"]["policies"]
    assert ages["age-optimal"]["age_days"] < ages["uniform"]["age_days"]
    assert 0 < facts["archive"]["bytes_per_document"] < 400
    assert 0 < facts["policies"]["pagerank_at_a_quarter"]["opic"] <= 1
    hints = [line.split()[1:] for line in (out / "README.txt").read_text().splitlines() if f"{out}/store" in line]
    assert [hint[0] for hint in hints] == ["list", "get", "dedupe", "dashboard"]
    for hint in hints[:-1]:  # the last one serves until it is stopped (tests/dashboard)
        assert run(hint) == 0, hint
        assert capfd.readouterr().out, hint


def test_demo_replaces_its_own_store_and_nobody_elses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo_acts, "ACTS", demo_acts.ACTS[:1])
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "thesis.txt").write_text("years of work")
    assert run(["demo", *SMALL, "--out", str(tmp_path)]) == 2
    assert "name another folder with --out" in capfd.readouterr().err
    assert {path.name for path in tmp_path.rglob("*")} == {"store", "thesis.txt"}
    out = tmp_path / "demo"
    assert run(["demo", *SMALL, "--out", str(out)]) == 0
    (out / "store").mkdir()
    (out / "store" / "old").touch()
    (out / "notes.txt").touch()
    assert run(["demo", *SMALL, "--out", str(out)]) == 0
    assert {path.name for path in out.iterdir()} == {"README.txt", "notes.txt"}


def test_demo_without_json_tells_its_story_on_stdout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo_acts, "ACTS", demo_acts.ACTS[:1])
    assert run(["demo", *SMALL, "--out", str(tmp_path)]) == 0
    said = capfd.readouterr().out
    assert "A correct crawl" in said
    assert "Explore the store" in said


def test_facts_and_truth_as_json(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["world", "--facts", "--json", *SMALL]) == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert len(rows) == 5
    assert run(["world", "--truth", rows[0]["url"], "--json", *SMALL]) == 0
    truth = json.loads(capfd.readouterr().out)
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
        out, err = running.communicate()
    finally:
        running.kill()
        running.wait()
    assert running.returncode == 0, err
    assert out.count("--resolve ") == 5
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("words", "part"), [(["--hosts", "0"], "hosts"), (["--pages", "10"], "pages"), (["--truth", "http://x/"], "'x'")]
)
def test_mistakes_are_named(words: list[str], part: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["world", *words]) == 2
    assert part in capfd.readouterr().err


def test_a_port_that_is_taken_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        words = [sys.executable, "-m", "fyke", "world", "--hosts", "7", "--pages", "300", "--port", str(port)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"fyke: the world's server did not start on port {port}; is the port taken? try another\n"
