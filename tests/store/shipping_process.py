"""A process that writes rows and ships them, and tells on stdout how many of them are in the depot.

``python -m tests.store.shipping_process STORE DEPOT FIRST``: rows FIRST, FIRST + 1, … until it is killed.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from fyke.store import Settings, Store, shipper
from fyke.store.shipping import LOG_TTL, Shipping, prepare

TABLETS = 3


def row_url(number: int) -> str:
    return f"http://host-{number % 7}.test/{number}"


def row_text(number: int) -> str:
    return f"row {number} " * (1 + number % 300)


def main() -> None:
    store, depot, first = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    shipper.BASE_EVERY, shipper.ENTRIES = 200_000, 9  # many bases
    Store.open(store, settings=Settings(tablets=TABLETS)).close()
    opened = Store.open(store, log_ttl=LOG_TTL)
    shipping = Shipping(opened, prepare(store, depot), every=0.02)
    done = first - 1
    permits = threading.Semaphore(50)

    def tell() -> None:
        told = first - 1
        while True:
            sure = done
            if not shipping.settle():
                shipping.check()
            print(sure, flush=True)
            permits.release(max(sure - told, 1))
            told = sure

    threading.Thread(target=tell, daemon=True).start()
    while permits.acquire():
        opened.put(row_url(done + 1), raw=row_text(done + 1).encode(), text=row_text(done + 1))
        done += 1


if __name__ == "__main__":
    main()
