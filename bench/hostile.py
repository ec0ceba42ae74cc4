"""The hostile web: what each case costs a real crawl in time, processor time and memory, and how it ends.

``python -m bench.hostile [NAME…] [--write]``: a crawl by one agent of the case's host and of one that is fine, for
every case; the memory is the most of any process of it (VmHWM), the reason is what ``fyke status`` counts. ``--write``
puts the table into docs/security.md. A case that ends otherwise than it should, that takes the fine host with it, or
more memory than ``BOUND``, is told, and the status is 1.
"""

# ruff: noqa: E501 - a table of cases

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench import hostile_bodies as bodies
from bench import hostile_h2, hostile_web
from bench.hostile_bodies import repeated
from bench.hostile_h2 import frame
from bench.hostile_web import Case, Web, endless, h2, head, made, moved, raw, whole
from bench.measure import figure, table

BOUND = 300
"""MB of a process, whatever body it has been sent."""
AT_ONCE = 3
"""Cases: most of their time is waiting."""
PAGE = Path(__file__).parent.parent / "docs" / "security.md"
_HTML = "<html><title>t</title><body>"

BODIES: dict[str, Case] = {
    "long-html": Case(endless(head(None), b"<p>a <b>word</b> of it" * 50_000, times=1000)),
    "long-text": Case(endless(head(None, "text/plain"), b"a word of it " * 80_000, times=1000)),
    "long-zeros": Case(endless(head(None), bytes(bodies.CHUNK), times=1000)),
    "long-chunks": Case(endless(head(None, extra="Transfer-Encoding: chunked\r\n"), b"1\r\nx\r\n" * 100_000, times=1000)),
    "gzip-bomb": whole(bodies.gzip_bomb, encoding="gzip"),
    "gzip-html": whole(bodies.html_bomb, encoding="gzip"),
    "gzip-twice": whole(bodies.twice, encoding="gzip, gzip"),
    "gzip-members": whole(bodies.members, encoding="gzip"),
    "gzip-member-bomb": whole(bodies.member_bomb, encoding="gzip"),
    "deflate-bomb": whole(bodies.deflate_bomb, encoding="deflate"),
    "br-bomb": whole(bodies.brotli_bomb, encoding="br"),
    "zstd-bomb": whole(bodies.zstd_bomb, encoding="zstd"),
    "zstd-window": whole(bodies.zstd_window, encoding="zstd"),
    "one-text": whole(repeated("words without an end ", _HTML)),
    "one-word": whole(repeated("x", _HTML)),
    "one-attribute": whole(repeated("x", _HTML + '<p title="', '">y')),
    "attributes": whole(bodies.many_attributes),
    "nested": whole(repeated("<div>", _HTML)),
    "nested-inline": whole(repeated("<b><i>", _HTML)),
    "nested-lists": whole(repeated("<ul><li>x", _HTML)),
    "tables": whole(repeated("<table><tr><td>x", _HTML)),
    "spans": whole(repeated("<tr><td colspan=1000 rowspan=1000>x", _HTML + "<table>")),
    "links": whole(bodies.many_links),
    "links-long": whole(repeated('<a href="/' + "x" * 2_000 + '">x</a>', _HTML)),
    "entities": whole(repeated("&amp;&#65;&notin;&x", _HTML)),
    "paragraphs": whole(repeated("<p>a word ", _HTML)),
    "metas": whole(repeated('<meta name=robots content="noindex, nofollow">', "<html>")),
    "linked-data": whole(repeated('{"@type":"Article"},', '<script type="application/ld+json">[', "{}]</script>")),
    "less-thans": whole(repeated("<", _HTML)),
    "utf-16": whole(lambda: "a word of it <p>".encode("utf-16") * 600_000),
    "one-line-text": whole(repeated("x"), "text/plain"),
    "lines": whole(repeated("x\n"), "text/plain"),
    "csv": whole(repeated("a,b,c,d\n"), "text/csv"),
    "json": whole(repeated('{"a":[1,"b"]},', "[", "{}]"), "application/json"),
    "json-nested": whole(repeated('{"a":['), "application/json"),
    "xml": whole(repeated("<a b='c'>x</a>", "<?xml version='1.0'?><d>", "</d>"), "application/xml"),
    "xml-nested": whole(repeated("<a>", "<?xml version='1.0'?>"), "application/xml"),
    "xml-entities": whole(bodies.entities_xml, "application/xml"),
    "feed": whole(repeated("<item><link>http://a.test/x</link></item>", "<rss><channel>"), "application/rss+xml"),
    "sitemap": whole(repeated("<url><loc>http://a.test/x</loc></url>", "<urlset>"), "application/xml"),
    "mail": whole(repeated("X: y\n"), "message/rfc822"),
    "mail-parts": whole(repeated("--x\n\ny\n", "Content-Type: multipart/mixed; boundary=x\n\n"), "message/rfc822"),
    "rtf": whole(repeated("\\b x{", "{\\rtf1 "), "application/rtf"),
    "pdf-pages": whole(bodies.pdf_pages, "application/pdf"),
    "pdf-bomb": whole(bodies.pdf_bomb, "application/pdf"),
    "docx-bomb": whole(bodies.docx_bomb, "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    "docx-large": whole(bodies.docx_large, "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    "zip-bomb": whole(bodies.zip_bomb, "application/zip"),
    "zip-members": whole(bodies.zip_many, "application/zip"),
    "zip-nested": whole(bodies.zip_nested, "application/zip"),
    "gz-file": whole(bodies.gzip_bomb, "application/gzip"),
}  # fmt: skip
"""A gigabyte over the wire, what expands to one, and the worst pages, as large as they are read."""

_HEADERS, _DATA, _RST, _PING, _GOAWAY, _CONTINUATION = 1, 0, 3, 6, 7, 9
_OK = hostile_h2.OK + hostile_h2.TYPE
SERVERS: dict[str, Case] = {
    "slow-head": Case(endless(b"HTTP/1.1 200 OK\r\n", b"X", 0.5)),
    "endless-head": Case(endless(b"HTTP/1.1 200 OK\r\n", b"X-Filler: " + b"y" * 80 + b"\r\n")),
    "endless-line": Case(endless(b"HTTP/1.1 200 OK\r\nX: ", b"y" * 10_000)),
    "endless-100": Case(endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100)),
    "slow-body": Case(endless(head(None), b"x", 0.5)),
    "silent": Case(hostile_web.silent),
    "reset": Case(hostile_web.reset),
    "junk": Case(raw(b"\x00\xff" * 1000)),
    "short-body": Case(raw(head(99_999) + b"<p>short")),
    "bad-chunks": Case(raw(head(None, extra="Transfer-Encoding: chunked\r\n") + b"fffffffffffffffff\r\nx")),
    "robots-endless": Case(endless(head(None, "text/plain"), b"Disallow: /x*y*z$\n" * 1000, times=100_000), robots=True),
    "robots-bomb": whole(bodies.gzip_bomb, "text/plain", "gzip", robots=True),
    "redirect-loop": Case(moved(lambda target: target)),
    "redirect-two": Case(moved(lambda target: "/b" if target != "/b" else "/")),
    "redirect-chain": Case(moved(lambda target: f"/{int(target[1:] or 0) + 1}")),
    "redirect-long": Case(moved(lambda target: "/" + "x" * 60_000)),
    "redirect-private": Case(moved(lambda target: "http://169.254.169.254/latest/")),
    "cookies": Case(made(lambda target: b"<p>cookies", "".join(f"Set-Cookie: c{i}=v; Path=/\r\n" for i in range(5_000)))),
    "cookies-chain": Case(moved(
        lambda target: f"/{int(target[1:] or 0) + 1}",
        lambda target: "".join(f"Set-Cookie: c{target[1:]}-{i}={'v' * 300}\r\n" for i in range(200)),
    )),
    "cookie-long": Case(made(lambda target: b"<p>a cookie", f"Set-Cookie: c={'v' * 200_000}\r\n")),
    "calendar": Case(made(lambda target: b"".join(
        b'<p>a day of it<a href="/%d/%d/">x</a>' % (int(target.strip("/").split("/")[0] or 1970) + 1, i) for i in range(1, 13)
    ))),
    "deep-paths": Case(made(lambda target: b'<p>%d words<a href="%sa/">x</a>' % (len(target), target.encode()))),
    "session-ids": Case(made(lambda target: b"<p>the same text" + b"".join(
        b'<a href="/p?sid=%d%d">x</a>' % (hash(target) & 0xFFFFFFFF, i) for i in range(50)
    ))),
    "growing-query": Case(made(lambda target: b'<p>a list<a href="%s%sx=%d">x</a>' % (
        target.encode(), b"&" if "?" in target else b"?", len(target)
    ))),
    "h2-reset": Case(h2(lambda s: frame(_RST, 0, s, b"\0\0\0\2")), "h2"),
    "h2-goaway": Case(h2(lambda s: frame(_GOAWAY, 0, 0, bytes(8))), "h2"),
    "h2-garbage": Case(h2(lambda s: b"\xff" * 5_000), "h2"),
    "h2-bad-hpack": Case(h2(lambda s: frame(_HEADERS, 5, s, b"\xff\xff\xff\xff\xff\x7f")), "h2"),
    "h2-continuation": Case(h2(
        lambda s: frame(_HEADERS, 0, s, _OK), lambda s: frame(_CONTINUATION, 0, s, hostile_h2.FIELD * 50)
    ), "h2"),
    "h2-headers": Case(h2(lambda s: frame(_HEADERS, 0, s, _OK) + frame(_CONTINUATION, 0, s, hostile_h2.FIELD * 50) * 200
                          + frame(_CONTINUATION, 4, s) + frame(_DATA, 1, s, b"<p>x")), "h2"),
    "h2-hpack-bomb": Case(h2(lambda s: frame(_HEADERS, 4, s, _OK + b"\x40\x01a\x7f\xa1\x1e" + b"v" * 4_000 + b"\xbe" * 10_000)
                             + frame(_DATA, 1, s, b"<p>x")), "h2"),
    "h2-pings": Case(h2(lambda s: b"", lambda s: frame(_PING, 0, 0, bytes(8)) * 1000), "h2"),
    "h2-settings": Case(h2(lambda s: b"", lambda s: hostile_h2.SETTINGS * 1000), "h2"),
    "h2-empty-data": Case(h2(lambda s: frame(_HEADERS, 4, s, _OK), lambda s: frame(_DATA, 0, s) * 1000), "h2"),
    "h2-no-end": Case(h2(lambda s: frame(_HEADERS, 4, s, _OK) + frame(_DATA, 0, s, b"<p>some words")), "h2"),
    "h2-window": Case(h2(lambda s: frame(_HEADERS, 4, s, _OK), lambda s: frame(_DATA, 0, s, bytes(16_000)) * 200), "h2"),
    "tls-expired": Case(hostile_web.silent, "expired"),
    "tls-unknown": Case(hostile_web.silent, "unknown"),
    "tls-cut": Case(hostile_web.silent, "cut"),
    "tls-garbage": Case(hostile_web.silent, "garbage"),
    "tls-mute": Case(hostile_web.silent, "mute"),
}  # fmt: skip
"""What servers do beside sending documents."""

FINE = {"fine": Case(made(lambda target: b"<title>fine</title><p>a page that is fine."))}
OPTIONS = (
    *("--scope", "host", "--agents", "1", "--delay", "0.01", "--patience", "2s", "--no-sitemaps", "--json", "--quiet"),
    *("--stall-timeout", "3s", "--fetch-timeout", "8s", "--connect-timeout", "3s", "--max-host-pages", "200"),
)


@dataclass(frozen=True)
class Ran:
    """A command that has ended."""

    status: int
    out: str
    err: str
    seconds: float
    cpu: float
    memory: float
    """MB: the most of one of its processes, converters not counted."""
    converter: float
    """MB: the most of a converter."""


def run(words: Sequence[str], deadline: float = 300.0) -> Ran:
    """Run ``fyke words``; watch all of its processes."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.monotonic()
        process = subprocess.Popen([sys.executable, "-m", "fyke", *words], stdout=out, stderr=err)
        most: dict[int, int] = {}
        converters: set[int] = set()
        used = None
        while used is None:
            for each in tree(process.pid):
                if each not in converters and is_converter(each):
                    converters.add(each)
                most[each] = max(most.get(each, 0), high_water(each))
            if time.monotonic() - began > deadline:
                os.kill(process.pid, signal.SIGKILL)
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
            used = usage if ended else None
            time.sleep(0.02)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return Ran(
            process.returncode,
            out.read().decode(),
            err.read().decode(),
            time.monotonic() - began,
            used.ru_utime + used.ru_stime,
            max((most[each] for each in most.keys() - converters), default=0) / 1024,
            max((most[each] for each in converters), default=0) / 1024,
        )


def tree(root: int) -> list[int]:
    """A process and all below it."""
    found, at = [root], 0
    while at < len(found):
        try:
            for task in Path(f"/proc/{found[at]}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
        except (OSError, ValueError):
            pass
        at += 1
    return found


def is_converter(process: int) -> bool:
    try:
        return b"fyke.workers.child" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False


def high_water(process: int) -> int:
    """KB: the most memory that a process has had."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


def crawled(site: Web, folder: Path, name: str) -> tuple[Ran, str, bool]:
    """Crawl a case's host beside one that is fine; return how it ended, and whether the fine one was had."""
    site.prepare(name)
    store = folder / f"store-{name}"
    words = ["crawl", site.url(name), site.url("fine"), "--store", str(store), *OPTIONS]
    for each in (name, "fine"):
        words += ["--resolve", f"{each}.test:127.0.0.1"]
    ran = run([*words, "--ca-file", str(site.authority)])
    lines = ran.out.strip().splitlines()
    told = json.loads(lines[-1]) if lines else {}
    rows = run(["list", "--store", str(store), "--json"])
    kept = {row["url"]: row for row in map(json.loads, rows.out.splitlines())}
    return ran, _ended(told, kept, site.url(name)), site.url("fine") in kept


def _ended(told: dict[str, dict[str, int]], kept: dict[str, dict[str, object]], url: str) -> str:
    """In the words of ``fyke status``: errors and drops with their counts; else what became of the page."""
    reasons = [f"{why} × {count}" for part in ("errors", "dropped") for why, count in told.get(part, {}).items()]
    row = kept.get(url)
    if row is not None and row.get("truncated"):
        reasons.append("cut off")
    if row is None:
        reasons += [f"{why}" for why in told.get("failed_seeds", {}).values()]
    if not reasons and row is not None:
        reasons.append(f"{row['status']}, {row['length']:,} bytes")
    return "; ".join(reasons).replace("|", "/")


def main() -> int:
    """Run cases; print or write their tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/security.md")
    options = parser.parse_args()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="fyke-hostile-") as name:
        site = Web({**BODIES, **SERVERS, **FINE}, Path(name))
        try:
            for title, cases in (("bodies", BODIES), ("servers", SERVERS)):
                rows = []
                chosen = [case for case in cases if not options.names or case in options.names]
                with ThreadPoolExecutor(AT_ONCE) as threads:
                    results = threads.map(partial(crawled, site, Path(name)), chosen)
                    for case, (ran, ended, fine) in zip(chosen, results, strict=True):
                        rows.append((case, ended, ran.seconds, ran.cpu, round(ran.memory), round(ran.converter) or ""))
                        print(*rows[-1], sep="\t", flush=True)
                        wrong += [f"{case}: the fine host was lost"] * (not fine)
                        wrong += [f"{case}: {ran.memory:.0f} MB, {ran.converter:.0f} MB"] * (
                            max(ran.memory, ran.converter) > BOUND
                        )
                        wrong += [f"{case}: status {ran.status}: {ran.err[-500:]}"] * (ran.status not in (0, 1))
                if options.write and rows:
                    write(title, rows)
                if rows:
                    worst = max(row[4] for row in rows)
                    figure(f"hostile {title}: the most memory of a process", "MB", worst, size=f"{len(rows)} cases")
        finally:
            site.close()
    print("\n".join(wrong) or "all bounded", file=sys.stderr)
    return bool(wrong)


def write(title: str, rows: Sequence[Sequence[object]]) -> None:
    """Put a table between its marks in the page."""
    begin, end = f"<!-- hostile {title}: begin (python -m bench.hostile --write) -->", f"<!-- hostile {title}: end -->"
    text = PAGE.read_text()
    before, _, rest = text.partition(begin)
    known = {line.split(" | ")[0].strip("| "): line for line in rest.partition(end)[0].splitlines()}
    kept = {str(row[0]): row for row in rows}
    names = [*(BODIES if title == "bodies" else SERVERS)]
    drawn = table(["case", "ended (`fyke status`)", "seconds", "CPU s", "MB", "converter MB"], rows)
    head, each = drawn.splitlines()[:2], dict(zip(kept, drawn.splitlines()[2:], strict=True))
    drawn = "\n".join([*head, *(line for name in names if (line := each.get(name, known.get(name))))])
    PAGE.write_text(f"{before}{begin}\n{drawn}\n{end}{rest.partition(end)[2]}")


if __name__ == "__main__":
    sys.exit(main())
