"""Object stores for the tests of the depot: in memory, misbehaving by a schedule, and a real S3 server."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal

from fyke.errors import DepotError
from fyke.store.objects import Objects

Act = Literal["", "fails", "lost", "twice"]
"""What happens to a request: nothing odd; it fails; it is done and the answer gets lost; it arrives twice."""
Schedule = Callable[[str, str], Act]
"""Of a verb and a name."""


class Memory:
    """Objects in memory."""

    def __init__(self) -> None:
        self.url = "memory"
        self.objects: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def create(self, name: str, data: bytes) -> bool:
        with self._lock:
            return name not in self.objects and self.objects.setdefault(name, data) is data

    def put(self, name: str, source: bytes | Path) -> None:
        self.objects[name] = source if isinstance(source, bytes) else source.read_bytes()

    def get(self, name: str, limit: int = 0) -> bytes | None:
        data = self.objects.get(name)
        return data[:limit] if data is not None and limit else data

    def download(self, name: str, path: Path) -> bool:
        data = self.objects.get(name)
        if data is not None:
            path.write_bytes(data)
        return data is not None

    def list(self, prefix: str) -> Iterator[tuple[str, int]]:
        with self._lock:
            found = [(name, len(data)) for name, data in self.objects.items() if name.startswith(prefix)]
        yield from found

    def delete(self, names: Iterable[str]) -> None:
        for name in list(names):
            self.objects.pop(name, None)


class Faulty:
    """Objects behind a network that does what a schedule says."""

    def __init__(self, objects: Objects, schedule: Schedule) -> None:
        self.url = objects.url
        self._objects = objects
        self.schedule = schedule

    def create(self, name: str, data: bytes) -> bool:
        act = self._begin("create", name)
        made = self._objects.create(name, data)
        if act == "twice":  # the answer to the second is what comes
            made = self._objects.create(name, data)
        self._end(act)
        return made

    def put(self, name: str, source: bytes | Path) -> None:
        act = self._begin("put", name)
        self._objects.put(name, source)
        self._end(act)

    def get(self, name: str, limit: int = 0) -> bytes | None:
        self._end(self._begin("get", name))
        return self._objects.get(name, limit)

    def download(self, name: str, path: Path) -> bool:
        self._end(self._begin("download", name))
        return self._objects.download(name, path)

    def list(self, prefix: str) -> Iterator[tuple[str, int]]:
        self._end(self._begin("list", prefix))
        return self._objects.list(prefix)

    def delete(self, names: Iterable[str]) -> None:
        for name in list(names):
            act = self._begin("delete", name)
            self._objects.delete([name])
            self._end(act)

    def _begin(self, verb: str, name: str) -> Act:
        act = self.schedule(verb, name)
        if act == "fails":
            raise DepotError("the depot fails, as it should")
        return act

    def _end(self, act: Act) -> None:
        if act == "lost":
            raise DepotError("the answer got lost, as it should")


@contextlib.contextmanager
def s3_server() -> Iterator[str]:
    """Run an S3 server in a process of its own; yield its address. It has a bucket called ``fyke``."""
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("s3_process.py"))], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        address = f"http://127.0.0.1:{int(process.stdout.readline())}"
        with urllib.request.urlopen(urllib.request.Request(f"{address}/fyke", method="PUT")) as answer:
            assert answer.status == 200
        yield address
    finally:
        process.stdin.close()  # it ends with its stdin
        process.stdout.close()
        process.wait()


def s3_environment(address: str) -> dict[str, str]:
    """What the environment says of that server."""
    return {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }
