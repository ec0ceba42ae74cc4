"""Mail between agents: letters over local sockets, acknowledged once their effects are synced.

Each agent listens on a socket in the crawl's run folder. A frame (fyke.crawl.mail.frames) is MessagePack: a list of
letters one way, a list of (source, destination, number) acknowledgements the other way. What is not
acknowledged is sent again when the connection is made anew; the receiver ignores what it has applied.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from fyke.crawl.mail.frames import FrameClient, FrameServer, Reply
from fyke.crawl.mail.outbox import Letter, Note, Offer
from fyke.errors import UNREADABLE

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
        self._folder, self._receive = folder, receive
        self._server = FrameServer(socket_path(folder, agent), self._serve)
        self._client = FrameClient()

    async def open(self) -> None:
        """Begin to listen."""
        await self._server.open()

    async def close(self) -> None:
        """Hang up."""
        await self._server.close()
        self._client.close()

    async def send(self, agent: int, letters: list[Letter]) -> list[tuple[int, int, int]]:
        """Deliver letters to another agent; return what it acknowledges. Raises ``OSError`` where it cannot be had."""
        try:
            return _decode_acks(await self._client.ask(socket_path(self._folder, agent), encoded(letters)))
        except UNREADABLE as error:
            raise OSError(f"agent {agent} answers with something else: {error}") from None

    async def _serve(self, frame: bytes, reply: Reply) -> None:
        letters = decoded(frame)
        await self._receive(letters)
        await reply(_encode([(each.source, each.destination, each.number) for each in letters]))


def encoded(letters: list[Letter]) -> bytes:
    """Letters as they travel; whoever gets them must judge the offers."""
    return _encode([(each.source, each.destination, each.number, each.offers, False, each.notes) for each in letters])


def decoded(frame: bytes) -> list[Letter]:
    """What ``encoded`` made. Raises ``UNREADABLE``."""
    return [Letter(*wire) for wire in _decode_letters(frame)]
