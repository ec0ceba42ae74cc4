"""The public set of documents in 36 formats, whole and mutated, through the workers."""

from __future__ import annotations

import json
import os
import random
import resource
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from fyke.convert import Limits, prepare
from fyke.values import Document, Reason
from fyke.workers.pool import Pool

# Files of which other converters tell words that fyke does not; docs/formats.md says why.
KNOWN = {
    "files/doc/poi__Bug60942.doc": "fast-saved Word 6, which the engine refuses",
    "files/doc/tika__Doc1_ole.doc": "only an embedded object",
    "files/key/tika__testKeynote2013.key": "the words are names of files inside, which nobody reads on a slide",
    "files/md/tika__testMARKDOWN_dataURI.md": "the words are the letters of an inline picture",
    "files/pdf/tika__testPDF_XFA_govdocs1_258578.pdf": "one word of a form's hidden choices",
    "files/ppt/tika__testPPT_EmbeddedPDF.ppt": "only an embedded document",
    "files/ppt/tika__testPPT_masterText2.ppt": "text of the slide master",
    "files/rst/kreuz__tables.rst": "captions of tables",
    "files/xls/tika__testMSChart-govdocs-428996.xls": "only a chart",
    "files/xml/markit__test_rss.xml": "the word is part of a link's address",
}
FUZZ = int(os.environ.get("FYKE_FUZZ", "80"))
"""How many mutated files; the full run is 2,000."""


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(size=2) as shared:
        yield shared


@pytest.fixture(scope="module")
def entries(shared_data: Path) -> list[dict[str, Any]]:
    lines = (shared_data / "convert" / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def convert_all(pool: Pool, files: list[tuple[str, bytes]], limits: Limits) -> list[Document]:
    futures: list[Future[Document]] = [pool.submit(prepare(data, name=name, limits=limits)) for name, data in files]
    return [future.result() for future in futures]


def test_every_file_gives_its_words_or_a_reason(pool: Pool, entries: list[dict[str, Any]], shared_data: Path) -> None:
    files = [(entry["file"], (shared_data / "convert" / entry["file"]).read_bytes()) for entry in entries]
    missed = {}
    for entry, found in zip(entries, convert_all(pool, files, Limits(seconds=60)), strict=True):
        said = f"{found.title} {found.whole}".lower()
        if found.failure is None:
            assert found.text.strip(), entry["file"]
        else:
            assert found.detail, entry["file"]
        if entry.get("trait") == "encrypted" and entry.get("expect") == "error":
            assert found.failure is Reason.ENCRYPTED, (entry["file"], found.detail)
        if entry.get("expect") == "text" and (found.failure or any(word not in said for word in entry["words"])):
            missed[entry["file"]] = f"{found.failure} {[word for word in entry['words'] if word not in said]}"
    assert {file: why for file, why in missed.items() if file not in KNOWN} == {}
    assert set(KNOWN) - set(missed) == set(), (
        "these are read by now: strike them from the list and from docs/formats.md"
    )


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Damage: flipped bytes, a piece cut out, doubled or zeroed, the end lost."""
    work = bytearray(data[: 1 << 20])
    for _ in range(chance.randint(1, 8)):
        if not work:
            break
        at, size = chance.randrange(len(work)), chance.randint(1, 64)
        match chance.randrange(5):
            case 0:
                work[at] = chance.randrange(256)
            case 1:
                del work[at : at + size]
            case 2:
                work[at:at] = work[at : at + size]
            case 3:
                work[at : at + size] = bytes(len(work[at : at + size]))
            case _:
                del work[max(at, len(work) // 2) :]
    return bytes(work)


def test_mutated_files_harm_nobody(pool: Pool, entries: list[dict[str, Any]], shared_data: Path) -> None:
    chance = random.Random(5)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for start in range(0, FUZZ, 100):
        files = []
        for _ in range(min(100, FUZZ - start)):
            name = chance.choice(entries)["file"]
            files.append((name, mutated((shared_data / "convert" / name).read_bytes(), chance)))
        for (name, _), found in zip(files, convert_all(pool, files, Limits(seconds=20)), strict=True):
            assert found.text.strip() or (found.failure and found.detail), name
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < 200_000_000
