"""The benchmark site: static pages of 20 KB with 51 links over 50 loopback hosts, served by nginx.

Page n of the site is on host n mod 50. Its links lead to pages 2n+1 and 2n+2 (so that everything is reachable from
page 0), to 48 others, and home. Made once per size under the temporary directory; gzip is done ahead.
"""

from __future__ import annotations

import contextlib
import gzip
import random
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

HOSTS = 50
PORT = 28_180
LINKS = 51
SIZE = 20_000


def host(n: int) -> str:
    """The address of host ``n``."""
    return f"127.0.2.{n % HOSTS + 1}"


def url(n: int) -> str:
    """The address of page ``n``."""
    return f"http://{host(n)}:{PORT}/p/{n // HOSTS % 100}/{n}.html"


def page(n: int, count: int, words: list[str]) -> str:
    chance = random.Random(n)
    targets = [2 * n + 1, 2 * n + 2, 0] + [chance.randrange(count) for _ in range(LINKS - 3)]
    links = [f'<li><a href="{_href(n, t % count)}">{chance.choice(words)} {t}</a></li>' for t in targets]
    parts = [
        f"<!DOCTYPE html><html><head><meta charset=utf-8><title>Page {n}</title></head><body><nav><ul>",
        *links,
        f"</ul></nav><main><h1>Page {n}</h1>",
    ]
    size = sum(map(len, parts))
    while size < SIZE - 200:
        text = " ".join(chance.choices(words, k=60))
        parts.append(f"<p>{text}.</p>")
        size += len(text) + 8
    return "\n".join([*parts, "</main><footer>A footer.</footer></body></html>"])


def _href(here: int, there: int) -> str:
    return url(there)[len(f"http://{host(there)}:{PORT}") :] if here % HOSTS == there % HOSTS else url(there)


def make(count: int) -> Path:
    """Write the site of ``count`` pages unless it is there; return its folder."""
    folder = Path(tempfile.gettempdir()) / f"fyke-bench-site-{count}"
    if (folder / "complete").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    chance = random.Random(0)
    words = ["".join(chance.choices("abcdefghijklmnoprstuvw", k=chance.randint(2, 11))) for _ in range(5000)]
    for n in range(count):
        file = folder / host(n) / "p" / str(n // HOSTS % 100) / f"{n}.html.gz"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(gzip.compress(page(n, count, words).encode(), 6, mtime=0))
    (folder / "complete").touch()
    return folder


@contextlib.contextmanager
def serve(count: int, prompt: bool = False) -> Iterator[Path]:
    """Serve the site on loopback; yield the access log (tab: start, end, host, URI, status).

    The server writes its log once a second; with ``prompt`` at once, which costs it some speed.
    """
    folder = make(count)
    nginx = shutil.which("nginx") or "/usr/sbin/nginx"
    with tempfile.TemporaryDirectory(prefix="fyke-nginx-") as run:
        log = Path(run) / "access.log"
        conf = Path(run) / "nginx.conf"
        listens = "\n".join(f"listen 127.0.2.{i + 1}:{PORT};" for i in range(HOSTS))
        conf.write_text(
            f"""daemon off; worker_processes 1; pid {run}/pid; error_log {run}/error.log;
            events {{ worker_connections 4096; }}
            http {{ default_type text/html; keepalive_requests 1000000; sendfile on;
              client_body_temp_path {run}/a; proxy_temp_path {run}/b; fastcgi_temp_path {run}/c;
              uwsgi_temp_path {run}/d; scgi_temp_path {run}/e;
              log_format times '$msec\\t$request_time\\t$server_addr\\t$request_uri\\t$status';
              access_log {log} times{"" if prompt else " buffer=64k flush=1s"}; open_file_cache max=4000;
              server {{ {listens} root {folder}/$server_addr; gzip_static always; }} }}"""
        )
        server = subprocess.Popen(
            [nginx, "-c", str(conf), "-p", run], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            _wait_for(host(0), PORT)
            if server.poll() is not None:
                raise RuntimeError(f"port {PORT} is taken: another bench is running, or its nginx was left behind")
            yield log
        finally:
            server.terminate()
            server.wait()


def _wait_for(address: str, port: int) -> None:
    for _ in range(100):
        with contextlib.suppress(OSError), socket.create_connection((address, port), 0.1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"nginx does not answer on {address}:{port}")
