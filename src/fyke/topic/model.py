"""A page classifier, and the file that holds one (docs/focused.md).

A page is relevant with probability

    p = f · max(sigmoid(slope·(w·x + b) + shift),  h²/(h² + n²),  0.95 where a pattern matches)

and 0 where its language or media type is not asked for. x is the page's vector of hashed words and pairs of words,
h the number of the topic's words that it has, n = min(3, a quarter of them, at least 1) and
f = min(1, distinct features / √(8·words)) the dampening of stuffed pages: in honest prose words are new far more often.

The file is ``ModelFile``, sealed (topic/sealed.py) as "fyke-topic".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import msgspec
import numpy as np
import numpy.typing as npt

from fyke.errors import UserError
from fyke.patterns import Pattern
from fyke.text.characters import WORDS
from fyke.text.language import language_of, primary
from fyke.text.words import words as text_words
from fyke.topic import kernels
from fyke.topic.features import SIZE, Hasher, Vector
from fyke.topic.linear import sigmoid
from fyke.topic.sealed import seal, unseal
from fyke.topic.topic import Topic

MAGIC = b"fyke-topic\0"
VERSION = 1
MATCHED = 0.95
"""The probability of a page that a pattern matches: the user said so, and may have said too much."""
MAX_FILE = 64 << 20
"""Bytes of a model: its 2 MB of weights and places, and the topic's own lists."""


class Measured(msgspec.Struct, frozen=True, array_like=True):
    """What cross-validation found; precision and recall are −1 where there were too few examples for it."""

    relevant: int = 0
    irrelevant: int = 0
    folds: int = 0
    precision: float = -1.0
    recall: float = -1.0
    area: float = -1.0
    """Under the ROC curve: how often a relevant example is above an irrelevant one. 0.5 is chance."""


class ModelFile(msgspec.Struct, frozen=True, array_like=True):
    """What the file holds: the weights that are not 0, as little-endian u32 places and f32 values."""

    topic: Topic
    measured: Measured
    bias: float
    slope: float
    shift: float
    places: bytes
    weights: bytes
    tokeniser: int = 1
    """What a word was (text/characters.WORDS). Models of 1 weigh Latin, Greek and Cyrillic words as new ones do; what
    they learnt of other scripts is lost."""


@dataclass(frozen=True, slots=True)
class PageText:
    """What a classifier sees of a page."""

    text: str
    title: str = ""
    url: str = ""
    language: str = ""
    """As declared."""
    type: str = ""
    anchors: str = ""


class PageModel:
    """Tells how probably a page is about a topic. Not to be shared by threads."""

    def __init__(
        self,
        topic: Topic,
        weights: npt.NDArray[np.float32] | None = None,
        bias: float = 0.0,
        slope: float = 0.0,
        shift: float = -60.0,
        measured: Measured = Measured(),  # noqa: B008 - frozen
    ) -> None:
        """Without weights, the topic's words and patterns alone decide."""
        self.topic, self.bias, self.slope, self.shift, self.measured = topic, bias, slope, shift, measured
        self.weights = np.zeros(SIZE, np.float32) if weights is None else weights
        self._hasher = Hasher()
        self._lexicon = _lexicon(topic.words, self._hasher)
        words = None if slope else self._lexicon
        self.look_weights = self.weights if words is None else (words > 0).astype(np.float32)
        """By which ``features.link_features`` looks at a link's words: without examples the topic's words weigh 1."""
        self._needed = min(3.0, max(1.0, len(topic.words) / 4))
        self._patterns = [Pattern(p, ignore_case=True) for p in topic.patterns]
        self._languages = frozenset(primary(x) or x.lower() for x in topic.languages)
        self._types = frozenset(topic.types)

    def probability(self, page: PageText) -> float:
        """How probably the page is about the topic."""
        if self._types and page.type and page.type not in self._types:
            return 0.0
        if self._languages and language_of(page.text, page.language) not in self._languages | {""}:
            return 0.0
        vector = self._hasher.page(page.text, page.title, page.url, page.anchors)
        best = 0.0
        if self.slope:
            best = self.from_score(kernels.dot(vector.features, vector.values, len(vector.features), self.weights))
        if self._lexicon is not None:
            hits = int(np.count_nonzero(np.unique(self._lexicon[vector.features])))  # NumPy's own cannot be stored
            best = max(best, hits * hits / (hits * hits + self._needed**2))
        if best < MATCHED and any(
            p.search(page.text) or p.search(page.title) or p.search(page.url) for p in self._patterns
        ):
            best = MATCHED
        return best * honesty(vector)

    def from_score(self, score: float) -> float:
        """The probability of a page whose vector's product with the weights is ``score``."""
        return 1 / (1 + math.exp(-min(60.0, max(-60.0, self.slope * (score + self.bias) + self.shift))))

    @property
    def look_line(self) -> tuple[float, float]:
        """Slope and offset of what ``looks`` does to scores; slope 0 where they are taken as they are."""
        return self.slope, self.slope * self.bias + self.shift

    def looks(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return what scores by ``look_weights`` say as probabilities: a link's few words are to be taken lightly."""
        if self.slope:
            return sigmoid(self.slope * (scores + self.bias) + self.shift)
        return np.minimum(1.0, np.maximum(0.0, scores))

    def encode(self) -> bytes:
        """Return this as a file."""
        places = np.flatnonzero(self.weights)
        kept = ModelFile(
            self.topic, self.measured, self.bias, self.slope, self.shift,
            places.astype("<u4").tobytes(), self.weights[places].astype("<f4").tobytes(), WORDS,
        )  # fmt: skip
        return seal(MAGIC, VERSION, kept, level=9)

    @classmethod
    def decode(cls, data: bytes, name: str) -> PageModel:
        """Read what ``encode`` wrote; any bytes are safe. Raises ``UserError``, which names the file."""
        again = "make it anew with `fyke topic train`"
        try:
            kept = unseal(data, MAGIC, VERSION, ModelFile, MAX_FILE)
            places, values = np.frombuffer(kept.places, "<u4"), np.frombuffer(kept.weights, "<f4")
        except ValueError as error:
            raise UserError(f"{name} is no topic model that can be read: {error}; {again}") from None
        numbers = np.r_[values.astype(np.float64), kept.bias, kept.slope, kept.shift]
        if len(places) != len(values) or (len(places) and places.max() >= SIZE) or not np.isfinite(numbers).all():
            raise UserError(f"{name} holds numbers that no model has; {again}")
        weights = np.zeros(SIZE, np.float32)
        weights[places] = values
        return cls(kept.topic, weights, kept.bias, kept.slope, kept.shift, kept.measured)


def is_model(data: bytes) -> bool:
    """Whether bytes are a model file, of any version."""
    return data.startswith(MAGIC)


def honesty(vector: Vector) -> float:
    """1 for honest prose, less for a page that repeats few words."""
    return min(1.0, len(vector.features) / math.sqrt(8.0 * vector.words)) if vector.words else 1.0


def _lexicon(words: tuple[str, ...], hasher: Hasher) -> npt.NDArray[np.int32] | None:
    """A table that gives each feature the number of the topic's word that it is, 0 for others.

    Of a phrase, the pairs of neighbouring words count, not the words.
    """
    if not words:
        return None
    table = np.zeros(SIZE, np.int32)
    for number, phrase in enumerate(words, 1):
        parts = {feature for word in text_words(phrase) for feature in hasher.page(word).features.tolist()}
        pairs = [feature for feature in hasher.page(phrase).features.tolist() if feature not in parts]
        table[pairs or list(parts)] = number
    return table
