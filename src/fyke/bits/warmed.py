"""Marks in the kernels' cache: everything that a set of workloads (``fyke warm``) needs has been compiled.

A mark's name says all that compiled kernels depend on: their sources, the versions of Python, numba and llvmlite, and
the processor. So nothing is compiled ahead a second time, and everything is after an update or on another machine.
A platform wheel brings a mark along beside its kernels.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from importlib import metadata
from pathlib import Path

from fyke.bits import kernelcache, kernelkeys

EVERYTHING = "all"
"""The set that holds every other."""
_is_workload = False


def become_workload() -> None:
    """Say that this process is a workload: it compiles what it needs, and starts no others."""
    global _is_workload  # noqa: PLW0603 - of the process
    _is_workload = True


def needed(name: str) -> bool:
    """Whether a set is still to be compiled ahead, as far as marks tell; not where nothing would be kept."""
    if _is_workload or os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        return False
    own = kernelkeys.processor()
    if _is_shipped() or any(kernelcache.load(_mark(one, own), None) is not None for one in (name, EVERYTHING)):
        return False
    return kernelcache.is_kept()


def mark(name: str) -> None:
    """Note that a set is compiled."""
    kernelcache.save(_mark(name, kernelkeys.processor()), b"")


def _is_shipped() -> bool:
    return kernelkeys.is_portable() and (kernelcache.SHIPPED / _mark(EVERYTHING, kernelkeys.PORTABLE)).exists()


def _mark(name: str, processor: tuple[str, str]) -> str:
    whole = hashlib.sha256("\n".join([name, *processor, str(sys.implementation.cache_tag)]).encode())
    whole.update(_sources())
    return f"warm-{name}-{whole.hexdigest()[:24]}"


@functools.cache
def _sources() -> bytes:
    """Hash what is compiled, and what compiles it."""
    root, whole = Path(__file__).parent.parent, hashlib.sha256()
    for file in sorted([*root.rglob("*kernels.py"), *root.glob("bits/*.py"), root / "cli" / "workloads.py"]):
        whole.update(file.read_bytes())
    for package in ("numba", "llvmlite"):
        whole.update(metadata.version(package).encode())
    return whole.digest()
