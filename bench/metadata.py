"""Metadata: fyke beside trafilatura, readability-lxml and extruct on ../shared/data/metadata and structured.

``python -m bench.metadata``. The first set's truth is Readability.js's own output. Titles, sites, languages and
descriptions count where they are equal after white space is folded, dates by their day, authors where the names are
equal without "by" and what follows a digit, or one holds the other. "found" counts values where the truth has none.
extruct gives structured data only: its fields are taken from Open Graph, JSON-LD, microdata and Dublin Core, in this
order. The second set counts facts: (property, value) pairs of the items that extruct's suite expects.
"""

from __future__ import annotations

import gzip
import importlib
import logging
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from html import unescape
from typing import Any
from urllib.parse import urljoin

import msgspec

from bench.measure import SHARED, best_cpu, figure, table
from fyke.clean.main import main_text
from fyke.convert.facts import Facts
from fyke.convert.metadata import describe
from fyke.convert.structured import decode_json_ld, local, microdata, rdfa
from fyke.formats.encoding import decoded
from fyke.formats.html import parse

FIELDS = {"title": 71, "byline": 32, "siteName": 26, "excerpt": 73, "lang": 30, "publishedTime": 12}
_TAG = re.compile(r"<[^>]*>")
Reader = Callable[[str, str], dict[str, str]]
_BY = re.compile(r"^(?:by|par|von|written by)\s+|\d.*", re.IGNORECASE)


def fold(text: object) -> str:
    return " ".join(text.split()) if isinstance(text, str) else ""


def same(field: str, truth: str, found: str) -> bool:
    truth, found = fold(truth), fold(found)
    if field == "byline":
        truth, found = (_BY.sub("", _BY.sub("", name)).strip(" ,-").casefold() for name in (truth, found))
        return bool(truth and found) and (truth in found or found in truth)
    if field == "publishedTime":
        return truth[:10] == found[:10]
    return truth == found


def by_fyke(html: str, url: str) -> dict[str, str]:
    page = parse(html)
    main = main_text(page)
    said = describe(Facts(page, url), main.blocks, main.text)
    meta = said.meta
    return {
        "title": said.title, "byline": meta.author, "siteName": meta.site, "excerpt": meta.description,
        "lang": meta.declared, "publishedTime": meta.published,
    }  # fmt: skip


def by_trafilatura() -> Reader:
    extract = importlib.import_module("trafilatura").extract_metadata

    def read(html: str, url: str) -> dict[str, str]:
        found = extract(html, default_url=url or None)
        names = {
            "title": "title", "byline": "author", "siteName": "sitename", "excerpt": "description", "lang": "language",
            "publishedTime": "date",
        }  # fmt: skip
        return {field: getattr(found, name, None) or "" for field, name in names.items()} if found else {}

    return read


def by_readability() -> Reader:
    document = importlib.import_module("readability").Document

    def read(html: str, url: str) -> dict[str, str]:
        found = document(html)
        author = found.author() if hasattr(found, "author") else ""
        return {"title": found.short_title() or "", "byline": "" if author == "[no-author]" else author}

    return read


def by_extruct() -> Reader:
    extract = importlib.import_module("extruct").extract

    def read(html: str, url: str) -> dict[str, str]:
        data = extract(
            html, base_url=url or None, syntaxes=["opengraph", "json-ld", "microdata", "dublincore"], errors="ignore"
        )
        graph = dict(pair for item in data.get("opengraph", ()) for pair in item["properties"])
        linked = [x for item in data.get("json-ld", ()) for x in (item.get("@graph") or [item]) if isinstance(x, dict)]
        things = linked + [
            item["properties"] for item in data.get("microdata", ()) if isinstance(item.get("properties"), dict)
        ]
        core = {
            e.get("name", "").lower().rpartition(".")[2]: e.get("content", "")
            for item in data.get("dublincore", ()) for e in item["elements"]
        }  # fmt: skip

        def first(*keys: str) -> str:
            for thing in things:
                for key in keys:
                    value = thing.get(key)
                    value = value[0] if isinstance(value, list) and value else value
                    value = value.get("name") if isinstance(value, dict) else value
                    if isinstance(value, str) and value:
                        return value
            return ""

        return {
            "title": graph.get("og:title") or first("headline", "name") or core.get("title", ""),
            "byline": first("author") or core.get("creator", ""),
            "siteName": graph.get("og:site_name") or first("publisher"),
            "excerpt": graph.get("og:description") or first("description") or core.get("description", ""),
            "lang": first("inLanguage"),
            "publishedTime": graph.get("article:published_time") or first("datePublished") or core.get("date", ""),
        }

    return read


def fields() -> None:
    folder = SHARED / "data/metadata"
    truths = [msgspec.json.decode(line) for line in (folder / "truth.jsonl").read_bytes().splitlines()]
    pages = [gzip.decompress((folder / truth["file"]).read_bytes()).decode() for truth in truths]
    readers: dict[str, Reader] = {"fyke": by_fyke}
    for name, make in (("trafilatura", by_trafilatura), ("readability-lxml", by_readability), ("extruct", by_extruct)):
        try:
            readers[name] = make()
        except ImportError:
            print(f"{name} is left out: it is not installed")
    rows = []
    for name, read in readers.items():
        right: Counter[str] = Counter()
        extra: Counter[str] = Counter()
        for truth, html in zip(truths, pages, strict=True):
            found = read(html, truth["url"] or "")
            for field in FIELDS:
                if truth.get(field):
                    right[field] += same(field, truth[field], found.get(field, ""))
                elif field in truth and found.get(field):
                    extra[field] += 1
        time = best_cpu(lambda read=read: [read(html, "") for html in pages[::5]], 2) / len(pages[::5])  # type: ignore[misc]
        rows.append([name, *(f"{right[field]} (+{extra[field]})" for field in FIELDS), time * 1e3])
        figure(f"metadata by {name}: fields right", "of 244", right.total())
    print("right (+ found where the truth has none)\n")
    print(table(["", *(f"{field} of {total}" for field, total in FIELDS.items()), "ms a page"], rows))


# ---- structured data


def facts_of(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield (local name of the property, value) for each string of nested items, however they are shaped."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "properties":
                yield from facts_of(inner)
            elif key in ("@value", "@id") and name:
                yield from facts_of(inner, name)
            elif key == "value" and "properties" not in value and ("id" in value or "type" in value):
                continue  # the text of an item without properties
            elif local(key) == "usesVocabulary":
                continue  # what the processor says, not the page
            elif key in ("type", "@type", "id", "@id", "@context", "namespace", "@language"):
                continue
            else:
                yield from facts_of(inner, local(key).rpartition(":")[2].casefold())
    elif isinstance(value, list | tuple):
        if len(value) == 2 and isinstance(value[0], str) and ":" in value[0].replace("://", "") and not name:
            yield local(value[0]).rpartition(":")[2].casefold(), fold(value[1])
        else:
            for inner in value:
                yield from facts_of(inner, name)
    elif name and isinstance(value, str | int | float) and not str(value).startswith("_:"):  # the processor's own names
        yield name, unescape(fold(_TAG.sub("", str(value))))  # of an XML literal its text


def structured() -> None:
    folder = SHARED / "data/structured"
    rows = []
    try:
        extruct: Any = importlib.import_module("extruct")
    except ImportError:
        extruct = None
    cases = [msgspec.json.decode(line) for line in (folder / "expected.jsonl").read_bytes().splitlines()]
    for syntax in ("json-ld", "microdata", "opengraph", "rdfa"):
        expected_total = found_total = peer_total = whole = count = 0
        for case in (case for case in cases if case["syntax"] == syntax):
            body = gzip.decompress((folder / case["file"]).read_bytes())
            facts = Facts(parse(decoded(body, "text/html").text), case["base"] or "")
            join = partial(urljoin, urljoin(case["base"] or "", facts.base))
            made: Any
            if syntax == "json-ld":
                made = [decode_json_ld(script) for _, script, _ in facts.linked_data]
            elif syntax == "microdata":
                made = microdata(facts, join)
            elif syntax == "opengraph":
                made = [[name, value] for name, values in facts.metas.items() for value in values if ":" in name]
            else:
                made = rdfa(facts, join)
            wanted, got = Counter(facts_of(case["expected"])), Counter(facts_of(made))
            hit = (wanted & got).total()
            expected_total, found_total = expected_total + wanted.total(), found_total + hit
            if extruct is not None:
                theirs = extruct.extract(body, base_url=case["base"], syntaxes=[syntax], errors="ignore").get(
                    syntax, []
                )
                peer_total += (wanted & Counter(facts_of(theirs))).total()
            whole += hit == wanted.total()
            if hit < wanted.total() and "-v" in sys.argv:
                print(case["id"], list((wanted - got).elements())[:12], "|", list((got - wanted).elements())[:8])
            count += 1
        rows.append([syntax, count, whole, expected_total, found_total, peer_total])
    print("\n" + table(["syntax", "pages", "whole by fyke", "facts expected", "found by fyke", "by extruct"], rows))


def main() -> None:
    logging.disable(logging.CRITICAL)
    fields()
    structured()


if __name__ == "__main__":
    main()
