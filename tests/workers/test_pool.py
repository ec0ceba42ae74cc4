"""Workers: a hang, a crash, a flood and a hunger for memory end in a stated failure, and the next job goes well."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import fyke
from fyke.convert import Limits, Source, prepare
from fyke.errors import FykeError, UrlError
from fyke.formats.tags import TABLE
from fyke.url import Url
from fyke.values import Document, Link, Meta, Reason, Tags
from fyke.workers import pool as pool_module
from fyke.workers import wire
from fyke.workers.pool import Pool

RTF = b"{\\rtf1\\ansi Hello \\b world\\b0 .}"


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))
        with Pool(size=1, memory=1_000_000_000, module="hostile_child") as shared:
            yield shared


def children() -> set[str]:
    found: set[str] = set()
    for task in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):  # a thread that has just ended
            found.update(task.read_text(encoding="ascii").split())
    return found


def state(process: str) -> str:
    """R, S, T (stopped), …"""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    return ""


def test_the_engine_works_in_a_worker(pool: Pool) -> None:
    found = pool.convert(prepare(RTF))
    assert "Hello" in found.text
    assert found.failure is None


@pytest.mark.parametrize(
    ("deed", "reason"),
    [("hang", Reason.TIMEOUT), ("crash", Reason.DAMAGED), ("eat", Reason.TOO_LARGE), ("flood", Reason.TOO_LARGE)],
)
def test_misdeeds_end_in_a_stated_failure(pool: Pool, deed: str, reason: Reason) -> None:
    limits = Limits(seconds=0.5 if deed == "hang" else 10_000.0, max_text=1_000 if deed == "flood" else 50_000_000)
    hostile = Source(deed.encode(), "application/x-fyke-test", limits=limits)
    found = pool.convert(hostile)
    assert found.failure is reason, found.detail
    assert "Hello" in pool.convert(prepare(RTF)).text


def test_a_busy_machine_fails_no_document(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker gets no processor for longer than its document may take, and then goes on."""
    monkeypatch.setattr(pool_module, "WAITING", 1e6, raising=False)
    job = pool.submit(Source(b"stop", "application/x-fyke-test", limits=Limits(seconds=0.2)))
    while not (stopped := [child for child in children() if state(child) == "T"]) and not job.done():
        pass
    with contextlib.suppress(TimeoutError):
        job.result(timeout=0.5)
    for child in stopped:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(child), signal.SIGCONT)
    assert job.result().failure is None


def test_who_waits_for_ever_is_ended(pool: Pool) -> None:
    found = pool.convert(Source(b"stop", "application/x-fyke-test", limits=Limits(seconds=0.05)))
    assert found.failure is Reason.TIMEOUT
    assert "Hello" in pool.convert(prepare(RTF)).text


def test_without_blocking_the_loop(pool: Pool) -> None:
    async def main() -> list[Document]:
        hang = Source(b"hang", "application/x-fyke-test", limits=Limits(seconds=1.0))
        jobs = asyncio.gather(*(pool.aconvert(source) for source in (hang, prepare(RTF), prepare(RTF))))
        await asyncio.sleep(0)
        assert not jobs.done(), "the loop goes on while a worker is busy"
        return await jobs

    hung, *found = asyncio.run(main())
    assert hung.failure is Reason.TIMEOUT
    assert all("Hello" in document.text for document in found)


def test_a_job_that_is_cancelled_costs_no_worker(pool: Pool) -> None:
    hang = Source(b"hang", "application/x-fyke-test", limits=Limits(seconds=0.2))
    before, given_up, after = (pool.submit(source) for source in (hang, prepare(RTF), prepare(RTF)))
    assert given_up.cancel()
    assert before.result().failure is Reason.TIMEOUT
    assert "Hello" in after.result().text


def test_a_worker_that_cannot_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with Pool(size=1, module="no_such_module") as own, pytest.raises(FykeError, match="does not start"):
        own.submit(prepare(RTF)).result()
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with Pool(size=1) as own, pytest.raises(OSError, match="No such file"):
        own.submit(prepare(RTF)).result()


def test_a_worker_that_starts_too_slowly_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "START_SECONDS", 0.0)
    with Pool(size=1) as own:
        assert own.submit(prepare(RTF)).result().failure is Reason.TIMEOUT
        monkeypatch.undo()
        assert "Hello" in own.submit(prepare(RTF)).result().text


def test_a_killed_pool_starts_nothing_anew() -> None:
    before = children()
    own = Pool(size=1)
    doing, queued = own.submit(prepare(RTF)), own.submit(prepare(RTF))
    while not children() - before:
        pass
    own.kill()
    assert doing.exception() or doing.result().failure
    assert queued.cancelled()
    own.close()
    assert children() <= before


def test_no_process_is_left_behind() -> None:
    before = children()
    with Pool(size=1) as own:
        assert "Hello" in own.convert(prepare(RTF)).text
        assert children() - before
    assert children() <= before
    with pytest.raises(FykeError, match="closed"):
        own.submit(prepare(RTF))


def test_documents_and_jobs_survive_the_wire() -> None:
    inner = Document("<p>x</p>", "x", Tags.of([("p", 0, 1)]), failure=Reason.DAMAGED, detail="d", name="n")
    links = (Link(Url.parse("https://example.org/"), "t", "nofollow"),)
    document = replace(inner, links=links, meta=Meta(author="a"), parts=(inner,), failure=None)
    assert wire.decode_document(wire.encode_document(document)) == document
    table = TABLE.extended({"place": ["x"]})
    source = Source(b"\0\xff", "text/html", "text/html; charset=x", links[0].target, "n", Limits(seconds=1), table)
    assert wire.decode_job(wire.encode_job(source)) == source


def test_frames() -> None:
    import io

    frames = [wire.head(content) + content for content in (b"one", b"", b"four")]
    stream = io.BytesIO(b"".join(frames)[:-1])
    assert wire.read_frame(stream.read) == b"one"
    assert wire.read_frame(stream.read) == b""
    assert wire.read_frame(stream.read) is None


def test_the_public_function() -> None:
    convert = getattr(fyke, "convert")  # noqa: B009 - a type checker takes fyke.convert for the room
    found = convert(b"<title>T</title><p>x <a href=y>z</a>", url="https://example.org/")
    assert (found.title, found.text, found.links[0].target.href) == ("T", "x z", "https://example.org/y")
    assert convert(b"").failure is Reason.EMPTY
    assert convert(b"x" * 20, limits=Limits(max_bytes=10)).failure is Reason.TOO_LARGE
    with pytest.raises(UrlError):
        convert(b"x", url="nonsense")
