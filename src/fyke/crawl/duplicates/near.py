"""The index of near copies: one for each machine, asked about the main text of every page once it is stored.

It runs in a thread beside a single agent (`Beside`), and in a process of its own beside several, on a local socket
(`serve`, `Line`). It is kept in ``duplicates/`` of the store (docs/sketches.md) and opens as it was left, without
reading a page again. Of near copies the one that was asked about first is the original.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from fyke.crawl.mail.carrier import put_frame, take_frame
from fyke.dedupe.breeding import Breeding
from fyke.dedupe.disk import SketchFolder
from fyke.dedupe.index import SAME_TEXT, DuplicateIndex, Match
from fyke.errors import UNREADABLE
from fyke.reading.stored import text_of
from fyke.store import Store
from fyke.url import Url

FOLDER = "duplicates"
"""Of the store: where the index is kept."""
RECENT_TEXTS = 32 << 20
"""Characters of text that the index keeps, as a reader of the store sees new rows only after half a second."""
RECENT_COPIES = 10_000
"""Near copies whose originals the index keeps at hand: the pages of some minutes, among which agents may overtake."""
MEMORY = 1 << 30
"""Bytes of the index's table and filter, at most: ten million documents, and slower lookups beyond."""
SYNC_EVERY = 5.0
"""Seconds between syncs of the index: what it forgets in a power cut."""


class Answer(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """What the index says of a page: what it is like, and whether the place that it came from is worth less."""

    original: str = ""
    similarity: float = 0.0
    method: str = ""
    place: str = ""
    reason: str = ""


Texts = list[tuple[str, str]]
"""(href, main text) of pages."""
Ask = Callable[[Texts], Awaitable[list[Answer]]]


class _TextMemory:
    """Texts by URL, the newest of them, up to a number of characters."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._texts: OrderedDict[str, str] = OrderedDict()

    def put(self, href: str, text: str) -> None:
        self._size += len(text) - len(self._texts.pop(href, ""))
        self._texts[href] = text
        while self._size > self._most:
            self._size -= len(self._texts.popitem(last=False)[1])

    def get(self, href: str) -> str | None:
        return self._texts.get(href)


class LookAlikes:
    """The index of a machine. ``store`` is asked for the texts of candidates, so that the true similarity decides.

    Of pages with the same words the owner of their digest chooses the original, which need not be the one asked about
    first. So each of them is told what the first is a near copy of: whichever is chosen, it is marked.
    """

    def __init__(self, folder: Path, store: Store, memory: int = MEMORY) -> None:
        self._store = store
        self._texts = _TextMemory(RECENT_TEXTS)
        self._copies: OrderedDict[str, Match] = OrderedDict()
        self._breeding = Breeding()
        self._index = DuplicateIndex(folder, memory=memory, text_of=self._text_of)
        self._synced = time.monotonic()

    def ask(self, texts: Texts) -> list[Answer]:
        """Answer for each text, and remember it."""
        answers = [self._answer(href, text) for href, text in texts]
        if time.monotonic() - self._synced > SYNC_EVERY:
            self._index.sync()
            self._synced = time.monotonic()
        return answers

    def close(self) -> None:
        """Let the folder go."""
        self._index.close()

    def _answer(self, href: str, text: str) -> Answer:
        match = self._index.seen(text, href)
        self._texts.put(href, text)
        url = Url(href)
        self._breeding.note(url.host, url.target, Url(match.id).host if match else "")
        verdict = self._breeding.verdict(url.host, url.target)
        place, reason = (verdict.place, verdict.reason) if verdict else ("", "")
        if match is None:
            return Answer(place=place, reason=reason)
        if match.method == SAME_TEXT:
            match = self._copies.get(match.id, match)
        else:
            self._copies[href] = match
            if len(self._copies) > RECENT_COPIES:
                self._copies.popitem(last=False)
        return Answer(match.id, match.similarity, match.method, place, reason)

    def _text_of(self, href: str) -> str | None:
        text = self._texts.get(href)
        if text is None:
            row = self._store.get(href)
            text = None if row is None else text_of(row)
        return text


class Beside:
    """The index in a thread of this process."""

    def __init__(self, folder: Path, store: Store) -> None:
        self._thread = ThreadPoolExecutor(1, "fyke-duplicates")
        self._index = LookAlikes(folder, store)

    async def ask(self, texts: Texts) -> list[Answer]:
        """Ask without holding up the loop."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._index.ask, texts)

    def close(self) -> None:
        """Finish what is being asked."""
        self._thread.shutdown()
        self._index.close()


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

_decode_texts = msgspec.msgpack.Decoder(Texts).decode
_decode_answers = msgspec.msgpack.Decoder(list[Answer]).decode


class Line:
    """An agent's line to the index's process."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "duplicates.sock"
        self._line: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, texts: Texts) -> list[Answer]:
        """Ask; raises ``OSError`` where nobody answers. REQUIRES: one question at a time."""
        try:
            if self._line is None:
                self._line = await asyncio.open_unix_connection(str(self._path))
            reader, writer = self._line
            await put_frame(writer, texts)
            return _decode_answers(await take_frame(reader))
        except (OSError, asyncio.IncompleteReadError, *UNREADABLE) as error:
            self.close()
            raise OSError(f"the index of duplicates hung up: {error}") from None

    def close(self) -> None:
        """Hang up."""
        if self._line is not None:
            self._line[1].close()
            self._line = None


async def serve(folder: Path, index: LookAlikes, done: asyncio.Event) -> None:
    """Answer on the socket in ``folder`` until ``done``."""
    talks: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        talks.add(task)
        try:
            while True:
                await put_frame(writer, index.ask(_decode_texts(await take_frame(reader))))
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the agent hung up, or we do
        finally:
            talks.discard(task)
            writer.close()

    path = folder / "duplicates.sock"
    path.unlink(missing_ok=True)
    server = await asyncio.start_unix_server(talk, str(path))
    await done.wait()
    server.close()
    for task in list(talks):
        task.cancel()
    await asyncio.gather(*talks, return_exceptions=True)
