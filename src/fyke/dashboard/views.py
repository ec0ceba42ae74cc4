"""What the pages say: facts become words, numbers and curves; templates, which escape everything, make HTML of them."""

from __future__ import annotations

import difflib
import math
import re
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import jinja2

from fyke.crawl.run.history import Moment
from fyke.dashboard import series
from fyke.dashboard.facts import Facts, Found, HostFacts, Now
from fyke.store import Row
from fyke.store.facts import facts as facts_of
from fyke.values import BLOCK_END

MAX_TEXT = 200_000
"""Characters of a document that a page shows."""
MAX_BLOCKS = 2_000
MAX_LINKS = 300
MAX_PAGE = 500_000
"""Bytes of a page that its slope curve is of."""
MAX_LINES = 1_000
"""Lines of a version that are compared."""
MAX_VERSIONS = 200
_TOKEN = re.compile(rb"<[^<>]{1,2000}>|[^\s<]+")
_UNREAD = re.compile(rb"(?is)<(script|style)\b.{0,200000}?</\1\s*>|<!--.{0,20000}?-->")
SECTIONS = ("state", "tiles", "curves", "end", "idle", "errors", "dropped", "kinds", "events")
"""Parts of the overview, each replaced by itself when it changes."""


def address(path: str, **query: object) -> str:
    """Return the address of one of our pages."""
    given = {name: value for name, value in query.items() if value not in ("", 0, None)}
    return path + ("?" + urlencode({n: _utf8(str(v)) for n, v in given.items()}) if given else "")


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def outward(url: str) -> str:
    """Return the address of a document on the web; empty where a browser should not follow it."""
    return url if url.startswith(("http://", "https://")) else ""


def short(text: object, most: int = 120) -> str:
    """The beginning of a text, in one line."""
    said = " ".join(str(text)[: most + 1].split())
    return said if len(said) <= most else said[: most - 1] + "…"


def moment(when: float) -> str:
    """A time in UTC, to the second; empty where there is none."""
    if not 0 < when < 4e9:
        return ""
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%d %H:%M:%S")


def size(count: float) -> str:
    """Bytes in the unit that suits them."""
    for unit, least in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= least:
            return f"{count / least:,.1f} {unit}"
    return f"{count:,.0f} B"


def environment() -> jinja2.Environment:
    """Return the templates; whatever they are given is escaped."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("fyke.dashboard"), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.filters |= {"short": short, "moment": moment, "size": size, "duration": series.duration}
    made.globals |= {"address": address, "outward": outward, "width": series.WIDTH, "height": series.HEIGHT}
    return made


class Views:
    """Makes pages of facts. REQUIRES: one thread at a time."""

    def __init__(self, facts: Facts, csrf: str = "", control: bool = False) -> None:
        self.facts = facts
        self._templates = environment()
        self._common = {"store": facts.name, "control": control, "csrf": csrf}

    def page(self, template: str, **given: Any) -> str:
        """Return a page."""
        return self._templates.get_template(template).render(**self._common, **given)

    def sections(self) -> dict[str, str]:
        """Return the parts of the overview."""
        given = overview(self.facts)
        template = self._templates.get_template("sections.html")
        context = template.new_context({**self._common, **given})
        return {name: "".join(template.blocks[name](context)) for name in SECTIONS}

    def overview(self) -> str:
        """Return the overview."""
        return self.page("overview.html", sections=self.sections(), names=SECTIONS)

    def hosts(self, part: int) -> str:
        """Return a page of the hosts."""
        hosts, step = self.facts.hosts(), 200
        part = max(0, min(part, len(hosts.hosts) // step))
        shown = hosts.hosts[part * step : (part + 1) * step]
        more = (part + 1) * step < len(hosts.hosts)
        return self.page(
            "hosts.html", hosts=shown, count=len(hosts.hosts), complete=hosts.complete, part=part, more=more,
            now=time.time(), why=why_waits,
        )  # fmt: skip

    def errors(self) -> str:
        """Return the errors and drops by reason."""
        return self.page("errors.html", parts=self.sections())

    def listing(self, title: str, found: Found, form: Mapping[str, str], here: str, clusters: bool = False) -> str:
        """Return a page of rows; ``here`` is its address, ``form`` what was asked for.

        ``clusters`` shows above it the documents that have the most copies.
        """
        sample = self.facts.sample() if clusters else None
        after = found.after.hex()
        onward = here + ("&" if "?" in here else "?") + "after=" + after if after else ""
        rows = [described(row) for row in found.rows]
        return self.page("rows.html", title=title, rows=rows, looked=found.looked, onward=onward, form=form,
                         sample=sample, clusters=sample.copies.most_common(20) if sample else [])  # fmt: skip

    def document(self, row: Row) -> str:
        """Return the page of a document."""
        versions = [version.stamp for version in row.history()][: -MAX_VERSIONS - 1 : -1]
        some = row.links[:MAX_LINKS]
        links = [*zip(some.hrefs, some.texts, some.rels, strict=True)]
        blocks, cut = shaded(row)
        return self.page(
            "document.html", row=described(row), known=known(row), stamp=row.stamp, versions=versions,
            line=timeline(versions), blocks=blocks, cut=cut, links=links, all_links=len(row.links),
            anchors=self.facts.anchors(row), steps=self.facts.trace(row.url), weights=weight_curve(row),
            slope=slope_curve(row),
        )  # fmt: skip

    def compare(self, before: Row, after: Row) -> str:
        """Return two versions of a document compared, line by line of their main text."""
        old, new = lines(before), lines(after)
        changes = list(_changes(old[:MAX_LINES], new[:MAX_LINES]))
        cut = max(len(old), len(new)) > MAX_LINES
        return self.page("compare.html", before=described(before), after=described(after), changes=changes, cut=cut,
                         old=before.stamp, new=after.stamp)  # fmt: skip


def overview(facts: Facts) -> dict[str, Any]:
    """Return what the overview tells."""
    now, past = facts.now(), facts.past()
    hosts, sample = facts.hosts(), facts.sample()
    past = with_now(past, now)
    return {
        "now": now,
        "status": now.status,
        "tiles": tiles(now, len(hosts.hosts)),
        "curves": curves(past),
        "ends": series.projected(now, past, hosts, facts.limit()),
        "sample": sample,
        "errors": now.status.errors if now.status else {reason: len(urls) for reason, urls in sample.examples.items()},
        "dropped": now.status.dropped if now.status else {},
        "types": sample.types.most_common(12),
        "languages": sample.languages.most_common(12),
        "events": facts.events(),
    }


def with_now(past: list[Moment], now: Now) -> list[Moment]:
    """The past and, as its end, what the agents said last."""
    status = now.status
    if status is None or (past and status.updated <= past[-1].when):
        return past
    nan = math.nan
    fresh = nan if status.freshness is None else status.freshness
    age = nan if status.age is None else status.age
    last = Moment(status.updated, status.pages, status.bytes, status.queued, sum(status.errors.values()),
                  past[-1].memory if past else 0, fresh, age, 0.0, status.in_flight)  # fmt: skip
    return [*past, last]


def tiles(now: Now, hosts: int) -> list[tuple[str, str, str]]:
    """Return the figures of the overview: name, value, remark."""
    status = now.status
    if status is None:
        return [("hosts", f"{hosts:,}", "")]
    found = [
        ("pages", f"{status.pages:,}", f"{status.rate:,.1f} a second on average"),
        ("bytes", size(status.bytes), ""),
        ("queue", f"{status.queued:,}", f"{status.in_flight:,} in flight"),
        ("hosts", f"{max(status.hosts, hosts):,}", ""),
        ("errors", f"{sum(status.errors.values()):,}", f"{len(status.errors)} reasons"),
        ("dropped", f"{sum(status.dropped.values()):,}", "links that were not followed"),
        ("copies", f"{sum(status.duplicates.values()):,}", _told(status.duplicates)),
        ("agents", f"{status.agents:,}", ""),
    ]  # fmt: skip
    if status.freshness is not None and status.age is not None:
        age = series.duration(status.age * 86_400)
        found.append(("freshness", f"{status.freshness:.1%}", f"mean age {age}"))
    if status.relevant:
        found.append(("harvest", f"{status.harvest:.1%}", f"{status.relevant:,} pages are about the topic"))
    return found


def _told(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


def curves(past: list[Moment]) -> list[tuple[str, series.Curve, str, str]]:
    """Return the curves that have something to show: name, curve, value at the top, value now."""
    drawn = [
        ("pages", [(each.when, float(each.pages)) for each in past], "{:,.0f}"),
        ("pages a second", series.rates(past), "{:,.1f}"),
        ("queue", [(each.when, float(each.queued)) for each in past], "{:,.0f}"),
        ("errors", [(each.when, float(each.errors)) for each in past], "{:,.0f}"),
        ("freshness", [(each.when, each.freshness) for each in past], "{:.1%}"),
        ("age, days", [(each.when, each.age) for each in past], "{:,.2f}"),
        ("memory of the agents, MB", [(each.when, each.memory / 1e6) for each in past], "{:,.0f}"),
    ]
    made = ((name, series.curve(points), form) for name, points, form in drawn)
    return [(name, curve, form.format(curve.top), form.format(curve.last)) for name, curve, form in made if curve]


def why_waits(host: HostFacts, now: float) -> str:
    """Say why a host is not asked now."""
    if host.closed > now:
        return f"closed for {series.duration(host.closed - now)}: {host.why or 'it cannot be had'}"
    if host.backoff:
        return f"backed off {host.backoff} times: it wants fewer requests, or is silent"
    if host.queued and host.due > now:
        return f"next request in {series.duration(host.due - now)}"
    return "" if host.queued else "nothing waits"


def described(row: Row) -> dict[str, Any]:
    """What a listing tells of a row."""
    meta = row.meta
    return {
        "url": row.url, "title": meta.title, "status": meta.status, "type": meta.type, "length": meta.length,
        "language": meta.language, "fetched": row.stamp / 1e6, "error": meta.error, "duplicate_of": meta.duplicate_of,
        "similarity": meta.similarity, "by": meta.duplicate_by,
    }  # fmt: skip


def known(row: Row) -> list[tuple[str, str, str]]:
    """Everything that is known of a row, as words: name, value, and where the document says so."""
    found = facts_of(row)
    sources = dict(row.meta.document.sources) if row.meta.document is not None else {}
    return [
        (name, short(value, 500), sources.get(name, ""))
        for name, value in found.items()
        if name not in ("url", "sources")
    ]


def shaded(row: Row) -> tuple[list[tuple[str, str, int]], bool]:
    """Return the blocks of the text: text, class, weight in percent; and whether there are more than are shown."""
    stored = row.blocks
    if stored is None:
        return [], False
    whole, weights = stored
    texts = whole[: MAX_TEXT + 1].split(BLOCK_END, MAX_BLOCKS)
    cut = len(whole) > MAX_TEXT or len(texts) > MAX_BLOCKS
    found = []
    for number, text in enumerate(texts[:MAX_BLOCKS]):
        weight = weights[number] if number < len(weights) else -1
        percent = round((weight & 127) * 100 / 127) if weight >= 0 else -1
        kept = "kept" if weight >= 128 else "cut" if weight >= 0 else "plain"
        found.append((text, f"{kept} w{max(percent, 0) // 20}" if weight >= 0 else kept, percent))
    return found, cut


def weight_curve(row: Row) -> series.Curve | None:
    """Return how much each part of the text looks like content, along the text."""
    stored = row.blocks
    if stored is None or not stored[1]:
        return None
    texts = stored[0][:MAX_TEXT].split(BLOCK_END, MAX_BLOCKS)[:MAX_BLOCKS]
    points, place = [], 0.0
    for text, weight in zip(texts, stored[1], strict=False):
        points += [(place, float(weight & 127)), (place + len(text), float(weight & 127))]
        place += len(text) + 1
    return series.curve(points)


def slope_curve(row: Row) -> series.Curve | None:
    """Return the document slope curve: the tags so far over the tokens so far; where it is flat there is content."""
    page = row.page
    if page is None or row.meta.type not in ("text/html", "application/xhtml+xml"):
        return None
    points, tags = [(0.0, 0.0)], 0
    for number, token in enumerate(_TOKEN.finditer(_UNREAD.sub(b"", page.body[:MAX_PAGE])), 1):
        tags += token[0].startswith(b"<")
        points.append((float(number), float(tags)))
    step = max(1, len(points) // series.WIDTH)
    return series.curve([*points[::step], points[-1]])


def timeline(stamps: list[int]) -> list[tuple[float, int]]:
    """Return where each version stands on a line from 0 to the width of a curve."""
    if not stamps:
        return []
    first, last = min(stamps), max(stamps)
    scale = (series.WIDTH - 20) / (last - first) if last > first else 0.0
    return [(round(10 + (stamp - first) * scale, 1), stamp) for stamp in stamps]


def lines(row: Row) -> list[str]:
    """The main text in lines, as many as are compared and one more."""
    text = (row.text or "")[:MAX_TEXT]
    return [line[:2_000] for line in text.split("\n", MAX_LINES + 1)]


def _changes(old: list[str], new: list[str]) -> Iterable[tuple[str, str]]:
    """Yield what is kept (" "), goes ("-") and comes ("+"); of long texts, only what is near a change."""
    if old == new:
        yield from ((" ", line) for line in new)
        return
    near = MAX_LINES if len(old) + len(new) < 400 else 3
    for line in list(difflib.unified_diff(old, new, n=near, lineterm=""))[2:]:
        yield (line[:1], line[1:])
