"""Marks of what is compiled ahead: of this very source, compiler and processor, or as if there were none."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from fyke.bits import jit, kernelcache, kernelkeys, warmed

pytestmark = pytest.mark.skipif(not jit.JIT, reason="nothing is compiled")
OTHER = "another", "+sse2"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FYKE_CACHE_DIR", str(tmp_path / "own"))
    monkeypatch.setattr(kernelcache, "SHIPPED", tmp_path / "compiled")
    (tmp_path / "compiled").mkdir()


def test_a_mark_says_that_a_set_is_done() -> None:
    assert warmed.needed("crawl")
    warmed.mark("crawl")
    assert not warmed.needed("crawl")
    assert warmed.needed("extract")
    warmed.mark("all")
    assert not warmed.needed("extract")


def test_nothing_is_compiled_ahead_where_it_would_not_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A file in the folder's place, as root too; a disk that is full."""
    assert not list((tmp_path / "own" / "kernels").glob("probe-*"))
    monkeypatch.setattr(kernelcache, "_told", set())
    (tmp_path / "file").touch()
    monkeypatch.setenv("FYKE_CACHE_DIR", str(tmp_path / "file"))
    assert not warmed.needed("crawl")
    assert capfd.readouterr().err.count("\n") == 1
    monkeypatch.setenv("FYKE_CACHE_DIR", str(tmp_path / "full"))

    def full(*names: object, **folders: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    assert not warmed.needed("crawl")
    assert "No space left" in capfd.readouterr().err


def test_another_processor_has_marks_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    warmed.mark("all")
    monkeypatch.setattr(kernelkeys, "processor", lambda: OTHER)
    assert warmed.needed("crawl")


def test_a_workload_starts_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warmed, "_is_workload", True)
    assert not warmed.needed("crawl")


def test_a_wheels_kernels_count_where_they_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of other sources, of another compiler or for another processor, they are as if they were not there."""
    monkeypatch.setattr(kernelkeys, "processor", lambda: kernelkeys.PORTABLE)
    (kernelcache.SHIPPED / "warm-all-0123").touch()
    assert warmed.needed("crawl")
    (kernelcache.SHIPPED / warmed._mark("all", kernelkeys.PORTABLE)).touch()
    assert not warmed.needed("crawl")
    monkeypatch.setattr(kernelkeys, "processor", lambda: OTHER)
    assert warmed.needed("crawl")
