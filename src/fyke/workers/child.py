"""The worker's side: reads jobs from stdin, converts, writes documents to stdout, until its input ends.

Run as ``python -m fyke.workers.child MEMORY``. Before the first job it converts a small page, so that what is
compiled or loaded once does not count as a job's time, and confines itself (workers/confine.py): from then on it reads
its jobs and computes.
"""

from __future__ import annotations

import math
import os
import signal
import sys
from typing import BinaryIO

from fyke.bits.kernelcache import cache_directory
from fyke.footprint import give_back, keep_nothing_large, open_map
from fyke.reading.conversion import Source, convert_here, prepare
from fyke.workers import confine, wire

_PAGE, _DOCUMENT = b"<p>one <a href=/>two</a>", b"{\\rtf1 three}"


def main() -> None:
    """Serve until stdin ends."""
    jobs = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    silence = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):  # libraries print; an answer must not be mixed with it
        os.dup2(silence, descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the pool's to handle
    confine.begin()
    convert_here(prepare(_PAGE))  # may compile kernels, and keep them
    keep_nothing_large()
    memory = open_map()
    confine.see_only([str(cache_directory())])
    convert_here(prepare(_DOCUMENT))  # the engine starts its threads
    give_back(memory)
    if memory is not None:
        memory.close()
    os.environ.clear()
    confine.bound(int(sys.argv[1]))
    confine.forbid()
    _answer(answers, b"")  # ready
    while (frame := wire.read_frame(jobs.read)) is not None:
        try:
            source: Source | None
            source, frame = wire.decode_job(frame), b""
            confine.allow_seconds(source.limits.seconds)
            made, source = convert_here(source), None
            answer = wire.encode_document(made)
            del made
        except MemoryError:
            os._exit(signal.SIGABRT + 128)
        confine.allow_seconds(math.inf)  # the next job is read at nobody's cost
        _answer(answers, answer)
    os._exit(0)  # the engine's threads do not survive an orderly end


def _answer(stream: BinaryIO, content: bytes | bytearray) -> None:
    try:
        stream.write(wire.head(content))
        stream.write(content)
        stream.flush()
    except BrokenPipeError:
        os._exit(0)


if __name__ == "__main__":
    main()
