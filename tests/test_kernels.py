"""Every kernel once without the compiler: what it computes is what its Python says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fyke.bits import jit

ROOT = Path(__file__).parent.parent


@pytest.mark.skipif(not jit.JIT, reason="this is that run")
@pytest.mark.timeout(900)
def test_every_kernel_passes_its_tests_without_the_compiler() -> None:
    """The tests with the mark ``kernel`` again, in a process where kernels are plain; there each must run."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    paths = sorted(Path(__file__).parent.rglob("test_*.py"))
    files = [str(path) for path in paths if "mark.kernel" in path.read_text(encoding="utf-8")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "kernel", *files],
        cwd=ROOT, env={**own, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:]
