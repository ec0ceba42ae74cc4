"""An S3 server: moto's, on loopback, on a port that it tells; it ends with its stdin."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server


class _Quiet(WSGIRequestHandler):
    def log(self, *_: object) -> None:
        pass


def main() -> None:
    moto, putting = DomainDispatcherApplication(create_backend_app), threading.Lock()

    def application(environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        """Put one object at a time: moto looks whether it is there and writes it in two steps, S3 in one."""
        if environ["REQUEST_METHOD"] != "PUT":
            return moto(environ, start)  # type: ignore[no-any-return]
        with putting:
            return moto(environ, start)  # type: ignore[no-any-return]

    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=_Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.port, flush=True)
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main()
