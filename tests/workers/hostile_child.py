"""A worker with one more format, whose converter does what hostile documents make converters do."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

from fyke.convert import registry
from fyke.convert.registry import Format, Refused, Source
from fyke.values import Document, Reason
from fyke.workers import child


def _fork() -> None:
    if os.fork() == 0:
        os._exit(0)


def _in_thread(where: str) -> str:
    told: list[str] = []
    thread = threading.Thread(target=lambda: told.append(_tried(lambda: Path(where + ".new").touch())))
    thread.start()
    thread.join()
    return _refusal(told[0]) if told[0].startswith("refused") else told[0]


def _refusal(why: str) -> str:
    raise PermissionError(why)


def _opened(where: str, mode: str) -> None:
    with Path(where).open(mode) as file:
        file.read(1)


DEEDS: dict[str, Callable[[str], object]] = {
    "connect": lambda where: socket.create_connection(("127.0.0.1", int(where)), 5),
    "datagram": lambda where: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", int(where))),
    "unix": lambda where: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM),
    "pair": lambda where: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b"x", where),
    "write": lambda where: Path(where).write_text("x"),
    "append": lambda where: _opened(where, "r+b"),
    "remove": lambda where: Path(where).unlink(),
    "rename": lambda where: Path(where).rename(where + ".old"),
    "link": lambda where: Path(where + ".link").symlink_to(where),
    "mode": lambda where: Path(where).chmod(0o777),
    "read": lambda where: Path(where).read_text(),
    "list": lambda where: list(Path(where).parent.iterdir()),
    "fork": lambda where: _fork(),
    "run": lambda where: subprocess.run(["/bin/true"], check=False),
    "replace": lambda where: os.execv("/bin/true", ["true"]),
    "kill": lambda where: os.kill(os.getppid(), signal.SIGTERM),
    "trace": lambda where: _opened(f"/proc/{os.getppid()}/mem", "rb"),
    "environment": lambda where: dict(os.environ) or _refusal("there is none"),
    "thread": _in_thread,
}
"""What nobody is to get done; each gets a path or a port."""


def _tried(deed: Callable[[], object]) -> str:
    try:
        return f"done: {deed()!r}"
    except OSError as error:
        return f"refused: {type(error).__name__}"


def misbehave(source: Source) -> Document:
    deed, _, where = source.data.decode().partition(" ")
    if deed in DEEDS:
        said = _tried(lambda: DEEDS[deed](where))
        return Document(said, said)
    if deed == "limits":
        import resource

        names = ("AS", "CPU", "FSIZE", "NOFILE", "CORE")
        said = json.dumps({name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}")) for name in names})
        return Document(said, said)
    while deed == "hang":
        pass
    if deed == "stop":  # as a machine that has no time for it
        os.kill(os.getpid(), signal.SIGSTOP)
    if deed == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if deed == "eat":
        hunger = [bytearray(100_000_000) for _ in range(100)]
        raise Refused(Reason.EMPTY, str(len(hunger)))
    return Document("x" * 10_000_000, "x" * 10_000_000)


if __name__ == "__main__":
    registry.formats()["application/x-fyke-test"] = Format("hostile", (), "hostile_child:misbehave")
    child.main()
