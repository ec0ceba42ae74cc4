"""When a page was published: fyke beside htmldate on ../shared/data/dates (499 pages, the day in the page's own zone).

``python -m bench.dates``. Right, wrong and none; CPU per page with parsing. fyke with and without the URL; htmldate
with ``original_date`` and ``extensive_search``, without the URL. The ranking of sources was chosen on these pages.
"""

from __future__ import annotations

import gzip
import importlib
import logging
from collections import Counter
from collections.abc import Callable

import msgspec

from bench.measure import SHARED, best_cpu, figure, table
from fyke.clean.main import main_text
from fyke.convert.facts import Facts
from fyke.convert.metadata import describe
from fyke.formats.encoding import decoded
from fyke.formats.html import parse

DATA = SHARED / "data/dates"


class Truth(msgspec.Struct, frozen=True):
    file: str
    url: str
    date: str | None


def by_fyke(body: bytes, url: str) -> str:
    page = parse(decoded(body, "text/html").text)
    main = main_text(page)
    return describe(Facts(page, url), main.blocks, main.text).meta.published[:10]


def by_htmldate() -> Callable[[bytes, str], str]:
    find_date = importlib.import_module("htmldate").find_date
    logging.disable(logging.CRITICAL)
    return lambda body, url: find_date(body, original_date=True, extensive_search=True) or ""


def main() -> None:
    truths = [msgspec.json.decode(line, type=Truth) for line in (DATA / "truth.jsonl").read_bytes().splitlines()]
    bodies = [gzip.decompress((DATA / truth.file).read_bytes()) for truth in truths]
    detectors: dict[str, Callable[[bytes, str], str]] = {
        "fyke": lambda body, url: by_fyke(body, ""),
        "fyke, with the URL": by_fyke,
    }
    try:
        detectors["htmldate"] = by_htmldate()
    except ImportError:
        print("htmldate is left out: it is not installed")
    rows, rights = [], {}
    for name, detect in detectors.items():
        found = [detect(body, truth.url) for body, truth in zip(bodies, truths, strict=True)]
        kinds = Counter(
            "right" if day == (truth.date or "") else "wrong" if day else "none"
            for day, truth in zip(found, truths, strict=True)
        )
        some = list(zip(bodies, truths, strict=True))[::10]
        time = best_cpu(lambda detect=detect, some=some: [detect(b, t.url) for b, t in some], 2)  # type: ignore[misc]
        rights[name] = kinds["right"]
        rows.append([name, kinds["right"], kinds["wrong"], kinds["none"], time / len(some) * 1e3])
    print(table(["", "right", "wrong", "none", "ms a page"], rows))
    figure("day of publication", "right of 499", rights.pop("fyke"), rights)


if __name__ == "__main__":
    main()
