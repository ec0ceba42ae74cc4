"""No page takes more than 300 MB of a command's memory, however it is made (H10); bench.hostile_commands tries more."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from fyke import footprint
from fyke.cli.asking import read_source
from fyke.cli.echo import print_text
from fyke.cli.options import print_json
from fyke.fetching import run
from fyke.footprint import give_back
from tests.little_site import Answer, serving

WIDE = "<p>\N{GRINNING FACE}".encode() + b"words without an end " * 476_000
"""One character beyond 16 bits: Python keeps such a text in four bytes a character."""
PEAK = """
import sys
from fyke.cli import run
assert run(sys.argv[1:]) == 0
[line] = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(line.split()[1], file=sys.stderr)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is told by /proc")
def test_the_worst_page_takes_300_mb_of_a_fetch() -> None:
    with serving({"/": Answer(WIDE)}) as site:
        words = ["fetch", f"{site.root}/", "--delay", "0", "--no-robots", "--yes", "--json"]
        ran = subprocess.run([sys.executable, "-c", PEAK, *words], capture_output=True, check=True)
    assert len(msgspec.json.decode(ran.stdout)["text"]) > 9_000_000
    assert int(ran.stderr.split()[-1]) < 300_000


def test_nobody_makes_a_text_of_what_was_fetched() -> None:
    class Large:
        def __repr__(self) -> str:
            raise AssertionError("asyncio.run looks at its task")

    async def work() -> Large:
        await asyncio.sleep(0)
        return Large()

    assert isinstance(run(work()), Large)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is told by /proc")
def test_what_libraries_left_behind_is_given_back_and_they_still_work(monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    monkeypatch.setattr(footprint, "MAP", Path("/proc/self/smaps"))  # tests/conftest.py keeps other tests from it

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[2])  # pages of files

    before = resident()
    give_back()
    assert resident() < before / 2
    assert np.linalg.norm(np.arange(4.0)) ** 2 == pytest.approx(14)


def test_long_texts_are_written_in_parts_and_whole(capfd: pytest.CaptureFixture[str]) -> None:
    text = "é\u202e\N{GRINNING FACE}" * 700_000
    print_json({"text": text})
    said = capfd.readouterr().out
    assert msgspec.json.decode(said) == {"text": text}
    assert "\u202e" not in said
    for given in ("a\nb", "a\nb\n", "line\n" * 500_000, "x" * 3_000_000):
        print_text(given)
        assert capfd.readouterr().out == given.removesuffix("\n") + "\n"


def test_a_file_is_read_no_further_than_its_limit(tmp_path: Path) -> None:
    (tmp_path / "endless").write_bytes(bytes(5_000))
    assert len(read_source(str(tmp_path / "endless"), "fyke", 1_000).body) == 1_001
