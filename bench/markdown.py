"""Markdown beside trafilatura, markdownify and html2text: CPU a page, and pairs that give the same document.

The pages are a sample of the public set for extraction, of all sizes; fyke is timed from the page's text on, with the
parsing, as its peers are.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections.abc import Callable

from bench.measure import SHARED, best_cpu, figure, table
from fyke.convert.html import tagged
from fyke.formats.html import parse
from fyke.formats.markdown import markdown
from fyke.reading.content import extract

PAGES = SHARED / "data" / "extract" / "wcxb-dev"
PAIRS = SHARED / "data" / "markdown" / "pairs.jsonl"
SAMPLE = 40
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
BLOCK_TAG = re.compile(r"\s*(</?(?:p|ul|ol|li|h\d|table|thead|tbody|tr|t[dh]|pre|blockquote|hr|div|br)[^>]*>)\s*")


def whole(html: str) -> str:
    """A page as Markdown, all of it."""
    return markdown(tagged(parse(html)).html)


def main_content(html: str) -> str:
    """The main content of a page as Markdown."""
    return extract(html).markdown


def peers() -> dict[str, Callable[[str], object]]:
    """The peers that are installed."""
    found: dict[str, Callable[[str], object]] = {}
    try:
        import markdownify

        found["markdownify"] = markdownify.markdownify
    except ImportError:
        pass
    try:
        import html2text

        found["html2text"] = html2text.html2text
    except ImportError:
        pass
    try:
        import trafilatura

        found["trafilatura"] = lambda html: trafilatura.extract(html, output_format="markdown", include_tables=True)
    except ImportError:
        pass
    return found


def speed() -> None:
    """CPU of a sample of pages."""
    files = sorted(PAGES.glob("html/*.gz"))
    some = files[:: max(1, len(files) // SAMPLE)][:SAMPLE]
    texts = [gzip.decompress(path.read_bytes()).decode("utf-8", "replace") for path in some]
    if not texts:
        print(f"no pages under {PAGES}")
        return
    size = sum(map(len, texts))
    ways: dict[str, Callable[[str], object]] = {"fyke, whole": whole, "fyke, main content": main_content, **peers()}
    taken = {
        name: best_cpu(lambda way=way: [way(text) for text in texts], repeat=3)  # type: ignore[misc]
        for name, way in ways.items()
    }
    rows = [[name, 1000 * cpu / len(texts), size / cpu / 1e6] for name, cpu in taken.items()]
    print(table(["converter", "CPU ms a page", "million characters a second"], rows))
    others = {name: 1000 * cpu / len(texts) for name, cpu in taken.items() if not name.startswith("fyke")}
    figure("Markdown of a page", "ms", 1000 * taken["fyke, whole"] / len(texts), others, f"{len(texts)} pages")


def pairs() -> None:
    """Pairs of other converters' tests that give the same document when rendered."""
    from markdown_it import MarkdownIt

    render = MarkdownIt("commonmark", {"html": True, "maxNesting": 200}).enable(["table", "strikethrough"]).render

    def compared(text: str) -> str:
        html = render(COMMENT.sub("", text.strip("\n")))
        return BLOCK_TAG.sub(r"\1", re.sub(r"\s+", " ", html)).strip()

    rows = [json.loads(line) for line in PAIRS.read_text("utf-8").splitlines()]
    ways: dict[str, Callable[[str], object]] = {
        "fyke": whole, **{name: way for name, way in peers().items() if name != "trafilatura"},
    }  # fmt: skip
    lines = []
    for name, way in ways.items():
        same = [0, 0]
        for row in rows:
            wanted = row["markdown"]
            if row["suite"] == "turndown-gfm":
                wanted = re.sub(r"(?<!~)~(?!~)", "~~", wanted)
            is_same = compared(str(way(row["html"]))) == compared(wanted)
            same[0] += is_same
            same[1] += is_same and not row["options"]
            if name == "fyke" and not is_same and "-v" in sys.argv:
                print(row["id"])
        defaults = sum(not row["options"] for row in rows)
        lines.append([name, f"{same[0]} of {len(rows)} ({same[0] / len(rows):.1%})", f"{same[1]} of {defaults}"])
    print(table(["converter", "same document", "of those without switches"], lines))


def main() -> None:
    """Print both tables."""
    speed()
    if PAIRS.exists():
        print()
        pairs()


if __name__ == "__main__":
    main()
