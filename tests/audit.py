"""Supply chain, offline: ``python -m tests.audit`` (``make audit``) looks through what is locked and what is installed.

Every package of every lock is pinned to a version with hashes; what is installed is what is locked, under a licence
that may be imported; none is known to be bad (``requirements/bad.txt``: ``name==version  why``,
kept by hand: without a network there is no other). Prints a line for each fault; the status is 1 if there is one.
"""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

from tests.licences import FORBIDDEN, ROOT, licence_of

LOCKS = ROOT / "requirements"
_PIN = re.compile(r"^([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?==([^\s;\\]+)")
_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}\b")


def pins(lock: Path) -> dict[tuple[str, str], int]:
    """Names and versions of a lock's packages, and how many hashes each may have; Pythons may have one each."""
    found: dict[tuple[str, str], int] = {}
    last = ("", "")
    for line in lock.read_text(encoding="utf-8").splitlines():
        if pinned := _PIN.match(line):
            last = pinned[1].lower(), pinned[2]
            found[last] = 0
        if last in found:
            found[last] += len(_HASH.findall(line))
    return found


def unpinned(lock: Path) -> list[str]:
    """Lines of a lock that name a package in another way than by one version."""
    lines = (line for line in lock.read_text(encoding="utf-8").splitlines() if line and line[0] not in " #-")
    return [line for line in lines if not _PIN.match(line)]


def known_bad() -> dict[tuple[str, str], str]:
    """Versions that must not be installed, with why."""
    lines = (LOCKS / "bad.txt").read_text(encoding="utf-8").splitlines()
    found = (re.match(r"([\w.-]+)==(\S+)\s+(.+)", line) for line in lines if not line.startswith("#"))
    return {(each[1].lower(), each[2]): each[3] for each in found if each is not None}


def faults() -> list[str]:
    """What is wrong, in sentences."""
    wrong: list[str] = []
    bad = known_bad()
    for lock in sorted(LOCKS.glob("*.lock")):
        wrong += [f"{lock.name}: {line!r} pins no version" for line in unpinned(lock)]
        for (name, version), hashes in pins(lock).items():
            if not hashes:
                wrong.append(f"{lock.name}: {name} {version} has no hash")
            if why := bad.get((name, version)):
                wrong.append(f"{lock.name}: {name} {version} is known to be bad: {why}")
    main = pins(LOCKS / "main.lock")
    for name in sorted({name for name, _ in main}):
        stated = licence_of(name)
        if stated is None:
            continue
        if (name, stated[0]) not in main:
            wrong.append(f"{name} {stated[0]} is installed, and not locked")
        if FORBIDDEN.search(stated[1]) or stated[1] == "not stated":
            wrong.append(f"{name} {stated[0]} is under {stated[1]}")
    for package in metadata.distributions():
        name, version = package.metadata["Name"].lower(), package.version
        if why := bad.get((name, version)):
            wrong.append(f"{name} {version}, which is installed, is known to be bad: {why}")
    return wrong


if __name__ == "__main__":
    found = faults()
    print("\n".join(found) or "nothing is wrong with what is locked and installed")
    sys.exit(bool(found))
