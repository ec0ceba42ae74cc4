"""The memory of a process: what loading kernels leaves behind is given back before a large document is read.

The compiler's code is a hundred megabytes, of which loading a kernel from the cache touches two thirds; they stay
resident although nothing of them runs any more. Pages of code are the file's own: they can be dropped at any time, and
come back by themselves where they are needed after all. What the C library keeps of memory that was freed goes too.
"""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress
from pathlib import Path

_COMPILER = "/libllvmlite.so"
_DONTNEED = 4  # of madvise


def give_back() -> None:
    """Drop the compiler's code and what was freed from memory, where the system is one that says where that is."""
    if not sys.platform.startswith("linux"):
        return
    with suppress(OSError, ValueError, AttributeError):
        libc = ctypes.CDLL(None)
        for line in Path("/proc/self/maps").read_text().splitlines():
            fields = line.split(None, 5)
            if line.endswith(_COMPILER) and fields[1] == "r-xp":  # never written to, unlike what holds addresses
                begin, end = (int(each, 16) for each in fields[0].split("-"))
                libc.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), _DONTNEED)
        libc.malloc_trim(0)
