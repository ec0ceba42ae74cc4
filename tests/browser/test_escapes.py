"""The browser owns no way to the network: a listener for each channel that interception misses, and not one packet."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fyke.browser.process import may_isolate, members
from fyke.browser.values import Limits
from tests.browser.showing import HOME, LOOKS, Table, answer, chromium

CHANNELS = (
    "fetch", "image", "websocket", "preconnect", "prefetch", "dns_prefetch", "beacon", "worker", "worker_socket",
    "shared_worker", "service_worker", "popup", "frame", "speculation_prefetch", "speculation_prerender", "transport",
    "form", "event_source", "import", "object", "ping",
)  # fmt: skip


@contextlib.contextmanager
def listeners() -> Iterator[tuple[dict[str, int], list[str]]]:
    """A listener for each channel, TCP but for ``stun``; yields their ports, and who was contacted."""
    heard: list[str] = []
    sockets: dict[str, socket.socket] = {}
    for name in CHANNELS:
        sockets[name] = socket.create_server(("127.0.0.1", 0))
    sockets["stun"] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sockets["stun"].bind(("127.0.0.1", 0))

    def hear(name: str, listening: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                if name == "stun":
                    listening.recvfrom(2000)
                    heard.append(name)
                else:
                    came = listening.accept()[0]
                    heard.append(name)  # before whoever came sees the end
                    came.close()

    threads = [threading.Thread(target=hear, args=each, daemon=True) for each in sockets.items()]
    for thread in threads:
        thread.start()
    try:
        yield {name: each.getsockname()[1] for name, each in sockets.items()}, heard
    finally:
        for each in sockets.values():
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in threads:
            thread.join(5)


def page(port: dict[str, int]) -> str:
    at = {name: f"127.0.0.1:{number}" for name, number in port.items()}
    return f"""<!doctype html><p>here
<link rel=preconnect href=http://{at["preconnect"]}><link rel=prefetch href=http://{at["prefetch"]}/x>
<link rel=dns-prefetch href=//evil.example><link rel=preconnect href=//localhost:{port["dns_prefetch"]}>
<img src=http://{at["image"]}/i.png><object data=http://{at["object"]}/o></object>
<iframe src=http://{at["frame"]}/f></iframe><a id=p href=#top ping=http://{at["ping"]}/p>p</a>
<form id=f action=http://{at["form"]}/f target=_blank><input name=a></form>
<script type=speculationrules>{{"prefetch": [{{"source": "list", "urls": ["http://{at["speculation_prefetch"]}/p"]}}],
 "prerender": [{{"source": "list", "urls": ["/prerender", "http://{at["speculation_prerender"]}/r"]}}]}}</script>
<script>
const tried = (work) => {{ try {{ const p = work(); p && p.catch && p.catch(() => 0) }} catch {{}} }};
const blob = (text) => URL.createObjectURL(new Blob([text], {{type: "text/javascript"}}));
tried(() => fetch("http://{at["fetch"]}/secret"));
tried(() => {{ new WebSocket("ws://{at["websocket"]}/ws") }});
tried(() => {{ new EventSource("http://{at["event_source"]}/e") }});
tried(() => {{ navigator.sendBeacon("http://{at["beacon"]}/b", "x") }});
const work = `fetch("http://{at["worker"]}/w").catch(() => 0); new WebSocket("ws://{at["worker_socket"]}/")`;
tried(() => {{ new Worker(blob(work)) }});
tried(() => {{ new SharedWorker(blob(`fetch("http://{at["shared_worker"]}/s").catch(() => 0)`)) }});
tried(() => navigator.serviceWorker.register("/sw.js"));
tried(() => {{ window.open("http://{at["popup"]}/pop") }});
tried(() => {{ document.getElementById("f").submit(); document.getElementById("p").click() }});
tried(() => new WebTransport("https://{at["transport"]}/t").ready);
tried(() => import("http://{at["import"]}/m.js"));
const pc = new RTCPeerConnection({{iceServers: [{{urls: "stun:{at["stun"]}"}}]}});
pc.createDataChannel("x"); pc.createOffer().then((offer) => pc.setLocalDescription(offer));
document.title = "tried it all";
</script>"""


@pytest.mark.parametrize("isolate", [False, True], ids=["by its flags alone", "without a network"])
def test_nothing_leaves_the_browser(isolate: bool) -> None:
    if isolate and not may_isolate():
        pytest.skip("network namespaces cannot be made here")
    with listeners() as (ports, heard), chromium() as browser:
        browser._isolate = isolate
        script = f"self.addEventListener('install', () => fetch('http://127.0.0.1:{ports['service_worker']}/'))"
        table = Table({"/": page(ports), "/sw.js": answer(script, "text/javascript")})

        async def look() -> object:
            found = await browser.render(HOME, table, Limits(), LOOKS)
            assert browser._browser is not None
            for pid in members(browser._browser.group) if isolate else ():
                assert packets(pid) == 0
            return found

        # Twice: what a first page left behind in the browser would leave while the second is shown.
        for _ in range(2):
            found = asyncio.run(look())
            assert "tried it all" in found.html  # type: ignore[attr-defined]
        assert heard == []
    assert {url for url in table.asked if url.startswith(HOME)} == {HOME}
    # The listeners do hear whoever comes.
    with listeners() as (ports, heard), socket.create_connection(("127.0.0.1", ports["popup"])) as came:
        came.recv(1)
        assert heard == ["popup"]


def packets(pid: int) -> int:
    """Packets that were sent in the network of a process."""
    try:
        lines = Path(f"/proc/{pid}/net/dev").read_text(encoding="ascii").splitlines()[2:]
    except OSError:  # it has ended
        return 0
    return sum(int(line.partition(":")[2].split()[9]) for line in lines)
