"""DuplicateIndex: has a text like this one been seen? Asked for one text at a time, as a crawl does.

Memory is bounded and small: the bands of young documents are a table in memory, and when it is an eighth of what is on
disk, or its share of ``memory``, they are merged into a sorted run there, behind a filter of ten bits for each band.
Everything else is in the files of a folder (see `disk`), from which an index opens as it was left, also after a crash:
the run is read a page at a time, records are mapped, and what questions touched of them is let go again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fyke.dedupe import index_kernels
from fyke.dedupe.disk import AnyPath, Run, SketchFolder, name_of
from fyke.dedupe.plan import bands as plan_bands
from fyke.dedupe.sketch import Parameters, Sketch, fast_coefficients, sketch
from fyke.errors import UserError
from fyke.text.characters import character_table
from fyke.text.words import encode, word_hashes

INLINE = Parameters(num_perm=128)
"""25 bands of 5: a quarter faster than 192 places, and as complete; estimates err by 0.035 instead of 0.029."""
FILTER_BITS = 10
"""Bits of the filter for a slot on disk, at least: a lookup of an absent key goes there at most 2 times in 100."""
YOUNG = 4 << 20
"""Bytes that the table in memory of an index with a folder may always have: 14,600 documents. The filter has as many
from the first run on, which do for 134,000: a crawl of that size takes no more memory than one of 15,000."""
UNLOAD = 128
"""Questions after which what they touched of the records is let go. A touch maps 64 KB, and a candidate is three:
with a near copy among ten pages these are 2 to 3 MB."""
RUN_TO_TABLE = 8
"""Beyond that the table grows with the run on disk, to an eighth of it: each merge writes the run anew, so that a slot
is written about eight times, however many documents there are."""
SAME_TEXT = "text"
"""The method of a match with the same words in the same order, by a key of 64 bits."""
CHECK_MARGIN = 0.1
"""Where the true similarity is asked for, estimates this far below the threshold still count as candidates: 3 σ."""


@dataclass(frozen=True, slots=True)
class Match:
    """A document that was seen before, how similar it is and by which method that was found."""

    id: str
    similarity: float
    method: str


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What of the remembered is like a document, before and after it by rank."""

    original: Match | None = None
    """The most similar of a lesser rank."""
    copy: Match | None = None
    """Of those of a greater rank the least."""
    copy_rank: int = 0


def candidates(path: AnyPath, text: str | bytes, threshold: float) -> list[str]:
    """Return the ids in an index's folder whose texts may be as similar to ``text`` as ``threshold``.

    All of them are looked at: a million take a tenth of a second. The folder may be in use.
    """
    folder = SketchFolder.open(path)
    signature = sketch([text], folder.parameters).signatures[0].astype(np.uint16)
    same = np.empty(folder.count, np.uint16)
    index_kernels.agreements(folder.signatures, signature, same)
    least = (threshold - CHECK_MARGIN) * folder.parameters.num_perm
    return [folder.name(document) for document in np.flatnonzero(same >= least).tolist()]


class _Memory:
    """A folder of sketches that is only in memory: the same arrays, growing."""

    def __init__(self, parameters: Parameters) -> None:
        self.count = self.used = 0
        self.signatures: NDArray[np.uint16] = np.empty((1024, parameters.num_perm), np.uint16)
        self.facts: NDArray[np.uint64] = np.empty((1024, 4), np.uint64)
        self.names: NDArray[np.uint8] = np.empty(1 << 16, np.uint8)

    def reserve(self, records: int, name_bytes: int) -> None:
        if self.count + records > len(self.facts):
            rows = 2 * (self.count + records)
            self.signatures = _longer(self.signatures, rows)
            self.facts = _longer(self.facts, rows)
        if self.used + name_bytes > len(self.names):
            self.names = _longer(self.names, 2 * (self.used + name_bytes))

    def name(self, document: int) -> str:
        return name_of(self.facts, self.names, document)


def _longer(array: NDArray[Any], rows: int) -> NDArray[Any]:
    longer = np.empty((rows, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


class DuplicateIndex:
    """Near-duplicates inline: ``seen(text, id)`` answers for one text and remembers it.

    Similarity is estimated from the signatures (standard error 0.035 at 0.8 with 128 places); with ``text_of``, which
    gives the text of an id, the true Jaccard coefficient of the best candidate decides. Not safe for threads; one
    process writes a folder.
    """

    def __init__(
        self,
        path: AnyPath | None = None,
        *,
        threshold: float = 0.8,
        memory: int = 1 << 30,
        parameters: Parameters | None = None,
        text_of: Callable[[str], str | bytes | NDArray[np.uint64] | None] | None = None,
    ) -> None:
        """Open the index in folder ``path``, making it if need be; without one it lives in memory.

        ``memory`` bounds table and filter, in bytes; an index without a folder raises UserError when it is reached.
        ``parameters`` are those of the folder if it has any, else INLINE; given ones must be the folder's. ``text_of``
        may give the hashes of a text's words, too (``seen_words``).
        """
        self.threshold = threshold
        self._memory = max(memory, 1 << 16)
        self._text_of = text_of
        self._folder = SketchFolder.open(path, parameters, create=True, default=INLINE) if path is not None else None
        parameters = self._folder.parameters if self._folder else parameters or INLINE
        self._parameters = parameters
        self._kept: SketchFolder | _Memory = self._folder or _Memory(parameters)
        bands, rows = plan_bands(threshold, parameters.num_perm)
        self._shape = f"{bands}x{rows}"
        least = threshold - (CHECK_MARGIN if text_of else 0)
        minimum = max(1, int(np.ceil(least * parameters.num_perm - 1e-9)))
        sure = max(1, int(np.ceil(threshold * parameters.num_perm - 1e-9)))
        self._settings = np.array([parameters.ngram, rows, minimum, parameters.features == "words", sure], np.int64)
        self._table = character_table(parameters.folding)
        self._a, self._b = fast_coefficients(parameters.num_perm)
        self._signature = np.empty(parameters.num_perm, np.uint32)
        self._tags = np.empty(bands, np.uint64)
        self._scratch = np.empty((2, 1 << 14), np.uint64)
        self._candidates = np.empty(4 * index_kernels.SAME_TAG * bands, np.int64)
        self._page = np.empty(index_kernels.STRIDE, np.uint64)
        self._run: Run | None = None
        self._marks: NDArray[np.uint64] = np.empty(0, np.uint64)
        self._filter = np.zeros(1, np.uint64)
        self._touching = 0  # questions since the files were unloaded
        first = min(1 << 15, 1 << (self._table_bytes() // 8).bit_length() - 1)  # slots: 256 KB, or what it may have
        self._set_table(np.zeros(first, np.uint64), 0)
        if self._folder is not None:
            self._reopen(self._folder)

    def __len__(self) -> int:
        """How many texts are remembered; copies that agree in all places with an earlier one are not."""
        return self._kept.count

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def memory(self) -> int:
        """Bytes of table, filter and marks."""
        return int(self._slots.nbytes + self._filter.nbytes + self._marks.nbytes)

    def seen(self, text: str | bytes, id: str) -> Match | None:  # noqa: A002 - the contract's word
        """Return the remembered document most like ``text``, if one is at or above the threshold; remember ``text``.

        Earlier texts of the same ``id`` are versions of it, and no copies. A text without words is like nothing.
        """
        return self._ask(encode(text), id.encode("utf-8", "replace"), True)

    def seen_words(self, hashes: NDArray[np.uint64], id: str) -> Match | None:  # noqa: A002
        """Return what ``seen`` would for the text whose words have these hashes, by the folding of this index."""
        return self._ask(hashes, id.encode("utf-8", "replace"), True)

    def similar(self, text: str | bytes, id: str = "") -> Match | None:  # noqa: A002
        """Return what ``seen`` would, and remember nothing."""
        return self._ask(encode(text), id.encode("utf-8", "replace"), False)

    def seen_sketch(self, sketch: Sketch) -> Neighbours:
        """Return what is like a text that was sketched elsewhere, and remember it; copies are told by ranks alone.

        So the order in which an index hears of texts does not matter. Similarity is estimated, and may be
        ``CHECK_MARGIN`` below the threshold where ``text_of`` was given: then who asks has to look. The same sketch of
        the same id is remembered once. REQUIRES: the parameters are this index's, and all that it holds has ranks.
        """
        if not sketch.shingles:
            return Neighbours()
        name, kept = sketch.id.encode("utf-8", "replace"), self._kept
        self._prepare(len(name))
        self._signature[:] = np.frombuffer(sketch.signature, "<u2", len(self._signature))
        fact = np.array([0, sketch.rank, sketch.key, sketch.shingles], np.uint64)
        original, most, copy, alike, filled = index_kernels.seen_sketch(
            np.frombuffer(name or b"\0", np.uint8),
            fact,
            self._settings,
            (self._signature, self._tags),
            self._bands,
            (kept.signatures, kept.facts, kept.names),
            kept.count,
        )
        if filled:
            kept.count += 1
            kept.used += len(name)
            self._filled += filled
        rank = int(kept.facts[copy, index_kernels.SIMHASH]) if copy >= 0 else 0
        return Neighbours(self._found(sketch, original, most), self._found(sketch, copy, alike), rank)

    def _found(self, sketch: Sketch, document: int, same: int) -> Match | None:
        if document < 0:
            return None
        equal = int(self._kept.facts[document, index_kernels.TEXT_KEY]) == sketch.key
        how = (1.0, SAME_TEXT) if equal else (same / len(self._signature), "minhash")
        return Match(self._kept.name(document), *how)

    def sync(self) -> None:
        """Return once all that was seen is safe from a power cut; from a crash of the process it always is."""
        if self._folder is not None:
            self._folder.sync()

    def close(self) -> None:
        """Sync and let the folder go. The index can not be used afterwards."""
        if self._folder is not None:
            self._folder.close()

    def _ask(self, text: bytes | NDArray[np.uint64], name: bytes, keep: bool) -> Match | None:
        # Python's integers throughout: a number of numpy's costs a microsecond to look at.
        kept, size = self._kept, len(text)
        if size >= self._scratch.shape[1]:
            self._scratch = np.empty((2, size + 1), np.uint64)
        if isinstance(text, bytes):
            data = text + name
        else:
            self._scratch[0, :size] = text
            data, size = name, -1 - size
        self._prepare(len(name))
        best, same, filled, equal = index_kernels.seen(
            np.frombuffer(data or b"\0", np.uint8),
            size,
            (self._settings, self._table, self._a, self._b, self._scratch, self._signature, self._tags),
            self._bands,
            (kept.signatures, kept.facts, kept.names),
            kept.count if keep else -1,
        )
        if filled:
            kept.count += 1
            kept.used += len(name)
            self._filled += filled
        if best < 0:
            return None
        if equal:
            return Match(self._kept.name(best), 1.0, SAME_TEXT)
        return self._match(best, same / len(self._signature), text)

    def _prepare(self, name_bytes: int) -> None:
        """Make room for one document more, and let go of what the last questions touched."""
        self._kept.reserve(1, name_bytes)
        if self._filled > self._full:
            self._make_room()
        self._touching += 1
        if self._folder is not None and self._touching > UNLOAD:
            self._folder.unload()
            self._touching = 0

    def _match(self, best: int, similarity: float, text: bytes | NDArray[np.uint64]) -> Match | None:
        name = self._kept.name(best)
        if self._text_of is None or (other := self._text_of(name)) is None:
            return Match(name, similarity, "minhash") if similarity >= self.threshold else None
        from fyke.dedupe.similarity import words_jaccard

        similarity = words_jaccard(self._words(text), self._words(other), self._parameters.ngram)
        return Match(name, similarity, "jaccard") if similarity >= self.threshold else None

    def _words(self, text: str | bytes | NDArray[np.uint64]) -> NDArray[np.uint64]:
        return word_hashes(text, self._parameters.folding) if isinstance(text, str | bytes) else text

    def _table_bytes(self) -> int:
        """How large the table may be, in bytes."""
        half = self._memory // 2
        run = self._run.nbytes if self._run else 0
        return half if self._folder is None else min(half, max(YOUNG, run // RUN_TO_TABLE))

    def _make_room(self) -> None:
        """Double the table, or where it is as large as it may be, move it to the disk."""
        if self._kept.count + len(self._slots) > index_kernels.MAX_DOCUMENTS:
            raise UserError(f"an index holds at most {index_kernels.MAX_DOCUMENTS:,} documents; begin another folder")
        if 2 * self._slots.nbytes <= self._table_bytes():
            longer = np.zeros(2 * len(self._slots), np.uint64)
            self._set_table(longer, int(index_kernels.insert_all(longer, self._slots)))
        elif self._folder is None:
            raise UserError(
                f"a DuplicateIndex in memory is full at {self._memory} bytes; give it a folder, or a larger memory"
            )
        else:
            self._spill(self._folder, self._folder.count)

    def _spill(self, folder: SketchFolder, covered: int) -> None:
        """Merge the table, which reaches up to document ``covered``, into the run."""
        self._slots.sort()
        young = self._slots[len(self._slots) - np.count_nonzero(self._slots) :]
        folder.sync()
        self._set_run(folder.write_bands(self._shape, self._run, young, covered), young)
        self._slots.fill(0)
        self._set_table(self._slots, 0)

    def _set_table(self, slots: NDArray[np.uint64], filled: int) -> None:
        self._slots, self._filled = slots, filled
        self._full = len(slots) * 7 // 10 - len(self._tags)  # seven in ten, and one document more must fit
        file = self._run.file if self._run else -1
        self._bands = (slots, self._filter, self._marks, self._page, self._candidates, file)

    def _set_run(self, run: Run, young: NDArray[np.uint64]) -> None:
        """Take a run, whose slots are those of the filter and ``young``; it is asked once the table is set."""
        words = max(YOUNG, run.nbytes * FILTER_BITS // 64) // 8
        size = 1 << (words - 1).bit_length()
        marks_bytes = run.nbytes // index_kernels.STRIDE
        while size > 1 and size * 8 + marks_bytes >= self._memory // 2:  # fewer bits each, and more looks at the disk
            size //= 2
        anew = size != len(self._filter)
        if anew:
            self._filter = np.zeros(size, np.uint64)
        else:
            index_kernels.fill_filter(young, self._filter)
        marks = [self._marks[:0]]
        for chunk in run.chunks():
            marks.append(chunk[:: index_kernels.STRIDE].copy())
            if anew:
                index_kernels.fill_filter(chunk, self._filter)
        self._run, self._marks = run, np.concatenate(marks)

    def _reopen(self, folder: SketchFolder) -> None:
        """Bring table and filter back from what is on the disk."""
        run = folder.bands(self._shape)
        covered = run.covered if run else 0
        if run:
            self._set_run(run, self._slots[:0])
            self._set_table(self._slots, 0)
        most = self._table_bytes() // self._slots.itemsize
        step = max(1, min(1024, most // 4 // len(self._tags)))
        for start in range(covered, folder.count, step):
            while self._filled + step * len(self._tags) > self._full:
                if 2 * len(self._slots) <= most:
                    self._make_room()
                else:
                    self._spill(folder, start)
                    most = self._table_bytes() // self._slots.itemsize
            end = min(start + step, folder.count)
            rows = int(self._settings[index_kernels.ROWS])
            self._filled += int(
                index_kernels.insert_documents(self._slots, folder.signatures, len(self._tags), rows, start, end)
            )
            folder.unload()
