"""Small real workloads: command lines on tiny inputs, which together run every kernel with its real types.

``python -m fyke.cli.workloads NAME…`` runs some in a scratch folder, without a word; ``fyke warm`` does so in several
processes. Since they are commands as users type them, no list of kernels and types can go stale
(tests/cli/test_warm.py: after them, nothing compiles in any command).
"""

from __future__ import annotations

import contextlib
import gc
import http.server
import io
import json
import os
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from fyke.scratch import Scratch

WORDS = (  # noqa: SIM905 - it is a text
    "the frontier of a crawler holds the addresses that are known and not yet fetched and each host is left in peace"
    " between two visits while others are asked so that a net catches many fish and no pond is emptied"
).split()


def extract(folder: Path, run: Callable[..., None]) -> None:
    """What ``fyke extract`` needs."""
    run("extract", page(folder, "page.html", 0))


def convert(folder: Path, run: Callable[..., None]) -> None:
    """What converters need."""
    run("convert", page(folder, "page.html", 0), "--to", "text")


def reading(folder: Path, run: Callable[..., None]) -> None:
    """Every method of cleaning, and conversion."""
    file = page(folder, "page.html", 0)
    run("extract", file, "--method", "all", "--show", "blocks", "--json")
    run("extract", file, "--show", "html", "--url", "http://a.example/")
    run("extract", file, "--favour", "recall")
    run("convert", file)
    run("convert", file, "--to", "text")


def crawl(folder: Path, run: Callable[..., None]) -> None:
    """A crawl with its defaults."""
    import fyke
    from fyke.dedupe.index import INLINE
    from fyke.dedupe.sketch import sketches_of

    with site(folder) as seeds:
        (folder / "site" / "feed.xml").write_text(FEED)
        run("crawl", *seeds, seeds[0].replace("0.html", "feed.xml"), "--store", folder / "store", *QUICKLY)
    with fyke.DuplicateIndex() as index:  # of a longer crawl
        for k in range(2000):
            index.seen(" ".join(f"{word}{k}" for word in WORDS[:9]), str(k))
        for sketched in sketches_of([(str(k), " ".join(WORDS[:9])) for k in range(3)], INLINE):  # on many machines
            index.seen_sketch(sketched)
    for _ in range(2):  # and of one that goes on
        with fyke.DuplicateIndex(folder / "index") as index:
            index.seen(" ".join(WORDS), "page")


ODD = (
    f"<article><p>Few words.</p></article><noscript><p>{300 * 'words of a page that scripts make '}</p></noscript>",
    '<script type="application/ld+json">{"@type": "Article", "articleBody": "A net."}</script><p>A net.</p><p>A fish.',
    "<p>Before.</p><!-- article start --><p>A net catches many fish in a pond.</p><!-- article end --><p>After.</p>",
    '<meta http-equiv="refresh" content="0; url=/1">',
)
"""Pages that want a closer look (clean.main), as one real page in ten does: each for another reason."""


def closer(folder: Path, run: Callable[..., None]) -> None:
    """What one crawled page in ten needs beside the rest."""
    import fyke

    for more in ({"favour": "recall"}, {"method": "plateau"}, {}):  # the last waits for who compiles what all need
        for markup in ODD:
            assert isinstance(fyke.extract(markup, **more).text, str)


def crawls(folder: Path, run: Callable[..., None]) -> None:
    """Crawls by other orders, with a topic, and with revisits; what is done with a store."""
    import numpy as np

    from fyke.crawl.order.ranking import Ranks, compute

    topic = folder / "topic.toml"
    topic.write_text('name = "nets"\nwords = ["net", "fish", "pond"]\n')
    with site(folder) as seeds:
        for name, more in (
            ("quality", ("--order", "quality")),
            ("topic", ("--topic", topic)),
        ):
            run("crawl", *seeds, "--store", folder / name, *QUICKLY, *more)
    ranks = folder / "quality" / "ranks"  # which a longer crawl computes
    compute(ranks)
    Ranks.read(ranks / "ranks").rank(np.ones(1, np.uint64))
    Ranks.read(ranks / "ranks").authority(np.ones(1, np.uint64))
    run("similar", "--store", folder / "quality", seeds[0])
    run("export", folder / "pages.jsonl", "--store", folder / "quality")
    run("export", folder / "pages.warc.gz", "--store", folder / "quality")
    run("import", folder / "pages.warc.gz", "--store", folder / "imported")


def dedupe(folder: Path, run: Callable[..., None]) -> None:
    """Near-duplicates by every method and check."""
    file = pages(folder)
    for method in ("minhash", "simhash", "fingerprint", "exact"):
        run("dedupe", file, "--method", method, "--threshold", "0.5", "--json")
    for check in ("containment", "cosine", "words", "edit"):
        run("dedupe", file, "--check", check, "--threshold", "0.5", "--cluster", "star", "--json")
    for name in ("one", "two"):
        run("dedupe", file, "--save", folder / name, "--json")
    run("dedupe", "merge", folder / "two", folder / "one")
    run("dedupe", file, "--against", folder / "one", "--json")


def archive(folder: Path, run: Callable[..., None]) -> None:
    """Archives and graphs, written, read, ranked; policies simulated on them."""
    file, built = pages(folder), folder / "fyke"
    for mode in ("paper", "fyke"):
        run("archive", "build", folder / mode, "--from", file, "--mode", mode, "--min-documents", "1")
        run("archive", "show", folder / mode)
    run("archive", "sub", built, folder / "sub", "--sample", "0.5")
    run("graph", "stats", built / "graph", "--json")
    run("graph", "convert", built / "graph", folder / "edges.txt")
    run("graph", "convert", folder / "edges.txt", folder / "again")
    for by in ("pagerank", "hubs", "opic", "indegree"):
        run("graph", "rank", built / "graph", "--by", by)


def simulate(folder: Path, run: Callable[..., None]) -> None:
    """Every policy on a small archive."""
    built, topic = folder / "fyke", folder / "topic.txt"
    run("archive", "build", built, "--from", pages(folder), "--min-documents", "1")
    topic.write_text("a net catches many fish in a pond\n")
    plain = ("bfs", "dfs", "random", "backlinks", "pagerank", "opic", "quality", "larger-sites-first")
    focused = ("best-first", "online-best-first", "omniscient")
    run("simulate", built, *(word for name in plain for word in ("--policy", name)))
    run("simulate", built, "--topic", topic, *(word for name in focused for word in ("--policy", name)))
    run("simulate", built, "--policy", "bfs", "--frontier", "mercator", "--delay", "1")


def revisits(folder: Path, run: Callable[..., None]) -> None:
    """What a crawl that goes on needs, and what lasts too long for a small one: revisits, a large seen-set, ranks."""
    import numpy as np

    from fyke.frontier.revisit import ChangeState, Priors, RevisitPolicy, mean_age, visited
    from fyke.frontier.seen import SeenSet, merge, sorted_run
    from fyke.simulate.change import ChangingWorld, simulate_changes

    seen = SeenSet()
    keys = np.arange(1, 4000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for part in np.split(keys[:3000], 3):
        seen.add(part)
        seen.attach(sorted_run(seen.spill()))
    seen.add(keys)
    merge(seen.runs[0], seen.runs[1])
    changing = ChangingWorld(np.linspace(0.1, 2, 20), np.arange(20) % 3, np.zeros(20, np.int64))
    for name in ("uniform", "proportional", "freshness-optimal", "age-optimal"):
        policy = RevisitPolicy(name)
        policy.rates(np.linspace(0.1, 2, 20), 5.0)
        for known in (False, True):
            schedule = changing.schedule(policy, 5.0, known=known)
            simulate_changes(changing, schedule, 3.0, np.random.default_rng(3), step=0.05)
        state, priors = ChangeState(), Priors()
        for day, changed in ((1.0, True), (2.5, False), (4.0, True)):
            state = priors.learn(visited(state, day, changed), "a.example", "text/html")
        policy.due_at(state, 0.1, 5.0)
        policy.value(priors.rate(state, "a.example", "text/html"), 1.0)
        policy.look_again(1.0, 1.0, 0.1)
        policy.due_after(1.0, 0.1)
    mean_age(1.0, 1.0)


def library(folder: Path, run: Callable[..., None]) -> None:
    """What the library has beside the commands."""
    import numpy as np

    import fyke
    from fyke.archive.archive import Archive
    from fyke.collection import build as collection
    from fyke.graph import rank

    texts = [text(k) for k in range(12)]
    for one in texts[:2]:
        fyke.minhash(one)
        fyke.simhash(one)
    fyke.near_duplicates(texts, 0.5)
    run("archive", "build", folder / "made", "--from", pages(folder), "--min-documents", "1")
    opened = Archive.open(folder / "made")
    opened.read(np.arange(len(opened)))
    rank.breadth_first(collection.graph_of(opened), np.array([0]))


WORKLOADS: dict[str, Callable[[Path, Callable[..., None]], None]] = {
    work.__name__: work
    for work in (extract, convert, crawl, closer, reading, crawls, dedupe, archive, simulate, revisits, library)
}
QUICKLY = ("--delay", "0.01", "--agents", "1", "--patience", "1", "--allow-private")


FEED = "<rss version='2.0'><channel><title>f</title><item><title>a</title><link>/1.html</link></item></channel></rss>"


def text(number: int) -> str:
    """Sixty words, mostly the same as of the next numbers."""
    return " ".join(WORDS[(number // 3 + i) % len(WORDS)] for i in range(60)) + f" and number {number}."


def page(folder: Path, name: str, number: int) -> Path:
    """Write an HTML page with a navigation, two paragraphs, a list and links; every other one tells its date."""
    links = "".join(f'<a href="/{k}.html">page {k}</a> ' for k in range(6))
    said = "<p itemscope itemtype='https://schema.org/Article'><b itemprop='name'>Page</b> of 12 March 2024</p>"
    said = said if number % 2 else ""
    body = (
        f"<html><head><title>Page {number}</title><script>1</script></head><body><nav class='menu'>{links}</nav><main>"
        f"<h1>Page {number}"
        f"</h1><p>{text(number)}</p><p>{text(number + 1)} <a href='/1.html'>One</a></p><ul><li>a<li>b</ul></main>"
        f"{said}<footer>contact</footer></body></html>"
    )
    path = folder / name
    path.write_text(body, encoding="utf-8")
    return path


def pages(folder: Path) -> Path:
    """Write pages of two hosts as JSON lines."""
    path = folder / "pages.jsonl"
    places = [f"http://{'ab'[k % 2]}.example/{k}" for k in range(24)]
    with path.open("w", encoding="utf-8") as file:
        for k, place in enumerate(places):
            links = [places[(k * 5 + j) % len(places)] for j in range(1, 6)]
            file.write(json.dumps({"url": place, "text": text(k), "links": links}) + "\n")
    return path


@contextlib.contextmanager
def site(folder: Path) -> Iterator[list[str]]:
    """Serve a few pages on loopback; give the addresses to start from."""
    root = folder / "site"
    root.mkdir()
    for k in range(6):
        page(root, f"{k}.html", k)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments, directory=str(root))  # type: ignore[arg-type]

        def log_message(self, *said: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield [f"http://127.0.0.1:{server.server_address[1]}/0.html"]
        server.shutdown()


def _end_with_parent() -> None:
    """End this process when whoever started it is gone: its end of our stdin is closed then, by kill -9 too."""
    if stat.S_ISFIFO(os.fstat(0).st_mode):
        os.read(0, 1)
        os._exit(1)


def main(names: list[str]) -> int:
    """Run workloads; return 1 where a command failed, with what it said on stderr."""
    from fyke import cli
    from fyke.bits import kernelcache, warmed
    from fyke.cli.echo import echo

    threading.Thread(target=_end_with_parent, daemon=True).start()
    gc.disable()  # compiling leaves much behind, and the process ends soon
    kernelcache.quiet()
    warmed.become_workload()
    status = 0

    def run(*words: object) -> None:
        nonlocal status
        told, said = io.StringIO(), io.TextIOWrapper(io.BytesIO())
        with contextlib.redirect_stderr(told), contextlib.redirect_stdout(said):
            ended = cli.run([str(word) for word in words])
        if ended:
            status = 1
            echo(f"fyke warm: {' '.join(map(str, words))} failed: {told.getvalue()}", err=True)

    for name in names:
        with Scratch("warm") as folder:
            WORKLOADS[name](folder, run)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
