"""Stores that earlier versions of fyke wrote: ``made/store-N.tar.zst``, N their format. None is ever written anew."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import zstandard

MADE = Path(__file__).parent / "made"


def unpack(version: int, folder: Path) -> Path:
    """Return the store of a format, unpacked into ``folder``."""
    packed = (MADE / f"store-{version}.tar.zst").read_bytes()
    data = zstandard.ZstdDecompressor().decompress(packed, max_output_size=50_000_000)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "store"
