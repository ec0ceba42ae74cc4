from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from fyke.bits.jit import LANES, copy_lanes, eight_bytes, kernel, read_at

CALLEE = "from fyke.bits.jit import kernel\n@kernel\ndef step(x):\n    return x + {step}\n"
CALLER = (
    "import numpy as np\nfrom callee import step\nfrom fyke.bits.jit import kernel\n"
    "@kernel\ndef total(a):\n    t = 0\n    for x in a:\n        t += step(x)\n    return t\n"
    "print(total(np.arange(4)))\n"
)


def run(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "caller.py"],
        cwd=folder,
        env={**os.environ, "FYKE_CACHE_DIR": str(folder / "cache"), **environment},
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "callee.py").write_text(CALLEE.format(step=1))
    (tmp_path / "caller.py").write_text(CALLER)
    return tmp_path


def test_kernels_are_cached_and_an_edit_of_a_callee_is_seen(folder: Path) -> None:
    first = run(folder, NUMBA_DISABLE_JIT="0")
    assert first.stdout == "10\n"
    assert first.stderr.count("compiling kernels") == 1, "one line while something compiles"
    second = run(folder, NUMBA_DISABLE_JIT="0")
    assert (second.stdout, second.stderr) == ("10\n", ""), "the second process compiles nothing"
    (folder / "callee.py").write_text(CALLEE.format(step=100))
    assert run(folder, NUMBA_DISABLE_JIT="0").stdout == "406\n", "the edited callee in another file counts"


def test_a_constant_from_a_module_without_kernels_counts(folder: Path) -> None:
    (folder / "constants.py").write_text("import numpy as np\nTABLE = np.array([1, 2])\n")
    uses = (
        "from constants import TABLE\nfrom fyke.bits.jit import kernel\n@kernel\ndef total():\n    return TABLE.sum()\n"
    )
    (folder / "caller.py").write_text(uses + "print(total())\n")
    assert run(folder, NUMBA_DISABLE_JIT="0").stdout == "3\n"
    (folder / "constants.py").write_text("import numpy as np\nTABLE = np.array([1, 2, 3])\n")
    assert run(folder, NUMBA_DISABLE_JIT="0").stdout == "6\n"


def test_without_jit_a_kernel_is_the_function_itself(folder: Path) -> None:
    plain = run(folder, NUMBA_DISABLE_JIT="1")
    assert (plain.stdout, plain.stderr) == ("10\n", "")
    assert not (folder / "cache").exists()


@kernel
def _moved(source: npt.NDArray[np.uint8], start: int, target: npt.NDArray[np.uint8], place: int) -> None:
    copy_lanes(source, start, target, place)


@pytest.mark.kernel
def test_lanes_are_copied_and_nothing_beside_them() -> None:
    source, target = np.arange(100, dtype=np.uint8), np.zeros(100, np.uint8)
    _moved(source, 7, target, 60)
    assert target[60 : 60 + LANES].tolist() == list(range(7, 7 + LANES))
    assert not target[:60].any()
    assert not target[60 + LANES :].any()


@kernel
def _eight(source: npt.NDArray[np.uint8], start: int) -> np.uint64:
    found: np.uint64 = eight_bytes(source, start)
    return found


@pytest.mark.kernel
def test_eight_bytes_are_a_number() -> None:
    assert int(_eight(np.arange(1, 20, dtype=np.uint8), 3)) == 0x0B0A090807060504


def test_bounds_can_be_checked(folder: Path) -> None:
    """``make bounds`` runs the kernels' tests so: numba's own switch reaches kernels and their helpers."""
    uses = (
        "import numpy as np\nfrom fyke.bits.jit import kernel, leaf\n"
        "@leaf\ndef at(values, place):\n    return values[place]\n"
        "@kernel\ndef beyond(values, place):\n    return at(values, place)\n"
        "try:\n    beyond(np.zeros(3), 300)\nexcept IndexError as error:\n    print('told:', error)\n"
    )
    (folder / "caller.py").write_text(uses)
    assert run(folder, NUMBA_DISABLE_JIT="0", NUMBA_BOUNDSCHECK="1").stdout.startswith("told:")


@kernel
def _read(file: int, target: npt.NDArray[np.uint64], place: int) -> int:
    return read_at(file, target, place)


@pytest.mark.kernel
def test_a_kernel_reads_what_is_in_a_file(tmp_path: Path) -> None:
    whole, page = np.arange(1000, dtype=np.uint64), np.zeros(64, np.uint64)
    whole.tofile(tmp_path / "file")
    with (tmp_path / "file").open("rb") as file:
        for start, count in ((0, 64), (17, 64), (936, 64), (990, 10), (1000, 0), (2000, 0)):
            assert _read(file.fileno(), page, 8 * start) == 8 * count
            assert page[:count].tolist() == whole[start : start + count].tolist()
