"""A site of a few pages on loopback, whose requests are kept: for tests of commands that talk to one server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from time import monotonic


@dataclass(frozen=True)
class Answer:
    """What is said of a path."""

    body: bytes = b""
    kind: str = "text/html; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


def page(title: str, *links: str, text: str = "") -> Answer:
    """A page with links."""
    anchors = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    body = f"<html><head><title>{title}</title></head><body><h1>{title}</h1><p>{text or title}</p><ul>{anchors}</ul>"
    return Answer(f"{body}</body></html>".encode())


def moved(target: str) -> Answer:
    """A redirect."""
    return Answer(status=302, headers={"Location": target})


class Site:
    """A running site."""

    def __init__(self, port: int) -> None:
        self.root = f"http://127.0.0.1:{port}"
        self.requests: list[tuple[str, dict[str, str]]] = []
        """Path and headers (names in lower case) of each request."""
        self.spans: list[tuple[float, float]] = []
        """When each answer began and ended, in their order."""

    @property
    def paths(self) -> list[str]:
        """The paths that were asked for."""
        return [path for path, _ in self.requests]

    def headers(self, path: str) -> dict[str, str]:
        """The headers of the first request for ``path``."""
        return next(headers for asked, headers in self.requests if asked == path)


@contextmanager
def serving(pages: Mapping[str, Answer]) -> Iterator[Site]:
    """Serve ``pages`` by their paths; anything else is 404."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            began = monotonic()
            site.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            said = pages.get(self.path, Answer(b"nothing here", "text/plain", 404))
            self.send_response(said.status)
            for name, value in {"Content-Type": said.kind, **said.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(said.body)))
            self.end_headers()
            self.wfile.write(said.body[:-1])
            site.spans.append((began, monotonic()))  # before the last byte: the next request cannot be here by then
            self.wfile.write(said.body[-1:])

        def log_message(self, *arguments: object) -> None:
            pass

    with listening(Handler) as port:
        site = Site(port)
        yield site


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """Answer by ``handler`` on a port of loopback, which is yielded; a request comes after that."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
