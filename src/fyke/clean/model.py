"""The learned model: its tables, their file, and the chance of each block to be main content.

Two looks. The rules of fyke.clean.prior give every block its log-odds; the first trees, which know articles, add to
them. From these scores the page's type is guessed; where it is no article, the second trees, which see the neighbours'
first scores and the type, are heard instead, and where that is not sure, a mixture of both. The file (name
``content.model``, format "fyke content model" version 5, see docs/content.md) holds arrays only:

    magic, 1 line of text | length of the directory, 4 bytes | directory, JSON | arrays, little endian, in order
"""

from __future__ import annotations

import functools
import pkgutil
from dataclasses import dataclass, field

import msgspec
import numpy as np

from fyke.clean import model_kernels
from fyke.clean.elements import Array
from fyke.clean.features import COLUMN_ROW, COLUMN_SHIFT, PAGE_COLUMNS, TYPES
from fyke.clean.model_kernels import Tables
from fyke.clean.page import Page
from fyke.clean.prior import UNIT
from fyke.errors import UNREADABLE, StorageError

TYPE_ODDS = np.full(len(TYPES), round(UNIT * np.log(1 / (len(TYPES) - 1))), np.int32)
"""Of each page type before anything is known: all are alike."""
MAGIC = b"fyke content model 5\n"
LEAF_BITS = 8
"""Levels of the deepest tree that the kernels take: the number of a leaf is a byte."""
_DECLARED = (
    frozenset({"Article", "NewsArticle", "BlogPosting", "TechArticle", "Report"}),
    frozenset({"Product", "Offer", "AggregateOffer", "ProductGroup"}),
    frozenset({"DiscussionForumPosting", "QAPage", "Question", "Comment"}),
    frozenset({"CollectionPage", "ItemList", "SearchResultsPage"}),
    frozenset({"og:article"}),
    frozenset({"og:website"}),
    frozenset({"og:product"}),
    frozenset({"og:published_time"}),
)


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """Boosted oblivious trees: columns and thresholds (trees × depth), leaves (trees × 2^depth) in 1/UNIT."""

    columns: Array
    thresholds: Array
    leaves: Array

    def check(self, columns: int) -> None:
        """Raise ``ValueError`` unless it is a forest over so many columns."""
        trees, depth = self.columns.shape
        if self.thresholds.shape != (trees, depth) or self.leaves.shape != (trees, 1 << depth) or depth > LEAF_BITS:
            raise ValueError("the parts of a forest are not of one shape")
        if not all(np.issubdtype(part.dtype, np.integer) for part in (self.columns, self.thresholds, self.leaves)):
            raise ValueError("a forest holds whole numbers")
        if trees and not 0 <= self.columns.min() <= self.columns.max() < columns:
            raise ValueError(f"a tree asks for another column than the {columns} that there are")

    def arrays(self) -> dict[str, Array]:
        """Return what the file holds of it."""
        return {
            "columns": self.columns.astype("<u2"), "thresholds": self.thresholds.astype("u1"),
            "leaves": self.leaves.astype("<i2"),
        }  # fmt: skip


def _joined(forests: tuple[Forest, ...]) -> tuple[Array, Array, Array]:
    return (
        np.concatenate([f.columns for f in forests]).astype(np.int32),
        np.concatenate([f.thresholds for f in forests]).astype(np.uint8),
        np.concatenate([f.leaves for f in forests]).astype(np.int16),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """``odds`` of class words in 1/16, int8; the forests of both looks, equally deep; one forest for each page type.

    ``said`` is the odds of words of texts, and ``bags`` what each class word says for each page type, in 1/16, int8.
    """

    odds: Array
    said: Array
    bags: Array
    first: Forest
    second: Forest
    types: tuple[Forest, ...]
    tables: Tables = field(init=False, repr=False)
    """The model as the kernels take it."""

    def __post_init__(self) -> None:
        """Join the forests."""
        self._check()
        columns, thresholds, leaves = _joined((self.first, self.second))
        kinds, kind_thresholds, kind_leaves = _joined(self.types)
        tables = Tables(
            class_odds=self.odds,
            said_odds=self.said,
            bags=self.bags,
            one=len(self.first.columns),
            places=COLUMN_ROW[columns],
            shifts=COLUMN_SHIFT[columns],
            thresholds=thresholds,
            leaves=leaves,
            type_places=kinds,
            type_thresholds=kind_thresholds,
            type_leaves=kind_leaves,
            type_starts=TYPE_ODDS,
        )
        object.__setattr__(self, "tables", tables)

    def _check(self) -> None:
        """Raise ``ValueError`` for arrays that the kernels cannot take."""
        for looks in (self.first, self.second):
            looks.check(len(COLUMN_ROW))
            if looks.columns.shape[1] != model_kernels.DEPTH:
                depth = looks.columns.shape[1]
                raise ValueError(f"the trees of both looks have {model_kernels.DEPTH} levels, not {depth}")
        for kind in self.types:
            kind.check(len(PAGE_COLUMNS))
        if len({kind.columns.shape for kind in self.types}) != 1 or len(self.types) != len(TYPES):
            raise ValueError("each page type has as many trees as the others")
        tables = (self.odds, self.said, self.bags)
        shapes = [(1 << 16,), (1 << 16,), (1 << 16, len(TYPES))]
        if [table.shape for table in tables] != shapes or any(table.dtype != np.int8 for table in tables):
            raise ValueError("the odds of words are not 65,536 bytes, and so many for each page type")

    def to_bytes(self) -> bytes:
        """Return the file of the model; equal models give equal bytes."""
        arrays = {"odds": self.odds, "said": self.said, "bags": self.bags}
        for name, forest in (("first", self.first), ("second", self.second), *zip(TYPES, self.types, strict=True)):
            arrays |= {f"{name}.{part}": array for part, array in forest.arrays().items()}
        directory = msgspec.json.encode([[name, a.dtype.str, list(a.shape)] for name, a in arrays.items()])
        return b"".join(
            [MAGIC, len(directory).to_bytes(4, "little"), directory, *(a.tobytes() for a in arrays.values())]
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> Model:
        """Read a model's file. Raises StorageError for a file that is not one."""
        if not data.startswith(MAGIC):
            raise StorageError("the content model is not of version 5: install fyke anew")
        try:
            return cls._parsed(data)
        except (*UNREADABLE, LookupError, TypeError) as error:
            raise StorageError(f"the content model is damaged ({error}); train it anew, or install fyke anew") from None

    @classmethod
    def _parsed(cls, data: bytes) -> Model:
        at = len(MAGIC) + 4
        end = at + int.from_bytes(data[at - 4 : at], "little")
        arrays = {}
        for name, kind, shape in msgspec.json.decode(data[at:end], type=list[tuple[str, str, list[int]]]):
            array = np.frombuffer(data, kind, int(np.prod(shape)), end).reshape(shape)
            end += array.nbytes
            arrays[name] = array

        def forest(name: str) -> Forest:
            return Forest(*(arrays[f"{name}.{part}"] for part in ("columns", "thresholds", "leaves")))

        return cls(
            arrays["odds"].copy(),
            arrays["said"].copy(),
            arrays["bags"].copy(),
            forest("first"),
            forest("second"),
            tuple(forest(name) for name in TYPES),
        )


@dataclass(frozen=True, slots=True)
class Seen:
    """What the model makes of a page: feature rows, first and second chances by block, chances by type."""

    rows: Array
    first: Array
    second: Array
    types: Array


@functools.cache
def shipped() -> Model:
    """Return the model that comes with fyke."""
    data = pkgutil.get_data("fyke.clean", "content.model")
    assert data is not None
    return Model.from_bytes(data)


_NONE_DECLARED = np.zeros(len(_DECLARED), np.uint8)


def declared(types: frozenset[str]) -> Array:
    """Return what JSON-LD and Open Graph say of a page's type, by _DECLARED; 1 or 0 each."""
    if not types:
        return _NONE_DECLARED
    return np.array([bool(types & names) for names in _DECLARED], np.uint8)


def look(page: Page, model: Model) -> Seen:
    """Score the blocks of a page. REQUIRES: the page has a block."""
    return Seen(
        *model_kernels.judge(page.blocks, page.tree, page.said, page.title_size, declared(page.types), model.tables)
    )


__all__ = ["TYPES", "UNIT", "Forest", "Model", "Seen", "declared", "look", "shipped"]
