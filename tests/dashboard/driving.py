"""A real Chromium, driven by Playwright: pages are opened and asked; what their console says is kept."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tests.browser.showing import program

if TYPE_CHECKING:
    from playwright.sync_api import Page

PATIENCE = 700_000
"""Milliseconds: a busy machine is slow, not wrong."""


class Tab:
    """One tab."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.console: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: self.console.append(message.text))
        page.on("pageerror", lambda error: self.console.append(str(error)))

    def open(self, address: str) -> None:
        """Open a page, and wait until it is loaded."""
        self._page.goto(address, wait_until="load")

    def submit(self, selector: str) -> None:
        """Click at what leads to another page, and wait until it is loaded."""
        with self._page.expect_navigation(wait_until="load"):
            self._page.click(selector)

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression, or of its promise."""
        return self._page.evaluate(expression)

    def picture(self, path: str, width: int, height: int, *, dark: bool = False) -> None:
        """Save what is seen."""
        self._page.emulate_media(color_scheme="dark" if dark else "light")
        self._page.set_viewport_size({"width": width, "height": height})
        self._page.screenshot(path=path)


@contextlib.contextmanager
def driven() -> Iterator[Tab]:
    """A tab of a Chromium that reaches loopback alone; the test is skipped where there is none."""
    path = program()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path,
            args=["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--disable-gpu"],
            timeout=PATIENCE,
        )
        try:
            yield Tab(browser.new_page())
        finally:
            browser.close()
