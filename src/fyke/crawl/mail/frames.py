"""Frames over local sockets, for mail and questions about near copies: a length (4 bytes, big-endian), then bytes."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

_MAX_FRAME = 64 << 20
Reply = Callable[[bytes], Awaitable[None]]


class FrameServer:
    """Listens on a socket and hands each frame to ``serve``, with a way to reply; a line's frames one after another.

    Where ``serve`` raises ``OSError`` that line is hung up.
    """

    def __init__(self, path: Path, serve: Callable[[bytes, Reply], Awaitable[None]]) -> None:
        self._path, self._serve = path, serve
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Begin to listen."""
        self._path.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(
            lambda reader, writer: self.begin(self._talk(reader, writer)), str(self._path)
        )

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something that ends with the server at the latest."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def reply(data: bytes) -> None:
            with contextlib.suppress(OSError):
                await put_frame(writer, data)

        try:
            while True:
                await self._serve(await take_frame(reader), reply)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the other side hung up, or we do
        finally:
            with contextlib.suppress(OSError, RuntimeError):
                writer.close()

    async def close(self) -> None:
        """Hang up."""
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._path.unlink(missing_ok=True)


class FrameClient:
    """Lines to sockets, each made when it is wanted; one question and its answer at a time on a line."""

    def __init__(self) -> None:
        self._lines: dict[Path, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}
        self._turns: defaultdict[Path, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def ask(self, path: Path, data: bytes) -> bytes:
        """Send a frame to whoever listens at ``path``; return the answer. Raises ``OSError`` where nobody answers."""
        async with self._turns[path]:
            try:
                line = self._lines.get(path)
                if line is None:
                    line = self._lines[path] = await asyncio.open_unix_connection(str(path))
                await put_frame(line[1], data)
                return await take_frame(line[0])
            except BaseException as error:  # whoever is cancelled leaves an answer on the line that is nobody's
                if (line := self._lines.pop(path, None)) is not None:
                    line[1].close()
                if isinstance(error, asyncio.IncompleteReadError):
                    raise OSError(f"{path.name} hung up") from None
                raise

    def close(self) -> None:
        """Hang up."""
        for _, writer in self._lines.values():
            with contextlib.suppress(RuntimeError):  # the loop is closed already
                writer.close()
        self._lines.clear()


async def put_frame(writer: asyncio.StreamWriter, data: bytes) -> None:
    """Send a frame."""
    writer.write(len(data).to_bytes(4, "big") + data)
    await writer.drain()


async def take_frame(reader: asyncio.StreamReader) -> bytes:
    """Receive a frame. Raises ``OSError`` and ``IncompleteReadError``."""
    size = int.from_bytes(await reader.readexactly(4), "big")
    if size > _MAX_FRAME:
        raise OSError(f"a frame of {size} bytes")
    return await reader.readexactly(size)
