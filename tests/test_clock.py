from __future__ import annotations

import asyncio
import random
import socket
import time

import pytest

from fyke.clock import LoopLag, SystemClock, VirtualClock, boot_time
from fyke.interfaces import Clock


def run(clock: Clock, seconds: float) -> float:
    async def main() -> float:
        before = clock.now()
        await clock.sleep(seconds)
        return clock.now() - before

    return clock.run(main()) if isinstance(clock, VirtualClock) else asyncio.run(main())


@pytest.mark.parametrize("clock", [SystemClock(), VirtualClock()], ids=["system", "virtual"])
def test_contract_sleep_lets_at_least_that_time_pass(clock: Clock) -> None:
    assert run(clock, 0.01) >= 0.009
    assert run(clock, 0) >= 0


def test_virtual_time_moves_only_when_all_sleep() -> None:
    clock = VirtualClock(start=1000.0)
    seen: list[tuple[str, float]] = []

    async def sleeper(name: str, naps: list[float]) -> None:
        for nap in naps:
            await clock.sleep(nap)
            for _ in range(100):  # busy, yielding: no time passes
                before = clock.now()
                await asyncio.sleep(0)
                assert clock.now() == before
            seen.append((name, clock.now()))

    async def main() -> None:
        await asyncio.gather(sleeper("a", [10, 10]), sleeper("b", [15]), sleeper("c", [86_400 * 60]))

    clock.run(main())
    assert seen == [("a", 1010), ("b", 1015), ("a", 1020), ("c", 1000 + 86_400 * 60)]


def test_virtual_time_governs_timeouts() -> None:
    clock = VirtualClock()

    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3600):
                await asyncio.Event().wait()

    before = clock.now()
    clock.run(main())
    assert clock.now() - before == pytest.approx(3600)


def test_virtual_time_stands_still_for_ready_sockets() -> None:
    clock = VirtualClock()

    async def main() -> float:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(await reader.readline())
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"hello\n")
            assert await reader.readline() == b"hello\n"
            writer.close()
            await writer.wait_closed()
        return clock.now()

    before = clock.now()
    assert clock.run(main()) == before


def test_time_goes_on_where_the_machine_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    wall, boot = [1000.0], [50.0]
    monkeypatch.setattr("fyke.clock.time.time", lambda: wall[0])
    monkeypatch.setattr("fyke.clock._gettime", lambda clock: boot[0])
    clock = SystemClock()
    assert clock.now() == 1000
    boot[0], wall[0] = 60.0, 1010.0
    assert clock.now() == 1010
    boot[0], wall[0] = 65.0, 415.0  # corrected by ten minutes
    assert clock.now() == 1015, "neither back nor still"
    boot[0], wall[0] = 67.0, 2000.0
    assert clock.now() == 2000, "forward it follows"


def test_a_process_that_is_put_aside_between_two_readings_does_not_run_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine it may be put aside anywhere: a gap would be over as much too soon."""
    chance, true = random.Random(7), [1000.0]

    def reading(ahead: float) -> float:
        true[0] += chance.choice([0.0, 0.0, 0.0001, 0.2])
        return true[0] + ahead

    monkeypatch.setattr("fyke.clock.time.time", lambda: reading(5e8))
    monkeypatch.setattr("fyke.clock._gettime", lambda clock: reading(0.0))
    clock = SystemClock()
    for _ in range(2000):
        before = true[0] + 5e8
        gone = clock.now() - before
        assert gone <= true[0] + 5e8 - before, "it tells no time that has not come"
        true[0] += 0.3


def test_what_a_loop_lost_is_known_to_whoever_reads_first() -> None:
    """After a hold sockets are read before timers run: an answer that lay there would seem to have taken as long."""

    async def main() -> tuple[float, float, float]:
        loop, lag, read = asyncio.get_running_loop(), LoopLag(), asyncio.Event()
        ours, theirs = socket.socketpair()
        seen: list[float] = []

        def on_read() -> None:
            seen.append(lag.lost)
            loop.remove_reader(ours)
            read.set()

        with ours, theirs:
            lag.start()
            await asyncio.sleep(0)
            before, began = lag.lost, boot_time()
            loop.add_reader(ours, on_read)
            theirs.send(b"an answer")
            time.sleep(0.5)  # the hold
            held = boot_time() - began
            await read.wait()
            await asyncio.sleep(2 * lag.TICK)
            lag.stop()
        return held, seen[0] - before, lag.lost - before

    held, at_reading, afterwards = asyncio.run(main())
    assert at_reading >= held - 2 * LoopLag.TICK
    assert afterwards >= at_reading
