"""What this machine offers to fyke and lacks: each thing looked at, with what it means and the remedy.

Nothing here asks the network, and nothing is left behind.
"""

from __future__ import annotations

import os
import platform
import resource
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import fyke
from fyke.browser.process import INSTALL, installed
from fyke.spawning import cores
from fyke.units import write_size

EXTRAS = {"parquet": "pyarrow", "pdf": "pypdfium2", "plot": "matplotlib", "browser": "playwright", "cluster": "ray"}
"""Parts that a plain install leaves out, each with the module that it needs."""
WATCHES = 65_536
"""Folders that `fyke desktop --watch` may have to watch in a usual home."""
FILES = 1_024
ROOM = 500_000_000
LEAST_MEMORY = 1_000_000_000
_PROBE = 10.0  # seconds


class State(StrEnum):
    """How it is with one thing."""

    GOOD = "good"
    LACKS = "lacks"
    """Something that only a part of fyke needs is not there."""
    WRONG = "wrong"
    """fyke does not work here, or not well."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    state: State
    value: str
    remedy: str = ""
    """What to do about it, where it is not good."""


def look(folder: Path) -> Iterator[Check]:
    """Look at everything; ``folder`` is where a store would be."""
    for check in (_python, _libraries, _processor, _memory, _files, lambda: _disk(folder), _kernels):
        yield check()
    yield from (_certificates(), _names(), _namespaces(), _confinement(), _browser(), _watches())
    yield from _extras()


def _good(name: str, value: str, remedy: str = "", *, unless: bool = False, state: State = State.WRONG) -> Check:
    """Return a check that is good unless something is the case."""
    return Check(name, state if unless else State.GOOD, value, remedy if unless else "")


def _python() -> Check:
    said = (
        f"fyke {fyke.__version__}, {platform.python_implementation()} {platform.python_version()}, {platform.system()}"
    )
    wrong = sys.version_info < (3, 11) or not sys.platform.startswith(("linux", "darwin"))
    return _good(
        "python", f"{said} {platform.release()} {platform.machine()}", "use Python 3.11 or later", unless=wrong
    )


def _libraries() -> Check:
    names = ("numba", "llvmlite", "numpy", "pycurl", "rocksdict", "lxml")
    absent = [name for name in names if find_spec(name) is None]
    found = ", ".join(f"{name} {metadata.version(name)}" for name in names if name not in absent)
    remedy = f"install {' '.join(absent)}: pip install --force-reinstall fyke"
    return _good("libraries", found, remedy, unless=bool(absent))


def _processor() -> Check:
    return _good("cores", f"{cores()} of {os.cpu_count()} usable; a crawl that is busy takes all of them")


def _memory() -> Check:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    remedy = "crawl with --agents 1 and a smaller --concurrency"
    return _good("memory", f"{total / 1e9:.1f} GB", remedy, unless=total < LEAST_MEMORY)


def _files() -> Check:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = soft != resource.RLIM_INFINITY and soft < FILES
    return _good("open files", f"{soft} at once (hard limit {hard})", f"ulimit -n {FILES * 4}", unless=few)


def _disk(folder: Path) -> Check:
    at = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    try:
        free = shutil.disk_usage(at).free
    except OSError as error:
        return Check("disk", State.WRONG, f"{at}: {error.strerror}", "name another folder with --store")
    said = f"{free / 1e9:.1f} GB free at {at}"
    if not os.access(at, os.W_OK):
        return Check("disk", State.WRONG, f"{said}, not writable", "name a folder of yours with --store")
    return _good("disk", said, f"a crawl stops below {write_size(ROOM)}: free some", unless=free < ROOM)


def _kernels() -> Check:
    from fyke.bits import kernelcache, warmed

    folder = kernelcache.cache_directory() / "kernels"
    size = sum(file.stat().st_size for file in folder.glob("*")) if folder.is_dir() else 0
    said = f"{size / 1e6:.1f} MB in {folder}"
    if not kernelcache.is_kept():
        remedy = "make the folder yours alone (chmod 700) and give it room, or set FYKE_CACHE_DIR"
        return Check("kernel cache", State.WRONG, f"{said}; nothing is kept there, so every start compiles", remedy)
    cold = [name for name in ("extract", "crawl", "all") if warmed.needed(name)]
    remedy = "fyke warm compiles them now; else the first run does"
    return _good("kernel cache", said + ("" if not cold else f"; not compiled yet for: {', '.join(cold)}"), remedy,
                 unless=bool(cold), state=State.LACKS)  # fmt: skip


def _certificates() -> Check:
    file = os.environ.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile
    remedy = "install ca-certificates, or name a file with SSL_CERT_FILE or --ca-file"
    there = bool(file) and Path(file).is_file()
    return _good("certificates", str(file or "no file of authorities"), remedy, unless=not there)


def _names() -> Check:
    try:
        lines = Path("/etc/resolv.conf").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    servers = [line.split()[1] for line in lines if line.startswith("nameserver") and len(line.split()) > 1]
    remedy = "name a server in /etc/resolv.conf, or hosts with --resolve"
    return _good("name servers", ", ".join(servers) or "none", remedy, unless=not servers)


def _namespaces() -> Check:
    said = _run(["unshare", "--net", "--mount", "true"])
    said = said and _run(["unshare", "--user", "--net", "true"])
    remedy = "only tests on a network of their own want them"
    return _good("network namespaces", said or "can be made", remedy, unless=bool(said), state=State.LACKS)


def _confinement() -> Check:
    """What keeps a converter that a document has taken over from doing harm (fyke.workers.confine)."""
    from fyke.workers.confine import offered

    found = offered()
    said = ", ".join(f"{name} {value}" if value else f"no {name}" for name, value in found.items())
    remedy = "converters could reach files or the network, though not for long: use Linux 5.13 or later"
    return _good("confined workers", said, remedy, unless=not all(found.values()), state=State.LACKS)


def _run(words: list[str]) -> str:
    """Run a probe; return why it did not work."""
    if shutil.which(words[0]) is None:
        return f"`{words[0]}` is not installed"
    try:
        done = subprocess.run(words, capture_output=True, timeout=_PROBE, check=False)  # noqa: S603 - our own words
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if done.returncode == 0 else done.stderr.decode(errors="replace").strip() or "not allowed"


def _browser() -> Check:
    found = installed()
    remedy = f"pages that scripts make need one: {INSTALL}"
    return _good("browser", found or "none", remedy, unless=not found, state=State.LACKS)


def _watches() -> Check:
    try:
        most = int(Path("/proc/sys/fs/inotify/max_user_watches").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return Check("inotify", State.LACKS, "not there", "local files are looked through again instead of watched")
    remedy = f"sysctl fs.inotify.max_user_watches={WATCHES * 8}"
    return _good("inotify", f"{most:,} watches", remedy, unless=most < WATCHES, state=State.LACKS)


def _extras() -> Iterator[Check]:
    for extra, module in EXTRAS.items():
        there = find_spec(module) is not None
        said = f"{module} {metadata.version(module)}" if there else f"{module} is not installed"
        yield _good(f"fyke[{extra}]", said, f"pip install 'fyke[{extra}]'", unless=not there, state=State.LACKS)
