"""Near copies of a crawl on many machines: an agent's questions as sketches, which its machine's office forwards.

The sketch of a page is a cell of its row (column ``fyke:sketch``): where nodes come or go, the agents feed the indices
anew from these, without reading a page. Where both texts are this agent's, the true Jaccard coefficient decides, else
the estimate of the sketches.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from itertools import islice

import msgspec

from fyke.crawl.duplicates.near import ASK, FEED, SKETCH, Answer, Texts, judged
from fyke.dedupe.breeding import Breeding
from fyke.dedupe.index import INLINE, SAME_TEXT
from fyke.dedupe.similarity import jaccard
from fyke.dedupe.sketch import Sketch, sketches_of
from fyke.errors import UNREADABLE
from fyke.reading.stored import text_of
from fyke.store import Store
from fyke.store.cells import COLUMN

THRESHOLD = 0.8
BUNDLE = 512
"""Sketches that are fed at once: 140 KB."""
RETRY = 2.0
"""Seconds until a bundle is fed again that not all nodes took."""

SendBytes = Callable[[bytes], Awaitable[bytes]]
"""Brings a frame to the office; returns its answer, empty where there is none. Raises ``OSError``."""
_decode_answers = msgspec.msgpack.Decoder(list[Answer]).decode
_decode_sketch = msgspec.msgpack.Decoder(Sketch).decode
_encode = msgspec.msgpack.Encoder().encode


class Sketched:
    """Asks the indices of all machines about the pages of one agent."""

    def __init__(self, store: Store, send: SendBytes) -> None:
        self._store, self._send = store, send
        self._breeding = Breeding()
        self._feeding: asyncio.Task[None] | None = None
        self._fed = 0
        self._asking: set[asyncio.Future[bytes]] = set()
        self._stopped = False

    async def ask(self, texts: Texts) -> list[Answer]:
        """Ask, as ``near.Ask``; raises ``OSError`` where nobody answers."""
        sketches = await asyncio.to_thread(sketches_of, texts, INLINE)
        said = await self._answer(ASK + _encode(sketches))
        try:
            answers = _decode_answers(said) if said else []
        except UNREADABLE as error:
            raise OSError(f"the indices of duplicates answer nonsense: {error}") from None
        if len(answers) != len(sketches):
            raise OSError("the indices of duplicates do not answer")
        return [
            self._judge(href, text, sketch, answer)
            for (href, text), sketch, answer in zip(texts, sketches, answers, strict=True)
        ]

    async def _answer(self, data: bytes) -> bytes:
        asking = asyncio.ensure_future(self._send(data))
        self._asking.add(asking)
        try:
            if self._stopped:
                asking.cancel()
            return await asking
        except asyncio.CancelledError:
            if self._stopped:
                raise OSError("the agents of this machine stop; what was not answered is asked again") from None
            raise
        finally:
            self._asking.discard(asking)

    def stop(self) -> None:
        """Wait for no answers any more: questions stay in the outbox."""
        self._stopped = True
        for asking in self._asking:
            asking.cancel()

    def _judge(self, href: str, text: str, sketch: Sketch, answer: Answer) -> Answer:
        if answer.original and answer.method != SAME_TEXT:
            answer = self._measured(text, answer)
        bred = judged(self._breeding, href, answer.original)
        cell = _encode(sketch) if sketch.shingles else b""
        return msgspec.structs.replace(answer, place=bred.place, reason=bred.reason, sketch=cell)

    def _measured(self, text: str, answer: Answer) -> Answer:
        """The answer with the true similarity, where the original is ours; none where they are not like enough."""
        number = self._store.tablet_of(answer.original)
        row = self._store.get(answer.original) if number in self._store.owned else None
        if row is not None and (other := text_of(row)):
            answer = msgspec.structs.replace(answer, similarity=jaccard(text, other), method="jaccard")
        return answer if answer.similarity >= THRESHOLD else Answer()

    # ---- feeding

    def nodes_changed(self, membership: int) -> None:
        """Feed the indices anew where nodes have come or gone since the last time."""
        if membership and membership != self._fed and (self._feeding is None or self._feeding.done()):
            self._fed = membership
            self._feeding = asyncio.get_running_loop().create_task(self._feed())

    async def _feed(self) -> None:
        known = self._known()
        while some := await asyncio.to_thread(lambda: list(islice(known, BUNDLE))):
            while not await self._take(FEED + _encode(some)):
                await asyncio.sleep(RETRY)

    async def _take(self, data: bytes) -> bool:
        try:
            return msgspec.msgpack.decode(await self._send(data) or b"\xc2") is True
        except (OSError, *UNREADABLE):
            return False

    def _known(self) -> Iterator[Sketch]:
        """The sketches of our rows. A tablet that the crawl writes to meanwhile asks about what is new by itself."""
        wanted = b"\0" + SKETCH.encode() + b"\0"
        for number in self._store.owned:
            last = b""
            for key, value in self._store.tablet(number).items(COLUMN, b"", b"\xff" * 8):
                row, found, _ = key.rpartition(wanted)
                if found and row != last:  # the newest comes first
                    last = row
                    yield _decode_sketch(value)

    def close(self) -> None:
        """Feed no more."""
        if self._feeding is not None:
            self._feeding.cancel()
