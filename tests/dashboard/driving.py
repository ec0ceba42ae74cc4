"""Chromium driven by its own protocol (CDP) over a pipe: a page is opened and asked; what its console says is kept."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.dashboard.serving import chromium


class Tab:
    """One tab."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._left = b""
        self._number = self._loads = 0
        self._session = ""
        self.console: list[str] = []
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._ask(f"{domain}.enable")

    def open(self, address: str) -> None:
        """Open a page, and wait until it is loaded."""
        before = self._loads
        self._ask("Page.navigate", url=address)
        self._loaded(before)

    def submit(self, selector: str) -> None:
        """Click at what leads to another page, and wait until it is loaded."""
        before = self._loads
        self._ask("Runtime.evaluate", expression=f"document.querySelector({selector!r}).click()")
        self._loaded(before)

    def _loaded(self, before: int) -> None:
        while self._loads == before:
            self._next()

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression, or of its promise."""
        told = self._ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def _ask(self, method: str, **given: Any) -> Any:
        self._number += 1
        question = {"id": self._number, "method": method, "params": given}
        if self._session:
            question["sessionId"] = self._session
        os.write(self._write, json.dumps(question).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            pass
        return answer["result"]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            part = os.read(self._read, 65_536)
            assert part, "Chromium is gone"
            self._left += part
        line, _, self._left = self._left.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        self._loads += message.get("method") == "Page.loadEventFired"
        if message.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.console.append(json.dumps(message["params"])[:500])
        return message


@contextlib.contextmanager
def driven(folder: Path) -> Iterator[Tab]:
    """A tab of a Chromium that reaches loopback alone; the test is skipped where there is none."""
    program = chromium()
    (its_in, our_out), (our_in, its_out) = os.pipe(), os.pipe()
    words = [program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
             "--disable-background-networking", f"--user-data-dir={folder / 'profile'}",
             "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]  # fmt: skip
    join = (
        "import os, sys; i, o, *words = sys.argv[1:]; i, o = os.dup(int(i)), os.dup(int(o)); "
        "os.dup2(i, 3); os.dup2(o, 4); os.set_inheritable(3, True); os.set_inheritable(4, True); "
        "os.execv(words[0], words)"
    )
    shell = [sys.executable, "-c", join, str(its_in), str(its_out), *words]
    process = subprocess.Popen(shell, pass_fds=(its_in, its_out), stderr=subprocess.DEVNULL)
    os.close(its_in)
    os.close(its_out)
    try:
        yield Tab(our_out, our_in)
    finally:
        os.close(our_out)  # it ends
        os.close(our_in)
        try:
            process.wait(20)
        finally:
            process.kill()
            process.wait()
