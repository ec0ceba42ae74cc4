"""The notes' own figures, drawn by fyke: ``fyke lecture --plot DIR``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from fyke.clean.curve import draw
from fyke.dedupe.plan import false_positive
from fyke.frontier.revisit import RevisitPolicy, expected_age
from fyke.lecture import texts

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _new() -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(7, 4.2), layout="constrained")


def age() -> Figure:
    """Expected age of a page that changes once a week, by the days since it was crawled."""
    figure, days = _new(), np.linspace(0, 30, 301)
    axes = figure.subplots()
    axes.plot(days, [expected_age(1 / 7, float(t)) for t in days], color="tab:green", label="Age(1/7, t)")
    axes.plot(days, days, color="grey", linestyle=":", linewidth=1, label="t: it changed at once")
    axes.set(xlabel="days since the last crawl, t", ylabel="expected age, days", xlim=(0, 30), ylim=(0, 30))
    axes.legend()
    return figure


def slope() -> Figure:
    """The document slope curve of the notes' small page, and its plateau."""
    return draw(texts.PAGE, ["plateau"])


def visits() -> Figure:
    """How often pages are visited, by how often they change: for freshness those that change most are given up."""
    figure, rates = _new(), np.geomspace(1 / 30, 30, 200)
    axes = figure.subplots()
    for policy in ("uniform", "proportional", "freshness-optimal", "age-optimal"):
        axes.plot(rates, RevisitPolicy(policy).rates(rates, float(rates.size)), label=policy)
    axes.set(xscale="log", xlabel="changes a day", ylabel="visits a day", ylim=(0, 4))
    axes.legend()
    return figure


def groups() -> Figure:
    """Chance that two documents become candidates, by the chance that one bit of their sketches agrees."""
    figure, chance = _new(), np.linspace(0, 1, 201)
    axes = figure.subplots()
    for k, times in ((1, 1), (4, 4), (8, 16), (16, 64)):
        label = f"{times} groups of {k} bits" if times > 1 else "one bit"
        axes.plot(chance, [false_positive(float(s), k, times) for s in chance], label=label)
    axes.set(xlabel="chance that one bit agrees", ylabel="chance to become candidates")
    axes.legend()
    return figure


FIGURES: dict[str, Callable[[], Figure]] = {
    "age-curve": age,
    "slope-curve": slope,
    "visits": visits,
    "lsh-groups": groups,
}
"""Name of the file, without its ending, and what draws it."""
