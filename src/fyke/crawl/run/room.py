"""A disk that is full: the crawl stands still until somebody has freed some of it, and then goes on; not for ever.

Agents end before they have written what does not fit, with all that was acknowledged in the store; whoever started
them waits here, tells so (``fyke status``: ``no-room``), and starts them again.
"""

from __future__ import annotations

import errno
import gc
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from fyke.crawl.run import status as statuses
from fyke.crawl.run.runtime import Signals, log
from fyke.crawl.run.steering import SteeringReader
from fyke.errors import DiskFullError, StorageError

LEAST = 16_000_000
"""Bytes that must be free before a crawl goes on: logs are written anew when a store is opened."""
_POLL = 1.0
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def is_full(error: Exception) -> bool:
    """Whether an error says that the disk is full."""
    return isinstance(error, DiskFullError) or (isinstance(error, OSError) and error.errno in _FULL)


def wait_for_room(store: Path, least: int, seconds: float, tell: Callable[[str], object]) -> bool:
    """Wait until the disk of ``store`` has more than ``least`` bytes free, ``seconds`` at most; return whether it has.

    Told to stop (``fyke control``, Ctrl-C), it returns False at once.
    """
    if seconds <= 0:
        return False
    until, interrupted, helm = time.time() + seconds, list[int](), SteeringReader(store)
    tell(f"the disk of {store} is full; the crawl goes on once there is room, or ends in {seconds:.0f} s")
    log.error("the disk is full; waiting for room")
    gc.collect()  # a tablet that could not write its last bytes is closed when nothing refers to it
    with Signals(interrupted.append):
        while time.time() < until and not interrupted and not helm.look().stop:
            _show(store, until)
            with suppress(OSError):
                if shutil.disk_usage(store).free > max(least, LEAST):
                    tell("there is room on the disk again; the crawl goes on")
                    log.info("there is room again")
                    return True
            time.sleep(_POLL)
    return False


def _show(store: Path, until: float) -> None:
    """Have every agent's last report say that the crawl waits, as far as there is room for that."""
    with suppress(OSError, StorageError):
        for last in statuses.read(store):
            told = msgspec.structs.replace(
                last, process=os.getpid(), when=time.time(), waiting="no-room", waiting_until=until, waiting_host=""
            )
            statuses.write(store, told)
