"""A small internet: public-looking addresses, a name server and web servers of ours, inside a network namespace.

A test hands a scenario, a coroutine function of its own module that takes an ``Internet``, to ``run_inside``: that runs
it in a new namespace (``unshare -n -m``: root, Linux), where whole networks are routed to the loopback device and
``/etc/resolv.conf`` names the server below, and returns what the scenario returned. The crawl is the real ``fyke``, a
process of its own; what the servers logged and what stands in the store is what tests look at.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

NETWORKS = ("93.184.0.0/16", "2606:2800::/32")
"""What is routed to the loopback device."""
NOWHERE = "93.185.0.0/16"
"""What leads nowhere."""
NXDOMAIN, SERVFAIL, SILENT = "nxdomain", "servfail", "silent"
RESET = "reset"
Reply = "bytes | list[bytes | float | str]"
"""An answer as it goes over the wire: bytes to send, seconds to wait, ``RESET``."""
DEADLINE = 800.0
"""Seconds for a whole scenario: generous, as the machine may be busy."""


@dataclass(frozen=True)
class Chain:
    """A name that is another's, and so on, and in the end an address's; without one it is its own."""

    length: int
    address: str = ""

    def records(self, kind: int) -> tuple[int, bytes]:
        """How many records, and these; names are told whole, as a hostile server would."""
        if not self.address:
            return 1, struct.pack("!HHHIHH", 0xC00C, 5, 1, 60, 2, 0xC00C)
        found, owner = b"", b"\xc0\x0c"
        for number in range(self.length):
            label = b"c%d" % number
            target = bytes([len(label)]) + label + b"\x07example\x00"
            found += owner + struct.pack("!HHIH", 5, 1, 60, len(target)) + target
            owner = target
        if kind != 1:
            return self.length, found
        return self.length + 1, found + owner + struct.pack("!HHIH", 1, 1, 60, 4) + socket.inet_aton(self.address)


@dataclass(frozen=True)
class Request:
    """What a server was asked."""

    at: float
    host: str
    """Of the Host header, without its port."""
    target: str
    address: str
    """Where it was asked."""
    port: int
    head: str
    body: str = ""

    def header(self, name: str) -> str:
        lines = (line.partition(":") for line in self.head.split("\r\n")[1:])
        return next((value.strip() for key, _, value in lines if key.lower() == name.lower()), "")

    @property
    def url(self) -> str:
        scheme, default = ("https", 443) if self.port == 443 else ("http", 80)
        return f"{scheme}://{self.host}{'' if self.port == default else f':{self.port}'}{self.target}"


Handler = Callable[[Request], Any]


def answer(body: bytes | str = b"", status: str = "200 OK", *headers: str) -> bytes:
    """A whole answer, HTML unless ``headers`` say otherwise."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(data)}", "Connection: close"]
    if not any(line.lower().startswith("content-type") for line in headers):
        lines.append("Content-Type: text/html; charset=utf-8")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def page(title: str, links: Iterable[str] = ()) -> bytes:
    """A page of some words of its own that links elsewhere."""
    words = " ".join(f"{title.strip('/')}{i} says number {i * 7919 % 1000}" for i in range(12))
    anchors = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    return answer(f"<html><head><title>{title}</title></head><body><p>{words}.</p><ul>{anchors}</ul></body></html>")


def site(pages: int, links: Iterable[str] = (), robots: bytes | None = None) -> Handler:
    """A site of ``pages`` pages: the root links to all, and to ``links``."""

    def handle(request: Request) -> bytes:
        if request.target == "/robots.txt" and robots is not None:
            return robots
        name = request.target.strip("/")
        if request.target == "/":
            return page(f"{request.host} home", [*(f"/{i}" for i in range(1, pages)), *links])
        if name.isdigit() and int(name) < pages:
            return page(f"{request.host} page {name}")
        return answer("nothing", "404 Not Found")

    return handle


@dataclass
class Crawl:
    """A crawl that has ended."""

    status: int
    summary: dict[str, Any]
    stderr: str
    seconds: float


@dataclass
class Internet:
    """Names, addresses and servers. Everything may be changed while a crawl runs."""

    folder: Path
    names: dict[str, Any] = field(default_factory=dict)
    """Host to its addresses, NXDOMAIN, SERVFAIL, SILENT, a Chain, bytes in place of records, or a function of these."""
    ttl: int = 300
    handlers: dict[str, Handler] = field(default_factory=dict)
    """Host to what answers for it; ``host:port`` where a port has an answer of its own."""
    log: list[Request] = field(default_factory=list)
    questions: list[tuple[float, str]] = field(default_factory=list)
    _stack: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)

    async def open(self, ports: Iterable[int] = (80,), tls_ports: Iterable[int] = ()) -> None:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(lambda: Names(self), local_addr=("127.0.0.1", 53))
        self._stack.callback(transport.close)
        context = _certificates(self.folder, self.names) if tls_ports else None
        for port in [*ports, *tls_ports]:
            secure = context if port in tls_ports else None
            for bind in ("0.0.0.0", "::"):
                server = await asyncio.start_server(self._serve, bind, port, ssl=secure, backlog=1024)
                self._stack.push_async_callback(_closed, server)

    async def close(self) -> None:
        await self._stack.aclose()

    def host(self, name: str, addresses: Any, handler: Handler) -> None:
        """Put a host on the net."""
        self.names[name] = addresses
        self.handlers[name] = handler

    async def fyke(self, *words: str) -> tuple[int, str, str]:
        """Run a command; return its status and what it printed."""
        process = await self.start(*words)
        out, err = await process.communicate()
        return process.returncode or 0, out.decode(), err.decode()

    async def start(self, *words: str) -> asyncio.subprocess.Process:
        """Start a command."""
        environment = {**os.environ, "SSL_CERT_FILE": str(self.folder / "ca.pem")}
        if not (self.folder / "ca.pem").exists():
            del environment["SSL_CERT_FILE"]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "fyke", *words),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
        )
        self._stack.callback(_end, process)
        return process

    async def crawl(self, *words: str) -> Crawl:
        """Run ``fyke crawl … --json`` into the store of this net."""
        began = time.time()
        status, out, err = await self.fyke("crawl", *words, "--store", str(self.store), "--json")
        lines = out.strip().splitlines()
        return Crawl(status, json.loads(lines[-1]) if lines else {}, err, time.time() - began)

    @property
    def store(self) -> Path:
        return self.folder / "store"

    def rows(self) -> dict[str, str]:
        """What stands in the store: URL to its status, or its error."""
        from fyke.store import Store

        with Store.open(self.store, "r") as store:
            return {row.url: row.meta.error or str(row.meta.status) for row in store.scan() if row.versions}

    def evidence(self) -> list[str]:
        """What the crawl said of itself: for whoever reads of a failure."""
        told = [*sorted((self.store / "status").glob("*.json")), self.store / "fyke.log"]
        last = [f"{r.at:.1f} {r.url}" for r in self.log[-5:]]
        return [f"{path.name}: {path.read_text()[-3000:]}" for path in told if path.exists()] + last

    def pages(self) -> set[str]:
        """The URLs of the documents in the store."""
        return {url for url, told in self.rows().items() if told == "200" and not url.endswith("/sitemap.xml")}

    def gaps(self, key: Callable[[Request], object]) -> float:
        """The shortest time between the starts of two contacts with the same key."""
        last: dict[object, float] = {}
        shortest = float("inf")
        for request in sorted(self.log, key=lambda each: each.at):
            group = key(request)
            if group in last:
                shortest = min(shortest, request.at - last[group])
            last[group] = request.at
        return shortest

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            local = writer.get_extra_info("sockname")
            host = next((line[5:].strip() for line in head.split("\r\n") if line.lower().startswith("host:")), "")
            address = local[0].removeprefix("::ffff:")
            bare = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() and "]" not in host[-1:] else host
            request = Request(time.time(), bare, head.split(" ")[1], address, local[1], head)
            if size := request.header("content-length"):
                request = replace(request, body=(await reader.readexactly(int(size))).decode("latin-1"))
            self.log.append(request)
            handler = self.handlers.get(f"{bare}:{local[1]}") or self.handlers.get(bare)
            reply = handler(request) if handler is not None else answer("no such host", "421 Misdirected")
            if isinstance(reply, Awaitable):
                reply = await reply
            for part in [reply] if isinstance(reply, bytes) else reply:
                if isinstance(part, bytes):
                    writer.write(part)
                    await writer.drain()
                elif part == RESET:
                    sock = writer.get_extra_info("socket")
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                else:
                    await asyncio.sleep(float(part))
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


class Names(asyncio.DatagramProtocol):
    """The name server."""

    def __init__(self, net: Internet) -> None:
        self._net = net
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, client: Any) -> None:
        name, at = [], 12
        while data[at]:
            name.append(data[at + 1 : at + 1 + data[at]].decode("latin-1"))
            at += data[at] + 1
        question, kind = data[12 : at + 5], int.from_bytes(data[at + 1 : at + 3], "big")
        host = ".".join(name).lower()
        self._net.questions.append((time.time(), host))
        known = self._net.names.get(host, NXDOMAIN)
        known = known() if callable(known) else known
        if known == SILENT:
            return
        assert self._transport is not None
        if hasattr(known, "records") or isinstance(known, bytes):  # this module may be here twice, once as __main__
            count, records = (9, known) if isinstance(known, bytes) else known.records(kind)
            head = data[:2] + struct.pack("!HHHHH", 0x8180, 1, count, 0, 0)
            self._transport.sendto(head + question + records, client)
            return
        code = {NXDOMAIN: 3, SERVFAIL: 2}.get(known, 0) if isinstance(known, str) and ":" not in known else 0
        addresses = [] if code else [known] if isinstance(known, str) else list(known)
        if isinstance(known, str) and code == 0 and known[0].isdigit() is False and ":" not in known:
            addresses = []
        wanted = [each for each in addresses if (":" in each) == (kind == 28)] if kind in (1, 28) else []
        records = b""
        for each in wanted:
            packed = socket.inet_pton(socket.AF_INET6 if ":" in each else socket.AF_INET, each)
            records += struct.pack("!HHHIH", 0xC00C, kind, 1, self._net.ttl, len(packed)) + packed
        head = data[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, len(wanted), 0, 0)
        self._transport.sendto(head + question + records, client)


def _end(process: asyncio.subprocess.Process) -> None:
    """Leave no process behind, whatever became of the scenario."""
    if process.returncode is None:
        process.kill()


async def _closed(server: asyncio.Server) -> None:
    server.close()


def _certificates(folder: Path, names: Mapping[str, Any]) -> ssl.SSLContext:
    """A certificate authority, and one certificate for every name."""
    key, cert, config = folder / "key.pem", folder / "ca.pem", folder / "openssl.cnf"
    alternatives = ",".join(f"DNS:{name}" for name in names) or "DNS:nobody.test"
    config.write_text(
        "[req]\ndistinguished_name=dn\nx509_extensions=v3\nprompt=no\n[dn]\nCN=small internet\n"
        f"[v3]\nsubjectAltName={alternatives}\nbasicConstraints=critical,CA:TRUE\n"
    )
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]  # quicker made than RSA's
    command = ["openssl", "req", "-x509", *kind, "-nodes", "-days", "2", "-config", str(config)]
    subprocess.run([*command, "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context


# ---- running scenarios


def run_inside(scenario: Callable[..., Awaitable[Any]], **options: Any) -> Any:
    """Run a scenario in a namespace of its own; return what it returned, by way of JSON."""
    why = unavailable()
    if why:
        pytest.skip(why)
    spec = sys.modules[scenario.__module__].__spec__  # of ``python -m`` too
    name = f"{spec.name if spec is not None else scenario.__module__}:{scenario.__name__}"
    command = [
        "unshare",
        "--net",
        "--mount",
        "--fork",
        "--kill-child",
        sys.executable,
        "-m",
        "tests.crawl.internet.net",
    ]
    done = subprocess.run(
        [*command, name, json.dumps(options)],
        capture_output=True,
        timeout=DEADLINE,
        check=False,
        cwd=Path(__file__).parents[3],
    )
    assert done.returncode == 0, done.stderr.decode()[-12000:]
    return json.loads(done.stdout.splitlines()[-1])


def unavailable() -> str:
    """Why there can be no namespace here; empty where there can."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return "a private network namespace needs Linux and root"
    for program in ("unshare", "ip", "mount", "openssl"):
        if shutil.which(program) is None:
            return f"a private network namespace needs `{program}`"
    tried = subprocess.run(["unshare", "--net", "--mount", "true"], capture_output=True, check=False)
    return "" if tried.returncode == 0 else "this machine allows no private network namespace"


def _prepare(folder: Path) -> None:
    resolver = folder / "resolv.conf"
    resolver.write_text("nameserver 127.0.0.1\noptions timeout:2 attempts:2\n")
    commands = ["ip link set lo up", f"mount --bind {resolver} /etc/resolv.conf"]
    commands += [f"ip {'-6 ' if ':' in net else ''}route add local {net} dev lo" for net in NETWORKS]
    commands += [f"ip route add unreachable {NOWHERE}"]
    for command in commands:
        subprocess.run(command.split(), check=True, capture_output=True)


async def _main(scenario: Callable[..., Awaitable[Any]], options: dict[str, Any]) -> Any:
    with tempfile.TemporaryDirectory(prefix="fyke-internet-") as name:
        folder = Path(name)
        _prepare(folder)
        net = Internet(folder)
        try:
            return await scenario(net, **options)
        except BaseException:
            print("\n".join(net.evidence()), file=sys.stderr)
            raise
        finally:
            await net.close()


if __name__ == "__main__":
    import importlib

    module, _, function = sys.argv[1].partition(":")
    found = getattr(importlib.import_module(module), function)
    result = asyncio.run(_main(found, json.loads(sys.argv[2])))
    print(json.dumps(result))
