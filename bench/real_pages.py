"""Real pages for benches: a folder of HTML documentation (one host a folder) as JSONL of url, text and links."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import msgspec
from selectolax.lexbor import LexborHTMLParser

from fyke.errors import UrlError
from fyke.url import Url


class RealPage(msgspec.Struct):
    """One line of the JSONL that ``fyke archive build`` reads."""

    url: str
    text: str
    links: list[str]


def default_file() -> Path:
    """Where benches look for the pages: FYKE_REAL_PAGES names the file."""
    return Path(os.environ.get("FYKE_REAL_PAGES", "real-pages.jsonl"))


def pages(roots: Path) -> Iterator[RealPage]:
    """Every HTML file below ``roots/HOST/`` as the page http://HOST.test/…, scripts and styles dropped."""
    for root in sorted(p for p in roots.iterdir() if p.is_dir()):
        for file in sorted(root.rglob("*.html")):
            if file.is_file():
                path = quote(str(file.relative_to(root)))
                yield page(Url.parse(f"http://{root.name.lower()}.test/{path}"), file.read_bytes())


def page(url: Url, body: bytes) -> RealPage:
    tree = LexborHTMLParser(body)
    tree.strip_tags(["script", "style", "noscript"])
    links = []
    for node in tree.css("a[href]"):
        try:
            links.append(url.join(node.attributes.get("href") or "").href)
        except UrlError:
            continue
    return RealPage(url.href, tree.body.text(separator=" ") if tree.body else "", list(dict.fromkeys(links)))


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("roots", type=Path)
    words.add_argument("out", type=Path)
    given = words.parse_args()
    with given.out.open("wb") as out:
        for each in pages(given.roots):
            out.write(msgspec.json.encode(each) + b"\n")


if __name__ == "__main__":
    main()
