"""A browser for tests, and sites made of a table: every request of a page is answered from it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest

from fyke.browser.chromium import Chromium
from fyke.browser.process import find_program
from fyke.browser.values import Asked, Limits, Looks, Refusal, Rendered
from fyke.errors import UserError
from fyke.values import Exchange

HOME = "http://site.test/"
LIMITS = Limits()
LOOKS = Looks(agent="fyke-test")


def program() -> Path:
    """The browser; where there is none, the test is skipped."""
    if find_spec("playwright") is None:
        pytest.skip("Playwright is not installed: pip install 'fyke[browser]'")
    try:
        return find_program()
    except UserError as error:
        pytest.skip(str(error))


@contextlib.contextmanager
def chromium(at_once: int = 2, run: Path | None = None) -> Iterator[Chromium]:
    shown = Chromium(run or program(), at_once)
    try:
        yield shown
    finally:
        shown.close()


def answer(body: str | bytes, kind: str = "text/html; charset=utf-8", status: int = 200, more: str = "") -> Exchange:
    data = body.encode() if isinstance(body, str) else body
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\n{more}\r\n".encode()
    return Exchange(b"", head, data, status, 1.0, 1.0)


class Table:
    """Serves what it has, and remembers what it was asked for."""

    def __init__(self, pages: Mapping[str, str | Exchange]) -> None:
        self._pages = pages
        self.asked: list[str] = []

    async def __call__(self, asked: Asked) -> Exchange | Refusal:
        self.asked.append(asked.url)
        found = self._pages.get(asked.url) or self._pages.get("/" + asked.url.removeprefix(HOME))
        if found is None:
            return Refusal("nothing there")
        if isinstance(found, str):
            kinds = {"js": "text/javascript", "json": "application/json", "css": "text/css"}
            return answer(found, kinds.get(asked.url.rpartition(".")[2], "text/html; charset=utf-8"))
        return found


def show(browser: Chromium, page: str, limits: Limits = LIMITS, looks: Looks = LOOKS, **more: str) -> Rendered:
    """Show a page of HTML, with what else is on its site by path."""
    table = Table({"/": page} | {"/" + name.replace("__", "."): text for name, text in more.items()})
    return asyncio.run(browser.render(HOME, table, limits, looks))


def descendants(pid: int) -> list[int]:
    """The processes that a process started, and those that these did."""
    parents = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(place.parent.name)] = int(place.read_text().rpartition(")")[2].split()[1])
    found = [pid]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found[1:]


def command_line(pid: int) -> bytes:
    """The command line of a process; empty where it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
