"""Runs: the first pass. Pages come in any order; summaries over a vocabulary of the run's own go to disk.

A scan holds one run in memory and writes it out when it is as large as the memory budget, so a part of a
collection is a folder of runs, and parts made on several cores or machines are just more runs. What only the whole
collection can decide (which terms stay, their ranks, document numbers) is left to the second pass
(archive/combine.py and graph/build.py), which reads runs by memory map.

A run is a folder of ``.npy`` arrays and two lists, one entry a line:

================  ==============  ==========================================================
``urls.txt``      n lines         in order of arrival
``terms.txt``     v lines         in byte order; a term's number is its line
``documents``     v × uint32      documents of the run that hold the term
``lengths``       n × int64       ℓ, or −1 for a page whose text is missing
``fetched``       n × int64       when, in seconds since 1970; 0 where that is not known
``starts``        n+1 × int64     where a document's postings begin
``terms``         uint32          term numbers, increasing within a document
``counts``        uint32
``link_starts``   n+1 × int64
``links``         uint64          xxh3 of each target's URL, once each
================  ==============  ==========================================================
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import xxhash
from numpy.typing import NDArray

from fyke.archive.preprocess import Preprocessing, Vocabulary
from fyke.errors import UNREADABLE, StorageError
from fyke.text.characters import WORDS

FORMAT = "fyke-run"
VERSION = 1
DEFAULT_MEMORY = 1 << 29
"""Bytes that a scan may hold: half a gigabyte is some 100,000 pages."""

_WORD_COST = 250
"""Bytes of a distinct word in memory: two dictionary entries and two strings, generously."""
_KINDS: dict[str, type[np.generic]] = {
    "documents": np.uint32, "lengths": np.int64, "fetched": np.int64, "starts": np.int64, "terms": np.uint32,
    "counts": np.uint32, "link_starts": np.int64, "links": np.uint64,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Page:
    """What an archive keeps of a document. ``text`` is None where only its place in the graph is known."""

    url: str
    text: str | None = None
    links: tuple[str, ...] = ()
    fetched: float = 0.0
    """In seconds since 1970; 0 where that is not known."""


def url_hash(url: str) -> int:
    """Return the 64-bit name by which runs speak of a link's target."""
    return xxhash.xxh3_64_intdigest(url.encode())


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A run on disk, mapped."""

    folder: Path
    preprocessing: Preprocessing
    tokeniser: int
    documents: NDArray[np.uint32]
    lengths: NDArray[np.int64]
    fetched: NDArray[np.int64]
    starts: NDArray[np.int64]
    terms: NDArray[np.uint32]
    counts: NDArray[np.uint32]
    link_starts: NDArray[np.int64]
    links: NDArray[np.uint64]

    @classmethod
    def open(cls, folder: Path) -> Run:
        """Map a run. Raises ``StorageError`` if it is none, incomplete, or of another version."""
        try:
            head = msgspec.json.decode((folder / "run.json").read_bytes(), type=_Head)
            if head.format != FORMAT or head.version != VERSION:
                raise StorageError(f"{folder} is not a run of version {VERSION}; scan its pages again")
            run = cls(folder, head.preprocessing, head.tokeniser, **{name: _mapped(folder, name) for name in _KINDS})
            run._check()
        except (OSError, *UNREADABLE) as error:
            raise StorageError(f"{folder} is not a complete run ({error}); scan its pages again") from None
        return run

    def _check(self) -> None:
        """Raise ``ValueError`` where numbers contradict one another: those who read a run follow them."""
        _check_lists(self.starts, len(self.lengths), len(self.terms))
        _check_lists(self.link_starts, len(self.lengths), len(self.links))
        if len(self.counts) != len(self.terms) or len(self.fetched) != len(self.lengths):
            raise ValueError("its columns are not equally long")
        sums = np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)])
        rising = self.terms[1:] > self.terms[:-1]
        begins = self.starts[(self.starts > 0) & (self.starts < len(self.terms))]
        rising[begins - 1] = True  # from one document to the next
        if (
            (self.terms >= len(self.documents)).any()
            or not rising.all()
            or (self.counts == 0).any()
            or (self.lengths < np.diff(sums[self.starts])).any(where=np.diff(self.starts) > 0)
            or (self.lengths < -1).any()
            or (self.fetched < 0).any()
        ):
            raise ValueError("its numbers contradict one another")

    def __len__(self) -> int:
        return len(self.lengths)

    def urls(self) -> list[str]:
        """Return the URLs in order of arrival. Raises ``StorageError``."""
        try:
            urls = (self.folder / "urls.txt").read_bytes().decode().split("\n")[:-1]
        except (OSError, *UNREADABLE) as error:
            raise self._damage("urls.txt", str(error)) from None
        if len(urls) != len(self):
            raise self._damage("urls.txt", f"{len(urls)} lines for {len(self)} pages")
        return urls

    def vocabulary(self) -> Iterator[str]:
        """Yield the terms in byte order. Raises ``StorageError``."""
        last, count = b"", 0
        try:
            with (self.folder / "terms.txt").open(encoding="utf-8", newline="\n") as lines:
                for line in lines:
                    term = line.removesuffix("\n")
                    if term.encode() <= last:
                        raise ValueError("the terms are not in order")
                    last, count = term.encode(), count + 1
                    yield term
        except (OSError, *UNREADABLE) as error:
            raise self._damage("terms.txt", str(error)) from None
        if count != len(self.documents):
            raise self._damage("terms.txt", f"{count} lines for {len(self.documents)} terms")

    def _damage(self, name: str, what: str) -> StorageError:
        return StorageError(f"{self.folder / name} is damaged ({what}); scan the pages again")


def _mapped(folder: Path, name: str) -> NDArray[Any]:
    """Map a column of a run. Raises ``ValueError`` where it is none, or of another kind."""
    try:
        found = np.load(folder / f"{name}.npy", mmap_mode="r")
    except OSError:
        raise
    except Exception as error:  # what numpy's reader of headers raises is anything, a tokenizer's errors too
        raise ValueError(f"{name}: {error}") from None
    if found.ndim != 1 or found.dtype != _KINDS[name]:
        raise ValueError(f"{name} is no column of {np.dtype(_KINDS[name])}")
    return np.asarray(found)


def _check_lists(starts: NDArray[np.int64], lists: int, entries: int) -> None:
    """Raise ``ValueError`` unless ``starts`` divide so many entries into so many lists."""
    if len(starts) != lists + 1 or starts[0] != 0 or starts[-1] != entries or (np.diff(starts) < 0).any():
        raise ValueError("the starts of its lists contradict their lengths")


class _Head(msgspec.Struct):
    format: str
    version: int
    preprocessing: Preprocessing
    tokeniser: int = 1
    """What a word was (text/characters.WORDS)."""


def scan(
    pages: Iterable[Page], folder: Path, preprocessing: Preprocessing, memory: int = DEFAULT_MEMORY
) -> Iterator[int]:
    """Write the runs of ``pages`` into ``folder``; yield the number of pages after each one.

    REQUIRES: ``folder`` holds no runs; URLs are in normal form (no line break in them).
    """
    folder.mkdir(parents=True, exist_ok=True)
    runs = 0
    run = _OpenRun(preprocessing)
    for done, page in enumerate(pages, 1):
        run.add(page)
        if run.cost >= memory:
            run.write(folder / f"run-{runs:04}")
            runs += 1
            run = _OpenRun(preprocessing)
        yield done
    if len(run) or not runs:
        run.write(folder / f"run-{runs:04}")


class _OpenRun:
    """A run in memory."""

    def __init__(self, preprocessing: Preprocessing) -> None:
        self._preprocessing = preprocessing
        self._vocabulary = Vocabulary(preprocessing)
        self._urls: list[str] = []
        self._lengths: list[int] = []
        self._fetched: list[int] = []
        self._terms: list[NDArray[np.uint32]] = []
        self._counts: list[NDArray[np.uint32]] = []
        self._links: list[NDArray[np.uint64]] = []
        self._array_bytes = 0

    def __len__(self) -> int:
        return len(self._urls)

    @property
    def cost(self) -> int:
        """Bytes in memory, about."""
        return self._array_bytes + self._vocabulary.words * _WORD_COST

    def add(self, page: Page) -> None:
        length, terms, counts = (-1, *_NOTHING) if page.text is None else self._vocabulary.summarise(page.text)
        links = np.unique(np.fromiter(map(url_hash, page.links), np.uint64, len(page.links)))
        self._urls.append(page.url)
        self._lengths.append(length)
        self._fetched.append(max(0, int(page.fetched)))
        self._terms.append(terms)
        self._counts.append(counts)
        self._links.append(links)
        # An array object costs about 150 bytes beside its data.
        self._array_bytes += 8 * terms.size + 8 * links.size + len(page.url) + 500

    def write(self, folder: Path) -> None:
        """Write the run, its head last, so that an interrupted one is seen as incomplete."""
        folder.mkdir(parents=True, exist_ok=True)
        in_order = sorted(self._vocabulary.numbers.items(), key=lambda item: item[0].encode())
        renumber = np.empty(len(in_order), np.uint32)
        renumber[np.fromiter((number for _, number in in_order), np.int64, len(in_order))] = np.arange(len(in_order))
        (folder / "urls.txt").write_text("".join(f"{url}\n" for url in self._urls), encoding="utf-8", newline="\n")
        terms = "".join(f"{term}\n" for term, _ in in_order)
        (folder / "terms.txt").write_text(terms, encoding="utf-8", newline="\n")
        postings = renumber[np.concatenate([*self._terms, _NOTHING[0]])]
        starts = np.cumsum([0, *map(len, self._terms)])
        # Restore the order within each document, now by the new numbers.
        owner = np.repeat(np.arange(len(self._terms)), np.diff(starts))
        order = np.lexsort((postings, owner))
        arrays = {
            "documents": np.bincount(postings, minlength=len(in_order)).astype(np.uint32),
            "lengths": np.array(self._lengths, np.int64),
            "fetched": np.array(self._fetched, np.int64),
            "starts": starts.astype(np.int64),
            "terms": postings[order],
            "counts": np.concatenate([*self._counts, _NOTHING[0]])[order],
            "link_starts": np.cumsum([0, *map(len, self._links)]).astype(np.int64),
            "links": np.concatenate([*self._links, np.empty(0, np.uint64)]),
        }
        for name, array in arrays.items():
            np.save(folder / f"{name}.npy", array, allow_pickle=False)
        head = _Head(FORMAT, VERSION, self._preprocessing, WORDS)
        (folder / "run.json").write_bytes(msgspec.json.encode(head))


_NOTHING = (np.empty(0, np.uint32), np.empty(0, np.uint32))


def read_jsonl(file: Path) -> Iterator[Page]:
    """Yield the pages of a JSONL file: a line has ``url``, ``text`` (if there is one), ``links`` and ``fetched``."""
    decoder = msgspec.json.Decoder(Page)
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                page = decoder.decode(line)
            except UNREADABLE as error:
                raise StorageError(f"{file}, line {number}: {error}; write objects with url, text and links") from None
            yield page


def own_runs(folder: Path) -> frozenset[str]:
    """Return the names of the runs that a scan made in ``folder``."""
    names = set()
    for path in folder.glob("run-*"):
        with contextlib.suppress(OSError, *UNREADABLE):
            if msgspec.json.decode((path / "run.json").read_bytes(), type=_Head).format == FORMAT:
                names.add(path.name)
    return frozenset(names)


def runs_of(folders: Iterable[Path]) -> list[Run]:
    """Open every run of the parts in ``folders``. Raises ``StorageError`` where they do not go together."""
    paths = [run for folder in folders for run in sorted(folder.glob("run-*"))]
    runs = [Run.open(path) for path in paths]
    if not runs:
        raise StorageError("no runs to combine: make parts with `fyke archive build --part i/n`")
    for run in runs:
        if run.tokeniser != runs[0].tokeniser:
            raise StorageError(
                f"{run.folder} and {runs[0].folder} were scanned by fykes to which a word is not the same; scan the"
                " older one again"
            )
        if run.preprocessing != runs[0].preprocessing:
            raise StorageError(
                f"{run.folder} was scanned with other settings than {runs[0].folder}; scan both with the same"
            )
    return runs
