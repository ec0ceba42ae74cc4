"""What samples are made of."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz.mutate import Files

TEXTS = [" ".join(f"word{min(j * i % 97, 60)}" for j in range(30 + i)) for i in range(24)]


def folder_of(path: Path) -> Files:
    """The files of a folder, whatever lies deeper."""
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}
