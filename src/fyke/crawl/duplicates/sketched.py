"""Near copies of a crawl on many machines: an agent's questions as sketches, which its machine's office forwards.

The sketch of a page is a cell of its row (column ``fyke:sketch``): where nodes come or go, the agents ask about all
rows anew from these, without reading a page, so that the indices know them, and copies are found whose common index was
lost. So are pages of which a node did not tell that should know them. Until that is done an agent does not rest.

Where both texts are this agent's, the true Jaccard coefficient decides, else the estimate of the sketches.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import islice

import msgspec

from fyke.crawl.duplicates.exact import Duplicates
from fyke.crawl.duplicates.near import ASK, FEED, SKETCH, Answer, Asked, judged, marks_of
from fyke.crawl.mail.outbox import Mark
from fyke.dedupe.breeding import Breeding
from fyke.dedupe.index import INLINE, SAME_TEXT
from fyke.dedupe.similarity import jaccard
from fyke.dedupe.sketch import Sketch, rank_of, sketches_of, stamp_of
from fyke.errors import UNREADABLE
from fyke.reading.stored import text_of
from fyke.store import Store
from fyke.store.cells import COLUMN, split_column_key
from fyke.url import Url

THRESHOLD = 0.8
BUNDLE = 512
"""Sketches that are fed at once: 140 KB."""
RETRY = 2.0
"""Seconds until those of a bundle are fed again that not all nodes took."""

SendBytes = Callable[[bytes], Awaitable[bytes]]
"""Brings a frame to the office; returns its answer, empty where there is none. Raises ``OSError``."""
Told = tuple[list[Answer], list[int]]
"""What the indices say of sketches, and the numbers of those of which one that should know did not tell."""
_decode_told = msgspec.msgpack.Decoder(Told).decode
_decode_sketch = msgspec.msgpack.Decoder(Sketch).decode
_encode = msgspec.msgpack.Encoder().encode


class Sketched:
    """Asks the indices of all machines about the pages of one agent."""

    def __init__(self, store: Store, send: SendBytes) -> None:
        self._store, self._send = store, send
        self.duplicates: Duplicates | None = None
        """Marks the copies that are found as rows are fed."""
        self._breeding = Breeding()
        self._feeding: asyncio.Task[None] | None = None
        self._fed = 0
        self._open: list[Sketch] = []  # asked about, and not all indices told
        self._asking: set[asyncio.Future[bytes]] = set()
        self._stopped = False

    async def ask(self, asked: Sequence[Asked]) -> list[Answer]:
        """Ask, as ``near.Ask``; raises ``OSError`` where nobody answers."""
        sketches = await asyncio.to_thread(_sketches_of, asked)
        said = await self._answer(ASK + _encode(sketches))
        try:
            answers, missing = _decode_told(said) if said else ([], [])
            self._open += [sketches[number] for number in missing]
        except (IndexError, *UNREADABLE) as error:
            raise OSError(f"the indices of duplicates answer nonsense: {error}") from None
        if len(answers) != len(sketches):
            raise OSError("the indices of duplicates do not answer")
        return [
            self._judge(each.href, each.text, sketch, answer)
            for each, sketch, answer in zip(asked, sketches, answers, strict=True)
        ]

    def _ranked(self, sketch: Sketch, stamp: int) -> Sketch:
        """The sketch with the rank of its row, whose version is of ``stamp``."""
        url = Url(sketch.id)
        version = self._store.tablet(self._store.tablet_of(url)).version(url.key)
        document = version.meta.document if version is not None else None
        elsewhere = document is not None and document.canonical not in ("", sketch.id)
        return msgspec.structs.replace(sketch, rank=rank_of(sketch.id, stamp, elsewhere))

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
        answer = self._measured(text, answer)
        bred = judged(self._breeding, href, next(iter(answer.alike()), ""))
        cell = _encode(sketch) if sketch.shingles else b""
        return msgspec.structs.replace(answer, place=bred.place, reason=bred.reason, sketch=cell)

    def _measured(self, text: str, answer: Answer) -> Answer:
        """The answer with the true similarities of what is ours, and without what is not like enough."""
        copies = [
            (href, stamp, *self._similarity(text, href, estimate, method))
            for href, stamp, estimate, method in answer.copies
        ]
        original, found = answer.original, (answer.similarity, answer.method)
        if original and answer.method != SAME_TEXT:
            found = self._similarity(text, original, *found)
        if found[0] < THRESHOLD:
            original, found = "", (0.0, "")
        like_enough = tuple(copy for copy in copies if copy[2] >= THRESHOLD)
        return Answer(original, *found, copies=like_enough)

    def _similarity(self, text: str, other: str, estimate: float, method: str) -> tuple[float, str]:
        """The true similarity with a row of ours, else the estimate; and the method."""
        row = self._store.get(other) if self._store.tablet_of(other) in self._store.owned else None
        words = text_of(row) if row is not None else ""
        return (jaccard(text, words), "jaccard") if words else (estimate, method)

    # ---- feeding

    @property
    def busy(self) -> bool:
        """Whether there are rows that the indices have not been asked about since nodes have come or gone."""
        return bool(self._open) or (self._feeding is not None and not self._feeding.done())

    def nodes_changed(self, membership: int) -> None:
        """Ask about all rows anew where nodes have come or gone since the last time, and about those left open."""
        if not membership or (self._feeding is not None and not self._feeding.done()):
            return
        if membership != self._fed or self._open:
            again, self._open = self._open, []
            self._feeding = asyncio.get_running_loop().create_task(self._feed(again, membership != self._fed))
            self._fed = membership

    async def _feed(self, again: list[Sketch], everything: bool) -> None:
        if everything:
            if self._asking:  # the nodes that these are asked of are those of before; then they are rows
                await asyncio.wait(self._asking)
            known = self._known()
            while some := await asyncio.to_thread(lambda: list(islice(known, BUNDLE))):
                await self._ask_again(some)
        for first in range(0, len(again), BUNDLE):
            await self._ask_again(again[first : first + BUNDLE])

    async def _ask_again(self, sketches: Sequence[Sketch]) -> None:
        """Ask until all nodes have told, and mark what they have found."""
        while sketches:
            try:
                answers, missing = _decode_told(await self._send(FEED + _encode(sketches)) or _encode(((), ())))
            except (OSError, *UNREADABLE):
                answers, missing = [], []
            if len(answers) == len(sketches):
                self._mark(sketches, answers)
                sketches = [sketches[number] for number in missing if number < len(sketches)]
            if sketches:
                await asyncio.sleep(RETRY)

    def _mark(self, sketches: Sequence[Sketch], answers: Sequence[Answer]) -> None:
        found: defaultdict[int, list[Mark]] = defaultdict(list)
        for sketch, answer in zip(sketches, answers, strict=True):
            if answer.copies or (answer.original and answer.method != SAME_TEXT):
                row = self._store.get(sketch.id)
                answer = self._measured(text_of(row), answer) if row is not None else Answer()  # noqa: PLW2901
                found[self._store.tablet_of(sketch.id)] += marks_of(sketch.id, stamp_of(sketch.rank), answer)
        for number, marked in found.items():
            if marked and self.duplicates is not None:
                tablet = self._store.tablet(number)
                batch = tablet.batch()
                self.duplicates.tell(batch, number, marked)
                tablet.write(batch)

    def _known(self) -> Iterator[Sketch]:
        """The sketches of our rows. A tablet that the crawl writes to meanwhile asks about what is new by itself."""
        wanted = b"\0" + SKETCH.encode() + b"\0"
        for number in self._store.owned:
            last = b""
            for key, value in self._store.tablet(number).items(COLUMN, b"", b"\xff" * 8):
                row, found, _ = key.rpartition(wanted)
                if found and row != last:  # the newest comes first
                    last = row
                    sketch = _decode_sketch(value)
                    yield sketch if sketch.rank else self._ranked(sketch, split_column_key(row, key)[1])

    def close(self) -> None:
        """Feed no more."""
        if self._feeding is not None:
            self._feeding.cancel()


def _sketches_of(asked: Sequence[Asked]) -> list[Sketch]:
    sketches = sketches_of([(each.href, each.text) for each in asked], INLINE)
    return [msgspec.structs.replace(made, rank=each.rank) for made, each in zip(sketches, asked, strict=True)]
