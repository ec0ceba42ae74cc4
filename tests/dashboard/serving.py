"""A dashboard in a process of its own, asked by hand."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests import json_schemas


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: str


class Served:
    """A running dashboard."""

    def __init__(self, origin: str, token: str, process: int) -> None:
        self.origin, self.token, self.process = origin, token, process
        self.port = int(origin.rstrip("/").rpartition(":")[2])
        self.host = f"127.0.0.1:{self.port}"
        self.cookie = self.ask(f"/?t={token}").headers["set-cookie"].partition(";")[0]

    def send(self, request: bytes) -> Answer:
        """Send bytes, and read the answer to its end."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            connection.sendall(request)
            data = b""
            while part := connection.recv(65_536):
                data += part
        head, _, body = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        return Answer(int(lines[0].split()[1]), headers, body.decode("utf-8", "replace"))

    def ask(self, path: str, *lines: str, method: str = "GET", host: str | None = None, body: str = "") -> Answer:
        """Ask with these header lines."""
        told = [f"Host: {self.host if host is None else host}", "Connection: close", *lines]
        if body:
            told += [f"Content-Length: {len(body)}", "Content-Type: application/x-www-form-urlencoded"]
        return self.send("\r\n".join([f"{method} {path} HTTP/1.1", *told, "", body]).encode())

    def get(self, path: str, *lines: str) -> Answer:
        """Ask as the user's browser does."""
        return self.ask(path, f"Cookie: {self.cookie}", "Sec-Fetch-Site: same-origin", *lines)

    def post(self, path: str, body: str, *lines: str) -> Answer:
        return self.ask(path, f"Cookie: {self.cookie}", *lines, method="POST", body=body)


@contextlib.contextmanager
def serving(store: Path, *options: str) -> Iterator[Served]:
    words = [sys.executable, "-m", "fyke", "dashboard", "--store", str(store), "--json", *options]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            assert json_schemas.faults("dashboard", line) == []
            told = json.loads(line)
            yield Served(told["origin"], told["token"], process.pid)
        finally:
            process.send_signal(signal.SIGINT)
            said = process.stderr.read()
            assert process.wait() == 0
        assert "Traceback" not in said, said
