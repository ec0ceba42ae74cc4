"""The office of a machine: its agents' mail to other machines' tablets, gathered per node and forwarded as bytes.

Nothing is decoded on the way. Agents talk to it by a local socket (fyke.crawl.mail.remote); a bundle travels with
others to the same node in one call, is handed to the agent of its tablet there, and is acknowledged once its effect is
durable in that node's depot. Whatever fails, or has moved to another node meanwhile, is answered with nothing: the
letters stay in their outbox, and are sent again.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from fyke.clock import boot_time
from fyke.crawl.duplicates.near import SKETCHES
from fyke.crawl.mail.carrier import socket_path
from fyke.crawl.mail.frames import FrameClient, FrameServer, Reply
from fyke.crawl.mail.remote import HEAD, INDEX
from fyke.store.lineage import Committed

GATHER = 0.1
"""Seconds for which bundles to a node are gathered: right for some ten nodes (docs/cluster.md)."""
HURRY = 1.0
"""Seconds between two commits, at least, that are asked for since somebody waits for an acknowledgement."""
PATIENCE = 30.0
"""Seconds until a bundle counts as not delivered; it is sent again."""
_POLL = 0.02

Bundles = list[tuple[int, bytes]]
"""Tablets, and letters to them."""
Carry = Callable[[str, Bundles], Awaitable[list[bytes]]]
"""Brings bundles to a node; returns an acknowledgement for each. Raises ``OSError``."""
Ask = Callable[[bytes], Awaitable[bytes]]


class Office:
    """Takes mail from the agents of this machine."""

    def __init__(self, path: Path, owner_of: Callable[[int], str | None], carry: Carry, ask: Ask) -> None:
        """``ask`` brings questions about near copies to the indices of all machines, and their answers back."""
        self._owner_of, self._carry, self._ask = owner_of, carry, ask
        self._server = FrameServer(path, self._serve)
        self._waiting: defaultdict[str, list[tuple[int, bytes, asyncio.Future[bytes]]]] = defaultdict(list)
        self.frames = self.bytes = 0
        """What has left."""

    async def open(self) -> None:
        """Begin to listen."""
        await self._server.open()

    async def close(self) -> None:
        """Hang up."""
        await self._server.close()

    async def _serve(self, frame: bytes, reply: Reply) -> None:
        number, tablet = frame[:4], int.from_bytes(frame[4:HEAD], "big")
        self._server.begin(self._forward(reply, number, tablet, frame[HEAD:]))

    async def _forward(self, reply: Reply, number: bytes, tablet: int, letters: bytes) -> None:
        answer = b""
        node = self._owner_of(tablet)
        if tablet == INDEX:
            answer = await self._ask(letters)
        elif node is not None:
            future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
            self._waiting[node].append((tablet, letters, future))
            if len(self._waiting[node]) == 1:
                self._server.begin(self._post(node))
            answer = await future
        await reply(number + answer)

    async def _post(self, node: str) -> None:
        """Send what is gathered for a node."""
        await asyncio.sleep(GATHER)
        waiting = self._waiting.pop(node)
        self.frames += 1
        self.bytes += sum(len(letters) for _, letters, _ in waiting)
        try:
            async with asyncio.timeout(PATIENCE):
                answers = await self._carry(node, [(tablet, letters) for tablet, letters, _ in waiting])
        except (OSError, TimeoutError):
            answers = [b""] * len(waiting)
        for (_, _, future), answer in zip(waiting, answers, strict=True):
            if not future.done():
                future.set_result(answer)


class Inbox:
    """Hands mail of other machines to the agents of this one. ``agent_of`` tells the agent of a tablet, if any."""

    def __init__(self, folder: Path, agent_of: Callable[[int], int | None], committed: Committed) -> None:
        self._folder, self._agent_of, self._committed = folder, agent_of, committed
        self._client = FrameClient()

    async def take(self, bundles: Bundles) -> list[bytes]:
        """Deliver bundles; return an acknowledgement for each, empty where it could not be had."""
        answers: Sequence[bytes] = await asyncio.gather(*(self._hand_over(*bundle) for bundle in bundles))
        return list(answers) if any(answers) and await self._durable() else [b""] * len(bundles)

    async def _hand_over(self, tablet: int, letters: bytes) -> bytes:
        agent = self._agent_of(tablet)
        return b"" if agent is None else await self._exchange(socket_path(self._folder, agent), letters)

    async def ask(self, sketches: bytes) -> bytes:
        """Ask the index of this machine about sketches; return what it says, empty where it does not answer."""
        return await self._exchange(self._folder / SKETCHES, sketches)

    async def _exchange(self, path: Path, data: bytes) -> bytes:
        try:
            return await self._client.ask(path, data)
        except OSError:
            return b""

    async def _durable(self) -> bool:
        """Wait until all that was written here before is in the depot; return whether it is."""
        now = boot_time()
        while self._committed.least() < now:
            if boot_time() > now + PATIENCE:
                return False
            if boot_time() - self._committed.wanted > HURRY:
                self._committed.want(boot_time())
            await asyncio.sleep(_POLL)
        return True

    def close(self) -> None:
        """Hang up."""
        self._client.close()
