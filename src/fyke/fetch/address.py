"""Which addresses may be contacted: a page on the public web cannot send the crawler into a private network.

Private, loopback, link-local and otherwise special addresses are contacted only for hosts that a seed itself
names, or when the user allows them all.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from functools import lru_cache


@lru_cache(maxsize=65_536)
def is_public(address: str) -> bool:
    """Whether ``address`` is globally reachable; what is no address is not. IPv4 inside IPv6 counts as itself."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or _nat64(ip) or (ip.teredo[1] if ip.teredo else None)
        if inner is not None:
            return inner.is_global and not inner.is_multicast
    return ip.is_global and not ip.is_multicast


def _nat64(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address in the well-known translation prefix 64:ff9b::/96."""
    if int(ip) >> 32 == 0x0064_FF9B << 64:
        return ipaddress.IPv4Address(int(ip) & 0xFFFF_FFFF)
    return None


@dataclass(frozen=True, slots=True)
class Veto:
    """The rule of one crawl."""

    named_hosts: frozenset[str] = frozenset()
    """Hosts (or addresses) that a seed names: they may be private."""
    allow_private: bool = False

    def permits(self, host: str, address: str) -> bool:
        """Whether ``address`` may be contacted for a URL with that ``host``."""
        return self.allow_private or host in self.named_hosts or is_public(address)
