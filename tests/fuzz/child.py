"""A process that tries cases of one target: whatever ends it, the parent knows by the note which case it was.

``python -m tests.fuzz.child TARGET[;TARGET…] FIRST LAST SEED FOLDER``. Each case has 2 s of processor time; then the
system ends the process (SIGPROF, with the traceback on stderr). The address space may grow by a gigabyte.
"""

from __future__ import annotations

import faulthandler
import json
import os
import random
import resource
import signal
import sys
import time
import traceback
from pathlib import Path

SECONDS = 2.0
ROOM = 1 << 30


def main(name: str, first: int, last: int, seed: str, folder: Path) -> None:
    """Try cases ``first`` … ``last`` − 1; print what came of them as JSON."""
    from tests.fuzz.targets import TARGETS

    target = TARGETS[name]
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    samples = target.prepared(folder)
    faulthandler.register(signal.SIGPROF, chain=True)
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + ROOM, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    note = os.open(folder / "note", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused, slowest, found = 0, 0.0, []
    for case in range(first, last):
        os.pwrite(note, b"%20d" % case, 0)
        files = target.case(samples, random.Random(f"{seed}/{name}/{case}"))
        began = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            target.read(folder / "case", files)
        except target.errors:
            refused += 1
        except Exception as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            found.append((case, f"{type(error).__name__}: {error}"[:200], f"{at.filename}:{at.lineno} {at.name}"))
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        slowest = max(slowest, time.process_time() - began)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    os.close(note)
    print(json.dumps({"refused": refused, "slowest": slowest, "grown": grown, "found": found}), flush=True)


if __name__ == "__main__":
    for each in sys.argv[1].split(";"):
        main(each, int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], Path(sys.argv[5]))
    os._exit(0)  # whatever a reader left running ends here
