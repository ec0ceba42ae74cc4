"""The index of near copies: one for each machine, asked about the main text of every page once it is stored.

It is part of a single agent's process (`LocalNearIndex`), and a process of its own beside several, on a local
socket (`serve`, `NearIndexClient`). It is kept in ``duplicates/`` of the store (docs/sketches.md) and opens as it was
left, without reading a page again. Of near copies the one that was asked about first is the original.

Of many machines each has one, and is asked by sketches (crawl/duplicates/sketched.py). There the original is the one of
the least rank, as of exact copies: whoever hears of which first, all come to the same.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from fyke.crawl.mail.frames import FrameClient, FrameServer, Reply
from fyke.crawl.mail.outbox import Mark
from fyke.dedupe.breeding import Breeding
from fyke.dedupe.disk import SketchFolder
from fyke.dedupe.index import SAME_TEXT, DuplicateIndex, Match
from fyke.dedupe.sketch import Sketch, rank_of, stamp_of
from fyke.errors import UNREADABLE
from fyke.reading.stored import text_of
from fyke.store import Store
from fyke.text.words import word_hashes
from fyke.url import Url

TEXTS, SKETCHES = "duplicates.sock", "sketches.sock"
"""Of a run's folder: where the index's process listens."""
FOLDER, RANKED = "duplicates", "duplicates-ranked"
"""Of the store: where the index is kept, and that of a node among others, which knows ranks."""
RECENT_WORDS = 4 << 20
"""Words of texts that the index keeps, as a reader of the store sees new rows only after half a second: 32 MB."""
RECENT_COPIES = 10_000
"""Near copies whose originals the index keeps at hand: the pages of some minutes, among which agents may overtake."""
MEMORY = 1 << 30
"""Bytes of the index's table and filter, at most: ten million documents, and slower lookups beyond."""
AT_ONCE, LARGE = 64, 1 << 17
"""Texts that are looked at without letting the loop breathe, some 4 ms, and words that are too many for that."""
SYNC_EVERY = 5.0
"""Seconds between syncs of the index: what it forgets in a power cut."""


Words = npt.NDArray[np.uint64]
Copy = tuple[str, int, float, str]
"""A near copy: its URL, its version's stamp, how similar it is, and by which method that was found."""


class Answer(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """What the index says of a page: what it is like, and whether the place that it came from is worth less."""

    original: str = ""
    similarity: float = 0.0
    method: str = ""
    place: str = ""
    reason: str = ""
    sketch: bytes = b""
    """Of a crawl on many machines: the sketch, to be kept beside the row."""
    copies: tuple[Copy, ...] = ()
    """There, too: what was known already, and is a copy of this page, as that is the original by its rank."""

    def alike(self) -> list[str]:
        """The URLs of what the page is like."""
        if not self.original and not self.copies:
            return []
        return [*filter(None, [self.original]), *(href for href, *_ in self.copies)]


NOTHING = Answer()
"""What is said of most pages."""
SKETCH = "fyke:sketch"
"""The column of a row that holds its sketch, in a crawl on many machines."""
ASK, FEED = b"?", b"+"
"""What a frame of sketches begins with: those of new pages, and those of rows that an index may lack."""


class Asked(NamedTuple):
    """A page that an index is asked about."""

    href: str
    text: str
    """Its main text; empty where only the words travel."""
    words: Words
    """The hashes of the words of the text."""
    stamp: int = 0
    """Of its version."""
    elsewhere: bool = False
    """It says that its true address is another."""

    @classmethod
    def of(cls, href: str, text: str, stamp: int = 0) -> Asked:
        """Return the question about a text."""
        return cls(href, text, word_hashes(text), stamp)

    @property
    def rank(self) -> int:
        """Among its copies."""
        return rank_of(self.href, self.stamp, self.elsewhere)


Ask = Callable[[Sequence[Asked]], Awaitable[list[Answer]]]


class _Recent:
    """Words of texts by URL, the newest of them, up to a number of words."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._words: OrderedDict[str, Words] = OrderedDict()

    def put(self, href: str, words: Words) -> None:
        self._size += len(words) - len(self._words.pop(href, ()))
        self._words[href] = words
        while self._size > self._most:
            self._size -= len(self._words.popitem(last=False)[1])

    def get(self, href: str) -> Words | None:
        return self._words.get(href)


class NearIndex:
    """The index of a machine. ``store`` is asked for the texts of candidates, so that the true similarity decides.

    Of pages with the same words the owner of their digest chooses the original, which need not be the one asked about
    first. So each of them is told what the first is a near copy of: whichever is chosen, it is marked.
    """

    def __init__(self, folder: Path, store: Store, memory: int = MEMORY) -> None:
        self._store = store
        self._recent = _Recent(RECENT_WORDS)
        self._copies: OrderedDict[str, Match] = OrderedDict()
        self._breeding = Breeding()
        self._index = DuplicateIndex(folder, memory=memory, text_of=self._text_of)
        self._synced = time.monotonic()

    def ask(self, asked: Iterable[Asked]) -> list[Answer]:
        """Answer for each text, and remember it."""
        return [self._answer(each.href, each.words) for each in asked]

    def ask_sketches(self, sketches: list[Sketch]) -> list[Answer]:
        """Answer for sketches of any machine, and remember them; whether a copy is like enough, who asks decides."""
        return [self._answer_sketch(sketch) for sketch in sketches]

    def _answer_sketch(self, sketch: Sketch) -> Answer:
        found = self._index.seen_sketch(sketch)
        original, copy = found.original, found.copy
        copies: tuple[Copy, ...] = ()
        if copy is not None and copy.method != SAME_TEXT:  # of the same words the owner of their digest knows
            copies = ((copy.id, stamp_of(found.copy_rank), copy.similarity, copy.method),)
        if original is None:
            return Answer(copies=copies)
        return Answer(original.id, original.similarity, original.method, copies=copies)

    def _chosen(self, href: str, match: Match) -> Answer:
        if match.method == SAME_TEXT:
            match = self._copies.get(match.id, match)
        else:
            self._copies[href] = match
            if len(self._copies) > RECENT_COPIES:
                self._copies.popitem(last=False)
        return Answer(match.id, match.similarity, match.method)

    @property
    def wants_sync(self) -> bool:
        """Whether it is time to ``sync``, which waits for the disk."""
        return time.monotonic() - self._synced > SYNC_EVERY

    def sync(self) -> None:
        """Bring what was remembered to the disk. REQUIRES: nobody asks meanwhile."""
        self._index.sync()
        self._synced = time.monotonic()

    def close(self) -> None:
        """Let the folder go."""
        self._index.close()

    def _answer(self, href: str, words: Words) -> Answer:
        match = self._index.seen_words(words, href)
        self._recent.put(href, words)
        bred = judged(self._breeding, href, match.id if match else "")
        if match is None:
            return bred
        chosen = self._chosen(href, match)
        return msgspec.structs.replace(chosen, place=bred.place, reason=bred.reason)

    def _text_of(self, href: str) -> str | Words | None:
        words = self._recent.get(href)
        if words is not None:
            return words
        row = self._store.get(href)
        return None if row is None else text_of(row)


def marks_of(href: str, stamp: int, answer: Answer) -> list[Mark]:
    """The marks that follow from what is said of a page among many machines: its own, and those of its copies."""
    found = [Mark(copy, at, href, similarity, method) for copy, at, similarity, method in answer.copies]
    if answer.original and answer.method != SAME_TEXT:
        found.append(Mark(href, stamp, answer.original, answer.similarity, answer.method))
    return found


def judged(breeding: Breeding, href: str, original: str) -> Answer:
    """Note of a page what it is a copy of; return what that makes of the place that it came from."""
    url = Url(href)
    host, target = url.host, url.target
    breeding.note(host, target, Url(original).host if original else "")
    verdict = breeding.verdict(host, target)
    return Answer(place=verdict.place, reason=verdict.reason) if verdict else NOTHING


class LocalNearIndex:
    """The index in this process."""

    def __init__(self, folder: Path, store: Store) -> None:
        self._index = NearIndex(folder, store)
        self.close = self._index.close

    async def ask(self, asked: Sequence[Asked]) -> list[Answer]:
        """Ask. What takes long is done beside the loop. REQUIRES: one bundle at a time."""
        answers: list[Answer] = []
        while some := asked[len(answers) : len(answers) + AT_ONCE]:
            large = any(len(each.words) > LARGE for each in some)
            answers += await asyncio.to_thread(self._index.ask, some) if large else self._index.ask(some)
            await asyncio.sleep(0)
        if self._index.wants_sync:
            await asyncio.to_thread(self._index.sync)
        return answers


def forget_deleted(store: Store) -> None:
    """Take deleted rows out of the index: else a later page would be marked as a copy of what is gone.

    Of rows with the same words the index knows one; where that is deleted, later near copies of the others are not
    found. REQUIRES: the store is all ours, and nobody has its index open.
    """
    folder, half = store.path / FOLDER, store.path / f"{FOLDER}.half"
    if not (folder / "header.json").exists():
        return
    shutil.rmtree(half, ignore_errors=True)
    known = SketchFolder.open(folder)
    left = SketchFolder.open(half, known.parameters, create=True)
    left.merge(known, lambda href: store.tablet(store.tablet_of(href)).version(Url(href).key) is not None)
    left.close()
    if left.count == known.count:
        shutil.rmtree(half)
        return
    shutil.rmtree(folder)
    half.rename(folder)


# ---- a process of its own

_encode = msgspec.msgpack.Encoder().encode
_decode_bundle = msgspec.msgpack.Decoder(tuple[str, list[tuple[str, int]]]).decode
_decode_sketches = msgspec.msgpack.Decoder(list[Sketch]).decode
_decode_answers = msgspec.msgpack.Decoder(list[Answer]).decode


class NearIndexClient:
    """An agent's line to the index's process. Words lie in a file beside the socket; a frame says which, and whose.

    A bundle of four megabytes would go through a socket in twenty turns of a busy loop: a third of a second. The file
    is written over and never cut: pages of memory that are freed and taken anew cost more than what is copied.
    """

    def __init__(self, folder: Path) -> None:
        self._path, self._client = folder / TEXTS, FrameClient()
        self._shared = folder / f"{os.getpid()}.words"
        self._file = self._shared.open("wb", buffering=0)
        self._turn = asyncio.Lock()

    async def ask(self, asked: Sequence[Asked]) -> list[Answer]:
        """Ask; raises ``OSError`` where nobody answers."""
        async with self._turn:
            try:
                self._file.seek(0)
                self._file.writelines(each.words.data for each in asked)
                bundle = self._shared.name, [(each.href, len(each.words)) for each in asked]
                return _decode_answers(await self._client.ask(self._path, _encode(bundle)))
            except (OSError, *UNREADABLE) as error:
                raise OSError(f"the index of duplicates hung up: {error}") from None

    def close(self) -> None:
        """Hang up."""
        self._client.close()
        self._file.close()
        self._shared.unlink(missing_ok=True)


def _beside(folder: Path, frame: bytes) -> list[Asked]:
    name, counts = _decode_bundle(frame)
    ends = list(accumulate((count for _, count in counts), initial=0))
    words = np.fromfile(folder / Path(name).name, np.uint64, max(ends[-1], 0))
    if any(count < 0 for _, count in counts) or ends[-1] != len(words):
        raise ValueError(f"{len(words)} words for {len(counts)} texts")
    return [Asked(href, "", words[end - count : end]) for (href, count), end in zip(counts, ends[1:], strict=True)]


async def serve(folder: Path, index: NearIndex, done: asyncio.Event) -> None:
    """Answer on the sockets in ``folder`` until ``done``: texts on one, sketches of other machines on the other."""

    async def talk(frame: bytes, reply: Reply, answer: Callable[[bytes], list[Answer]]) -> None:
        try:
            found = answer(frame)
            if index.wants_sync:
                index.sync()
        except UNREADABLE as error:
            raise OSError(f"no question: {error}") from None
        await reply(_encode(found))

    servers = [
        FrameServer(folder / TEXTS, partial(talk, answer=lambda frame: index.ask(_beside(folder, frame)))),
        FrameServer(
            folder / SKETCHES, partial(talk, answer=lambda frame: index.ask_sketches(_decode_sketches(frame[1:])))
        ),
    ]
    for server in servers:
        await server.open()
    await done.wait()
    for server in servers:
        await server.close()
