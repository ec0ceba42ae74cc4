"""Mail between machines: bytes that arrive as they were sent, acknowledged once they are durable, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from fyke.clock import boot_time
from fyke.cluster.office import Bundles, Inbox, Office
from fyke.crawl.mail.carrier import MailTransport
from fyke.crawl.mail.outbox import Letter, Offer
from fyke.crawl.mail.remote import RemoteMail
from fyke.store.lineage import Committed


def letter(number: int, destination: int = 1) -> Letter:
    return Letter(0, destination, number, [Offer(f"http://h{number}.test/")], True)


async def between(
    folder: Path, work: Callable[[RemoteMail, list[Letter]], Awaitable[None]], owners: dict[int, str], durable: float
) -> list[Letter]:
    """Run ``work`` with a line to an office, whose other machine has one agent; return what that agent got."""
    got: list[Letter] = []
    committed = Committed(folder, 2)
    committed.begin()
    committed.note(0)
    committed.note(1, durable)

    async def receive(letters: list[Letter]) -> None:
        got.extend(letters)

    async def carry(node: str, bundles: Bundles) -> list[bytes]:
        if node != "b":
            raise OSError("gone")
        return await inbox.take(bundles)

    async def asked(data: bytes) -> bytes:
        return data[::-1]

    exchange = MailTransport(folder, 0, receive)
    inbox = Inbox(folder, lambda tablet: 0 if tablet == 1 else None, committed)
    office = Office(folder / "office.sock", owners.get, carry, asked)
    line = RemoteMail(folder / "office.sock")
    await exchange.open()
    await office.open()
    try:
        await work(line, got)
    finally:
        line.close()
        await office.close()
        inbox.close()
        await exchange.close()
        committed.close()
    return got


def test_letters_arrive_as_they_were_sent(tmp_path: Path) -> None:
    async def work(line: RemoteMail, got: list[Letter]) -> None:
        await asyncio.gather(*(line.send(1, [letter(number)]) for number in range(20)))
        assert await line.ask(b"?abc") == b"cba?", "questions about near copies go their own way"

    got = asyncio.run(between(tmp_path, work, {1: "b"}, float("inf")))
    assert sorted(each.number for each in got) == list(range(20))
    assert {each.offers[0].href for each in got} == {f"http://h{n}.test/" for n in range(20)}
    assert not any(each.judged for each in got), "who gets them judges what is unseen"


@pytest.mark.parametrize("owners", [{}, {1: "dead"}, {0: "b"}])
def test_what_cannot_be_delivered_is_said_so(tmp_path: Path, owners: dict[int, str]) -> None:
    async def work(line: RemoteMail, got: list[Letter]) -> None:
        tablet = next(iter(owners), 1)
        with pytest.raises(OSError, match="could not be had"):
            await line.send(tablet, [letter(1, tablet)])

    assert not asyncio.run(between(tmp_path, work, owners, float("inf")))


def test_nothing_is_acknowledged_before_it_is_durable(tmp_path: Path) -> None:
    async def work(line: RemoteMail, got: list[Letter]) -> None:
        sending = asyncio.ensure_future(line.send(1, [letter(1)]))
        committed = Committed(tmp_path, 2)
        while not got or not committed.wanted:  # applied there, and a commit is asked for
            await asyncio.sleep(0)
        assert not sending.done()
        committed.note(1, boot_time())
        await sending
        committed.close()

    assert len(asyncio.run(between(tmp_path, work, {1: "b"}, 0.0))) == 1


def test_without_other_machines_nothing_can_be_sent() -> None:
    async def main() -> None:
        with pytest.raises(OSError, match="no other machines"):
            await RemoteMail(None).send(1, [letter(1)])

    asyncio.run(main())
