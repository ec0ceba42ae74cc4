"""A writer to be killed: puts rows in tablets of its own and says on stdout which are acknowledged."""

from __future__ import annotations

import sys
from pathlib import Path

from fyke.store import Anchor, Change, Page, RowMeta, Settings, Store
from fyke.url import Url
from fyke.values import Link


def row_url(number: int) -> Url:
    return Url.parse(f"http://host{number % 7}.example/{number}")


def body(number: int) -> bytes:
    return f"<p>{number}</p>".encode() * (number % 50 + 1)


def main(path: str, first: int, count: int) -> None:
    with Store.open(Path(path), settings=Settings(tablets=2)) as store:
        for number in range(first, first + count):
            url = row_url(number)
            tablet = store.tablet(store.tablet_of(url.key))
            batch = tablet.batch()
            change = Change(
                RowMeta(status=200, type="text/html", depth=number),
                Page(b"", b"HTTP/1.1 200 OK\r\n\r\n", body(number)),
                f"text {number}",
                [Link(row_url(number + 1), str(number))],
            )
            batch.put_row(url.key, change, number + 1)
            batch.put("queue", b"%08d" % number, url.key)
            batch.put_anchors(url.key, 0, number, [Anchor("http://source.example/", str(number), 1.0)])
            batch.count("rows")
            tablet.write(batch)
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
