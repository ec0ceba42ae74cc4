"""Starting processes of our own: none of them imports what lies in the current folder, or runs the caller's program.

A Python that is started with ``-m`` or ``-c`` looks for modules in the current folder first: a ``bz2.py`` that lies
beside a downloaded document would be run. ``python`` is for subprocess, ``safe_path`` for multiprocessing, whose
processes would also import the main module: a script that calls fyke without ``if __name__ == "__main__"`` would be run
again in each of them. They need nothing of it.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

_VARIABLE = "PYTHONSAFEPATH"
_lock = threading.Lock()


def python(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module of ours in this very Python."""
    return [sys.executable, "-P", "-m", module, *arguments]


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def has_one_thread() -> bool:
    """Whether this process can be forked: no thread, of Python's or a library's, would be missing in the copy."""
    try:
        return sum(1 for _ in Path("/proc/self/task").iterdir()) == 1
    except OSError:  # no Linux
        return False


@contextmanager
def safe_path() -> Iterator[None]:
    """Let Pythons that multiprocessing spawns meanwhile not look into the current folder, nor at the main module."""
    with _lock:
        before, main = os.environ.get(_VARIABLE), sys.modules.get("__main__")
        os.environ[_VARIABLE] = "1"
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            if main is not None:
                sys.modules["__main__"] = main
            if before is None:
                del os.environ[_VARIABLE]
            else:
                os.environ[_VARIABLE] = before
