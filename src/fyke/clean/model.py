"""The learned model: its tables, their file, and the chance of each block to be main content.

Two looks. The first forest scores every block by its features. From these scores the page's type is guessed, and
the second forest scores every block again, seeing its neighbours' first scores and the type. A third forest knows
articles only; the more a page is one, the more it is heard: odds = (1 − a) · second + a · expert. The file (name
``content.model``, format "fyke content model" version 1, see docs/content.md) holds arrays only:

    magic, 1 line of text | length of the directory, 4 bytes | directory, JSON | arrays, little endian, in order
"""

from __future__ import annotations

import functools
import pkgutil
from dataclasses import dataclass

import msgspec
import numpy as np

from fyke.clean import context_kernels, feature_kernels, model_kernels
from fyke.clean.block_kernels import WORDS
from fyke.clean.elements import Array
from fyke.clean.page import Page
from fyke.errors import StorageError

__all__ = ["TYPES", "WORDS", "Forest", "Model", "Seen", "look", "shipped"]

MAGIC = b"fyke content model 1\n"
TYPES = ("article", "collection", "documentation", "forum", "listing", "product", "service")
_DECLARED = (
    frozenset({"Article", "NewsArticle", "BlogPosting", "TechArticle", "Report"}),
    frozenset({"Product", "Offer", "AggregateOffer", "ProductGroup"}),
    frozenset({"DiscussionForumPosting", "QAPage", "Question", "Comment"}),
    frozenset({"CollectionPage", "ItemList", "SearchResultsPage"}),
)


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """Boosted oblivious trees: features and thresholds (trees × depth), leaves (trees × 2^depth)."""

    features: Array
    thresholds: Array
    leaves: Array
    start: float

    def chances(self, columns: Array) -> Array:
        """Return the probability that the forest gives each column."""
        odds = model_kernels.scores(columns, self.features, self.thresholds, self.leaves, self.start)
        return model_kernels.logistic(odds)


@dataclass(frozen=True, slots=True)
class Model:
    """``odds`` of class words in 1/16, int8; the forests of both looks; one forest for each page type."""

    odds: Array
    first: Forest
    second: Forest
    article: Forest
    types: tuple[Forest, ...]

    @property
    def stacked(self) -> tuple[Array, Array, Array, Array]:
        """The forests of the types as one array each of features, thresholds, leaves and starts."""
        return _stacked(self.types)

    def to_bytes(self) -> bytes:
        """Return the file of the model; equal models give equal bytes."""
        arrays = {"odds": self.odds}
        for name, forest in (
            ("first", self.first),
            ("second", self.second),
            ("expert", self.article),
            *zip(TYPES, self.types, strict=True),
        ):
            arrays[f"{name}.features"] = forest.features.astype("<u2")
            arrays[f"{name}.thresholds"] = forest.thresholds.astype("<f4")
            arrays[f"{name}.leaves"] = forest.leaves.astype("<f4")
            arrays[f"{name}.start"] = np.array([forest.start], "<f8")
        directory = msgspec.json.encode([[name, a.dtype.str, list(a.shape)] for name, a in arrays.items()])
        return b"".join(
            [MAGIC, len(directory).to_bytes(4, "little"), directory, *(a.tobytes() for a in arrays.values())]
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> Model:
        """Read a model's file. Raises StorageError for a file that is not one."""
        if not data.startswith(MAGIC):
            raise StorageError("the content model is not of version 1: install fyke anew, or run `make train`")
        at = len(MAGIC) + 4
        end = at + int.from_bytes(data[at - 4 : at], "little")
        arrays = {}
        for name, kind, shape in msgspec.json.decode(data[at:end], type=list[tuple[str, str, list[int]]]):
            array = np.frombuffer(data, kind, int(np.prod(shape)), end).reshape(shape)
            end += array.nbytes
            arrays[name] = array

        def forest(name: str) -> Forest:
            start = float(arrays[f"{name}.start"][0])
            features = arrays[f"{name}.features"].astype(np.int32)
            return Forest(features, arrays[f"{name}.thresholds"].copy(), arrays[f"{name}.leaves"].copy(), start)

        return cls(
            arrays["odds"].copy(),
            forest("first"),
            forest("second"),
            forest("expert"),
            tuple(forest(name) for name in TYPES),
        )


@functools.lru_cache(maxsize=8)
def _stacked(forests: tuple[Forest, ...]) -> tuple[Array, Array, Array, Array]:
    return (
        np.stack([f.features for f in forests]), np.stack([f.thresholds for f in forests]),
        np.stack([f.leaves for f in forests]), np.array([f.start for f in forests]),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Seen:
    """What the model makes of a page: first and second chances by block, chances by type."""

    first: Array
    second: Array
    types: Array


@functools.cache
def shipped() -> Model:
    """Return the model that comes with fyke."""
    data = pkgutil.get_data("fyke.clean", "content.model")
    assert data is not None
    return Model.from_bytes(data)


def block_features(page: Page, odds: Array) -> tuple[Array, Array]:
    """Return (feature rows, the next wider container of each container) of a page."""
    return feature_kernels.features(
        page.blocks, page.parent, page.element, page.flags, page.words, page.words_end, page.title_size, odds
    )


_NONE_DECLARED = np.zeros(4, np.float32)


def declared(page: Page) -> Array:
    """Return what JSON-LD says of the page's type: article, product, forum, list; 1 or 0 each."""
    if not page.types:
        return _NONE_DECLARED
    return np.array([bool(page.types & names) for names in _DECLARED], np.float32)


def second_rows(page: Page, rows: Array, wider: Array, first: Array, types: Array) -> Array:
    """Return all that the second forest sees: the first's features, the scores around, the page's type."""
    around = context_kernels.context_features(page.blocks, page.parent, wider, first)
    return np.concatenate([rows, around, np.repeat(types[:, None], len(first), axis=1)])


def look(page: Page, model: Model) -> Seen:
    """Score the blocks of a page. REQUIRES: the page has a block."""
    rows, wider = block_features(page, model.odds)
    one, two, expert, many = model.first, model.second, model.article, model.stacked
    return Seen(
        *model_kernels.judge(
            page.blocks, page.parent, rows, wider, declared(page), one.features, one.thresholds, one.leaves, one.start,
            two.features, two.thresholds, two.leaves, two.start,
            expert.features, expert.thresholds, expert.leaves, expert.start, *many,
        )
    )  # fmt: skip
