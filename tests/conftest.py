"""What all tests share: hypothesis' profile, the public test data, and the check that every kernel ran plain."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType

import hypothesis
import pytest

from fyke.bits import jit

ROOT = Path(__file__).parent.parent

# Derandomised: a failure in CI is a failure here. No deadline: the machine is shared, and the first example compiles.
hypothesis.settings.register_profile("fyke", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("fyke")


# Where the suite runs in a script's background, Ctrl-C is ignored, and by every process that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public test data beside the project; a test that wants it is skipped where it is absent."""
    return _shared("data")


@pytest.fixture(scope="session")
def shared_tools() -> Path:
    return _shared("tools")


def _shared(name: str) -> Path:
    # FYKE_SHARED names it for a checkout that lies elsewhere (a worktree, say).
    folder = Path(os.environ.get("FYKE_SHARED", ROOT.parent / "shared")) / name
    if not folder.is_dir():
        pytest.skip(f"public test data is not at {folder}")
    return folder


_ran: set[CodeType] = set()


@pytest.fixture(autouse=True, scope="session")
def _watch_plain_kernels() -> Iterator[None]:
    """Without the compiler, note which kernels run."""
    if jit.JIT:
        yield
        return

    def note(frame: FrameType, event: str, arg: object) -> None:
        if event == "call":
            _ran.add(frame.f_code)

    sys.setprofile(note)
    yield
    sys.setprofile(None)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Without the compiler, a run of the kernel tests fails where a kernel of a loaded room never ran."""
    if jit.JIT or exitstatus != 0 or session.config.option.markexpr != "kernel":
        return
    missed = [f"{k.__module__}.{k.__qualname__}" for k in jit.REGISTRY if k.__code__ not in _ran]
    missed = [name for name in missed if name.startswith("fyke.")]
    if missed:
        print("\nkernels that no test with the mark `kernel` runs:", *missed, sep="\n  ")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
