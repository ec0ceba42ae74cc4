"""Run by the Python that has pywb: serves a collection on loopback until its input ends.

Usage: python pywb_serve.py FOLDER, where FOLDER holds collections/c. Prints its port, then a line of JSON for each
request: what was asked for, and the status of the answer.
"""

from __future__ import annotations

from gevent.monkey import patch_all

patch_all()

import json  # noqa: E402 - gevent comes first
import os  # noqa: E402
import sys  # noqa: E402
from collections.abc import Callable, Iterable  # noqa: E402
from typing import Any  # noqa: E402

from gevent import get_hub  # noqa: E402
from gevent.pywsgi import WSGIServer  # noqa: E402
from pywb.apps.frontendapp import FrontEndApp  # noqa: E402
from pywb.utils.geventserver import RequestURIWSGIHandler  # noqa: E402


def main() -> None:
    os.chdir(sys.argv[1])
    app = FrontEndApp(custom_config={"framed_replay": False})

    def told(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        def start(status: str, *rest: Any) -> Any:
            print(json.dumps([environ["REQUEST_URI"], int(status[:3])]), flush=True)
            return start_response(status, *rest)

        answer: Iterable[bytes] = app(environ, start)
        return answer

    server = WSGIServer(("127.0.0.1", 0), told, log=None, error_log=sys.stderr, handler_class=RequestURIWSGIHandler)
    server.start()
    print(server.server_port, flush=True)
    get_hub().threadpool.apply(sys.stdin.read)


if __name__ == "__main__":
    main()
    os._exit(0)  # the server inside would wait for ever
