"""A machine of a cluster: Ray started on it and stopped, at one pinned address, behind a token and TLS.

An open port of Ray's runs anybody's code, and Ray 2.60 listens on every address of a machine, whatever it is told (but
for a machine that has loopback alone). So a token is always demanded, and an address that is not loopback needs TLS
too; between machines of loopback the token never leaves this one. What runs is noted in ``machine.json`` of the
machine's folder; only that is ever ended.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import msgspec

from fyke.cluster.copies import FOLDER
from fyke.errors import UNREADABLE, FykeError, UserError

NAME = "machine.json"
START = 180.0
"""Seconds that Ray may take to start."""
STOP = 40.0
"""Seconds that it may take to end; then it is killed."""
_STORE_MEMORY = 100 << 20
"""Bytes of Ray's own object store: fyke keeps nothing there but what is under way."""
TRIES = 3
"""Times that Ray is started where the machine is too busy for it: it gives up after 30 seconds."""
SHORT = 22
"""Characters of the folder for temporary files at most: Ray's sockets lie deep in it, and take 107 in all."""
LOG = "ray.log"
_STARTED = "Ray runtime started"
_SLOW = "timed out during startup"


class Machine(msgspec.Struct, frozen=True):
    """A machine of a cluster."""

    address: str
    """Its own."""
    head: str
    """Address and port of the head."""
    token: str
    """The file of the token."""
    tls: str = ""
    """The folder of ``ca.crt``, ``node.crt`` and ``node.key``."""
    folder: str = ""
    """Its working copies and its log."""
    process: int = 0
    temporary: str = ""
    """Where Ray keeps its sockets and logs: the head's, and a short path, as those of sockets must be."""
    cores: int = 0
    """Tasks of jobs that it runs at once; 0 for as many as it has cores."""
    started: int = 0
    """When the process began, in ticks: another one may get its number."""

    @property
    def is_head(self) -> bool:
        """Whether the head runs here."""
        return self.head.rpartition(":")[0].strip("[]") == self.address

    def environment(self) -> dict[str, str]:
        """What Ray is told by its environment."""
        found = {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": self.token,
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_SCHEDULER_EVENTS": "0",
            "RAY_prestart_worker_first_driver": "0",  # no process for each core that waits for tasks
            "RAY_enable_metrics_collection": "0",
            FOLDER: self.folder,
        }
        if self.tls:
            ca, own, key = tls_files(self.tls)
            found |= {
                "RAY_USE_TLS": "1", "RAY_TLS_CA_CERT": ca, "RAY_TLS_SERVER_CERT": own, "RAY_TLS_SERVER_KEY": key,
            }  # fmt: skip
        return found


def tls_files(folder: str) -> tuple[str, str, str]:
    """The files of a folder of certificates. Raises ``UserError`` where one is missing."""
    found = [Path(folder, name).absolute() for name in ("ca.crt", "node.crt", "node.key")]
    for path in found:
        if not path.is_file():
            raise UserError(f"{path} is missing; --tls names a folder with ca.crt, node.crt and node.key")
    ca, own, key = map(str, found)
    return ca, own, key


def need_ray() -> None:
    """Raise ``UserError`` where Ray is not installed."""
    if find_spec("ray") is None:
        raise UserError("fyke cluster needs Ray: pip install 'fyke[cluster]'")


def check(address: str, token: str, tls: str) -> None:
    """Raise ``UserError`` for an address that others reach, without what keeps them out."""
    try:
        loopback = ipaddress.ip_address(address).is_loopback
    except ValueError:
        raise UserError(f"{address!r} is no IP address; give the one by which the other machines reach this") from None
    if address in ("127.0.0.1", "::1"):
        raise UserError(f"Ray takes {address} for the address of a network card; 127.0.0.2 stays on this machine")
    if not loopback and not (token and tls):
        missing = " and ".join(name for name, given in (("--token FILE", token), ("--tls DIR", tls)) if not given)
        raise UserError(f"{address} can be reached by others, who could run any code here: give {missing}")


def make_token(path: Path) -> None:
    """Make the file of a token, unless there is one."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(file, secrets.token_hex(32).encode())
        os.close(file)


def read(folder: Path) -> Machine:
    """The machine whose folder this is. Raises ``UserError`` where Ray was not started there."""
    try:
        return msgspec.json.decode((folder / NAME).read_bytes(), type=Machine)
    except (OSError, *UNREADABLE):
        raise UserError(
            f"{folder} is no machine of a cluster; `fyke cluster up` or `join` makes it one, --folder names another"
        ) from None


def start(machine: Machine) -> tuple[Machine, subprocess.Popen[bytes]]:
    """Start Ray on this machine; return it with its process, which ``--block`` waits for. Raises ``FykeError``."""
    folder = Path(machine.folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if (folder / NAME).exists() and is_running(read(folder)):
        raise UserError(f"a machine runs in {folder} already; end it with `fyke cluster down --folder {folder}`")
    machine.environment()  # what is missing is told before anything is made
    if machine.is_head:
        short = len(tempfile.gettempdir()) <= SHORT
        temporary = tempfile.mkdtemp(prefix="fyke-ray-", dir=None if short else "/tmp")  # noqa: S108 - made by mkdtemp
        machine = msgspec.structs.replace(machine, temporary=temporary)
    for left in reversed(range(TRIES)):
        started, process = _launch(machine, folder)
        said = _wait(process, folder / LOG)
        if said is None:
            return started, process
        stop(started)
        if not left or _SLOW not in said:
            last = [line for line in said.splitlines() if line.strip()][-1:] or ["it said nothing"]
            raise FykeError(
                f"Ray did not start at {machine.address}: {last[0].strip()}; all of it is in {folder / LOG}"
            )
    raise AssertionError


def _launch(machine: Machine, folder: Path) -> tuple[Machine, subprocess.Popen[bytes]]:
    command = [
        sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats",
        f"--node-ip-address={machine.address}", f"--object-store-memory={_STORE_MEMORY}",
        "--include-log-monitor=false", "--log-style=record", "--log-color=false",
    ]  # fmt: skip
    if machine.cores:
        command += [f"--num-cpus={machine.cores}"]
    if machine.is_head:
        port = machine.head.rpartition(":")[2]
        command += ["--head", f"--port={port}", "--include-dashboard=false", f"--dashboard-host={machine.address}"]
        command += ["--no-monitor"]  # nobody starts and ends machines by themselves here
        command += [f"--temp-dir={machine.temporary}"]
    else:
        command += [f"--address={machine.head}"]
    with (folder / LOG).open("wb") as out:
        process = subprocess.Popen(  # noqa: S603 - this very Python
            command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, **machine.environment()}, cwd=folder,
        )  # fmt: skip
    machine = msgspec.structs.replace(machine, process=process.pid, started=_started(process.pid))
    (folder / NAME).write_bytes(msgspec.json.encode(machine))
    return machine, process


def _wait(process: subprocess.Popen[bytes], log: Path) -> str | None:
    """Wait until Ray has started; return what it said where it has not."""
    deadline = time.monotonic() + START
    while _STARTED not in (said := log.read_text(encoding="utf-8", errors="replace")):
        if process.poll() is not None or time.monotonic() > deadline:
            return said
        time.sleep(0.1)
    return None


@contextlib.contextmanager
def _hushed() -> Iterator[None]:
    """Keep what Ray's own library writes to stderr from the user, who gets one sentence of ours."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@contextlib.contextmanager
def connected(machine: Machine) -> Iterator[ModuleType]:
    """Be connected with the cluster of a machine: gives fyke.cluster.actors. Raises ``UserError`` where none answers.

    Once in a process: Ray reads its environment when it is imported.
    """
    need_ray()
    os.environ.update(machine.environment())
    with _hushed():
        from fyke.cluster import actors

        actors.connect(machine.head, machine.address)
    try:
        yield actors
    finally:
        actors.disconnect()


def is_running(machine: Machine) -> bool:
    """Whether the machine's process is there."""
    return bool(machine.process) and _started(machine.process) == machine.started != 0


def stop(machine: Machine) -> bool:
    """End what was started on this machine; return whether anything ran."""
    if not is_running(machine):
        return False
    family = [machine.process, *descendants(machine.process)]
    with contextlib.suppress(ProcessLookupError):
        os.kill(machine.process, signal.SIGTERM)
    deadline = time.monotonic() + STOP
    while is_running(machine) and time.monotonic() < deadline:
        _reap(machine.process)
        family = list(dict.fromkeys([*family, *descendants(machine.process)]))
        time.sleep(0.1)
    kill(family)
    if machine.temporary:
        shutil.rmtree(machine.temporary, ignore_errors=True)
    return True


def kill(processes: list[int]) -> None:
    """End processes at once, as a power cut would."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    for process in processes:
        _reap(process)


def descendants(process: int) -> list[int]:
    """The children of a process, and theirs."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError, ValueError, IndexError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                parents.setdefault(parent, []).append(int(entry.name))
    found, left = [], [process]
    while left:
        children = parents.get(left.pop(), [])
        found += children
        left += children
    return found


def _started(process: int) -> int:
    """When a process began, in ticks since the machine started; 0 where it is gone, or dead and not yet seen."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in "ZX" else int(fields[19])


def _reap(process: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(process, os.WNOHANG)


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
