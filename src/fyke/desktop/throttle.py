"""How quietly work is done: nice 19 and idle I/O always; a share of a core; pauses on battery and under pressure.

What the user saves passes at once; only the backlog waits, and says for what.
"""

from __future__ import annotations

import ctypes
import gc
import os
import platform
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

BATTERY = 50
"""Per cent below which a battery is left alone; work goes on from half-way to full, or on mains."""
CPU, IO = 40.0, 20.0
"""Per cent of ten seconds in which some task waited (PSI, avg10); work goes on at half of that."""
LOOK = 2.0
"""Seconds between two looks at battery and pressure."""
PATIENCE, TRICKLE = 20.0, 0.1
"""Seconds of pressure after which work goes on all the same, with this share: a machine may be busy for ever."""
_IOPRIO = {"x86_64": 251, "aarch64": 30, "riscv64": 30, "ppc64le": 273, "s390x": 282}
"""The number of ``ioprio_set``."""
_IDLE_CLASS = 3 << 13
_DONT_NEED, _PAGE_OUT = 4, 21
"""``MADV_DONTNEED`` for code, which nobody changes; ``MADV_PAGEOUT`` for what a linker may have written to."""
_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) r-([-x])p \S+ \S+ [1-9]\d* +/")


def be_quiet() -> None:
    """Let everybody else go first, on the processor and on the disk: this process, and all that it starts from now."""
    with suppress(OSError):
        os.nice(19)
    number = _IOPRIO.get(platform.machine())
    if number is not None and platform.system() == "Linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).syscall(number, 1, 0, _IDLE_CLASS)


def give_back() -> None:
    """Give memory back while there is nothing to do: garbage, and pages of programs that the disk has anyhow."""
    gc.collect()
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None, use_errno=True)
        library.malloc_trim(0)
        for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
            if found := _MAPPING.match(line):
                start, end = int(found[1], 16), int(found[2], 16)
                advice = _DONT_NEED if found[3] == "x" else _PAGE_OUT
                library.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), advice)


@dataclass(slots=True)
class Machine:
    """What the machine says of battery and pressure."""

    power: Path = Path("/sys/class/power_supply")
    pressure: Path = Path("/proc/pressure")

    def held(self, by: str) -> str:
        """Return what work should wait for: ``battery``, ``cpu``, ``io`` or nothing; ``by`` is the last answer."""
        level = self._battery()
        if level is not None and level < (BATTERY + (100 - BATTERY) / 2 if by == "battery" else BATTERY):
            return "battery"
        for what, limit in (("cpu", CPU), ("io", IO)):
            if self._pressed(what) > (limit / 2 if by == what else limit):
                return what
        return ""

    def _battery(self) -> float | None:
        """The level of a battery that is being used up."""
        levels = []
        with suppress(OSError):
            for supply in self.power.iterdir():
                kind, online = _read(supply / "type"), _read(supply / "online")
                if kind == "Mains" and online == "1":
                    return None
                if kind == "Battery" and _read(supply / "status") == "Discharging":
                    with suppress(ValueError):
                        levels.append(float(_read(supply / "capacity")))
        return min(levels, default=None)

    def _pressed(self, what: str) -> float:
        found = re.search(r"some avg10=([\d.]+)", _read(self.pressure / what))
        return float(found[1]) if found else 0.0


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


class Throttle:
    """When the next step of a backlog may be done. Times are ``clock``'s."""

    def __init__(
        self, share: float, pauses: bool, machine: Machine | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._share, self._machine, self._clock = share, machine or Machine() if pauses else None, clock
        self._next = self._looked = self._since = float("-inf")
        self.waits_for = ""
        """What the backlog waits for: ``battery``, ``cpu`` or ``io``; empty while it is done."""

    @contextmanager
    def step(self) -> Iterator[None]:
        """Time one step of work; the next may begin when the share allows it."""
        began = self._clock()
        try:
            yield
        finally:
            now = self._clock()
            share = min(self._share, TRICKLE) if self.waits_for else self._share
            self._next = now + (now - began) * (1 / share - 1)

    def wait(self) -> float:
        """Return the seconds until a step may be done; 0 where it may be now."""
        now = self._clock()
        if self._machine is not None and now - self._looked >= LOOK:
            self._looked = now
            held = self._machine.held(self.waits_for)
            if held != self.waits_for:
                self.waits_for, self._since = held, now
        if self.waits_for == "battery" or (self.waits_for and now - self._since < PATIENCE):
            return LOOK
        return max(0.0, self._next - now)
