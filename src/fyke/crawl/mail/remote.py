"""Mail to tablets of other machines: an agent's line to the office of its own machine, which forwards it as it is.

A frame to the office is a number that tells questions apart (4 bytes), the tablet (2) and a bundle of letters as
fyke.crawl.mail.carrier encodes it; an answer is the number and the acknowledgements, empty where the bundle could not
be delivered. Numbers are big-endian. Many bundles are under way on one line, each to another tablet.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

from fyke.crawl.mail.carrier import encoded
from fyke.crawl.mail.frames import put_frame, take_frame
from fyke.crawl.mail.outbox import Letter

HEAD = 6
"""Bytes before the letters."""
INDEX = 0xFFFF
"""In the place of a tablet: questions to the indices of near copies (fyke.crawl.duplicates.sketched)."""


class RemoteMail:
    """An agent's line to the office; without one nothing can be sent."""

    def __init__(self, office: Path | None) -> None:
        self._office = office
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._asked: dict[int, asyncio.Future[bytes]] = {}
        self._number = 0
        self._opening = asyncio.Lock()

    async def send(self, tablet: int, letters: list[Letter]) -> None:
        """Deliver letters to a tablet; they have taken effect, durably, when this returns. Raises ``OSError``."""
        if not await self._exchange(tablet, encoded(letters)):
            raise OSError(f"tablet {tablet} could not be had")

    async def ask(self, data: bytes) -> bytes:
        """Ask the indices of near copies; return what they say, empty where they do not answer. Raises ``OSError``."""
        return await self._exchange(INDEX, data)

    async def _exchange(self, tablet: int, data: bytes) -> bytes:
        writer = await self._open()
        self._number = number = (self._number + 1) % (1 << 32)
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        try:
            head = number.to_bytes(4, "big") + tablet.to_bytes(2, "big")
            await put_frame(writer, head + data)
            return await answer
        finally:
            self._asked.pop(number, None)

    async def _open(self) -> asyncio.StreamWriter:
        async with self._opening:
            if self._writer is None:
                if self._office is None:
                    raise OSError("there are no other machines")
                reader, self._writer = await asyncio.open_unix_connection(str(self._office))
                self._reading = asyncio.create_task(self._read(reader))
            return self._writer

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                answer = await take_frame(reader)
                asked = self._asked.get(int.from_bytes(answer[:4], "big"))
                if asked is not None and not asked.done():
                    asked.set_result(answer[4:])
        except (OSError, asyncio.IncompleteReadError) as error:
            for asked in self._asked.values():
                if not asked.done():
                    asked.set_exception(OSError(f"the office hung up: {error}"))
            self.close()

    def close(self) -> None:
        """Hang up."""
        if self._writer is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed already
                self._writer.close()
            self._writer = None
        if self._reading is not None:
            with contextlib.suppress(RuntimeError):
                self._reading.cancel()
            self._reading = None
