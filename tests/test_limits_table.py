"""docs/limits.md says what the source says: every number, every limit, and who tries it."""

from __future__ import annotations

import ast
import importlib
import re
from functools import cache
from typing import Any, NamedTuple

import pytest

from fyke.sites.form_words import Unsafe
from fyke.values import Drop, Reason
from tests.limits import crawls, documents, files, pages  # noqa: F401 - their trials
from tests.limits.trial import TRIALS
from tests.source import ROOT, SOURCE, modules

UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
OF_OUR_OWN = {
    "archive.preprocess._MAX_WORD": "of our own archives: longer words are no words",
    "archive.reader_kernels.MAX_GAP": "what no file of ours exceeds; bounds are checked when it is mapped",
    "cli.forms_.MAX_BYTES": "a file that the user names",
    "cli.inputs.MAX_LINE": "a file that the user names",
    "cluster.node.MAX_FAILURES": "of our own agents",
    "convert._MAX_TITLE": "a title is one line",
    "convert.dates.MAX_LOOKED": "longer texts are looked through one by one",
    "convert.date_kernels.MAX_YEARS": "metadata: where names and dates are looked for",
    "convert.dates.MAX_VALUE": "a date is one line",
    "convert.facts.MAX_CONTENT": "metadata: where names and dates are looked for",
    "convert.facts.MAX_HITS": "metadata: where names and dates are looked for",
    "convert.facts.MAX_LENGTH": "metadata: where names and dates are looked for",
    "convert.facts.MAX_META": "metadata: where names and dates are looked for",
    "convert.facts.MAX_TAGS": "metadata: where names and dates are looked for",
    "convert.mark_kernels._MAX_ELEMENT": "metadata: an element's end",
    "convert.mark_kernels.MAX_MARKS": "metadata: where names and dates are looked for",
    "convert.markup_kernels.MAX_LANGUAGE": "a language's name",
    "convert.metadata.MAX_ALTERNATES": "metadata: a page in all languages",
    "convert.authors.MAX_NAME": "metadata: a name",
    "convert.metadata.MAX_PARAGRAPH": "metadata: a description",
    "convert.metadata.MAX_TAGS": "metadata: keywords",
    "convert.publication.MAX_DATES": "metadata: where a date is looked for",
    "convert.publication.MAX_TEXT": "metadata: where a date is looked for",
    "convert.structured.MAX_DEPTH": "metadata: things within things",
    "convert.structured.MAX_REFERRING": "metadata: things that name others",
    "convert.structured.MAX_SAID": "metadata: what a thing says",
    "convert.xml.MAX_AUTHORS": "metadata: authors",
    "convert.xml._MAX_PAIRS": "metadata: fields",
    "crawl.discovery.forms.MAX_DROPPED": "a form that drops so many requests is left",
    "crawl.duplicates.exact.MAX_BODIES": "copies whose bodies are compared",
    "crawl.duplicates.examination.MAX_DEMOTED": "memory of our own",
    "crawl.hooks.MAX_REASON": "a reason that a user's hook gives",
    "crawl.mail.outbox.MAX_WAITING": "then new visits wait",
    "crawl.run.archiving.MAX_SIZE": "files of our own",
    "crawl.run.ending.MAX_SEEDS": "seeds that an ending names",
    "crawl.run.runtime.MAX_LOG": "a log of our own",
    "crawl.run.status.MAX_DEMOTED": "places that a report names",
    "crawl.run.supervisor.MAX_DEATHS": "deaths of our own processes",
    "formats.batch_kernels._MAX_SAID": "attributes of a tag: there are fewer names",
    "sites.memo._MAX_PACKED": "memory of our own: more links are packed one by one",
    "sites.memo_kernels.MAX_SIZE": "memory of our own: longer hrefs are joined anew",
    "dashboard.control._MAX_FORM": "the live page: what its user sends",
    "dashboard.guard.MAX_ADDRESS": "the live page: what its user sends",
    "dashboard.read.MAX_ANCHORS": "the live page: what it shows",
    "dashboard.read.MAX_TRACE": "the live page: what it shows",
    "dashboard.views.MAX_BLOCKS": "the live page: what it shows",
    "dashboard.views.MAX_LINES": "the live page: what it shows",
    "dashboard.views.MAX_LINKS": "the live page: what it shows",
    "dashboard.views.MAX_PAGE": "the live page: what it shows",
    "dashboard.views.MAX_TEXT": "the live page: what it shows",
    "dashboard.views.MAX_VERSIONS": "the live page: what it shows",
    "dedupe.breeding.MAX_PLACES": "memory of our own",
    "dedupe.discover.MAX_BUCKET": "beyond it pairs are sampled, and those skipped are counted (pairs_skipped)",
    "dedupe.index_kernels.MAX_DOCUMENTS": "an index of our own",
    "dedupe.similarity.MAX_EDIT_WORDS": "a comparison that the user asks for",
    "formats.tags._MAX_VALUE": "a field of metadata",
    "frontier.politeness._MAX_STEPS": "2^16 s is beyond the longest back-off",
    "frontier.seen._MAX_LOAD": "a share, of a table of our own",
    "graph.kernels.MAX_GAP": "what no file of ours exceeds; bounds are checked when it is mapped",
    "clean.main_kernels._MAX_REMARKS": "marks that a page's author set; the first count",
    "sites.probing.MAX_CHOICES": "what is asked of a form",
    "sites.probing.MAX_LINKS": "what is remembered of a form",
    "sites.probing.MAX_OPEN": "what is remembered of a form",
    "sites.probing.MAX_SEEDS": "what is asked of a form",
    "sites.form_queries.MAX_VALUES": "what is asked of a form",
    "sites.probing.MAX_WORDS": "what is remembered of a form",
    "sites.results.MAX_AROUND": "words around a result",
    "sites.results.MAX_TOKENS": "where results are looked for",
    "sites.results.MAX_WORDS": "words of a page of results",
    "sites.standing._MAX_AGE": "a pattern",
    "store.cells.MAX_STAMP": "a time stamp's width",
    "store.exports.columns._MAX_HOPS": "copies of copies in an export",
    "store.exports.warc.MAX_OUTLINKS": "links that an export names",
    "store.maintenance.MAX_NAMED": "damages that a check names",
    "store.snippets.MAX_CHARACTERS": "where a snippet is looked for",
    "store.snippets.MAX_WORDS": "where a snippet is looked for",
    "text.placeholders.MAX_LENGTH": "a title is one line",
    "text.placeholders.MAX_SPACES": "a title is one line",
    "topic.features.MAX_BYTES": "what a classifier reads of a page",
    "topic.table._MAX_LOAD": "a share, of a table of our own",
    "world.server.MAX_HEAD": "the synthetic web",
}  # fmt: skip
"""Limits of what nobody else controls, or of what is a line and no document; with why."""


class Row(NamedTuple):
    what: str
    limit: str
    source: str
    why: str
    told: str
    tried: str


@cache
def rows() -> list[Row]:
    lines = (ROOT / "docs" / "limits.md").read_text().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return [Row(*each) for each in cells if each[0] != "what"]


def value_of(text: str) -> float:
    """``64 MiB``, ``1,000``, ``20 s``, ``16,384 characters``."""
    found = re.match(r"([0-9.,]+)(?: (KB|MB|GB|KiB|MiB|GiB)\b)?", text)
    assert found is not None, text
    return float(found[1].replace(",", "")) * UNITS.get(found[2] or "", 1)


def constant(name: str) -> Any:
    """What ``formats.xml.MAX_ATTRIBUTES`` is, or the default of a field of a class."""
    module, _, attribute = name.rpartition(".")
    owner, _, kind = module.rpartition(".")
    if kind[:1].isupper():
        return getattr(getattr(importlib.import_module(f"fyke.{owner}"), kind)(), attribute)
    return getattr(importlib.import_module(f"fyke.{module}"), attribute)


def test_numbers_are_those_of_the_source() -> None:
    wrong = []
    for row in rows():
        name = row.source.strip("`")
        last = name.rpartition(".")[2].strip("_")
        if not row.source.startswith("`") or not (last[0].isupper() or "Settings." in name or "Limits." in name):
            continue  # a library's, or a rule without a number
        if value_of(row.limit) != constant(name):
            wrong.append(f"{row.what}: {row.limit}, and {name} is {constant(name)}")
    assert wrong == []


def told_by_limits(row: Row) -> list[str]:
    """The names by which a row is counted."""
    return re.findall(r"`limits: ([a-z-]+)`", row.told)


def test_every_row_is_tried() -> None:
    """By a trial of that name, or by a test that is there."""
    for row in rows():
        name = row.tried.strip("`")
        if "::" not in name:
            assert name in TRIALS, row
            continue
        path, _, function = name.partition("::")
        assert function, f"{row.what}: name the test that pushes past it, not its file"
        assert re.search(rf"def {function}\(", (ROOT / path).read_text()), row


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.what)
def test_every_row_says_how_it_is_told(row: Row) -> None:
    """A counter of ``fyke status``, the document's row, a command's answer, or that nothing is lost."""
    counted = re.search(r"`(limits: [a-z-]+|errors(: [a-z-]+)?|dropped: [a-z-]+|forms(: [a-z-]+)?|idle)`", row.told)
    assert counted or row.told.startswith(("the row is `truncated`", "nothing is lost", "of a command: ")), row.told


def test_a_reason_that_is_counted_is_one() -> None:
    """Those of errors, drops and forms are in the source."""
    known: dict[str, set[str]] = {"errors": {*Reason}, "dropped": {*Drop}, "forms": {*Unsafe}}
    for row in rows():
        for kind, name in re.findall(r"`(errors|dropped|forms): ([a-z-]+)`", row.told):
            assert name in known[kind], row


def test_every_trial_is_of_a_row() -> None:
    assert {row.tried.strip("`") for row in rows() if "::" not in row.tried} == TRIALS.keys()


def test_what_is_counted_has_a_row() -> None:
    """The names by which the source counts are those of the page."""
    told = {name for row in rows() for name in told_by_limits(row)}
    noted: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        noted.update(re.findall(r"\bnote\(\"([a-z-]+)\"\)", path.read_text(encoding="utf-8")))
    assert noted == told


def test_every_limit_of_the_source_is_listed() -> None:
    listed = {row.source.strip("`") for row in rows()} | OF_OUR_OWN.keys()
    missing = []
    for path, tree in modules():
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        for node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else []
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            missing += [
                f"{module}.{name}"
                for name in names
                if re.fullmatch(r"_?MAX_[A-Z_]+", name) and f"{module}.{name}" not in listed
            ]
    assert missing == []


@pytest.mark.parametrize("name", OF_OUR_OWN)
def test_what_is_left_out_exists(name: str) -> None:
    assert constant(name) is not None
