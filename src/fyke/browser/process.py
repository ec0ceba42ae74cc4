"""The browser's process: which program, flags that leave it no network, its group, its memory, its end.

Interception alone does not hold a browser: WebSockets, WebRTC, prefetches and workers go round it. So every connection
of its own leads to a proxy that is not there, no name is resolved, and where the system allows it the process lives in
a network namespace without a network. It is driven over a pipe: no port is opened, and whoever closes the pipe (a fyke
that was killed) ends it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from fyke.errors import UserError

if TYPE_CHECKING:
    from playwright.async_api import Browser as Driven
    from playwright.async_api import BrowserContext, Playwright

PROGRAMS = (
    *("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    *("chrome", "microsoft-edge"),
)
"""Browsers that can be driven, the lightest first: the headless shell takes a third of the others' CPU."""
FLAGS = (
    "--proxy-server=http://127.0.0.1:1",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    "--disable-gpu",
    "--in-process-gpu",  # there is none to crash: 40 MB less
    "--disable-dev-shm-usage",
    "--js-flags=--max-old-space-size=256",
)
PAGES = 200
"""After so many pages a browser is replaced: whatever it leaks goes with it."""
START_SECONDS, END_SECONDS = 60.0, 5.0
_NAMESPACE = ("unshare", "--user", "--map-current-user", "--net", "--")
_WRAPPER = re.compile(rb'^\s*(?:exec\s+)?(/[^\s"$]+)\s+"\$@"\s*$', re.MULTILINE)
INSTALL = "install one (Debian: apt install chromium-headless-shell; else: playwright install --only-shell chromium)"


def find_program(named: str = "") -> Path:
    """Return the browser to start: the one that is ``named``, the system's, or Playwright's own. Raises ``UserError``.

    Debian's headless shell is a script that waits for the browser: killed, it would leave it. So the browser itself.
    """
    if find_spec("playwright") is None:
        raise UserError("pages are rendered by Playwright, which is not installed: pip install 'fyke[browser]'")
    if named:
        found = shutil.which(named)
        if found is None:
            raise UserError(f"there is no browser {named}; name the program of a Chromium, or leave --browser out")
    else:
        found = installed()
        if not found:
            raise UserError(f"pages are rendered by a browser, and there is none: {INSTALL}")
    return _behind(Path(found).resolve())


def installed() -> str:
    """Return the browser that is there: the system's, or the one that Playwright downloaded; empty where none is."""
    if system := next(filter(None, map(shutil.which, PROGRAMS)), ""):
        return system
    folder = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright")
    patterns = (
        "chromium_headless_shell-*/*/*headless*shell",
        "chromium-*/chrome-linux*/chrome",
        "chromium-*/*/*/*/Chromium",
    )
    return next((str(max(found)) for each in patterns if (found := list(folder.glob(each)))), "")


def _behind(program: Path) -> Path:
    with program.open("rb") as file:
        start = file.read(4096)
    found = _WRAPPER.search(start) if start.startswith(b"#!") else None
    target = Path(os.fsdecode(found[1])) if found else program
    return target if os.access(target, os.X_OK) else program


def may_isolate() -> bool:
    """Whether processes may live in a network namespace of their own here."""
    if shutil.which(_NAMESPACE[0]) is None:
        return False
    try:
        words = [*_NAMESPACE, "true"]
        done = subprocess.run(words, capture_output=True, timeout=10, check=False)  # noqa: S603 - our own words
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


class Browser:
    """A running browser and the driver that leads to it. REQUIRES: used in the loop that started it."""

    def __init__(self, playwright: Playwright, driven: Driven, group: int) -> None:
        self._playwright, self._driven = playwright, driven
        self.group = group
        """The process group: the browser and all that it started."""
        self.pages = 0
        """Pages shown."""
        self.gone = asyncio.Event()
        """It has ended, or was killed."""
        driven.on("disconnected", lambda _: self.gone.set())

    @classmethod
    async def start(cls, program: Path, *, isolate: bool) -> Browser:
        """Start the browser, in a network namespace of its own if ``isolate``. Raises ``UserError``."""
        from playwright.async_api import Error, async_playwright

        folder = tempfile.mkdtemp(prefix="fyke-browser-")
        run = program
        if isolate:
            run = Path(folder, "run")
            run.write_text(f"""#!/bin/sh\nexec {" ".join(_NAMESPACE)} "{program}" "$@"\n""", encoding="utf-8")
            run.chmod(0o700)
        playwright = await async_playwright().start()
        try:
            async with asyncio.timeout(START_SECONDS):
                driven = await playwright.chromium.launch(
                    executable_path=run,
                    args=list(FLAGS),
                    chromium_sandbox=os.geteuid() != 0,  # as root Chromium does not start with it
                    handle_sigint=False,
                    handle_sigterm=False,
                    handle_sighup=False,
                    timeout=0,
                )
                session = await driven.new_browser_cdp_session()
                told = await session.send("SystemInfo.getProcessInfo")
                await session.detach()
        except (Error, TimeoutError) as error:
            await playwright.stop()
            said = str(error).partition("\n")[0] or f"it did not answer for {START_SECONDS:g} s"
            raise UserError(f"the browser {program} does not start: {said}") from None
        finally:  # it runs, or never will: a fyke that is killed leaves nothing
            shutil.rmtree(folder, ignore_errors=True)
        pid = next(each["id"] for each in told["processInfo"] if each["type"] == "browser")
        return cls(playwright, driven, os.getpgid(pid))

    async def context(self, agent: str) -> BrowserContext:
        """Return a context for one page: nothing of other pages is in it."""
        self.pages += 1
        return await self._driven.new_context(
            user_agent=agent or None,
            viewport={"width": 1280, "height": 1024},
            service_workers="block",
            accept_downloads=False,
            reduced_motion="reduce",
            timezone_id="UTC",
        )

    def memory(self) -> int:
        """Bytes that the processes of the group hold; 0 where that cannot be known."""
        return sum(map(_resident, members(self.group)))

    def kill(self) -> None:
        """End the whole group now."""
        self.gone.set()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.group, signal.SIGKILL)

    async def close(self) -> None:
        """End the browser and its driver, and leave nothing behind."""
        with contextlib.suppress(Exception):  # whatever state it is in
            async with asyncio.timeout(END_SECONDS):
                await self._driven.close()
        self.kill()
        with contextlib.suppress(Exception):
            async with asyncio.timeout(END_SECONDS):
                await self._playwright.stop()


def members(group: int) -> list[int]:
    """Return the processes of a group; none where there is no /proc."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = place.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
            if int(fields[2]) == group and fields[0] != "Z":
                found.append(int(place.parent.name))
    return found


def _resident(pid: int) -> int:
    """Bytes that only this process holds."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        fields = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
        return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGESIZE")
    return 0
