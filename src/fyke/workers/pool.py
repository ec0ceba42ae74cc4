"""A pool of worker processes, each bounded in time, memory and output, killed and replaced when it hangs or crashes.

A worker's life: started when first needed → ready (it has said so) → busy with one job → ready … → ended after
``JOBS_PER_WORKER`` jobs, or killed when its job's time is over, its answer too long, or it died by itself. A job's
time is what the worker computes, which it bounds itself (workers/confine.py); here ends one that waits for something.
Each worker has one thread here that waits for it; nobody else touches it, but to kill it. Two ways to call, one machine
behind them::

    with Pool() as pool:
        document = pool.convert(source)           # blocks
        document = await pool.aconvert(source)    # does not block the loop
"""

from __future__ import annotations

import asyncio
import os
import queue
import selectors
import signal
import subprocess
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from types import TracebackType
from weakref import WeakSet

from fyke.bits.kernelcache import cache_directory
from fyke.errors import FykeError
from fyke.reading.conversion import LIMITS, Source, failed
from fyke.spawning import python
from fyke.values import Document, Reason
from fyke.workers import wire

JOBS_PER_WORKER = 500
"""After so many jobs a worker is replaced: whatever a library leaks goes with it."""
START_SECONDS = 600.0
"""How long a worker may take to be ready: the first ever compiles kernels, and the machine may be busy."""
WAITING = 6.0
"""Times a job's seconds that it may take by the clock: a busy machine has as many processes to a core at times."""
END_SECONDS = 5.0
"""How long a worker without a job may take to end; then it is killed."""
_FRAME_OVERHEAD = 1_000_000
"""Bytes of an answer beside HTML, text and their tags: title, metadata, links."""
_CHUNK = 1 << 20
_TOLD = ("PYTHONPATH", "LD_LIBRARY_PATH", "NUMBA_DISABLE_JIT", "FYKE_KERNEL_LOG")
"""Variables of the environment that workers keep until they are ready."""

_pools: WeakSet[Pool] = WeakSet()

_Work = tuple[Source, "Future[Document]"]


class Pool:
    """A fixed number of worker processes, one per core unless told otherwise."""

    def __init__(
        self, size: int | None = None, memory: int = LIMITS.memory, module: str = "fyke.workers.child"
    ) -> None:
        """``memory`` bounds each worker; ``module`` is what its process runs."""
        self.size = size or os.cpu_count() or 1
        self._memory = memory
        self._module = module
        self._begin()
        _pools.add(self)

    def _begin(self) -> None:
        """Have no worker yet. A forked child begins anew: threads do not survive a fork, and the workers are not its.

        (What leads to the parent's workers is closed in the child, so that they end when the parent does.)
        """
        for worker in getattr(self, "_workers", ()):
            worker.abandon()
        self._jobs: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._workers: list[_Worker] = []
        self._lock = threading.Lock()
        self._idle = 0
        self._closed = self._killed = False

    def submit(self, source: Source) -> Future[Document]:
        """Queue a job; the future never raises for what the document is."""
        future: Future[Document] = Future()
        with self._lock:
            if self._closed:
                raise FykeError("the pool of workers is closed; make a new one")
            if self._idle <= self._jobs.qsize() and len(self._threads) < self.size:
                thread = threading.Thread(target=self._serve, name="fyke-worker", daemon=True)
                self._threads.append(thread)
                thread.start()
            self._jobs.put((source, future))
        return future

    def convert(self, source: Source) -> Document:
        """Convert in a worker; blocks until it is done or killed."""
        return self.submit(source).result()

    async def aconvert(self, source: Source) -> Document:
        """Convert in a worker; other tasks go on."""
        return await asyncio.wrap_future(self.submit(source))

    def close(self) -> None:
        """Finish what is queued, end the workers, and leave no process behind."""
        self._stop()
        for thread in self._threads:
            thread.join()

    def kill(self) -> None:
        """End every worker at once: what they were doing fails, what was queued is cancelled."""
        with self._lock:
            self._closed = self._killed = True
            workers = list(self._workers)
        with suppress(queue.Empty):
            while True:
                work = self._jobs.get_nowait()
                if work is not None:
                    work[1].cancel()
        self._stop()
        for worker in workers:
            worker.kill()

    def _stop(self) -> None:
        """Take no more jobs; each thread ends once it has done those before."""
        with self._lock:
            self._closed = True
        for _ in self._threads:
            self._jobs.put(None)

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _serve(self) -> None:
        """One thread's life: take jobs, keep a worker for them."""
        worker: _Worker | None = None
        while True:
            with self._lock:
                self._idle += 1
            work = self._jobs.get()
            with self._lock:
                self._idle -= 1
            if work is None:
                break
            source, future = work
            if not future.set_running_or_notify_cancel():
                continue  # nobody waits for it any more
            try:
                if worker is None or worker.jobs >= JOBS_PER_WORKER or not worker.alive:
                    worker = self._replace(worker)
                future.set_result(worker.convert(source))
            except BaseException as error:  # a bug of ours must reach the caller, not end the thread
                if worker is not None:
                    worker.kill()
                future.set_exception(error)
        if worker is not None:
            worker.end()

    def _replace(self, old: _Worker | None) -> _Worker:
        if old is not None:
            old.end()
        new = _Worker(self._module, self._memory)
        with self._lock:
            self._workers = [worker for worker in self._workers if worker is not old] + [new]
            late = self._killed
        if late:
            new.kill()
        return new


class _Worker:
    """One process, seen from its thread."""

    def __init__(self, module: str, memory: int) -> None:
        self._memory = memory
        self.jobs = 0
        self.alive = True
        self._ready = False
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            python(module, str(memory)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env=_environment(),
            process_group=0,
        )

    def convert(self, source: Source) -> Document:
        """Give the worker a job and wait for its answer, its death, or the end of its time."""
        if not self._ready:
            try:
                began = self._exchange(None, START_SECONDS, _FRAME_OVERHEAD)
            except TimeoutError:
                self.kill()
                return failed(source, Reason.TIMEOUT, f"its converter did not start within {START_SECONDS:g} s")
            if began is None:
                self.kill()
                raise FykeError(
                    "a worker process does not start; run `python -m fyke.workers.child 1000000000` to see why"
                )
            self._ready = True
        self.jobs += 1
        limits = source.limits
        longest = WAITING * limits.seconds
        try:
            answer = self._exchange(wire.encode_job(source), longest, 8 * limits.max_text + _FRAME_OVERHEAD)
        except TimeoutError:
            self.kill()
            return failed(source, Reason.TIMEOUT, f"killed after {longest:g} s")
        except ValueError as error:
            self.kill()
            return failed(source, Reason.TOO_LARGE, str(error))
        if answer is None:
            return failed(source, *self._epitaph())
        return wire.decode_document(answer)

    def abandon(self) -> None:
        """Close our copies of the pipes of a process that is another's."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self._process.returncode = 0  # nobody here is to wait for it

    def kill(self) -> None:
        """End the process now, from whatever thread; its own still calls ``end``."""
        self.alive = False
        with suppress(ProcessLookupError, PermissionError):  # whatever it has started goes with it
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """Let the process end by itself, since its input is over, and close what led to it."""
        self.alive = False
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process.stdout.close()

    def _exchange(self, job: bytes | None, seconds: float, limit: int) -> bytearray | None:
        """Send a frame and return the answering one, None if the worker died.

        Raises ``TimeoutError``, and ``ValueError`` for an answer beyond ``limit``.
        """
        deadline = time.monotonic() + seconds
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        pending = memoryview(b"" if job is None else wire.head(job))
        got = bytearray()
        with selectors.DefaultSelector() as selector:
            os.set_blocking(self._process.stdin.fileno(), False)
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if pending:
                selector.register(self._process.stdin, selectors.EVENT_WRITE)
            while True:
                left = deadline - time.monotonic()
                ready = selector.select(left) if left > 0 else []
                if not ready and left <= 0:
                    raise TimeoutError
                for key, _ in ready:
                    if key.fileobj is self._process.stdin:
                        pending = self._send(pending)
                        if not pending and job is not None:
                            pending, job = memoryview(job), None
                        if not pending:
                            selector.unregister(self._process.stdin)
                        continue
                    chunk = os.read(self._process.stdout.fileno(), _CHUNK)
                    got += chunk
                    size = int.from_bytes(got[: wire.HEAD], "little") if len(got) >= wire.HEAD else 0
                    if size > limit:
                        raise ValueError(f"a document of {size:,} bytes; the limit is {limit:,}")
                    if len(got) >= wire.HEAD + size:
                        del got[wire.HEAD + size :], got[: wire.HEAD]
                        return got
                    if not chunk:
                        return None

    def _send(self, pending: memoryview) -> memoryview:
        assert self._process.stdin is not None
        try:
            return pending[os.write(self._process.stdin.fileno(), pending[:_CHUNK]) :]
        except BlockingIOError:
            return pending
        except BrokenPipeError:
            return pending[len(pending) :]  # it died; reading tells

    def _epitaph(self) -> tuple[Reason, str]:
        """Return why a worker died by itself."""
        self.kill()
        code = self._process.returncode
        if code == -signal.SIGXCPU:
            return Reason.TIMEOUT, "killed when its processor time was over"
        if code in (-signal.SIGABRT, signal.SIGABRT + 128) or code == -signal.SIGKILL:
            return Reason.TOO_LARGE, f"the converter needed more than {self._memory:,} bytes of memory"
        return Reason.DAMAGED, f"the converter crashed (status {code})"


def _environment() -> dict[str, str]:
    """What a worker is told: where kernels and modules are, and nothing else of what the caller's environment holds."""
    kept = {name: os.environ[name] for name in _TOLD if name in os.environ}
    return {**kept, "FYKE_CACHE_DIR": str(cache_directory())}


def _begin_anew() -> None:
    for pool in list(_pools):
        pool._begin()


os.register_at_fork(after_in_child=_begin_anew)
