"""Starting processes of our own: none of them imports what lies in the current folder.

A Python that is started with ``-m`` or ``-c`` looks for modules in the current folder first: a ``bz2.py`` that lies
beside a downloaded document would be run. ``python`` is for subprocess, ``safe_path`` for multiprocessing.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_VARIABLE = "PYTHONSAFEPATH"
_lock = threading.Lock()


def python(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module of ours in this very Python."""
    return [sys.executable, "-P", "-m", module, *arguments]


@contextmanager
def safe_path() -> Iterator[None]:
    """Let Pythons that multiprocessing spawns meanwhile not look into the current folder."""
    with _lock:
        before = os.environ.get(_VARIABLE)
        os.environ[_VARIABLE] = "1"
        try:
            yield
        finally:
            if before is None:
                del os.environ[_VARIABLE]
            else:
                os.environ[_VARIABLE] = before
