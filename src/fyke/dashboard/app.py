"""The pages as a web application: an address for each, one thread that reads, one stream of events for all who look.

Whatever is asked, the answer has a status that says whose fault it is and a sentence: 400 the question, 404 nothing
there, 503 the store, or too many at once. Stored bytes are shown as text and never as what they claim to be.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from fyke.dashboard import control, metrics
from fyke.dashboard.facts import Choice, Facts, HostFacts
from fyke.dashboard.read import PAGE, cursor
from fyke.dashboard.views import MAX_TEXT, Views, address, why_waits
from fyke.errors import FykeError, UserError
from fyke.spawning import python

CLIENTS = 16
"""Streams of events at once; further tabs show what was true when they were opened."""
BEAT = 1.0
"""Seconds between two looks at the crawl while anybody looks at the page."""
PATIENCE = 30.0
"""Seconds for a search of near copies."""
_TYPES = {"app.js": "text/javascript", "style.css": "text/css", "icon.svg": "image/svg+xml"}
log = logging.getLogger("fyke.dashboard")
T = TypeVar("T")


class MissingError(FykeError):
    """Nothing is stored under an address."""

    def __init__(self, said: str, near: list[str] | None = None) -> None:
        super().__init__(said)
        self.near = near or []


class _Similar(msgspec.Struct):
    """A line of ``fyke similar --json``."""

    url: str
    similarity: float
    method: str


class Dashboard:
    """The pages of one store."""

    def __init__(self, facts: Facts, store: Path, *, csrf: str = "", control: bool = False) -> None:
        self.facts, self.store = facts, store
        self.views = Views(facts, csrf, control)
        self.closing = False
        """Set when the server ends: streams end, too."""
        self._csrf = csrf
        self._thread = ThreadPoolExecutor(1, "fyke-dashboard")
        self._events = _Events(lambda: self._read(self.views.sections), lambda: self.closing)
        self._searching = asyncio.Semaphore(1)
        pages: dict[str, Callable[[Request], Any]] = {
            "/": self._overview, "/hosts": self._hosts, "/host": self._host, "/queue": self._queue,
            "/errors": self._errors, "/errors/of": self._errors_of, "/search": self._search, "/doc": self._document,
            "/compare": self._compare, "/raw": self._raw, "/duplicates": self._duplicates, "/similar": self._similar,
            "/events": self._stream, "/metrics": self._metrics, "/static/{name}": _static,
        }  # fmt: skip
        routes = [Route(path, self._safe(page)) for path, page in pages.items()]
        if control:
            routes.append(Route("/control", self._safe(self._control), methods=["GET", "POST"]))
        routes.append(Route("/{rest:path}", self._safe(self._nothing)))
        self.app = Starlette(routes=routes)

    def warm(self) -> None:
        """Have the store open and the templates made before the first page is asked for."""
        with contextlib.suppress(FykeError, OSError):  # the page tells
            self._thread.submit(self.views.overview).result()

    def close(self) -> None:
        """End what reads."""
        self._thread.shutdown()

    # ---- around the pages

    def _safe(self, page: Callable[[Request], Any]) -> Callable[[Request], Any]:
        """Return ``page`` such that it always answers."""

        async def answering(request: Request) -> Response:
            try:
                answer: Response = await page(request)
                return answer
            except MissingError as error:
                return await self._message(404, "Not here", str(error), error.near)
            except UserError as error:
                return await self._message(400, "That cannot be asked", str(error))
            except (FykeError, OSError) as error:
                return await self._message(503, "The store cannot be read now", str(error))
            except Exception as error:
                log.exception("the page %s could not be made", request.url.path)
                said = f"This page could not be made ({type(error).__name__}); the dashboard's terminal tells more."
                return PlainTextResponse(said, 503)

        return answering

    async def _read(self, make: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, make)

    async def _page(self, make: Callable[[], str], status: int = 200) -> Response:
        return _html(await self._read(make), status)

    async def _message(self, status: int, title: str, said: str, near: list[str] | None = None) -> Response:
        return await self._page(lambda: self.views.page("message.html", title=title, said=said, near=near), status)

    # ---- pages

    async def _overview(self, request: Request) -> Response:
        return await self._page(self.views.overview)

    async def _hosts(self, request: Request) -> Response:
        part = _number(request, "part")
        return await self._page(lambda: self.views.hosts(part))

    async def _host(self, request: Request) -> Response:
        name = request.query_params.get("name", "")

        def make() -> str:
            found = {host.name: host for host in self.facts.hosts().hosts}
            host = found.get(name)
            if host is None:
                raise MissingError(f"No host {name!r} is known; see the list of hosts.")
            errors: dict[str, list[str]] = {}
            for row in self.facts.rows(Choice(prefix=name)).rows:
                if row.meta.error and len(errors.setdefault(row.meta.error, [])) < 3:
                    errors[row.meta.error].append(row.url)
            return self.views.page("host.html", host=host, why=_why(host), errors=errors,
                                   entries=self.facts.queue(name))  # fmt: skip

        return await self._page(make)

    async def _queue(self, request: Request) -> Response:
        host = request.query_params.get("host", "")
        return await self._page(lambda: self.views.page("queue.html", host=host, entries=self.facts.queue(host)))

    async def _errors(self, request: Request) -> Response:
        return await self._page(self.views.errors)

    async def _errors_of(self, request: Request) -> Response:
        reason = request.query_params.get("reason", "")
        if not reason:
            raise UserError("no reason is named; see the list of errors")
        return await self._rows(request, f"Error: {reason}", Choice(error=reason), {"reason": reason}, {})

    async def _search(self, request: Request) -> Response:
        prefix, words = (request.query_params.get(name, "").strip() for name in ("prefix", "words"))
        form = {"prefix": prefix, "words": words}
        return await self._rows(request, "Documents", Choice(prefix=prefix, words=words), form, form)

    async def _duplicates(self, request: Request) -> Response:
        return await self._rows(request, "Duplicates", Choice(copies=True), {}, {}, clusters=True)

    async def _rows(
        self,
        request: Request,
        title: str,
        choice: Choice,
        query: dict[str, str],
        form: dict[str, str],
        *,
        clusters: bool = False,
    ) -> Response:
        after = cursor(request.query_params.get("after", ""))
        here = address(request.url.path, **query)
        first = clusters and not after
        return await self._page(lambda: self.views.listing(title, self.facts.rows(choice, after), form, here, first))

    async def _document(self, request: Request) -> Response:
        url, at = _url(request), _number(request, "at")
        return await self._page(lambda: self.views.document(self._row(url, at)))

    async def _compare(self, request: Request) -> Response:
        url, old, new = _url(request), _number(request, "a"), _number(request, "b")
        return await self._page(lambda: self.views.compare(self._row(url, old), self._row(url, new)))

    async def _raw(self, request: Request) -> Response:
        url, at = _url(request), _number(request, "at")

        def make() -> bytes:
            page = self._row(url, at).page
            return b"" if page is None else page.response_head[:MAX_TEXT] + b"\n" + page.body[:MAX_TEXT]

        body = (await self._read(make)).decode("utf-8", "replace")
        headers = {"content-security-policy": "sandbox; default-src 'none'"}
        return PlainTextResponse(body, headers=headers)

    async def _similar(self, request: Request) -> Response:
        url = _url(request)
        row = await self._read(lambda: self._row(url, 0))
        found, said = await self._find_similar(row.url)
        return await self._page(lambda: self.views.page("similar.html", url=row.url, found=found, said=said))

    async def _find_similar(self, url: str) -> tuple[list[_Similar], str]:
        """Ask ``fyke similar``, in a process of its own: it needs the compiler, and may take long."""
        words = python("fyke", "similar", url, "--store", str(self.store), "--limit", str(PAGE), "--json")
        if self._searching.locked():
            return [], "Another search is under way; try again in a moment."
        async with self._searching:
            process = await asyncio.create_subprocess_exec(
                *words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            try:
                out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
            except TimeoutError:
                return [], f"It takes longer than {PATIENCE:.0f} s; run `fyke similar URL` in a terminal."
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
        if process.returncode:
            return [], err.decode("utf-8", "replace").strip().rpartition("\n")[2] or "The search failed."
        return [msgspec.json.decode(line, type=_Similar) for line in out.splitlines()], ""

    async def _stream(self, request: Request) -> Response:
        if len(self._events.clients) >= CLIENTS:
            return PlainTextResponse("as many tabs as can be served are open", 503, {"retry-after": "60"})
        return StreamingResponse(self._events.follow(), media_type="text/event-stream")

    async def _metrics(self, request: Request) -> Response:
        text = await self._read(lambda: metrics.text(self.facts.now()))
        return Response(text.encode(), media_type=metrics.TYPE)

    async def _control(self, request: Request) -> Response:
        if request.method != "POST":
            return await self._page(lambda: self.views.page("control.html", said="", asked="", fields={}))
        fields = await control.fields(request, self._csrf)
        return await self._page(lambda: self.views.page("control.html", **control.act(self.store, fields)))

    async def _nothing(self, request: Request) -> Response:
        raise MissingError("There is no such page.")

    def _row(self, url: str, stamp: int) -> Any:
        row = self.facts.row(url, stamp)
        if row is None:
            short = url.rpartition("/")[0] + "/"
            near: list[str] = []
            with contextlib.suppress(FykeError):
                near = [row.url for row in self.facts.rows(Choice(prefix=short)).rows[:10]]
            raise MissingError(f"{url} is not in the store" + (" at that time." if stamp else "."), near)
        return row


class _Events:
    """What changes on the overview, sent to all who look; nothing is read while nobody does."""

    def __init__(self, make: Callable[[], Any], closing: Callable[[], bool]) -> None:
        self._make, self._closing = make, closing
        self.clients: set[asyncio.Queue[bytes]] = set()
        self._known: dict[str, str] = {}
        self._task: asyncio.Task[None] | None = None

    async def follow(self) -> AsyncIterator[bytes]:
        """Yield events until the client goes, or the server ends."""
        queue: asyncio.Queue[bytes] = asyncio.Queue(4)
        self.clients.add(queue)
        try:
            if self._known:
                yield _event(self._known)
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._look())
            while not self._closing():
                try:
                    yield await asyncio.wait_for(queue.get(), 2 * BEAT)
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            self.clients.discard(queue)

    async def _look(self) -> None:
        while self.clients and not self._closing():
            try:
                parts: dict[str, str] = await self._make()
            except (FykeError, OSError) as error:
                log.warning("the crawl cannot be looked at: %s", error)
                parts = dict(self._known)
            changed = {name: part for name, part in parts.items() if self._known.get(name) != part}
            self._known = parts
            if changed:
                event = _event(changed)
                for queue in self.clients:
                    if queue.full():  # who reads too slowly begins anew
                        queue.get_nowait()
                        event = _event(parts)
                    queue.put_nowait(event)
            await asyncio.sleep(BEAT)


def _event(parts: dict[str, str]) -> bytes:
    safe = {name: part.encode("utf-8", "replace").decode() for name, part in parts.items()}
    return b"data: " + msgspec.json.encode(safe) + b"\n\n"


def _html(text: str, status: int = 200) -> Response:
    return Response(text.encode("utf-8", "replace"), status, media_type="text/html; charset=utf-8")


def _url(request: Request) -> str:
    url = request.query_params.get("url", "").strip()
    if not url:
        raise UserError("no URL is named; write one into the field above")
    return url


def _number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "") or "0"
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise UserError(f"{name} is no number")
    return int(text)


def _why(host: HostFacts) -> str:
    return why_waits(host, time.time())


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _TYPES:
        raise MissingError("There is no such file.")
    data = resources.files("fyke.dashboard").joinpath("static", name).read_bytes()
    return Response(data, media_type=_TYPES[name])
