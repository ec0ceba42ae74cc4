"""The curl driver: any number of transfers over one multi handle, and one descriptor that tells of all their sockets.

libcurl says which sockets it waits for; they are kept in an epoll of our own, which the event loop watches as one
descriptor. So a socket costs the loop nothing, and what has come on many of them is read in one go. The socket of a
connection that is kept for the next request stays there meanwhile, as it would be registered anew for each. A call of
``perform`` would cost by the handles that wait; ``socket_action`` costs by those that have something to say.
"""

from __future__ import annotations

import asyncio
import contextlib
import select
import selectors
from collections.abc import Callable
from typing import Any

import pycurl

MAX_CONNECTIONS = 1024
"""Connections that are kept open for the next request of their host."""
_NEVER = float("inf")
_IN, _OUT = 1, 4  # of epoll, as of poll
_EVENTS = {pycurl.POLL_IN: _IN, pycurl.POLL_OUT: _OUT, pycurl.POLL_INOUT: _IN | _OUT}


class _Selector:
    """An epoll's face, where there is none."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self.fileno: Callable[[], int] = self._selector.fileno
        self.close = self._selector.close

    def register(self, descriptor: int, events: int) -> None:
        self._selector.register(descriptor, _of_epoll(events))

    def modify(self, descriptor: int, events: int) -> None:
        self._selector.modify(descriptor, _of_epoll(events))

    def unregister(self, descriptor: int) -> None:
        self._selector.unregister(descriptor)

    def poll(self, timeout: float) -> list[tuple[int, int]]:
        found = self._selector.select(timeout)
        return [(key.fd, (_IN if mask & 1 else 0) | (_OUT if mask & 2 else 0)) for key, mask in found]


def _epoll() -> Any:
    return select.epoll() if hasattr(select, "epoll") else _Selector()


def _of_epoll(events: int) -> int:
    return (selectors.EVENT_READ if events & _IN else 0) | (selectors.EVENT_WRITE if events & _OUT else 0)


class Driver:
    """Runs transfers on the event loop that is running when it is made."""

    def __init__(self, finished: Callable[[pycurl.Curl, int, str], None]) -> None:
        """``finished(curl, code, message)`` hears of each transfer that ends by itself; ``code`` is libcurl's."""
        self._finished = finished
        self._loop = asyncio.get_running_loop()
        self._sockets = _epoll()
        self._watched: dict[int, int] = {}  # what is waited for on each socket
        self._resting: dict[int, int] = {}  # those of kept connections, and how many had been opened by then
        self._opened = 0
        self._timer: asyncio.TimerHandle | None = None
        self._due = _NEVER  # when libcurl wants to be called; the timer runs then, or before
        self._soon: asyncio.Handle | None = None  # a call as soon as the loop comes round
        self._multi = multi = pycurl.CurlMulti()
        multi.setopt(pycurl.M_MAXCONNECTS, MAX_CONNECTIONS)
        multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)
        self._loop.add_reader(self._sockets.fileno(), self._read)

    def add(self, curl: pycurl.Curl) -> None:
        """Begin a transfer, as soon as the loop comes round."""
        self._multi.add_handle(curl)

    def remove(self, curl: pycurl.Curl) -> None:
        """End a transfer; nobody hears of it."""
        self._multi.remove_handle(curl)

    def opens(self) -> None:
        """Hear that a socket is about to be opened: it may get the number of one that was closed."""
        self._opened += 1

    def close(self) -> None:
        """Close every connection. REQUIRES: no transfer is under way."""
        self._loop.remove_reader(self._sockets.fileno())
        for each in (self._timer, self._soon):
            if each is not None:
                each.cancel()
        self._multi.close()
        self._sockets.close()

    def _on_socket(self, what: int, descriptor: int, multi: object, data: object) -> None:
        if what == pycurl.POLL_REMOVE:
            if self._watched.get(descriptor) == _IN:
                self._resting[descriptor] = self._opened
            else:
                self._forget(descriptor)
        elif what in _EVENTS:
            events = _EVENTS[what]
            opened = self._resting.pop(descriptor, None)
            if opened is not None and opened != self._opened:
                self._forget(descriptor)  # another socket may have got its number
            if descriptor not in self._watched:
                self._sockets.register(descriptor, events)
            elif self._watched[descriptor] != events:
                self._sockets.modify(descriptor, events)
            self._watched[descriptor] = events

    def _forget(self, descriptor: int) -> None:
        if self._watched.pop(descriptor, None) is not None:
            with contextlib.suppress(OSError, KeyError, ValueError):  # closed already
                self._sockets.unregister(descriptor)

    def _on_timer(self, milliseconds: int) -> None:
        if milliseconds:
            self._due = self._loop.time() + milliseconds / 1000 if milliseconds > 0 else _NEVER
            self._set_timer()
        elif self._soon is None:  # one look serves all that begin together
            self._soon = self._loop.call_soon(self._look)

    def _set_timer(self) -> None:
        """Have the timer run when libcurl wants to be called. One that runs before that is left: it sets the next."""
        if self._timer is not None and self._due < self._timer.when():
            self._timer.cancel()
            self._timer = None
        if self._timer is None and self._due < _NEVER:
            self._timer = self._loop.call_at(self._due, self._on_timeout)

    def _on_timeout(self) -> None:
        self._timer = None
        if self._loop.time() < self._due:
            self._set_timer()
        else:
            self._look()

    def _look(self) -> None:
        """Let libcurl do what is due."""
        self._soon = None
        self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
        self._hand_over()

    def _read(self) -> None:
        """Let libcurl read and write where that is possible."""
        stale = False
        for descriptor, events in self._sockets.poll(0):
            if descriptor not in self._watched:
                stale = True
                continue
            if descriptor in self._resting:  # its server hangs up: libcurl finds it out when it wants to use it
                del self._resting[descriptor]
                self._forget(descriptor)
                continue
            ready = pycurl.CSELECT_OUT if events & _OUT else 0
            if events & ~_OUT:  # errors and hang-ups are found by reading
                ready |= pycurl.CSELECT_IN
            self._multi.socket_action(descriptor, ready)
        if stale:
            self._renew()
        self._hand_over()

    def _renew(self) -> None:
        """Begin with another epoll: a process that was forked holds a socket that is closed here, and tells of it."""
        self._loop.remove_reader(self._sockets.fileno())
        self._sockets.close()
        self._sockets = _epoll()
        for descriptor, events in list(self._watched.items()):
            try:
                self._sockets.register(descriptor, events)
            except (OSError, ValueError):  # closed while it rested
                del self._watched[descriptor]
                self._resting.pop(descriptor, None)
        self._loop.add_reader(self._sockets.fileno(), self._read)

    def _hand_over(self) -> None:
        left = 1
        while left:
            left, done, failed = self._multi.info_read()
            for curl in done:
                self._multi.remove_handle(curl)
                self._finished(curl, 0, "")
            for curl, code, message in failed:
                self._multi.remove_handle(curl)
                self._finished(curl, code, message)
