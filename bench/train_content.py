"""Train the model of fyke.clean's ``auto`` from public pages with known main text; `make train`.

    python -m bench.train_content [--data DIR] [--check folds|sets] [--out FILE]

DIR holds a folder for each set: ``html/ID.html.gz`` and ``truth.jsonl`` with a line ``{"id", "text"}`` for each page,
and ``url`` and ``ptype`` (one of the seven types) where they are known: pages of your own too. A model that was trained
on them is used by ``fyke extract --model FILE``, or ``fyke.extract(html, Auto(model=Model.from_bytes(data)))``.

``--check folds`` tests on hosts that were held out, ``--check sets`` trains on one set and tests on the other;
without it the model is trained on all pages and written. Equal data give equal bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench import boosting
from bench.class_words import SEEDS, WordOdds
from bench.content_pages import FOLDS, SETS, Example, f1, load
from bench.measure import SHARED
from fyke.clean import container_kernels, context_kernels, feature_kernels, model, model_kernels
from fyke.clean.choice_kernels import choose
from fyke.clean.elements import Array
from fyke.clean.features import (
    CLASS,
    COLUMN_ROW,
    COLUMN_SHIFT,
    COLUMNS,
    FIRST_COLUMNS,
    PAD,
    PAGE_COLUMNS,
    ROW,
    ROWS,
    TOP,
    TYPES,
)  # fmt: skip

ARTICLES = frozenset({"", "article"})
"""A set that does not tell types is one of articles."""
ARTICLE = np.eye(len(TYPES), dtype=np.float32)[0]
"""The chances of the types of a page that is an article for sure."""
DEPTH = 4
FIRST = boosting.Settings(trees=120, depth=DEPTH, rate=0.07, ridge=6.0, rows=0.25)
SECOND = boosting.Settings(trees=200, depth=DEPTH, rate=0.2, ridge=1.0, rows=0.3)


@dataclass(frozen=True, slots=True)
class Settings:
    first: boosting.Settings = FIRST
    second: boosting.Settings = SECOND
    parts: int = 3
    """Of the hosts: the second look learns on each part from a first look that saw the others."""


def first_codes(example: Example, class_odds: Array, said_odds: Array) -> tuple[Array, Array]:
    """Return (rows of features, the next wider container of each container) of a page."""
    page = example.page
    rows = np.zeros((len(ROWS), feature_kernels.width_of(len(page.blocks)) + 2 * PAD), np.uint8)
    wider = container_kernels.fill_features(
        page.blocks, page.tree, page.said, page.title_size, class_odds, said_odds, rows
    )
    return rows, wider


def codes_of(rows: Array, count: int, columns: int) -> Array:
    """Return the columns of the model as they stand for each block."""
    return np.stack([
        rows[r, PAD + s : PAD + s + count]
        for r, s in zip(COLUMN_ROW[:columns], COLUMN_SHIFT[:columns], strict=True)
    ])  # fmt: skip


def odds_of(forest: model.Forest, codes: Array, odds: Array) -> Array:
    """Return ``odds`` with what a forest adds to each column of codes."""
    count = codes.shape[1]
    rows = np.zeros((len(codes), feature_kernels.width_of(count) + 2 * PAD), np.uint8)
    rows[:, PAD : PAD + count] = codes
    out = odds.astype(np.int32)
    columns = forest.columns.astype(np.int32)
    room = np.empty(feature_kernels.width_of(count), np.uint8)
    model_kernels.add_scores(rows, columns, np.zeros_like(columns), forest.thresholds, forest.leaves, room, out)
    return out


def chances(odds: Array) -> Array:
    out = np.empty(odds.size, np.float32)
    model_kernels.to_chances(odds, out)
    return out


def prior(rows: Array, count: int) -> Array:
    odds = np.empty(count, np.int32)
    model_kernels.prior_odds(rows, odds)
    return odds


def page_codes(example: Example, rows: Array, first: Array, bags: Array, types: frozenset[str]) -> Array:
    out = np.empty(len(PAGE_COLUMNS), np.uint8)
    context_kernels.page_features(example.page.blocks, rows, first, model.declared(types), out)
    tree = example.page.tree
    model_kernels.bag_features(tree.words, int(tree.words_end[-1]), bags, out)
    return out[:, None]


Seen = tuple[Array, Array, Array]
"""What is known of a page before training: rows, wider containers, and the bags of class words that did not see it."""
LEAST_PAGES, STEPS, PACE, RIDGE = 6, 150, 20.0, 0.1
"""Of a class word that has a say in types; of the descent by which it gets it."""


def fit_bags(examples: list[Example]) -> Array:
    """Return what each class word says for each type, in 1/16: a linear model of the types by the words of pages."""
    bags = np.zeros((1 << 16, len(TYPES)), np.int8)
    if all(e.kind in ARTICLES for e in examples):
        return bags
    words = [np.unique(e.page.tree.words[: e.page.tree.words_end[-1]]) for e in examples]
    counts = np.bincount(np.concatenate(words), minlength=1 << 16)
    known = np.flatnonzero(counts >= LEAST_PAGES)
    place = np.full(1 << 16, -1)
    place[known] = np.arange(known.size)
    seen = np.zeros((len(examples), known.size))
    for n, own in enumerate(words):
        listed = place[own]
        seen[n, listed[listed >= 0]] = 1.0 / np.sqrt(max(1, own.size))
    kinds = np.array([TYPES.index(e.kind or "article") for e in examples])
    truth = np.eye(len(TYPES))[kinds]
    weight = np.sqrt(len(kinds) / len(TYPES) / np.maximum(1, np.bincount(kinds, minlength=len(TYPES))))[kinds]
    weights, speed = np.zeros((known.size, len(TYPES))), np.zeros((known.size, len(TYPES)))
    start, drift = np.zeros(len(TYPES)), np.zeros(len(TYPES))
    for _ in range(STEPS):
        odds = seen @ weights + start
        chance = np.exp(odds - odds.max(axis=1, keepdims=True))
        wrong = (chance / chance.sum(axis=1, keepdims=True) - truth) * weight[:, None] / len(kinds)
        speed = 0.9 * speed - PACE * (seen.T @ wrong + RIDGE / len(kinds) * weights)
        drift = 0.9 * drift - PACE / 10 * wrong.sum(axis=0)
        weights, start = weights + speed, start + drift
    bags[known] = np.clip(np.rint(16 * weights), -127, 127)
    return bags


_NAMED = [ROW[name] for name in CLASS]
_ELEMENTS = [ROW[f"in_{name}"] for name in ("article", "main", "header", "footer", "nav", "aside", "section")]
_NO_BAGS = np.zeros((1 << 16, len(TYPES)), np.int8)
_NO_ODDS = 32
"""The byte of class words that say nothing."""


def plain(rows: Array, count: int) -> Array:
    """Return the features of a page as if it had neither class words nor HTML 5's elements."""
    rows = rows.copy()
    rows[_ELEMENTS] = 0
    rows[_NAMED, PAD : PAD + count] = _NO_ODDS
    return rows


NOTHING = model.Forest(
    np.zeros((1, DEPTH), np.uint16), np.zeros((1, DEPTH), np.uint8), np.zeros((1, 1 << DEPTH), np.int16)
)
"""A forest that adds nothing."""
UNTYPED = 0.2
"""What is believed of the first trees where no types are known: they know articles alone."""
PLAIN = 0.5
"""The weight of a plain page beside its own in learning types: where a site gives no hints, the text must do."""
LEAST = 0.02
"""Of a page's weight in the second look's training, though it may not be heard there."""


def fit_types(codes: Array, kinds: list[str], weight: Array) -> tuple[model.Forest, ...]:
    settings = boosting.Settings(trees=60, depth=2, rate=0.1, ridge=4.0, rows=0.8)
    if all(kind in ARTICLES for kind in kinds):  # there is nothing to tell apart
        return (NOTHING,) * len(TYPES)
    forests = []
    for t, kind in enumerate(TYPES):
        truth = np.array([(k or "article") == kind for k in kinds], float)
        start = np.full(truth.size, model.TYPE_ODDS[t])
        forests.append(boosting.fit(codes, start, truth, weight, settings, 5))
    return tuple(forests)


@dataclass(frozen=True, slots=True)
class Look:
    """A first look in training."""

    first: model.Forest
    types: tuple[model.Forest, ...]

    def odds(self, example: Example, rows: Array) -> Array:
        count = len(example.truth)
        return odds_of(self.first, codes_of(rows, count, FIRST_COLUMNS), prior(rows, count))


def learn_first(examples: list[Example], seen: list[Seen], settings: Settings, seed: int) -> Look:
    """Learn articles, and from what that look makes of all pages, their types."""
    codes = [codes_of(rows, len(e.truth), FIRST_COLUMNS) for e, (rows, _, _) in zip(examples, seen, strict=True)]
    start = [prior(rows, len(e.truth)) for e, (rows, _, _) in zip(examples, seen, strict=True)]
    articles = [n for n, e in enumerate(examples) if e.kind in ARTICLES]
    first = boosting.fit(
        np.concatenate([codes[n] for n in articles], axis=1),
        np.concatenate([start[n] for n in articles]),
        np.concatenate([examples[n].truth for n in articles]),
        np.concatenate([examples[n].weight for n in articles]),
        settings.first,
        seed,
    )
    look = Look(first, ())
    columns = [
        page_codes(e, rows, chances(look.odds(e, rows)), bags, e.page.types)
        for e, (rows, _, bags) in zip(examples, seen, strict=True)
    ]
    for e, (rows, _, _) in zip(examples, seen, strict=True):
        bare = plain(rows, len(e.truth))
        columns.append(page_codes(e, bare, chances(look.odds(e, bare)), _NO_BAGS, frozenset()))
    weight = np.array([SETS.get(e.dataset, 1.0) for e in examples])
    kinds = [e.kind for e in examples]
    types = fit_types(np.concatenate(columns, axis=1), kinds * 2, np.concatenate([weight, PLAIN * weight]))
    return Look(first, types)


def second_codes(example: Example, seen: Seen, look: Look) -> tuple[Array, Array, float]:
    """Return (what the second look sees of a page after a first, the odds that it adds to, how much it is heard)."""
    rows, wider = seen[0].copy(), seen[1]
    count = len(example.truth)
    odds = look.odds(example, rows)
    column = page_codes(example, rows, chances(odds), seen[2], example.page.types)
    kinds = [chances(odds_of(forest, column, model.TYPE_ODDS[t : t + 1]))[0] for t, forest in enumerate(look.types)]
    for t, kind in enumerate(kinds):
        rows[ROW["type_article"] + t, PAD : PAD + count] = int(kind * TOP + 0.5)
    page, first = example.page, chances(odds)
    context_kernels.context_features(page.blocks, page.parent, wider, first, rows)
    context_kernels.path_features(page.blocks, page.tree, first, rows)
    rules, believed = prior(seen[0], count), model_kernels.belief(np.array(kinds))
    return codes_of(rows, count, len(COLUMNS)), rules + (believed * (odds - rules)).astype(np.int32), 1.0 - believed


def fit(examples: list[Example], settings: Settings) -> model.Model:
    """Train both looks. The second sees first scores and types of pages whose hosts their makers did not see."""
    examples = [e for e in examples if len(e.page.blocks)]
    words = WordOdds([(e.host, e.class_votes) for e in examples], SEEDS, 127)
    texts = WordOdds([(e.host, e.text_votes) for e in examples], {}, 0)
    bags = [fit_bags([e for e in examples if e.draw % settings.parts != part]) for part in range(settings.parts)]
    seen = [(*first_codes(e, words.odds(e.host), texts.odds(e.host)), bags[e.draw % settings.parts]) for e in examples]
    second: dict[int, tuple[Array, Array, float]] = {}
    for part in range(settings.parts):
        learn = [n for n, e in enumerate(examples) if e.draw % settings.parts != part]
        look = learn_first([examples[n] for n in learn], [seen[n] for n in learn], settings, part)
        for n, e in enumerate(examples):
            if e.draw % settings.parts == part:
                second[n] = second_codes(e, seen[n], look)
    look = learn_first(examples, seen, settings, settings.parts)
    first, last = look.first, NOTHING
    if all(e.kind in ARTICLES for e in examples):
        first = model.Forest(first.columns, first.thresholds, np.rint(UNTYPED * first.leaves).astype(np.int16))
    else:
        order = range(len(examples))
        last = boosting.fit(
            np.concatenate([second[n][0] for n in order], axis=1),
            np.concatenate([second[n][1] for n in order]),
            np.concatenate([examples[n].truth for n in order]),
            np.concatenate([examples[n].weight * max(LEAST, second[n][2]) for n in order]),
            settings.second,
            settings.parts + 1,
        )
    return model.Model(words.odds(), texts.odds(), fit_bags(examples), first, last, look.types)


def evaluate(examples: list[Example], made: model.Model) -> dict[str, list[tuple[str, str, float]]]:
    out: dict[str, list[tuple[str, str, float]]] = {}
    for e in examples:
        ways = {"auto": np.zeros(0), "first look": np.zeros(0), "perfect choice": e.truth}
        if len(e.page.blocks):
            page, seen = e.page, model.look(e.page, made)
            around = page.blocks, page.parent, page.element, page.title_size
            ways["auto"] = choose(seen.second, *around, seen.types, 1.0)[0]
            ways["first look"] = choose(seen.first, *around, ARTICLE, 1.0)[0]
        for way, kept in ways.items():
            text = "\n".join(t for t, k in zip(e.texts, kept, strict=True) if k)
            out.setdefault(way, []).append((e.dataset, e.kind, f1(e.gold, text)))
    return out


def types_of(examples: list[Example], made: model.Model) -> list[tuple[str, str]]:
    """Return (true type, guessed type) of the pages whose type is known."""
    return [
        (e.kind, TYPES[int(model.look(e.page, made).types.argmax())]) for e in examples if e.kind and len(e.page.blocks)
    ]


def report_types(guesses: list[tuple[str, str]]) -> None:
    """Print the F1 of each page type, and their mean."""
    scores = {}
    for kind in TYPES:
        hits = sum(true == guess == kind for true, guess in guesses)
        scores[kind] = 2 * hits / max(1, sum((true == kind) + (guess == kind) for true, guess in guesses))
    print(
        "types", {k: round(v, 3) for k, v in scores.items()}, "macro-F1", round(float(np.mean([*scores.values()])), 4)
    )


def report(results: dict[str, list[tuple[str, str, float]]]) -> None:
    for way, scores in results.items():
        by: dict[str, list[float]] = {}
        for dataset, kind, score in scores:
            by.setdefault(dataset, []).append(score)
            if kind:
                by.setdefault(kind, []).append(score)
        print(way, {k: round(float(np.mean(v)), 4) for k, v in sorted(by.items())}, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, default=SHARED / "data" / "extract")
    parser.add_argument("--check", choices=["folds", "sets"], help="test instead of writing a model")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "src/fyke/clean/content.model")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="with --check: keep each part's model as fold0.model, …"
    )
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        print(f"train_content: no data at {arguments.data}; name its folder with --data", file=sys.stderr)
        return 2
    settings = Settings()
    sets = sorted(folder.parent.name for folder in arguments.data.glob("*/truth.jsonl"))
    examples = [e for dataset in sets for e in load(arguments.data, dataset)]
    print(len(examples), "pages,", sum(len(e.truth) for e in examples), "blocks", file=sys.stderr, flush=True)
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    if arguments.check is None:
        data = fit(examples, settings).to_bytes()
        arguments.out.write_bytes(data)
        print(arguments.out, len(data), "bytes, sha256", hashlib.sha256(data).hexdigest())
        return 0
    parts = (
        [[e.fold == fold for e in examples] for fold in range(FOLDS)]
        if arguments.check == "folds"
        else [[e.dataset == dataset for e in examples] for dataset in sets]
    )
    results: dict[str, list[tuple[str, str, float]]] = {}
    guesses: list[tuple[str, str]] = []
    for number, part in enumerate(parts):
        made = fit([e for e, held in zip(examples, part, strict=True) if not held], settings)
        if arguments.keep:
            (arguments.keep / f"fold{number}.model").write_bytes(made.to_bytes())
        tested = [e for e, held in zip(examples, part, strict=True) if held]
        for way, scores in evaluate(tested, made).items():
            results.setdefault(way, []).extend(scores)
        guesses += types_of(tested, made)
    report(results)
    report_types(guesses)
    return 0


if __name__ == "__main__":
    sys.exit(main())
