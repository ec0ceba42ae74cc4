"""A worker with one more format, whose converter does what hostile documents make converters do."""

from __future__ import annotations

import os
import signal

from fyke.convert import registry
from fyke.convert.registry import Format, Refused, Source
from fyke.values import Document, Reason
from fyke.workers import child


def misbehave(source: Source) -> Document:
    deed = source.data.decode()
    while deed == "hang":
        pass
    if deed == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if deed == "eat":
        hunger = [bytearray(100_000_000) for _ in range(100)]
        raise Refused(Reason.EMPTY, str(len(hunger)))
    return Document("x" * 10_000_000, "x" * 10_000_000)


if __name__ == "__main__":
    registry.formats()["application/x-fyke-test"] = Format("hostile", (), "hostile_child:misbehave")
    child.main()
