"""The worker's side: reads jobs from stdin, converts, writes documents to stdout, until its input ends.

Run as ``python -m fyke.workers.child MEMORY``. Before the first job it converts a small page, so that what is
compiled or loaded once does not count as a job's time, and then bounds its own address space.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from fyke.reading.conversion import convert_here, prepare
from fyke.workers import wire

_WARM_UP = (b"<p>one <a href=/>two</a>", b"{\\rtf1 three}")


def main() -> None:
    """Serve until stdin ends."""
    jobs = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    silence = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):  # libraries print; an answer must not be mixed with it
        os.dup2(silence, descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the pool's to handle
    for data in _WARM_UP:
        convert_here(prepare(data))
    _bound(int(sys.argv[1]))
    _answer(answers, b"")  # ready
    while (frame := wire.read_frame(jobs.read)) is not None:
        try:
            answer = wire.encode_document(convert_here(wire.decode_job(frame)))
        except MemoryError:
            os._exit(signal.SIGABRT + 128)
        _answer(answers, answer)
    os._exit(0)  # the engine's threads do not survive an orderly end


def _answer(stream: BinaryIO, content: bytes) -> None:
    try:
        stream.write(wire.framed(content))
        stream.flush()
    except BrokenPipeError:
        os._exit(0)


def _bound(memory: int) -> None:
    """Let the address space grow by ``memory`` bytes at most; no core dumps."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError, ValueError):  # where there is no /proc, or no such limit, the time limit remains
        now = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + memory, now + memory))


if __name__ == "__main__":
    main()
