"""HTTP heads: the status line and header lines of a response, as received and as names and values.

Tolerant, as servers are sloppy: bare LF, missing reason, folded lines, bytes that are not ASCII (read as
Latin-1, so that nothing is lost). A line without a colon is ignored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_STATUS = re.compile(rb"\s*HTTP/\d(?:\.\d)?\s+(\d{3})\b")
_FOLD = re.compile(rb"\r?\n[ \t]+")


@dataclass(frozen=True, slots=True)
class Head:
    """A response's status and headers, in the order received."""

    status: int
    """0 where there is no readable status line."""
    headers: tuple[tuple[str, str], ...]

    def get(self, name: str) -> str:
        """The first header of that name, in any case; empty where there is none."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), "")

    def get_all(self, name: str) -> list[str]:
        """Every header of that name, in any case."""
        wanted = name.lower()
        return [value for key, value in self.headers if key.lower() == wanted]

    @property
    def media_type(self) -> str:
        """The declared media type in lower case, without parameters."""
        return self.get("content-type").partition(";")[0].strip().lower()


def parse_head(data: bytes) -> Head:
    """Read a head; what cannot be read is left out. Never raises."""
    first, _, rest = data.partition(b"\n")
    match = _STATUS.match(first)
    headers = []
    for line in _FOLD.sub(b" ", rest).split(b"\n"):
        name, colon, value = line.partition(b":")
        if colon and name.strip():
            headers.append((name.strip().decode("latin-1"), value.strip().decode("latin-1")))
    return Head(int(match[1]) if match else 0, tuple(headers))


def build_head(status: int, reason: str, headers: list[tuple[str, str]]) -> bytes:
    """Write a response head, with the empty line that ends it."""
    lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
