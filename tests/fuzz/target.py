"""A target: something that reads what others wrote, samples of that, and the errors that it says it raises."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fyke.errors import FykeError
from tests.fuzz.mutate import Files, damaged, hostile

FORMAT, PARSER = "format", "parser"


@dataclass(frozen=True, slots=True)
class Target:
    """One reader."""

    name: str
    kind: str
    """A file format of ours or of others (mutations), or a parser of what sites send (hostile pages)."""
    samples: Callable[[Path], list[Files]]
    """Whole files, by name; made in an empty folder."""
    use: Callable[[Path, Files], object]
    """Read them as users do: everything that a user could ask for. The files lie in the folder, too, if ``on_disk``."""
    errors: tuple[type[Exception], ...] = (FykeError,)
    """What it documents to raise; parsers raise nothing."""
    pack: Callable[[Files], Files] | None = None
    """Puts check sums and compression around the samples, as whoever forges a file would."""
    pieces: tuple[bytes, ...] = ()
    """Of which hostile pages are made."""
    on_disk: bool = False

    def case(self, samples: Sequence[Files], chance: random.Random) -> Files:
        """One hostile input."""
        files = chance.choice(samples)
        if self.kind == PARSER:
            return {name: hostile([each[name] for each in samples], self.pieces, chance) for name in files}
        name = chance.choice([*files])
        other = chance.choice(samples).get(name, b"")
        if self.pack is None:
            return {**files, name: damaged(files[name], chance, other)}
        if chance.random() < 0.75:
            return self.pack({**files, name: damaged(files[name], chance, other)})
        packed = self.pack(files)
        name = chance.choice([*packed])
        return {**packed, name: damaged(packed[name], chance)}

    def prepared(self, folder: Path) -> list[Files]:
        """Make the samples in a folder of this target and read each: all is loaded then, and none is refused whole."""
        made = folder / f"made-{self.name}".replace(" ", "-").replace("/", "-")
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir()
        samples = self.samples(made)
        for files in samples:
            self.read(folder / "case", self.whole(files))
        return samples

    def read(self, place: Path, files: Files) -> None:
        """Use ``files``, which lie in the folder ``place`` then, and nothing else, if the target reads from disk."""
        if self.on_disk:
            shutil.rmtree(place, ignore_errors=True)
            for name, data in files.items():
                file = place / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
        self.use(place, files)

    def whole(self, files: Files) -> Files:
        """A sample as it is read when nobody has touched it."""
        return self.pack(files) if self.pack is not None else files


def bytes_target(
    name: str,
    kind: str,
    samples: Callable[[], list[bytes]],
    use: Callable[[bytes], object],
    errors: tuple[type[Exception], ...] = (),
    pack: Callable[[bytes], bytes] | None = None,
    pieces: tuple[bytes, ...] = (),
) -> Target:
    """A target whose input is one string of bytes."""
    return Target(
        name,
        kind,
        lambda _: [{"data": sample} for sample in samples()],
        lambda _, files: use(files["data"]),
        errors,
        None if pack is None else lambda files: {"data": pack(files["data"])},
        pieces,
    )
