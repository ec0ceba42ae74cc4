"""Mail between agents: letters over local sockets, acknowledged once their effects are synced.

Each agent listens on a socket in the crawl's run folder. A frame is its length (4 bytes, big-endian) and MessagePack:
a list of letters one way, a list of (source, destination, number) acknowledgements the other way. What is not
acknowledged is sent again when the connection is made anew; the receiver ignores what it has applied.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from fyke.crawl.mail.outbox import Letter, Note, Offer
from fyke.errors import UNREADABLE

_MAX_FRAME = 64 << 20
Wire = tuple[int, int, int, list[Offer], bool, list[Note]]
_encode = msgspec.msgpack.Encoder().encode
_decode_letters = msgspec.msgpack.Decoder(list[Wire]).decode
_decode_acks = msgspec.msgpack.Decoder(list[tuple[int, int, int]]).decode


def socket_path(folder: Path, agent: int) -> Path:
    """Where an agent listens."""
    return folder / f"agent-{agent}.sock"


class MailTransport:
    """One agent's side of the mail. ``receive`` applies letters and returns once that is synced."""

    def __init__(self, folder: Path, agent: int, receive: Callable[[list[Letter]], Awaitable[None]]) -> None:
        self._folder = folder
        self._agent = agent
        self._receive = receive
        self._server: asyncio.Server | None = None
        self._lines: dict[int, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}
        self._turns: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Begin to listen."""
        path = socket_path(self._folder, self._agent)
        path.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(self._serve, str(path))

    async def close(self) -> None:
        """Hang up."""
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for _, writer in self._lines.values():
            writer.close()
        socket_path(self._folder, self._agent).unlink(missing_ok=True)

    async def send(self, agent: int, letters: list[Letter]) -> list[tuple[int, int, int]]:
        """Deliver letters to another agent; return what it acknowledges. Raises ``OSError`` where it cannot be had."""
        async with self._turns[agent]:  # one bundle and its answer at a time on a line
            line = self._lines.get(agent)
            if line is None:
                line = self._lines[agent] = await asyncio.open_unix_connection(str(socket_path(self._folder, agent)))
            reader, writer = line
            try:
                await put_frame(writer, [wire(each) for each in letters])
                return _decode_acks(await take_frame(reader))
            except (OSError, asyncio.IncompleteReadError, *UNREADABLE) as error:
                self._lines.pop(agent, None)
                writer.close()
                raise OSError(f"agent {agent} hung up: {error}") from None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while True:
                letters = [Letter(*wire) for wire in _decode_letters(await take_frame(reader))]
                await self._receive(letters)
                await put_frame(writer, [(each.source, each.destination, each.number) for each in letters])
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the other side hung up, or we do
        finally:
            self._tasks.discard(task)
            with contextlib.suppress(OSError):
                writer.close()


def wire(letter: Letter) -> Wire:
    """A letter as it travels; whoever gets it must judge the offers."""
    return letter.source, letter.destination, letter.number, letter.offers, False, letter.notes


async def put_frame(writer: asyncio.StreamWriter, value: object) -> None:
    """Send a value."""
    await put_bytes(writer, _encode(value))


async def put_bytes(writer: asyncio.StreamWriter, data: bytes) -> None:
    """Send the bytes of a value."""
    writer.write(len(data).to_bytes(4, "big") + data)
    await writer.drain()


async def take_frame(reader: asyncio.StreamReader) -> bytes:
    """Receive the bytes of a value. Raises ``OSError`` and ``IncompleteReadError``."""
    size = int.from_bytes(await reader.readexactly(4), "big")
    if size > _MAX_FRAME:
        raise OSError(f"a frame of {size} bytes")
    return await reader.readexactly(size)
