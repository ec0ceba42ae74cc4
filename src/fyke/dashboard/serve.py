"""Serving the pages on 127.0.0.1 until Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from fyke.dashboard.app import Dashboard
from fyke.dashboard.guard import Guard, new_token
from fyke.dashboard.read import StoreFacts
from fyke.errors import StorageError, UserError


def serve(
    store: Path, port: int, ready: Callable[[str, str], None], *, token_file: Path | None = None, control: bool = False,
    metrics: bool = False,
) -> None:  # fmt: skip
    """Serve the pages of ``store`` until a signal; ``ready`` is told origin and token. Raises ``UserError``."""
    try:
        facts = StoreFacts(store)
    except StorageError as error:
        raise UserError(str(error)) from None
    token = kept_token(token_file) if token_file is not None else new_token()
    with contextlib.closing(facts), _listening(port) as listener:
        number = listener.getsockname()[1]
        guard = Guard(_not_yet, number, token, control=control, metrics=metrics)
        dashboard = Dashboard(facts, store, csrf=guard.csrf, control=control)
        guard.app = dashboard.app
        dashboard.warm()
        config = uvicorn.Config(
            guard, loop="asyncio", lifespan="off", log_level="warning", access_log=False, server_header=False,
            limit_concurrency=256, h11_max_incomplete_event_size=32_768, timeout_graceful_shutdown=3, ws="none",
        )  # fmt: skip
        try:
            with contextlib.suppress(KeyboardInterrupt):
                _Server(config, dashboard, lambda: ready(f"http://127.0.0.1:{number}/", token)).run([listener])
        finally:
            dashboard.close()


class _Server(uvicorn.Server):
    """Tells the streams when it ends."""

    def __init__(self, config: uvicorn.Config, dashboard: Dashboard, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._dashboard, self._ready = dashboard, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._dashboard.closing = True
        await super().shutdown(sockets)


async def _not_yet(*_: object) -> None:
    raise AssertionError("the pages are not there yet")


def _listening(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise UserError(f"port {port} cannot be had ({error}); name another with --port, or 0 for any") from None
    return listener


def kept_token(path: Path) -> str:
    """Return the token of a file, which is made, for its owner alone, where it is not there. Raises ``UserError``."""
    try:
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(new_token() + "\n")
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} holds no token ({error}); name another file with --token-file") from None
    if len(token) < 16 or not token.isascii() or not token.isprintable() or " " in token:
        raise UserError(f"{path} holds no token of 16 characters or more, without blanks; delete it for a new one")
    return token
