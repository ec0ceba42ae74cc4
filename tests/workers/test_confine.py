"""A converter that a document has taken over gets nowhere: no network, no file, no process, no secret."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from fyke.convert import Limits, Source, prepare
from fyke.values import Reason
from fyke.workers import confine
from fyke.workers.pool import Pool
from tests.workers.hostile_child import DEEDS

KIND = "application/x-fyke-test"
WITHOUT_LANDLOCK = {"read", "list", "trace"}
"""What the filter of system calls does not see."""


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))
        patch.setenv("A_SECRET", "password")
        with Pool(size=1, module="hostile_child") as shared:
            yield shared


@pytest.mark.skipif(not confine.offered()["seccomp"], reason="no filters of system calls here")
@pytest.mark.parametrize("deed", DEEDS)
def test_a_misdeed_is_refused(pool: Pool, tmp_path: Path, deed: str) -> None:
    if deed in WITHOUT_LANDLOCK and not confine.offered()["landlock"]:
        pytest.skip("no Landlock here")
    secret = tmp_path / "secret"
    secret.write_text("password")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        where = server.getsockname()[1] if deed in ("connect", "datagram") else secret
        found = pool.convert(Source(f"{deed} {where}".encode(), KIND))
        assert "refused" in found.text, found.text
        with pytest.raises(BlockingIOError):
            server.accept()
    assert [entry.name for entry in tmp_path.iterdir()] == ["secret"]
    assert secret.read_text() == "password"
    assert secret.stat().st_mode & 0o777 != 0o777
    assert "Hello" in pool.convert(prepare(b"{\\rtf1\\ansi Hello}")).text


def test_limits_of_a_worker(pool: Pool) -> None:
    found = json.loads(pool.convert(Source(b"limits", KIND, limits=Limits(seconds=7.0))).text)
    assert found["FSIZE"] == [0, 0]
    assert found["CORE"] == [0, 0]
    assert found["NOFILE"] == [confine.DESCRIPTORS] * 2
    assert 0 < found["AS"][0] < 1 << 40
    assert 0 < found["CPU"][0] < 7 * (os.cpu_count() or 1) + 600


def test_a_loop_ends_with_its_processor_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for it does not count: a worker whose parent is stopped computes no longer than it may."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    monkeypatch.setattr("fyke.workers.pool.time.monotonic", lambda: 0.0)  # our own patience has no end
    with Pool(size=1, module="hostile_child") as own:
        found = own.convert(Source(b"hang", KIND, limits=Limits(seconds=0.1)))
    assert found.failure is Reason.TIMEOUT
    assert "processor time" in found.detail


def test_workers_have_a_process_group_of_their_own(pool: Pool) -> None:
    pool.convert(prepare(b"{\\rtf1\\ansi Hello}"))
    worker = pool._workers[-1]._process
    assert os.getpgid(worker.pid) == worker.pid != os.getpgid(0)
    said = Path(f"/proc/{worker.pid}/status").read_text()
    assert "NoNewPrivs:\t1" in said
    assert "A_SECRET" not in Path(f"/proc/{worker.pid}/environ").read_text()
