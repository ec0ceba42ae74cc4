"""Examination: what of each stored page is a duplicate, found in bundles.

A page's batch puts a `Question` into the outbox, so that none is lost. The agent takes questions in bundles and
makes digests of body and main text, in its loop: a thread beside it would wait for the interpreter, and the loop for
the thread, a twelfth of a crawl's time. The owners of the digests are told (`exact`), the machine's index is asked
(`near`), and what it answers is marked in the rows. Pages with the same words are left to the owner of
their digest, so that of them, too, the lesser (time, URL) is the original.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from typing import NamedTuple

from fyke.crawl.duplicates.near import NOTHING, SKETCH, Answer, Ask, Asked, marks_of
from fyke.crawl.mail.outbox import INDEX, Mark, Question, Sighting
from fyke.crawl.queue.queues import Queues
from fyke.dedupe.index import SAME_TEXT
from fyke.reading.reading import Material
from fyke.reading.stored import material_of
from fyke.store import Batch
from fyke.text.words import MAX_BYTES, encode
from fyke.url import Url
from fyke.values import Drop

BUNDLE = 256
"""Questions asked at once: some 10 ms. A process of the index needs 25 ms for a round trip where cores are busy."""
BUNDLE_SIZE = 8 << 20
"""Bytes after which a bundle is full."""
LARGE = 1 << 20
"""Bytes of a document from which on its bundle is examined beside the loop."""
WORTHWHILE = 32
"""Questions that are not kept waiting for more: a bundle costs as much as several of them."""
BEHIND = 4096
"""Questions from which on no new page is fetched until some are answered: two seconds of examination."""
KEPT = 64 << 20
"""Bytes of documents that are kept at hand until they are examined; others are read from the store again."""
LONG_TEXT = MAX_BYTES // 4
"""Characters that surely fit what the index looks at."""
MAX_DEMOTED = 10_000


class _Examined(NamedTuple):
    """A question with all that is needed to answer it."""

    source: int
    asked: Asked
    """What the index is asked."""
    sighting: Sighting


class Examination:
    """The questions of one agent, and what it makes of the answers."""

    def __init__(
        self,
        queues: Queues,
        learn: Callable[[Url, int, bool], Drop | None],
        ask: Ask | None = None,
    ) -> None:
        """``learn(url, hash of the text, repeats its host)`` hears of each page, and says what is wrong with it.

        Without ``ask`` only copies of the whole text are found.
        """
        self.queues = queues
        self._learn = learn
        self._ask = ask
        self._kept: OrderedDict[tuple[str, int], Material] = OrderedDict()
        self._size = 0

    @property
    def behind(self) -> bool:
        """Whether so much could be examined and waits that no more should come; what must be durable first does not."""
        return self.queues.outbox.may_ask(BEHIND + 1)

    def stored(self, batch: Batch, here: int, url: Url, stamp: int, material: Material) -> None:
        """Note, in the batch that stores a page in tablet ``here``, that it is to be examined."""
        self.queues.outbox.write(batch, here, INDEX, [], [Question(url.href, stamp)])
        self._size += len(material)
        self._kept[url.href, stamp] = material
        while self._size > KEPT:
            self._size -= len(self._kept.popitem(last=False)[1])

    def ready(self, now: bool) -> bool:
        """Whether there are questions that should not wait; with ``now`` none should."""
        return self.queues.outbox.may_ask(1 if now else WORTHWHILE)

    async def examine(self) -> None:
        """Answer a bundle of questions. Raises ``OSError`` where the index does not answer."""
        outbox = self.queues.outbox
        letters, size = outbox.take_questions(BUNDLE), 0
        questions: list[tuple[int, str, int, Material | None]] = []
        for place, letter in enumerate(letters):
            if size > BUNDLE_SIZE:
                outbox.give_back(letters[place:])
                del letters[place:]
                break
            for note in letter.notes:
                assert isinstance(note, Question)
                material = self._kept.get((note.href, note.stamp))
                questions.append((note.stamp, note.href, letter.source, material))
                size += len(material) if material is not None else BUNDLE_SIZE // BUNDLE
        try:
            answered = await self._answer(questions)
        except BaseException:
            outbox.give_back(letters)
            raise
        self._write(answered)
        for stamp, href, _, _ in questions:
            if (href, stamp) in self._kept:
                self._size -= len(self._kept.pop((href, stamp)))
        outbox.delivered(letters)

    async def _answer(self, questions: list[tuple[int, str, int, Material | None]]) -> list[tuple[_Examined, Answer]]:
        questions = sorted(questions, key=lambda question: question[:2])  # a restart brings them tablet by tablet
        beside = any(material is None or len(material) > LARGE for *_, material in questions)
        examined = await asyncio.to_thread(self._examine, questions) if beside else self._examine(questions)
        if self._ask is None:
            return [(each, NOTHING) for each in examined]
        asked = [each for each in examined if each.asked.text]
        answers = await self._ask([each.asked for each in asked])
        return [*zip(asked, answers, strict=True), *((each, NOTHING) for each in examined if not each.asked.text)]

    def _examine(self, questions: list[tuple[int, str, int, Material | None]]) -> list[_Examined]:
        """Make digests; reads rows where the material is not at hand."""
        examined = []
        for stamp, href, source, material in questions:
            if material is None:
                row = self.queues.store.tablet(source).read(Url(href).key, stamp, parts=())
                if row is None:
                    continue
                material = material_of(row)  # noqa: PLW2901
            main, words = material.main, material.words()
            found = material.digests(words)
            if len(main) > LONG_TEXT:  # sampled as the index itself would sample it
                main = encode(main).decode("utf-8", "replace")
            elsewhere = material.canonical not in ("", href)
            sighting = Sighting(href, stamp, found.raw, found.text, elsewhere)
            examined.append(_Examined(source, Asked(href, main, words, stamp, elsewhere), sighting))
        return examined

    def _write(self, answered: list[tuple[_Examined, Answer]]) -> None:
        """Tell the owners of the digests, and mark what the index has found, in one batch for each tablet."""
        queues, store = self.queues, self.queues.store
        marks: defaultdict[int, list[Mark]] = defaultdict(list)
        sketches: defaultdict[int, list[tuple[_Examined, bytes]]] = defaultdict(list)
        sightings: defaultdict[int, list[Sighting]] = defaultdict(list)
        soft_errors: Counter[int] = Counter()
        for each, answer in answered:
            sightings[each.source].append(each.sighting)
            href, stamp = each.asked.href, each.asked.stamp
            if self._ask is not None:
                url = Url(href)
                repeats = any(Url(other).host == url.host for other in answer.alike())
                wrong = self._learn(url, int.from_bytes(each.sighting.text[:8], "little"), repeats)
                soft_errors[each.source] += wrong is Drop.SOFT_ERROR
            if answer.sketch:
                sketches[each.source].append((each, answer.sketch))
            if answer.reason and len(queues.demoted) < MAX_DEMOTED:
                queues.demoted[answer.place] = answer.reason
            if answer.sketch:
                marks[each.source] += marks_of(href, stamp, answer)
            elif answer.original and answer.method != SAME_TEXT:
                number, mark = self._mark(each, answer)
                marks[number].append(mark)
        for number in sightings.keys() | marks.keys():
            tablet = store.tablet(number)
            batch = tablet.batch()
            queues.duplicates.sighted(batch, number, sightings[number])
            queues.duplicates.tell(batch, number, marks[number])
            for each, sketch in sketches[number]:
                batch.put_columns(Url(each.asked.href).key, ((SKETCH, sketch),), each.asked.stamp)
            if soft_errors[number]:
                batch.count("dropped:" + Drop.SOFT_ERROR, soft_errors[number])
            tablet.write(batch)

    def _mark(self, each: _Examined, answer: Answer) -> tuple[int, Mark]:
        """The mark of a near copy and its tablet: of the page, or of the one before it, if that says that it is a copy.

        A row of another agent's tablet cannot be asked: there the one that came first is the original.
        """
        store, href = self.queues.store, each.asked.href
        number = store.tablet_of(answer.original)
        known = store.tablet(number).version(Url(answer.original).key) if number in store.owned else None
        if known is not None and known.meta.document is not None and known.meta.document.canonical == href:
            return number, Mark(answer.original, known.stamp, href, answer.similarity, answer.method)
        return each.source, Mark(href, each.asked.stamp, answer.original, answer.similarity, answer.method)
