"""Which addresses may be contacted: a page on the public web cannot send the crawler into a private network.

Private, loopback and otherwise special addresses are contacted only for hosts that a seed itself names, or when the
user allows them all. What a named host is, is decided once, by its first resolution: where that is private, the host
keeps to these addresses and to the seeds' ports; else it is public for good, so that no name server can turn a seed
into a way into the network of whoever crawls (DNS rebinding). Link-local and metadata addresses are reached by no name.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from functools import lru_cache

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_METADATA = frozenset(map(ipaddress.ip_address, ("168.63.129.16", "100.100.100.200", "fd00:ec2::254", "fd20:ce::254")))
"""Services of clouds that are not link-local."""
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
"""All IPv6 that is anybody's; what lies outside is special, old, or another family's address in disguise."""
_SPECIAL = tuple(
    map(ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2001:db8::/32", "3fff::/20"))
)
"""Of IANA's registries, whatever the standard library's table says of them."""


@lru_cache(maxsize=65_536)
def is_public(address: str) -> bool:
    """Whether ``address`` is globally reachable; what is no address is not. IPv4 inside IPv6 counts as itself."""
    ip = _read(address)
    if ip is None or ip in _METADATA or any(ip in network for network in _SPECIAL if network.version == ip.version):
        return False
    if ip.version == 6 and ip not in _GLOBAL_UNICAST:
        return False
    return ip.is_global and not ip.is_multicast


def _read(address: str) -> Address | None:
    """Return the address that a text names: the IPv4 address, where an IPv6 one only leads there."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return None
    if isinstance(ip, ipaddress.IPv6Address):
        return ip.ipv4_mapped or ip.sixtofour or _nat64(ip) or (ip.teredo[1] if ip.teredo else None) or ip
    return ip


def _nat64(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address in the well-known translation prefix 64:ff9b::/96."""
    if int(ip) >> 32 == 0x0064_FF9B << 64:
        return ipaddress.IPv4Address(int(ip) & 0xFFFF_FFFF)
    return None


class AddressPolicy:
    """The rule of one crawl."""

    def __init__(
        self,
        named_hosts: Iterable[str] = (),
        allow_private: bool = False,
        ports: Iterable[tuple[str, int]] = (),
    ) -> None:
        """``named_hosts`` are hosts (or addresses) that a seed names: they may be private.

        Those among ``ports``, as (host, port), are so at these ports alone.
        """
        self._allow_private = allow_private
        self._pinned: dict[str, frozenset[str] | None] = dict.fromkeys(named_hosts)
        self._ports: dict[str, set[int]] = {}
        for host, port in ports:
            self._ports.setdefault(host, set()).add(port)

    def name(self, host: str, port: int) -> None:
        """Count a host among those that a seed names, at that port."""
        self._pinned.setdefault(host, None)
        self._ports.setdefault(host, set()).add(port)

    def choose(self, host: str, port: int, addresses: Iterable[str]) -> list[str]:
        """Return those of a host's addresses that may be contacted; the first call decides what a named host is."""
        addresses = list(addresses)
        if self._pinned.get(host, frozenset()) is None and addresses:
            private = not is_public(addresses[0])
            fit = (a for a in addresses if not is_public(a) and (a == host.strip("[]") or not _is_near(a)))
            self._pinned[host] = frozenset(fit) if private else frozenset()
        return [address for address in addresses if self.permits(host, port, address)]

    def permits(self, host: str, port: int, address: str) -> bool:
        """Whether ``address`` may be contacted for a URL with that ``host`` and ``port``."""
        if self._allow_private:
            return True
        pinned = self._pinned.get(host)
        if not pinned:
            return is_public(address)
        return address in pinned and (host not in self._ports or port in self._ports[host])


def _is_near(address: str) -> bool:
    """Whether an address is link-local, or a cloud's own service: no name has business there."""
    ip = _read(address)
    return ip is None or ip.is_link_local or ip in _METADATA
