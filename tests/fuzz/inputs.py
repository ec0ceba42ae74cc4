"""Inputs of the guided fuzzer: bytes that say which file of which sample they replace; a corpus of them per target."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from pathlib import Path

from tests.fuzz.mutate import Files
from tests.fuzz.target import Target

CORPUS = Path(__file__).parent / "corpus"
MAX_INPUT = 2048
"""Bytes of an input that is kept."""
MAX_TARGET = 6144
"""Bytes of all that are kept of a target."""
UNGUIDED = frozenset({"engine, in workers"})
"""Coverage does not see other processes; mutations alone try these."""


class Inputs:
    """One target, its samples made: a byte chooses the sample, one its file, the rest is the file's content."""

    def __init__(self, target: Target, folder: Path) -> None:
        self.target, self._place = target, folder / "case"
        self._samples = target.prepared(folder)

    def seeds(self) -> list[bytes]:
        """Every file of every sample, as an input."""
        return [
            bytes([s, f]) + files[name] for s, files in enumerate(self._samples) for f, name in enumerate(sorted(files))
        ]

    def read(self, data: bytes) -> None:
        """Read the sample with the file that ``data`` says. Raises what the target does not document."""
        if len(data) < 2:
            return
        files: Files = self._samples[data[0] % len(self._samples)]
        name = sorted(files)[data[1] % len(files)]
        try:
            self.target.read(self._place, self.target.whole({**files, name: data[2:]}))
        except self.target.errors:
            return


def corpus_file(name: str, corpus: Path = CORPUS) -> Path:
    """Where a target's inputs are kept: a line of base64 each."""
    return corpus / ("-".join("".join(c if c.isalnum() else " " for c in name).split()) + ".txt")


def kept(name: str, corpus: Path = CORPUS) -> list[bytes]:
    """Read the inputs that were kept of a target."""
    file = corpus_file(name, corpus)
    return [base64.b64decode(line) for line in file.read_text().split()] if file.exists() else []


def keep(name: str, inputs: Iterable[bytes], corpus: Path = CORPUS) -> int:
    """Keep the shortest of ``inputs``, as many as there is room for. Returns how many."""
    chosen, room = [], MAX_TARGET
    for data in sorted(set(inputs), key=lambda each: (len(each), each)):
        if len(data) <= min(MAX_INPUT, room):
            chosen.append(data)
            room -= len(data)
    corpus.mkdir(exist_ok=True)
    corpus_file(name, corpus).write_text("".join(f"{base64.b64encode(data).decode()}\n" for data in chosen))
    return len(chosen)
