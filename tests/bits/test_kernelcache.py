"""The cache of kernels is never an error, holds nobody else's code, and is filled by one process for all."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fyke.bits import jit, kernelcache, kernelkeys

MODULE = """
import numpy as np
from fyke.bits.jit import inlined, kernel
@inlined
def step(x, by):
    return x + by
@kernel
def total(a):
    t = 0
    for x in a:
        t += step(x, 1) + step(x, 2) + step(x, 3)
    return t
print(total(np.arange(4)), [len(k.inner.signatures) for k in (step,)])
"""

pytestmark = pytest.mark.skipif(not jit.JIT, reason="nothing is compiled")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own.py").write_text(MODULE)
    return tmp_path


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose kernel is compiled and kept."""
    made = tmp_path_factory.mktemp("once")
    (made / "own.py").write_text(MODULE)
    run(made)
    return made


@pytest.fixture
def compiled(once: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(once, tmp_path / "own")


def start(folder: Path, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "own.py"],
        cwd=folder,
        env={
            **os.environ,
            "NUMBA_DISABLE_JIT": "0",
            "FYKE_CACHE_DIR": str(folder / "cache"),
            "FYKE_KERNEL_LOG": str(folder / "log"),
            **environment,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(folder: Path, **environment: str) -> tuple[str, str]:
    out, told = start(folder, **environment).communicate(timeout=800)
    assert out.startswith("42 "), told
    return out, told


def compilations(folder: Path) -> int:
    log = folder / "log"
    return len(log.read_text().splitlines()) if log.exists() else 0


def kept(folder: Path) -> list[Path]:
    return [path for path in (folder / "cache" / "kernels").iterdir() if not path.name.startswith("lock")]


def test_constants_make_no_specialisations_and_only_what_python_calls_is_kept(folder: Path) -> None:
    out, _ = run(folder)
    assert out == "42 [1]\n", "three constants, one specialisation"
    assert [path.name.split("-")[0] for path in kept(folder)] == ["__main__.total"]


def test_what_is_kept_is_not_compiled_again_elsewhere_either(compiled: Path) -> None:
    assert run(compiled)[0] == "42 [0]\n"
    assert compilations(compiled) == 1


def test_a_damaged_file_is_as_none(compiled: Path) -> None:
    (file,) = kept(compiled)
    whole = file.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], whole[:-1] + bytes([whole[-1] ^ 1]), b"\x80\x04garbage"):
        file.write_bytes(damaged)
        run(compiled)
        assert len(file.read_bytes()) > len(whole) // 2, "made anew"
    assert compilations(compiled) == 5


def test_a_folder_that_others_may_write_to_is_refused_with_a_sentence(compiled: Path) -> None:
    (compiled / "cache" / "kernels").chmod(0o777)
    before = [(path, path.stat().st_mtime_ns) for path in kept(compiled)]
    _, told = run(compiled)
    assert "others may write there" in told
    assert compilations(compiled) == 2, "nothing was loaded"
    assert [(path, path.stat().st_mtime_ns) for path in kept(compiled)] == before, "nothing was written"


def test_a_folder_that_is_not_ours_or_a_link_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FYKE_CACHE_DIR", str(folder))
    kernelcache.save("a", b"x")
    assert kernelcache.load("a", None) == b"x"
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert kernelcache.load("a", None) is None
    monkeypatch.undo()
    monkeypatch.setenv("FYKE_CACHE_DIR", str(folder / "other"))
    (folder / "other").mkdir()
    (folder / "other" / "kernels").symlink_to(folder / "kernels")
    assert kernelcache.load("a", None) is None


def test_a_new_folder_is_ours_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FYKE_CACHE_DIR", str(folder / "new"))
    kernelcache.save("a", b"x")
    assert (folder / "new" / "kernels").stat().st_mode & 0o777 == 0o700


def test_where_nothing_can_be_kept_kernels_work(folder: Path) -> None:
    (folder / "cache").write_text("no folder")
    _, told = run(folder)
    assert told.count("compiled kernels are not kept") == 1


def test_a_full_disk_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FYKE_CACHE_DIR", str(folder))

    def full(*arguments: object, **more: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    kernelcache.save("a", b"x")
    assert list((folder / "kernels").iterdir()) == []


def test_processes_that_start_together_compile_once(folder: Path) -> None:
    processes = [start(folder) for _ in range(3)]
    for process in processes:
        out, told = process.communicate(timeout=800)
        assert out.startswith("42 "), told
    assert compilations(folder) == 1


def test_a_process_killed_while_it_compiles_keeps_nobody_waiting(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "slow.py").write_text(
        "import os\nfrom fyke.bits import kernelcache\n"
        "with kernelcache.lock('x'):\n    print('held', flush=True)\n    os.read(0, 1)\n"
    )
    environment = {**os.environ, "FYKE_CACHE_DIR": str(folder / "cache")}
    with subprocess.Popen(
        [sys.executable, "slow.py"], cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        holder.kill()
    monkeypatch.setenv("FYKE_CACHE_DIR", str(folder / "cache"))
    with kernelcache.lock("x"):
        pass


@pytest.mark.parametrize("what", ["source", "numba", "llvmlite", "processor"])
def test_the_key_covers_what_the_code_depends_on(what: str, compiled: Path) -> None:
    change = {
        "source": "import fyke.bits.kernelkeys as kernelkeys; kernelkeys.SOURCE += b'# another intrinsic'\n",
        "numba": "import numba; numba.__version__ = '99'\n",
        "llvmlite": "import llvmlite; llvmlite.__version__ = '99'\n",
        "processor": "",
    }[what]
    (compiled / "sitecustomize.py").write_text(change)
    environment = {"NUMBA_CPU_NAME": kernelkeys.PORTABLE_CPU, "NUMBA_CPU_FEATURES": kernelkeys.PORTABLE_FEATURES}
    run(compiled, PYTHONPATH=str(compiled), **(environment if what == "processor" else {}))
    assert compilations(compiled) == 2


def test_what_a_wheel_brings_is_read_behind_the_users_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FYKE_CACHE_DIR", str(folder / "wheel"))
    kernelcache.save("portable", b"shipped")
    monkeypatch.setattr(kernelcache, "SHIPPED", folder / "wheel" / "kernels")
    monkeypatch.setenv("FYKE_CACHE_DIR", str(folder / "cache"))
    assert kernelcache.load("native", "portable") == b"shipped"
    assert kernelcache.load("native", None) is None, "another processor"
    kernelcache.save("native", b"own")
    assert kernelcache.load("native", "portable") == b"own"
