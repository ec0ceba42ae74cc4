"""A crawl for a topic: pages are classified as they come, links are judged, and what came of links is learnt.

What the agent has learnt of links is one model. Each lesson (a link's clue, and what its page turned out to be) is
written in the page's batch; from time to time a checkpoint of the model takes the place of the lessons, and a restart
learns the later ones again, in their order. In the family ``outbox`` of the tablets::

    "l"                    → checkpoint (fyke.topic.links), which names the last sequence in it
    "m" ‖ sequence (8)     → target (4, float) ‖ clue
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from fyke.crawl.capture import Processed
from fyke.crawl.mail.outbox import Offer
from fyke.crawl.order.order import Floats, Keys, Visit, belonging
from fyke.crawl.order.reserve import FED, Reserve, level_of
from fyke.frontier.keys import Entry
from fyke.store import Batch, RowMeta, Store
from fyke.store.cells import Version
from fyke.topic.features import LinkFeatures, link_contexts, link_features
from fyke.topic.links import SEED_WORTH, LinkModel, Page, kinds_of, pack_clue, unpack_clue
from fyke.topic.model import PageModel, PageText
from fyke.url import Url

CHECKPOINT_EVERY = 1000
"""Lessons between checkpoints: a model is some hundred kilobytes."""
LEAST_IMPORTANT = 0.1
"""Of pages in revisits: what is off the topic may come to it."""
QUIET = 100
"""Pages without a relevant one after which the user is told."""
log = logging.getLogger("fyke")
_CHECKPOINT, _LESSON = b"l", b"m"
_TARGET = struct.Struct("<f")
_ALONE = np.zeros(1, np.int64)


class Focus:
    """The order of a crawl for a topic; one for each agent."""

    def __init__(self, store: Store, model: PageModel, reserve: Reserve) -> None:
        self.reserve = reserve
        self.links = LinkModel()
        self._store, self._model, self._topic = store, model, model.topic
        self._hosts: dict[str, list[float]] = {}
        self._pages = self._relevant = 0
        self._warned = False
        self._sequence = 0
        self._lessons: list[tuple[int, bytes]] = []
        self._probability = 0.0  # of the page that was read last

    # ---- what earlier runs left

    def restore(self) -> None:
        """Take up the most experienced model of these tablets, and the lessons that it has not had."""
        lessons: list[tuple[int, int, bytes]] = []
        for number in self._store.owned:
            tablet = self._store.tablet(number)
            if (kept := tablet.get("outbox", _CHECKPOINT)) is not None:
                model, sequence = LinkModel.decode(kept)
                if model.learnt > self.links.learnt:
                    self.links, self._sequence = model, sequence
            for key, value in tablet.items("outbox", _LESSON, bytes((_LESSON[0] + 1,))):
                lessons.append((int.from_bytes(key[1:], "big"), number, value))
            for key, value in tablet.items("meta"):
                meta = msgspec.msgpack.decode(value, type=Version).meta
                if meta.relevance >= 0:
                    self._relevant += meta.relevance >= self._topic.threshold
                    self._met(Url.from_key(key).host, meta.relevance)
        for sequence, number, value in sorted(lessons):
            self._lessons.append((number, _LESSON + sequence.to_bytes(8, "big")))
            if sequence > self._sequence:
                self._learn(value)
                self._sequence = sequence

    def checkpoint(self, *, force: bool = False) -> None:
        """Write the model, and then forget the lessons; a lesson that stays behind is known by its number."""
        if not self._lessons or (len(self._lessons) < CHECKPOINT_EVERY and not force):
            return
        first = self._store.tablet(min(self._store.owned))
        batch = first.batch()
        batch.put("outbox", _CHECKPOINT, self.links.encode(self._sequence))
        first.write(batch)
        for number in {number for number, _ in self._lessons}:
            tablet = self._store.tablet(number)
            batch = tablet.batch()
            for _, key in (lesson for lesson in self._lessons if lesson[0] == number):
                batch.delete("outbox", key)
            tablet.write(batch)
        self._lessons.clear()

    # ---- pages

    def read(self, batch: Batch, entry: Entry, processed: Processed, anchors: str = "") -> Processed:
        """Classify a page, learn from the link that led to it, and note its probability in its row."""
        meta = processed.change.meta
        if processed.redirected:
            self._probability = 0.0
            return processed
        p = 0.0
        if not meta.error or processed.change.text:
            text = processed.main or processed.change.text or ""
            page = PageText(text, meta.title, entry.href, meta.language, meta.type, anchors)
            p = self._model.probability(page)
        self._probability = p
        self._teach(batch, entry, p)
        if not 200 <= meta.status < 400:
            return processed
        self._met(entry.url.host, p)
        batch.count("judged")
        if p >= self._topic.threshold:
            self._relevant += 1
            batch.count("relevant")
        if self._pages >= QUIET and not self._relevant and not self._warned:
            self._warned = True
            log.warning(
                "none of the first %d pages is about the topic %s: the crawl goes on breadth first; "
                "give seeds that are about it, or more examples", QUIET, self._topic.name,
            )  # fmt: skip
        kept = replace(meta, relevance=round(p, 4))
        return replace(processed, change=replace(processed.change, meta=kept))

    def importance(self, entry: Entry, meta: RowMeta) -> float:
        """By the chance that it is about the topic: 1 where that is even."""
        return max(2 * meta.relevance, LEAST_IMPORTANT) if meta.relevance >= 0 else 1.0

    def _teach(self, batch: Batch, entry: Entry, p: float) -> None:
        if entry.clue:
            self._sequence += 1
            lesson = _TARGET.pack(p) + entry.clue
            key = _LESSON + self._sequence.to_bytes(8, "big")
            number = self._store.tablet_of(entry.url.key)
            batch.put("outbox", key, lesson)
            self._lessons.append((number, key))
            self._learn(lesson)

    def _learn(self, lesson: bytes) -> None:
        _, _, kinds, features = unpack_clue(lesson[_TARGET.size :])
        if len(kinds):
            links = LinkFeatures(np.array([0, len(features)]), features, np.empty(0))
            self.links.learn(_ALONE, links, kinds[None, :], np.array(_TARGET.unpack_from(lesson)))

    def _met(self, host: str, p: float) -> None:
        known = self._hosts.setdefault(host, [0.0, 0.0])
        known[0] += 1
        known[1] += p
        self._pages += 1

    # ---- links

    def offers(self, visit: Visit) -> list[Offer]:
        """Offer the links that are new, and those that wait for less than they are worth now."""
        if visit.processed.redirected:  # the same link, a step further
            score = self._again(visit.entry.clue)
            return [
                Offer(visit.targets[i].href, visit.depth, kind=visit.kind, score=score, clue=visit.entry.clue)
                for i in belonging(visit)
                if visit.targets[i].href in visit.fresh
            ]
        if not visit.targets:
            return []
        known = self.reserve.levels(visit.keys)
        waiting = (known > 0) & (known < FED)
        chosen = [i for i in belonging(visit) if waiting[i] or visit.targets[i].href in visit.fresh]
        if not chosen:
            return []
        scores, kinds, found, steps, reached = self._judge(visit, chosen)
        better = level_of(scores) < known[chosen]
        offers = []
        for k, i in enumerate(chosen):
            if better[k] or not waiting[i]:
                clue = pack_clue(steps, reached, kinds[k], found.features[found.starts[k] : found.starts[k + 1]])
                href = visit.targets[i].href
                offers.append(Offer(href, visit.depth, kind=visit.kind, score=float(scores[k]), clue=clue))
        return offers

    def _again(self, clue: bytes) -> float:
        """What the link that led to a redirect is worth now; negative for a seed's."""
        _, _, kinds, features = unpack_clue(clue)
        if not len(kinds):
            return -1.0
        links = LinkFeatures(np.array([0, len(features)]), features, np.empty(0))
        return float(self.links.predict(_ALONE, links, kinds[None, :])[0])

    def _judge(
        self, visit: Visit, chosen: list[int]
    ) -> tuple[Floats, npt.NDArray[np.int64], LinkFeatures, int, float]:  # fmt: skip
        """Judge those links that are new or wait: what was fetched is half of what an ordinary page links to."""
        links, host = visit.processed.links, visit.entry.url.host
        before, reached_with, _, _ = unpack_clue(visit.entry.clue)
        reached = max(self._probability, self._topic.decay * reached_with)  # carried
        steps = 0 if self._probability >= self._topic.threshold else before + 1  # steps_of
        around = link_contexts(visit.processed.change.text or "", [link.text for link in links])
        found = link_features(
            [(links[i].text, visit.targets[i].href, around[i]) for i in chosen], self._model.look_weights
        )
        count = len(chosen)
        same, shares, pages = np.zeros(count, np.bool_), np.empty(count), np.empty(count)
        met: dict[str, tuple[bool, float, float]] = {}
        for k, i in enumerate(chosen):
            name = visit.targets[i].host
            if (known := met.get(name)) is None:
                counts = self._hosts.get(name)
                share = (counts[1] + 0.1) / (counts[0] + 1) if counts else -1.0
                known = met[name] = (name == host, share, counts[0] if counts else 0.0)
            same[k], shares[k], pages[k] = known
        slope, offset = self._model.look_line
        page = Page(self._topic, reached, steps, self._pages, slope, offset)
        scores, kinds = self.links.judge(page, found, same, shares, pages, visit.keys[chosen])
        return scores, kinds, found, steps, reached

    def scores(self, batch: Batch, tablet: int, offers: Sequence[Offer], keys: Keys) -> Floats:
        """Return what the offers say; seeds have a worth of their own, and a sitemap's URLs are judged as such."""
        return np.array([each.score if each.score >= 0 else self._unjudged(each) for each in offers])

    def _unjudged(self, offer: Offer) -> float:
        if offer.depth == 0:
            return SEED_WORTH
        found = link_features([("", offer.href, "")], self._model.look_weights)
        kinds = kinds_of(np.array([0.3]), np.ones(1, np.bool_), self._model.looks(found.looks), np.array([-1.0]))
        return float(self.links.predict(_ALONE, found, kinds)[0])
