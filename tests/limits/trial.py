"""Trials of limits, by the names that docs/limits.md has for them: each pushes past one."""

from __future__ import annotations

from collections.abc import Callable

from fyke.formats import http
from fyke.url import Url

HERE = Url.parse("http://a.test/")
HTML = http.parse_head(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
Trial = Callable[[], object]
TRIALS: dict[str, Trial] = {}


def trial(name: str) -> Callable[[Trial], Trial]:
    """Name a trial as the row of docs/limits.md does. It returns whether what came of it is bounded."""

    def named(function: Trial) -> Trial:
        assert name not in TRIALS
        TRIALS[name] = function
        return function

    return named
