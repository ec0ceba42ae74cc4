"""Files that a kernel reads, beside what Python reads of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fyke.bits.files import read_at


@pytest.mark.kernel
def test_a_kernel_reads_what_is_in_a_file(tmp_path: Path) -> None:
    whole = np.arange(1000, dtype=np.uint64)
    whole.tofile(tmp_path / "file")
    page = np.zeros(64, np.uint64)
    with (tmp_path / "file").open("rb") as file:
        for start, count in ((0, 64), (17, 64), (936, 64), (990, 10), (1000, 0), (2000, 0)):
            assert read_at(file.fileno(), page, 8 * start) == 8 * count
            assert page[:count].tolist() == whole[start : start + count].tolist()
