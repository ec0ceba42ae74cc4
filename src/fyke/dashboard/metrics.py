"""Metrics of a crawl as OpenMetrics text, for Prometheus and its kin; docs/dashboard.md lists the names."""

from __future__ import annotations

from collections.abc import Iterator

from fyke.dashboard.facts import Now

TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"

Sample = tuple[str, float]


def text(now: Now) -> str:
    """Return the metrics of a crawl; of a store without one, that none is running."""
    lines: list[str] = []
    for name, kind, help_, samples in _families(now):
        lines += [f"# TYPE {name} {kind}", f"# HELP {name} {help_}"]
        suffix = "_total" if kind == "counter" else ""
        lines += [f"{name}{suffix}{labels} {value:.17g}" for labels, value in samples]
    return "\n".join([*lines, "# EOF", ""])


def _families(now: Now) -> Iterator[tuple[str, str, str, list[Sample]]]:
    status = now.status
    yield "fyke_up", "gauge", "Whether a crawl is running.", [("", float(status is not None and status.running))]
    yield "fyke_paused", "gauge", "Whether it is paused.", [("", float(now.paused))]
    yield "fyke_problems", "gauge", "Reports that are damaged or late.", [("", float(len(now.problems)))]
    if status is None:
        return
    yield "fyke_pages", "counter", "Documents in the store.", [("", status.pages)]
    yield "fyke_bytes", "counter", "Bytes of their bodies.", [("", status.bytes)]
    yield "fyke_moved", "counter", "Redirects.", [("", status.moved)]
    yield "fyke_errors", "counter", "URLs without a document, by reason.", _by("reason", status.errors)
    yield "fyke_dropped", "counter", "Links that were not followed, by reason.", _by("reason", status.dropped)
    yield "fyke_duplicates", "gauge", "Copies, by how they were found.", _by("method", status.duplicates)
    yield "fyke_revisits", "counter", "What visits to known pages found.", _by("outcome", status.revisits)
    yield "fyke_queued", "gauge", "URLs that wait.", [("", status.queued)]
    yield "fyke_in_flight", "gauge", "Fetches under way.", [("", status.in_flight)]
    yield "fyke_hosts", "gauge", "Hosts that are known.", [("", status.hosts)]
    yield "fyke_agents", "gauge", "Agents that reported.", [("", status.agents)]
    yield "fyke_idle_agents", "gauge", "Agents that wait.", [("", len(status.idle))]
    yield "fyke_report_timestamp_seconds", "gauge", "When an agent last reported.", [("", status.updated)]
    if status.freshness is not None and status.age is not None:
        yield "fyke_freshness_ratio", "gauge", "Share of copies that are right, as expected.", [("", status.freshness)]
        yield "fyke_age_seconds", "gauge", "Mean age of copies, as expected.", [("", status.age * 86_400)]


def _by(label: str, counts: dict[str, int]) -> list[Sample]:
    return [(f'{{{label}="{_escaped(name)}"}}', float(count)) for name, count in counts.items()]


def _escaped(text_: str) -> str:
    return text_.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
