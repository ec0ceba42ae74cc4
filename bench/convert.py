"""HTML to tagged text in µs of CPU beside other parsers; other formats beside the engine alone; the pool."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from functools import partial
from html import escape

import lxml.html
import resiliparse.extract.html2text
import xberg
from resiliparse.parse.html import HTMLTree
from selectolax.lexbor import LexborHTMLParser
from trafilatura.utils import load_html

from bench.measure import SHARED, best_cpu, figure, table
from fyke.convert import convert_here, prepare
from fyke.convert.html import document, tagged
from fyke.formats import html as pages
from fyke.formats.encoding import decoded
from fyke.url import Url
from fyke.workers.pool import Pool

SIZES = (20_000, 67_000)
REPEAT = 100


def page(size: int, links: int) -> bytes:
    """A page of about ``size`` bytes: navigation, headings, paragraphs with inline tags, lists, tables, a script."""
    chance = random.Random(size)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(2_000)]
    words += ["café", "naïve", "Straße"] * 20

    def some(count: int) -> str:
        return escape(" ".join(chance.choices(words, k=count)))

    out = [f"<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>{some(6)}</title>"]
    out += [
        '<meta name="description" content="x"><link rel="canonical" href="/p"><style>p{color:red}</style></head><body>'
    ]
    out += [
        "<div id=nav><ul>",
        *(f'<li><a href="/n/{n}" class="x">{some(2)}</a></li>' for n in range(links // 2)),
        "</ul></div>",
    ]
    length = sum(map(len, out))
    number = 0
    while length < size:
        block = f"<h2>{some(4)}</h2>" if number % 5 == 0 else ""
        inline = f'<a href="/p/{number}.html">{some(2)}</a> <b>{some(1)}</b> and <i>{some(2)}</i>'
        block += f'<div class="text"><p>{some(40)} {inline}.</p></div>\n'
        block += f"<table><tr><td>{some(1)}</td><td>{some(2)}</td></tr></table>" if number % 7 == 0 else ""
        block += "<script>var x = {a: 1, b: '<p>'};</script>" if number % 11 == 0 else ""
        out.append(block)
        length += len(block)
        number += 1
    return "".join([*out, "</body></html>"]).encode()


def cpu(work: Callable[[], object], repeat: int = REPEAT) -> float:
    """µs of CPU for one call of many; no result is kept, so memory is reused as in a crawl."""

    def batch() -> None:
        for _ in range(repeat):
            work()

    return best_cpu(batch, 15) / repeat * 1e6


def html_rows(data: bytes) -> list[list[object]]:
    url = Url.parse("https://example.org/a/")
    text = decoded(data, "text/html")
    tree = pages.parse(text.text).tree

    def fresh() -> pages.Page:
        page = pages.parse(text.text)  # nothing remembered of an earlier call but the tree
        page.tree = tree
        return page

    ours = cpu(lambda: (decoded(data, "text/html"), tagged(fresh())))
    rows: list[list[object]] = [
        ["fyke: decode + tagged text, on the shared tree", ours],
        ["fyke: parse", cpu(lambda: pages.parse(text.text).tree)],
        ["fyke: links (not joined)", cpu(lambda: pages.parse(text.text).links())],
        ["fyke: document of the shared tree, metadata, no links", cpu(lambda: document(fresh(), text, url, links=()))],
        ["fyke: everything from bytes, links joined", cpu(lambda: convert_here(prepare(data, "text/html", url)))],
        ["resiliparse: parse + plain text", cpu(lambda: resiliparse_text(data), REPEAT // 4)],
        [
            "selectolax (lexbor): parse + plain text",
            cpu(lambda: LexborHTMLParser(data).text(separator=" "), REPEAT // 4),
        ],
        ["lxml: parse + plain text", cpu(lambda: lxml.html.fromstring(data).text_content(), REPEAT // 4)],
        ["trafilatura's parser alone", cpu(lambda: load_html(data), REPEAT // 4)],
    ]
    return [[name, value, float(value) / ours] for name, value in rows]  # type: ignore[arg-type]


def resiliparse_text(data: bytes) -> str:
    tree = HTMLTree.parse_from_bytes(data, "utf-8")
    return str(resiliparse.extract.html2text.extract_plain_text(tree))


def rtf(paragraphs: int) -> bytes:
    return (
        b"{\\rtf1\\ansi "
        + b"".join(b"\\b Title %d\\b0\\par Some words of text here.\\par " % n for n in range(paragraphs))
        + b"}"
    )


def engine_rows() -> list[list[object]]:
    config = xberg.ExtractionConfig(
        use_cache=False, disable_ocr=True, output_format="html", enable_quality_processing=False
    )
    kinds = {
        "RTF, 2,000 paragraphs": (rtf(2_000), "application/rtf"),
        "Markdown, 2,000 headings": (b"# T\n\nSome *words*.\n\n" * 2_000, "text/markdown"),
    }
    rows: list[list[object]] = []
    with asyncio.Runner() as runner:
        for name, (data, kind) in kinds.items():
            given = xberg.ExtractInput(kind="bytes", bytes=data, mime_type=kind)
            source = prepare(data, kind)
            alone = cpu(partial(_run, runner, given, config), 5)
            ours = cpu(partial(convert_here, source), 5)
            rows.append([name, alone / 1e3, ours / 1e3, ours / alone])
    return rows


OFFICE = ("docx", "odt", "xlsx", "pptx", "ods", "doc", "xls", "ppt", "rtf", "pdf", "msg", "tex")


def office_rows(repeat: int = 3) -> list[list[object]]:
    """Real documents of the public set, those that the engine reads: its time alone, and ours in the same process."""
    folder = SHARED / "data" / "convert"
    if not folder.is_dir():
        return [[f"the public set is not at {folder}; set FYKE_SHARED", "", "", "", ""]]
    config = xberg.ExtractionConfig(
        use_cache=False, disable_ocr=True, output_format="html", enable_quality_processing=False
    )
    rows: list[list[object]] = []
    with asyncio.Runner() as runner:
        for kind in OFFICE:
            alone, ours, count = 0.0, 0.0, 0
            for file in sorted((folder / "files" / kind).iterdir())[:6]:
                source = prepare(file.read_bytes(), name=file.name)
                if convert_here(source).failure:
                    continue
                given = xberg.ExtractInput(kind="bytes", bytes=source.data, mime_type=source.media_type)
                try:
                    alone += best_cpu(partial(_run, runner, given, config), repeat)
                except Exception:  # read by a fallback: there is nothing to compare with
                    continue
                ours += best_cpu(partial(convert_here, source), repeat)
                count += 1
            rows.append([kind, count, alone * 1e3, ours * 1e3, ours / alone if alone else 0.0])
    return rows


def _run(runner: asyncio.Runner, given: xberg.ExtractInput, config: xberg.ExtractionConfig) -> object:
    return runner.run(xberg.extract(given, config))


def pool_rows(jobs: int = 60) -> list[list[object]]:
    source = prepare(rtf(1_000))
    rows: list[list[object]] = []
    for size in (1, 2):
        with Pool(size=size) as pool:
            [f.result() for f in [pool.submit(source) for _ in range(2 * size)]]
            started = time.perf_counter()
            [f.result() for f in [pool.submit(source) for _ in range(jobs)]]
            rows.append([f"{size} workers", jobs / (time.perf_counter() - started)])
    return rows


def main() -> None:
    for size in SIZES:
        data = page(size, 51)
        print(f"HTML page of {len(data):,} bytes\n")
        rows = html_rows(data)
        peers = {str(r[0]): r[1] for r in rows if not str(r[0]).startswith("fyke")}
        figure(
            "HTML: tagged text, metadata and links joined; peers parse and give plain text",
            "µs",
            rows[4][1],
            peers,
            f"{len(data):,} bytes",
        )
        print(table(["what", "µs", "× fyke"], rows), "\n")
    print(table(["other formats", "engine alone, ms", "fyke, ms", "ratio"], engine_rows()), "\n")
    print(table(["real documents", "files", "engine alone, ms", "fyke, ms", "ratio"], office_rows()), "\n")
    print(table(["pool (wall time)", "documents/s"], pool_rows()))


if __name__ == "__main__":
    main()
