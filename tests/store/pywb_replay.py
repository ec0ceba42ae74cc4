"""Run by the Python that has pywb: replays every URL of a collection, and prints what came as lines of JSON.

Usage: python pywb_replay.py FOLDER, where FOLDER holds collections/c; URLs and timestamps come as lines on stdin.
"""

from __future__ import annotations

from gevent.monkey import patch_all

patch_all()

import hashlib  # noqa: E402 - gevent comes first
import json  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402
from urllib.parse import urlsplit  # noqa: E402

from pywb.apps.frontendapp import FrontEndApp  # noqa: E402
from werkzeug.test import Client  # noqa: E402


def main() -> None:
    os.chdir(sys.argv[1])
    client = Client(FrontEndApp(custom_config={"framed_replay": False}))
    for line in sys.stdin:
        url, timestamp = json.loads(line)
        parts = urlsplit(url)
        path = f"/c/{timestamp}id_/{parts.scheme}://{parts.netloc}{parts.path}"
        full = f"{path}?{parts.query}" if parts.query else path
        answer = client.get(path, query_string=parts.query, environ_overrides={"REQUEST_URI": full})
        body = answer.get_data()
        print(json.dumps([url, answer.status_code, hashlib.sha1(body, usedforsecurity=False).hexdigest()]), flush=True)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # the server inside would wait for ever
