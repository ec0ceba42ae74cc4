from __future__ import annotations

import asyncio

import pytest

from fyke.clock import VirtualClock
from fyke.fetch.address import is_public
from fyke.fetch.dns import Resolver


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:1.1.1.1"])
def test_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    "127.0.0.1 127.8.8.8 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 0.0.0.0 100.64.0.1 224.0.0.1 255.255.255.255 "
    "::1 :: fe80::1 fe80::1%eth0 fc00::1 ff02::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 "
    "64:ff9b::7f00:1 2002:7f00:1:: nonsense fec0::1 ::1.2.3.4 ::808:808 64:ff9b:1::808:808 168.63.129.16 "
    "::ffff:168.63.129.16 64:ff9b::a83f:8110 2002:a83f:8110:: ::ffff:0:127.0.0.1 fd00:ec2::254 100.100.100.200 "
    "192.0.0.8 192.88.99.1 5f00::1 100:0:0:1::1 2001:db8::1 3fff::1".split(),
)
def test_not_public(address: str) -> None:
    assert not is_public(address)


def test_fixed_names_and_literals_need_no_server() -> None:
    async def main() -> None:
        resolver = Resolver(VirtualClock(), {"a.test": "127.0.0.9"})
        assert (await resolver.resolve("a.test")).addresses == ("127.0.0.9",)
        assert (await resolver.resolve("127.0.0.1")).addresses == ("127.0.0.1",)
        assert (await resolver.resolve("[::1]")).addresses == ("::1",)
        assert resolver.known("b.test") is None
        await resolver.close()

    asyncio.run(main())


def test_the_hosts_file_is_asked_once_per_lifetime() -> None:
    async def main() -> None:
        clock = VirtualClock()
        resolver = Resolver(clock)
        first = await resolver.resolve("localhost")
        assert set(first.addresses) <= {"127.0.0.1", "::1"}
        assert first.addresses
        assert resolver.known("localhost") is first
        clock.advance(86_401)
        assert resolver.known("localhost") is None
        await resolver.close()

    asyncio.run(main())
