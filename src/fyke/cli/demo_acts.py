"""The acts of the demo: each shows a room at work on the world, and compares what it found with what is true."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from fyke.cli.echo import plain

if TYPE_CHECKING:
    from rich.console import Console

    from fyke.simulate.change import Curve
    from fyke.store.row import Row
    from fyke.world.serve import Served

DELAY = 0.05
"""Seconds between contacts of a host in the demo: polite in kind, short in time."""
PATIENCE = 2.0
DAYS = 30.0
"""Simulated, of revisits."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What every act has at hand."""

    served: Served
    """The world, on loopback; ``served.world`` knows what is true."""
    console: Console
    """Where it shows itself; stderr under ``--json``."""
    folder: Path
    """Scratch: the collection."""
    pictures: Path
    """What the user keeps: the pictures and the store."""

    @property
    def store(self) -> Path:
        """The store that the crawl makes."""
        return self.pictures / "store"

    def picture(self, name: str) -> Path | None:
        """Where a picture goes; None where nothing is installed to draw it."""
        return self.pictures / f"{name}.png" if find_spec("matplotlib") else None


Facts = dict[str, object]
"""What an act found, for ``--json``."""


def hosts(stage: Stage) -> Facts:
    """The web: its hosts, and what a correct crawl of them would find."""
    from rich.table import Table

    from fyke.cli.world_ import oddities

    world = stage.served.world
    table = Table("host", "pages", "language", "topic", "peculiar")
    for host in world.hosts[:12]:
        table.add_row(host.name, f"{host.pages:,}", host.language, host.topic, ", ".join(oddities(host)))
    if len(world.hosts) > 12:
        table.add_row(f"and {len(world.hosts) - 12} more", "", "", "", "")
    stage.console.print(table)
    pages = sum(host.pages for host in world.hosts)
    expected = world.expected(world.seeds)
    stage.console.print(
        f"{len(world.hosts)} hosts, {pages:,} pages, served on {stage.served.address}. A correct crawl from the home "
        f"pages fetches [b]{len(expected.pages):,}[/b] pages, meets {len(expected.others):,} redirects and errors, "
        f"leaves {len(expected.disallowed):,} addresses to robots.txt, and gives up at {len(expected.traps)} doors of "
        f"traps."
    )
    return {"hosts": len(world.hosts), "pages": pages, "address": stage.served.address}


def crawl(stage: Stage) -> Facts:
    """The crawl: polite, into a fresh store, compared with what is true."""
    from fyke import assemble
    from fyke.cli.display import Display
    from fyke.store import Store
    from fyke.world.transport import shortest_gaps

    world = stage.served.world
    expected = world.expected(world.seeds)
    stage.served.log()
    with Display() as display:
        summary = assemble.crawl(
            world.seeds,
            stage.store,
            scope="any",
            delay=DELAY,
            patience=PATIENCE,
            agents=1,  # starts at once; a world this small needs no more
            resolve=tuple(stage.served.resolve()),
            progress=display.show,
        )
    with Store.open(stage.store, "r") as reader:
        stored = {row.url for row in reader.scan(parts=()) if row.meta.status == 200 and not row.meta.error}
    gaps = shortest_gaps(stage.served.log())
    early = sum(gap < DELAY - 0.001 for gap in gaps.values())
    found = len(expected.pages & stored)
    dropped = ", ".join(f"{count:,} {why}" for why, count in summary.dropped.items())
    stage.console.print(
        f"[b]{found:,} of {len(expected.pages):,}[/b] expected pages are in the store, after {summary.seconds:.0f} s; "
        f"{len(stored & expected.disallowed)} of {len(expected.disallowed):,} forbidden ones; "
        f"{early} of {len(gaps)} hosts were contacted early. Not followed: {dropped}."
    )
    return {"expected": len(expected.pages), "found": found, "early": early, "pages": summary.pages}


def copies(stage: Stage) -> Facts:
    """Duplicates: what the crawl has marked, and what resembles what in truth."""
    from fyke.store import Store
    from fyke.world.pairs import resembling

    world = stage.served.world
    expected = world.expected(world.seeds).pages
    with Store.open(stage.store, "r") as reader:
        rows = [row for row in reader.scan(parts=()) if row.meta.status == 200 and row.url in expected]
        marked = {row.url: row.meta for row in rows if row.meta.duplicate_of}
    truth = {(pair.first, pair.second) for pair in resembling(world, frozenset(row.url for row in rows))}
    recall = sum(first in marked or second in marked for first, second in truth) / max(1, len(truth))
    pairs = [(url, meta.duplicate_of) for url, meta in marked.items()]
    right = sum((min(pair), max(pair)) in truth for pair in pairs) / max(1, len(marked))
    stage.console.print(
        f"[b]{len(marked):,}[/b] pages are marked as copies or near copies of others, {right:.1%} of them rightly; "
        f"of {len(truth):,} pairs that resemble each other {recall:.1%} are known."
    )
    near = [(url, meta) for url, meta in marked.items() if 0 < meta.similarity < 1]
    for url, meta in near[:2]:
        stage.console.print(f"  {url}\n  resembles {meta.duplicate_of} by {meta.similarity:.2f} ({meta.duplicate_by})")
    return {"copies": len(marked), "copy_precision": right, "copy_recall": recall}


def noise(stage: Stage) -> Facts:
    """Noise: one page before and after, and its document slope curve."""
    from rich.columns import Columns
    from rich.panel import Panel

    from fyke.reading.content import draw
    from fyke.store import Store

    world = stage.served.world
    with Store.open(stage.store, "r") as reader:
        row = next((row for row in reader.scan() if _is_article(row)), None)
        if row is None:
            return {}
        url, raw, before, after = row.url, row.raw or b"", row.whole or "", row.text or ""
    truth = Counter(world.truth(url).main_text.split())
    shares = [_f1(Counter(text.split()), truth) for text in (before, after)]
    picture = stage.picture("slope")
    if picture is not None:
        draw(raw, ["plateau", "auto"]).savefig(picture, dpi=120)
    panels = [
        Panel(_cut(text), title=title, width=54, height=14)
        for title, text in ((f"before: {len(before.split())} words", before), (f"after: {len(after.split())}", after))
    ]
    stage.console.print(f"{url}\n", Columns(panels))
    stage.console.print(
        f"Words in common with the true main text, F1: {shares[0]:.2f} before, [b]{shares[1]:.2f}[/b] after. "
        f"{_beside(picture, 'Its slope curve')}"
    )
    return {"url": url, "f1_before": shares[0], "f1_after": shares[1], "picture": picture and str(picture)}


def _is_article(row: Row) -> bool:
    return (
        row.meta.type == "text/html"
        and row.meta.language == "en"
        and len((row.text or "").split()) > 150
        and len((row.whole or "").split()) > 1.2 * len((row.text or "").split())
    )


def _f1(found: Counter[str], truth: Counter[str]) -> float:
    common = (found & truth).total()
    return 2 * common / max(1, found.total() + truth.total())


def _cut(text: str) -> str:
    return " ".join(text.split())[:560] + " …"


def freshness(stage: Stage) -> Facts:
    """Freshness: a month of revisits, simulated, at one visit a page in two days."""
    import numpy as np

    from fyke.frontier.revisit import RevisitPolicy
    from fyke.simulate.change import ChangingWorld, simulate_changes

    world = stage.served.world
    pages = [(host.number, world.truth(url).rate) for host in world.hosts for url in world.pages(host.name)]
    moving = [(number, rate) for number, rate in pages if rate > 0]
    if not moving:
        return {}
    numbers, rates = np.array([n for n, _ in moving]), np.array([r for _, r in moving])
    changing = ChangingWorld(rates, numbers, np.zeros(len(rates), np.int64))
    budget = len(rates) / 2
    curves = {}
    for name in ("uniform", "age-optimal"):
        schedule = changing.schedule(RevisitPolicy(name), budget, known=False)
        curve = simulate_changes(changing, schedule, DAYS, np.random.default_rng(3), step=0.05)
        curves[name] = curve
    picture = stage.picture("freshness")
    if picture is not None:
        _draw_ages(picture, curves)
    ages = {name: curve.second_half() for name, curve in curves.items()}
    told = ", ".join(f"{name} {fresh:.1%} fresh, {age * 24:.1f} h old" for name, (fresh, age) in ages.items())
    stage.console.print(
        f"{len(rates):,} pages that change, {budget:.0f} visits a day, {DAYS:.0f} days: {told}. fyke learns how often "
        f"each page changes, and goes where the mean age falls most. {_beside(picture, 'A picture')}"
    )
    named = {name: {"freshness": fresh, "age_days": age} for name, (fresh, age) in ages.items()}
    return {"pages": len(rates), "policies": named, "picture": picture and str(picture)}


def _beside(picture: Path | None, what: str) -> str:
    """Where a picture is, for rich, to which brackets are markup."""
    from rich.markup import escape

    return f"{what}: {escape(plain(picture))}" if picture else ""


def _draw_ages(picture: Path, curves: dict[str, Curve]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axis = figure.subplots()
    for name, curve in curves.items():
        axis.plot(curve.days, curve.age * 24, label=name, linewidth=1.2)
    axis.set(xlabel="days", ylabel="mean age of copies, hours", ylim=(0, None))
    axis.legend()
    figure.savefig(picture, dpi=120)


def archive(stage: Stage) -> Facts:
    """The archive: lengths and term counts of every page, and the graph, compressed."""
    from fyke.archive.archive import Archive
    from fyke.archive.facts import facts
    from fyke.archive.preprocess import Preprocessing
    from fyke.collection import build as collection
    from fyke.collection.pages import Source
    from fyke.store import Store

    collection.build(Source(store=stage.store).pages(), stage.folder / "collection", Preprocessing(min_documents=2))
    opened = Archive.open(stage.folder / "collection")
    graph = collection.graph_of(opened)
    with Store.open(stage.store, "r") as reader:
        size = sum(host.size for host in reader.hosts())
    said = facts(opened)
    documents, each = len(opened) - int(str(said["missing"])), float(str(said["bytes_per_summary"]))
    stage.console.print(
        f"{documents:,} documents ({size / 1e6:.1f} MB as fetched) take [b]{each:.0f} bytes[/b] each: "
        f"{said['bits_per_posting']} bits for a term and its count. Their {graph.arcs:,} links take "
        f"[b]{graph.bits_per_link:.1f} bits[/b] each."
    )
    return {"documents": documents, "bytes_per_document": each, "bits_per_link": graph.bits_per_link}


def policies(stage: Stage) -> Facts:
    """Two policies compared by simulation: the archive is the web now."""
    from fyke.archive.archive import Archive
    from fyke.simulate.measures import plot
    from fyke.simulate.run import simulate

    opened = Archive.open(stage.folder / "collection")
    runs = simulate(opened, ["bfs", "opic"])
    picture = stage.picture("policies")
    if picture is not None:
        plot(picture, runs, focused=False)
    quarter = {run.policy: float(run.curve.pagerank[len(run.curve.pagerank) // 4]) for run in runs}
    told = ", ".join(f"{name} {share:.1%}" for name, share in quarter.items())
    stage.console.print(
        f"Share of all PageRank after a quarter of the pages: {told} (breadth first; the page with most cash "
        f"first). {_beside(picture, 'A picture')}"
    )
    return {"pagerank_at_a_quarter": quarter, "picture": picture and str(picture)}


ACTS: tuple[Callable[[Stage], Facts], ...] = (hosts, crawl, copies, noise, freshness, archive, policies)
"""The acts in order; the first line of an act's docstring is its title."""
