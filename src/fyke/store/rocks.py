"""RocksDB as fyke uses it: options and their reasons, opening as writer or secondary, errors in words.

The only module that names rocksdict. Measured, so decided: no blob files (a secondary crashes on them); bodies
are compressed by us, so RocksDB's own compression is off for them and compaction is universal; never ``read_only``
beside a writer; write buffers by family and no shared write-buffer manager (it counts the blocks that
each of a hundred buffers has reserved, and flushed 60 KB at a time: half of a crawl's time); a bound on the log's total
size, or idle families keep it for ever; files are written past the system's page cache, where that can be done: a sixth
of RocksDB's CPU was copying into it and writing it back.
"""

from __future__ import annotations

import contextlib
import ctypes
import resource
import shutil
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

from rocksdict import (
    AccessType,
    BlockBasedOptions,
    BottommostLevelCompaction,
    Cache,
    Checkpoint,
    ChecksumType,
    CompactOptions,
    DBCompactionStyle,
    DBCompressionType,
    Env,
    Options,
    Rdict,
    ReadOptions,
    WriteBatch,
    WriteOptions,
)

from fyke.errors import DiskFullError, StorageError
from fyke.store.cells import ANCHOR, COLUMN, FAMILIES, LINKS, OWN, PAGE, TEXT

__all__ = [
    "HEAP",
    "Memory",
    "Rdict",
    "WriteBatch",
    "checkpoint",
    "explain",
    "follow",
    "open_primary",
    "open_secondary",
    "raise_file_limit",
    "until",
]

MB = 1 << 20
_BULKY = {PAGE: 0.35, TEXT: 0.25, LINKS: 0.08}
"""Families of large values, and their part of a tablet's write buffers: as they fill in a crawl."""
_GROWING = {**_BULKY, ANCHOR: 0.14}
"""Families that only grow, with keys all over: merged by size (universal). By levels, each small file of anchors would
have all of them written anew: after 22,000 pages 4 % of a crawl's CPU, and more with each page."""
_SMALL = 0.02
"""The part of each of the nine others; what is small and changes in place fills little."""

RUNS = 12
"""Files of a growing family side by side before they are merged; a reader asks the filter of each. A crawl of 20,000
pages takes 2 % more CPU with 8, and 5 % more with RocksDB's 4."""
FLUSHES = 4
"""Files that the tablets of a process write at once: each waits for the disk, which syncs many as quickly as one. With
one at a time, closing sixteen tablets took 3.8 s on a disk of 220 syncs a second, and 0.24 s so."""

COMPACT = CompactOptions()
REWRITE = CompactOptions()
REWRITE.set_bottommost_level_compaction(BottommostLevelCompaction.force())
SYNCED = WriteOptions()
SYNCED.sync = True


@dataclass(frozen=True, slots=True)
class Memory:
    """What all tablets of one process share: 8 MB of cached blocks, and 64 MB of write buffers, an equal part each.

    With half the buffers a crawl flushes twice as often, for 5 % more CPU. Index and filter blocks are among the cached
    ones, so that memory does not grow with the store.
    """

    cache: Cache
    buffers: int
    """Bytes of write buffers of one tablet."""
    log_ttl: int = 0
    """Seconds for which logs that the tablets need no more are kept in ``archive/``, for whoever ships them."""

    @classmethod
    def make(cls, tablets: int = 1, cache: int = 8 * MB, buffers: int = 64 * MB, log_ttl: int = 0) -> Memory:
        """Make the memory of a process with so many tablets; sizes in bytes."""
        return cls(Cache(cache), buffers // max(tablets, 1), log_ttl)


def open_primary(path: Path, memory: Memory) -> Rdict:
    """Open or create a tablet for writing. Raises ``StorageError``."""
    Env().set_high_priority_background_threads(FLUSHES)  # of this process; RocksDB takes one by itself
    options = _options(memory)
    options.set_use_direct_io_for_flush_and_compaction(True)
    options.set_compaction_readahead_size(MB // 4)  # of each file that is merged; two by itself
    try:
        try:
            return Rdict(str(path), options, _families(memory))
        except Exception as error:
            if "direct i/o" not in str(error).lower():
                raise
            return Rdict(str(path), _options(memory), _families(memory))  # some file systems have none
    except Exception as error:
        raise explain(path, error) from None


def open_secondary(path: Path, logs: Path, memory: Memory) -> Rdict:
    """Open a tablet beside its writer; ``logs`` is a directory of the reader's own. Raises ``StorageError``."""
    options = _options(memory)
    options.create_if_missing(False)
    options.set_max_open_files(-1)  # what the writer deletes stays readable while it is held open
    try:
        return Rdict(str(path), options, _families(memory), AccessType.secondary(str(logs)))
    except Exception as error:
        raise explain(path, error) from None


def checkpoint(db: Rdict, path: Path) -> None:
    """Make a tablet of its own at ``path``, with hard links where it can; flushes all families first."""
    try:
        Checkpoint(db).create_checkpoint(str(path))
    except Exception as error:
        raise explain(path, error) from None


def until(end: bytes, once: bool = False) -> ReadOptions:
    """Options for an iteration over keys < ``end``; an empty ``end`` is none.

    ``once`` keeps what is passed out of the cache: a scan would push out all that is read at random.
    """
    options = ReadOptions()
    options.fill_cache(not once)  # type: ignore[call-arg]  # its stub forgets the argument
    if end:
        options.set_iterate_upper_bound(end)
    return options


def raise_file_limit() -> None:
    """Raise the soft limit of open files to the hard one: sixteen empty tablets hold about 260."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class _Heap:
    """This process's heap, where the C library is glibc; of others nothing is asked."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        self._trimmed = 0.0

    def settle(self) -> None:
        """Take pieces of 1 MB and more from the system, and give them back when they are freed.

        By itself glibc raises that limit with the first large piece, and keeps what RocksDB and dictionaries free.
        What is at the end of the heap stays ours until it is 8 MB (or ``trim`` is called): with glibc's 128 KB each
        page of a crawl would take its arrays from the system anew. RocksDB's threads share one heap beside ours: each
        with its own kept what it had freed, 12 MB more after 100,000 pages.
        """
        with contextlib.suppress(AttributeError):
            self._library.mallopt(_MMAP_THRESHOLD, 1 << 20)
            self._library.mallopt(_TRIM_THRESHOLD, 8 << 20)
            self._library.mallopt(_TOP_PAD, 1 << 20)
            self._library.mallopt(_ARENA_MAX, 2)

    def trim(self, at_once: bool = False) -> None:
        """Give free pages back to the system, at most once in five seconds: it takes a few milliseconds."""
        if at_once or time.monotonic() - self._trimmed > 5:
            self._trimmed = time.monotonic()
            with contextlib.suppress(AttributeError):
                self._library.malloc_trim(0)


_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -2, -3, -8
HEAP = _Heap()
_NO_ROOM = 1_000_000
"""Bytes free on a disk that counts as full."""


def explain(path: Path, error: Exception) -> Exception:
    """Turn RocksDB's complaint into a sentence with a remedy; any other error is returned as it is."""
    if type(error) is not Exception:  # rocksdict raises bare exceptions, and only for RocksDB's complaints
        return error
    low = str(error).lower()
    full = "no space left" in low or "file too large" in low or "quota" in low
    if full or ("previous error" in low and _is_full(path)):  # a writer that failed tells of that ever after
        return DiskFullError(
            f"the disk under {path} is full; free some space and open the store again: all acknowledged rows are kept"
        )
    return StorageError(_sentence(path, str(error)))


def _is_full(path: Path) -> bool:
    try:
        return shutil.disk_usage(path).free < _NO_ROOM
    except OSError:
        return False


def _sentence(path: Path, complaint: str) -> str:
    low = complaint.lower()
    if "lock hold" in low or "lock file" in low or "no locks available" in low:
        return f"{path} is open for writing elsewhere; stop that process, or read with mode='r'"
    if "no such file" in low and "current" in low:
        return f"{path} holds no tablet; restore it from a copy, or give another store"
    if "corruption" in low or "checksum" in low:
        return f"{path} is damaged ({complaint}); run `fyke store check` to see what can be read"
    if "io error" in low:
        return (
            f"the disk under {path} fails ({complaint}); mend it and open the store again: acknowledged rows are kept"
        )
    return f"{path}: {complaint}"


def _options(memory: Memory) -> Options:
    options = _family(OWN, memory)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    options.set_max_total_wal_size(max(8 * memory.buffers, 8 * MB))
    options.set_max_open_files(1024)  # per tablet; an SST file holds up to 64 MB
    options.set_max_file_opening_threads(4)  # of each family, whatever files it has; sixteen by itself
    options.set_max_background_jobs(2)
    options.set_keep_log_file_num(2)
    options.set_max_log_file_size(MB)
    options.set_stats_dump_period_sec(0)
    options.set_stats_persist_period_sec(0)
    options.set_bytes_per_sync(MB)
    if memory.log_ttl:
        options.set_wal_ttl_seconds(memory.log_ttl)
    return options


def _families(memory: Memory) -> dict[str, Options]:
    return {family: _family(family, memory) for family in FAMILIES}


def _family(family: str, memory: Memory) -> Options:
    options = Options(raw_mode=True)
    blocks = BlockBasedOptions()
    blocks.set_block_cache(memory.cache)
    blocks.set_cache_index_and_filter_blocks(True)
    blocks.set_pin_l0_filter_and_index_blocks_in_cache(True)
    blocks.set_checksum_type(ChecksumType.xxh3())
    blocks.set_format_version(5)
    # Larger blocks where values are pages, so that the key is not repeated in the index for each of them.
    blocks.set_block_size(16 * 1024 if family in _BULKY else 8 * 1024)
    if family not in (ANCHOR, COLUMN, "queue", "outbox"):  # those are only iterated
        blocks.set_bloom_filter(10, False)
    options.set_block_based_table_factory(blocks)
    options.set_write_buffer_size(max(int(memory.buffers * _GROWING.get(family, _SMALL)), 64 << 10))
    if family in _GROWING:
        options.set_compaction_style(DBCompactionStyle.universal())
        options.set_level_zero_file_num_compaction_trigger(RUNS)
    options.set_compression_type(DBCompressionType.none() if family in _BULKY else DBCompressionType.lz4())
    return options


def disk_bytes(path: Path) -> int:
    """Bytes of the files under ``path``; files that vanish meanwhile count nothing."""
    total = 0
    for file in path.rglob("*"):
        with contextlib.suppress(OSError):
            total += file.stat().st_size
    return total


def follow(items: Iterator[tuple[bytes, bytes]]) -> Generator[bytes | None, bytes, None]:
    """A forward iteration that is sent growing keys and answers each with its value, None where there is none."""
    wanted = yield None
    for key, value in items:
        while key >= wanted:
            wanted = yield value if key == wanted else None
    while True:
        yield None
