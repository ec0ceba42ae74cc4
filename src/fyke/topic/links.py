"""A link's worth before it is fetched: logistic regression over its words, learnt while the crawl goes on.

A link is a list of features: words of its anchor text, of its URL and of the text around it, each hashed with its
field, and three *kinds*, which have weights from the start:

- how relevant the page that holds it is (six levels), on its own host or on another;
- how its words look to the page classifier (eight levels);
- how relevant the target's host turned out to be (six levels, the first for hosts not met yet).

When a page comes, the link that led to it is learnt with the page's probability as target (AdaGrad). So the crawl
learns which words on the way lead to the topic, such as ``recipes`` in a path that the examples never showed.

*Tunnelling*: a page has the greater of its own relevance and ``decay`` times that with which it was reached, so links
behind an irrelevant page are worth less with each step, and nothing but a lot after ``tunnel`` steps.
*Exploration*: ``explore`` of all links, chosen by a hash of the URL, get a worth by lot, if it is above their own.
*Host share*: a host beyond its share of all pages is worth less in proportion.

Checkpoint: ``Checkpoint``, sealed (topic/sealed.py) as "fyke-links" (docs/focused.md).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import msgspec
import numpy as np
import numpy.typing as npt

from fyke.errors import StorageError
from fyke.topic import kernels
from fyke.topic.features import SIZE, LinkFeatures
from fyke.topic.linear import sigmoid
from fyke.topic.sealed import seal, unseal
from fyke.topic.topic import FREE_PAGES, Topic

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Keys = npt.NDArray[np.uint64]

MAGIC = b"fyke-links\0"
VERSION = 1
RATE = 0.25
"""Of learning: a word that always leads to the topic has gained 1 (odds of 2.7) after about ten links."""
DECAY = 1e-4
SEED_WORTH = 0.5
"""Of a seed: a link that is more likely than not to be relevant goes before it."""

_PARENT = np.array([0.05, 0.2, 0.4, 0.6, 0.85])
_LOOK = np.array([0.02, 0.06, 0.15, 0.3, 0.5, 0.75])
_HOST = np.array([0.05, 0.15, 0.35, 0.6])
_INITIAL = np.r_[
    np.zeros(SIZE),  # words
    np.linspace(-3.5, -0.5, 6), np.linspace(-3.5, -0.5, 6),  # parent: own host, another
    0.0, np.linspace(-1.0, 2.5, 7),  # look; none without words
    0.0, np.linspace(-0.5, 0.75, 5),  # host; none where unknown
].astype(np.float32)  # fmt: skip
_ELSEWHERE = len(_PARENT) + 1
_LOOK_AT = SIZE + 2 * _ELSEWHERE
_HOST_AT = _LOOK_AT + len(_LOOK) + 2
_LEVELS = (_LOOK, _LOOK_AT, _HOST, _HOST_AT)
_CLUE = struct.Struct("<BB")


class Checkpoint(msgspec.Struct, frozen=True, array_like=True):
    """A checkpoint: weights and sums of squares that differ from the start, as little-endian u32, f32 and f32."""

    sequence: int
    learnt: int
    places: bytes
    weights: bytes
    squares: bytes


@dataclass(frozen=True, slots=True)
class Page:
    """What of a page all its links share."""

    topic: Topic
    reached: float
    """The relevance that it hands on (``carried``)."""
    steps: int
    pages: int
    """Fetched so far, of all hosts."""
    slope: float
    """With ``offset``: how scores of words become probabilities (``PageModel.look_line``)."""
    offset: float


class LinkModel:
    """Predicts a link's worth and learns from what came."""

    def __init__(self) -> None:
        self.weights = _INITIAL.copy()
        self.squares = np.zeros(len(self.weights), np.float32)
        self.learnt = 0
        """Links learnt from."""

    def predict(self, rows: Ints, links: LinkFeatures, kinds: Ints) -> Floats:
        """Return how probably each of some links, ``rows`` of ``links``, leads to a relevant page."""
        found = np.empty(len(rows))
        kernels.predict(rows, links.starts, links.features, kinds, self.weights, found)
        return sigmoid(found)

    def judge(
        self, page: Page, links: LinkFeatures, same_host: Bools, shares: Floats, host_pages: Floats, keys: Keys
    ) -> tuple[Floats, Ints]:
        """Return worth and kinds of a page's links, as ``kinds_of``, ``predict`` and ``worth`` would."""
        count = len(keys)
        kinds, scores = np.empty((count, 3), np.int64), np.empty(count)
        level = SIZE + int(np.searchsorted(_PARENT, page.reached, "right"))
        allowed = max(FREE_PAGES, page.topic.host_share * page.pages) if page.steps <= page.topic.tunnel else 0.0
        kernels.judge(
            (links.starts, links.features, links.looks, same_host, shares, host_pages, keys),
            (page.slope, page.offset, (level + _ELSEWHERE, level), allowed, page.topic.explore),
            _LEVELS,
            self.weights,
            kinds,
            scores,
        )
        return scores, kinds

    def learn(self, rows: Ints, links: LinkFeatures, kinds: Ints, targets: Floats) -> None:
        """Learn that links led to pages of these probabilities."""
        weights, squares = self.weights, self.squares
        kernels.learn(rows, links.starts, links.features, kinds, targets, weights, squares, RATE, DECAY)
        self.learnt += len(targets)

    def encode(self, sequence: int = 0) -> bytes:
        """Return this as a checkpoint; ``sequence`` says up to where it has learnt."""
        places = np.flatnonzero((self.squares != 0) | (self.weights != _INITIAL))
        kept = Checkpoint(
            sequence, self.learnt, places.astype("<u4").tobytes(),
            self.weights[places].astype("<f4").tobytes(), self.squares[places].astype("<f4").tobytes(),
        )  # fmt: skip
        return seal(MAGIC, VERSION, kept, level=1)

    @classmethod
    def decode(cls, data: bytes) -> tuple[LinkModel, int]:
        """Read a checkpoint: the model and its sequence. Raises ``StorageError``."""
        try:
            kept = unseal(data, MAGIC, VERSION, Checkpoint, 1 << 26)
            model = cls()
            places = np.frombuffer(kept.places, "<u4")
            model.weights[places] = np.frombuffer(kept.weights, "<f4")
            model.squares[places] = np.frombuffer(kept.squares, "<f4")
        except (ValueError, IndexError) as error:
            raise StorageError(
                f"the link model's checkpoint cannot be read ({error}); delete it and the crawl learns anew"
            ) from None
        model.learnt = kept.learnt
        return model, kept.sequence


def kinds_of(parent: Floats, same_host: Bools, looks: Floats, hosts: Floats) -> Ints:
    """Return the kinds of links: of the page's relevance, the look of the words, the host's relevance.

    ``looks`` are probabilities, negative without words; ``hosts`` are shares of relevant pages, negative if unknown.
    """
    kinds = np.empty((len(parent), 3), np.int64)
    kinds[:, 0] = SIZE + np.searchsorted(_PARENT, parent, "right") + np.where(same_host, 0, _ELSEWHERE)
    kinds[:, 1] = _LOOK_AT + np.where(looks < 0, 0, 1 + np.searchsorted(_LOOK, looks, "right"))
    kinds[:, 2] = _HOST_AT + np.where(hosts < 0, 0, 1 + np.searchsorted(_HOST, hosts, "right"))
    return kinds


def carried(probability: Floats, reached_with: Floats, decay: float) -> Floats:
    """The relevance that a page hands on to its links: its own, or what is left of that with which it was reached."""
    return np.maximum(probability, decay * reached_with)


def steps_of(probability: Floats, steps: Ints, threshold: float) -> Ints:
    """The irrelevant pages in a row up to a page and with it."""
    return np.where(probability >= threshold, 0, steps + 1)


def worth(topic: Topic, predicted: Floats, steps: Ints, host_pages: Ints, pages: int, keys: Keys) -> Floats:
    """Return the worth of links in [0, 1]: the prediction, with tunnelling, host shares and exploration.

    ``steps`` are the irrelevant pages in a row before the link, ``host_pages`` those fetched of its host so far of
    ``pages`` in all, ``keys`` uniform hashes of the URLs.
    """
    allowed = max(FREE_PAGES, topic.host_share * pages)
    found = np.where(steps > topic.tunnel, 0.0, predicted) * np.minimum(1.0, allowed / np.maximum(1, host_pages))
    if topic.explore:
        lots = (keys >> np.uint64(11)).astype(np.float64) / 2.0**53
        chosen = lots < topic.explore
        found = np.where(chosen, np.maximum(found, lots / topic.explore), found)
    return found


def pack_clue(steps: int, reached_with: float, kinds: Ints, features: Ints) -> bytes:
    """Return what a queue keeps of a link until its page comes: ``unpack_clue`` is the inverse."""
    return (
        _CLUE.pack(min(255, steps), min(255, max(0, round(reached_with * 255))))
        + np.concatenate([kinds, features]).astype("<u4").tobytes()
    )


def unpack_clue(clue: bytes) -> tuple[int, float, Ints, Ints]:
    """Return (steps, reached with, kinds, features); of an empty clue, that of a seed: (0, 1.0, none, none)."""
    if len(clue) < _CLUE.size + 12:
        return 0, 1.0, np.empty(0, np.int64), np.empty(0, np.int64)
    steps, reached_with = _CLUE.unpack_from(clue)
    numbers = np.frombuffer(clue, "<u4", offset=_CLUE.size).astype(np.int64)
    return steps, reached_with / 255, numbers[:3], numbers[3:]
