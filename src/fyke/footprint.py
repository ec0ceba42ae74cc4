"""The memory of a process: what loading code and kernels leaves behind is given back before a large document is read.

The compiler's library is a hundred megabytes, of which loading a kernel from the cache touches most, and other
libraries are touched while they are linked; that stays resident although nothing of it runs any more. Pages of a file
that were never written to can be dropped at any time, and come back by themselves where they are needed after all.
What the C library keeps of memory that was freed goes too.
"""

from __future__ import annotations

import ctypes
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import TextIO

MAP = Path("/proc/self/smaps")
_DONTNEED = 4  # of madvise
_MMAP_THRESHOLD = -3  # of mallopt
_LIBRARY = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) r-[-x]p \S+ \S+ \S+ +\S*\.so[.0-9]*$")
_OWN = re.compile(r"^Anonymous: +(\d+) kB$")
"""Of a mapping: what is no longer the file's. Tables of addresses are read-only once they are filled in."""


def open_map() -> TextIO | None:
    """Open what ``give_back`` reads: for who will soon be allowed to open nothing."""
    with suppress(OSError):
        return MAP.open()
    return None


def give_back(opened: TextIO | None = None) -> None:
    """Drop the code of libraries and what was freed from memory, where the system is one that says where that is."""
    if not sys.platform.startswith("linux"):
        return
    with suppress(OSError, ValueError, AttributeError):
        libc = ctypes.CDLL(None)
        begin = end = 0
        if opened is not None:
            opened.seek(0)
        for line in (opened.read() if opened is not None else MAP.read_text()).splitlines():
            if found := _LIBRARY.match(line):
                begin, end = int(found[1], 16), int(found[2], 16)
            elif end and (own := _OWN.match(line)):
                if own[1] == "0":
                    libc.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), _DONTNEED)
                end = 0
        libc.malloc_trim(0)


def keep_nothing_large() -> None:
    """From now on, blocks of a megabyte and more are the system's, and go back to it as soon as they are freed.

    Else the C library keeps them, and small ones between them hold them. Costs a little time: for processes that read
    what is large, and end.
    """
    if sys.platform.startswith("linux"):
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, 1 << 20)
