"""Train the model of fyke.clean's ``auto`` from public pages with known main text; `make train`.

    python -m bench.train_content [--data DIR] [--check folds|sets] [--out FILE]

``--check folds`` tests on hosts that were held out, ``--check sets`` trains on one set and tests on the other;
without it the model is trained on all pages and written. Equal data give equal bytes.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
import sys
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from bench import boosting
from fyke.clean import context_kernels, feature_kernels, model
from fyke.clean.block_kernels import CONTAINER, WORDS
from fyke.clean.elements import Array
from fyke.clean.page import Page, read
from fyke.clean.render import block_texts

SETS = {"magic-article": 90.0, "wcxb-dev": 30.0}
"""Data sets, with the weight of one page: a small set counts more, so that none is drowned."""
_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_TOKEN = re.compile(rf"[{_CJK}]|[^\W{_CJK}]+")
Gram = tuple[str, ...]
FOLDS = 4


@dataclass(frozen=True, slots=True)
class Example:
    name: str
    dataset: str
    fold: int
    half: int
    kind: str
    gold: str
    page: Page
    texts: list[str]
    truth: Array
    """1 for a block whose text is in the gold text, else 0."""
    weight: Array


def grams(tokens: Sequence[str], size: int = 4) -> Counter[Gram]:
    if not tokens:
        return Counter()
    return Counter(tuple(tokens[k : k + size]) for k in range(max(1, len(tokens) - size + 1)))


def labels(texts: list[str], gold: str) -> Array:
    """Say which blocks are in the gold text: by their own 4-grams, short ones by those with their neighbours."""
    wanted = grams(_TOKEN.findall(gold))
    gold_tokens = _TOKEN.findall(gold)
    short = {tuple(gold_tokens[k : k + n]) for n in (1, 2, 3) for k in range(len(gold_tokens) - n + 1)}
    cut = [_TOKEN.findall(text) for text in texts]
    out = np.zeros(len(texts))
    left = Counter(wanted)
    for k, tokens in enumerate(cut):
        if len(tokens) >= 4:
            own = grams(tokens)
            shared = sum(max(0, min(n, left[g])) for g, n in own.items())
            out[k] = shared / sum(own.values())
            if out[k] >= 0.5:
                left.subtract(own)
    for k, tokens in enumerate(cut):
        if 0 < len(tokens) < 4 and tuple(tokens) in short:
            before = [t for other in cut[max(0, k - 3) : k] for t in other][-3:]
            after = [t for other in cut[k + 1 : k + 4] for t in other][:3]
            around = list(grams(before + tokens + after))
            around = [g for g in around if any(t in g for t in tokens)]
            out[k] = np.mean([g in wanted for g in around]) if around else 0.0
    return (out >= 0.5).astype(np.float64)


def host(url: str, name: str) -> str:
    return urlsplit(url or "").netloc.removeprefix("www.") or name


def load(folder: Path, dataset: str, folds: int) -> list[Example]:
    found = []
    for line in (folder / dataset / "truth.jsonl").read_bytes().splitlines():
        row = json.loads(line)
        page = read(gzip.decompress((folder / dataset / "html" / f"{row['id']}.html.gz").read_bytes()))
        texts = block_texts(page)
        truth = labels(texts, row["text"])
        words = np.sqrt(page.blocks[:, WORDS] + 0.5)
        draw = zlib.crc32(host(row["url"], row["id"]).encode())
        weight = SETS[dataset] * words / max(1.0, words.sum())
        found.append(
            Example(
                row["id"],
                dataset,
                draw % folds,
                draw // folds % 2,
                row.get("ptype") or "",
                row["text"],
                page,
                texts,
                truth,
                weight,
            )
        )
    return found


def class_odds(examples: list[Example]) -> Array:
    """Log-odds of content by class word, in 1/16: every page has one vote on a word, and a prior speaks against few."""
    prior, strength, least = 0.35, 8.0, 5
    votes, pages = np.zeros(1 << 16), np.zeros(1 << 16)
    for example in examples:
        page = example.page
        if not len(page.blocks):
            continue
        share = (page.blocks[:, WORDS] + 1.0) / (page.blocks[:, WORDS] + 1.0).sum()
        sums = np.zeros((len(page.parent), 2))
        container = page.blocks[:, CONTAINER]
        np.add.at(sums[:, 0], container, share * example.truth)
        np.add.at(sums[:, 1], container, share)
        feature_kernels.subtree_sums(page.parent, sums)
        by_word: dict[int, Array] = {}
        for c in range(1, len(page.parent)):
            for word in set(page.words[page.words_end[c - 1] : page.words_end[c]].tolist()):
                by_word[word] = by_word.get(word, 0.0) + sums[c]
        for word, (hit, size) in by_word.items():
            if size > 0:
                votes[word] += hit / size
                pages[word] += 1
    odds = np.log((votes + strength * prior) / (pages - votes + strength * (1 - prior))) - np.log(prior / (1 - prior))
    odds[pages < least] = 0
    rounded: Array = np.clip(np.rint(odds * 16), -127, 127).astype(np.int8)
    return rounded


def fit_types(columns: Array, kinds: list[str]) -> tuple[model.Forest, ...]:
    known = np.array([kind != "" for kind in kinds])
    if not known.any():  # types are not told: no type is likely
        nothing = model.Forest(
            np.zeros((0, 1), np.int32), np.zeros((0, 1), np.float32), np.zeros((0, 2), np.float32), -9.0
        )
        return (nothing,) * len(model.TYPES)
    settings = boosting.Settings(trees=40, depth=3, rate=0.15, ridge=4.0, rows=0.8)
    forests = []
    for kind in model.TYPES:
        truth = np.array([k == kind for k in kinds], float)[known]
        forests.append(boosting.fit(columns[:, known], truth, np.ones(truth.size), settings, 5))
    return tuple(model.Forest(f.features, f.thresholds, f.leaves, f.start) for f in forests)


def forest(examples: list[Example], rows: list[Array], settings: boosting.Settings, seed: int) -> model.Forest:
    columns = np.concatenate(rows, axis=1)
    truth = np.concatenate([e.truth for e in examples])
    weight = np.concatenate([e.weight for e in examples])
    f = boosting.fit(columns, truth, weight, settings, seed)
    return model.Forest(f.features, f.thresholds, f.leaves, f.start)


def fit(examples: list[Example], settings: boosting.Settings) -> model.Model:
    """Train both looks. The second sees first scores and types of pages that their makers did not see (two halves)."""
    examples = [e for e in examples if len(e.page.blocks)]
    half = np.array([e.half for e in examples])
    second: list[Array | None] = [None] * len(examples)
    for side in (0, 1):
        learn = [e for e, h in zip(examples, half, strict=True) if h != side]
        odds = class_odds(learn)
        seen = [model.block_features(e.page, odds) for e in learn]
        first = forest(learn, [rows for rows, _ in seen], settings, side)
        columns = np.concatenate(
            [
                context_kernels.page_features(e.page.blocks, rows, first.chances(rows), model.declared(e.page))
                for e, (rows, _) in zip(learn, seen, strict=True)
            ],
            axis=1,
        )
        types = fit_types(columns, [e.kind for e in learn])
        for n, e in enumerate(examples):
            if half[n] == side:
                rows, wider = model.block_features(e.page, odds)
                chance = first.chances(rows)
                column = context_kernels.page_features(e.page.blocks, rows, chance, model.declared(e.page))
                kind = np.array([t.chances(column)[0] for t in types], np.float32)
                second[n] = model.second_rows(e.page, rows, wider, chance, kind)
    odds = class_odds(examples)
    seen = [model.block_features(e.page, odds) for e in examples]
    first = forest(examples, [rows for rows, _ in seen], settings, 2)
    columns = np.concatenate(
        [
            context_kernels.page_features(e.page.blocks, rows, first.chances(rows), model.declared(e.page))
            for e, (rows, _) in zip(examples, seen, strict=True)
        ],
        axis=1,
    )
    types = fit_types(columns, [e.kind for e in examples])
    last = forest(examples, [s for s in second if s is not None], settings, 3)
    articles = [e.kind in ("", "article") for e in examples]  # a set without types is one of articles
    expert = forest(
        [e for e, wanted in zip(examples, articles, strict=True) if wanted],
        [rows for (rows, _), wanted in zip(seen, articles, strict=True) if wanted],
        settings,
        4,
    )
    return model.Model(odds, first, last, expert, types)


def f1(gold: str, got: str) -> float:
    a, b = grams(_TOKEN.findall(gold)), grams(_TOKEN.findall(got))
    if not a and not b:
        return 1.0
    return 2 * (a & b).total() / (a.total() + b.total())


def evaluate(examples: list[Example], made: model.Model) -> dict[str, list[tuple[str, str, float]]]:
    out: dict[str, list[tuple[str, str, float]]] = {}
    for e in examples:
        ways = {"second": np.zeros(0), "half": np.zeros(0), "first": np.zeros(0), "oracle": e.truth}
        if len(e.page.blocks):
            seen = model.look(e.page, made)
            ways["second"] = context_kernels.best_expected(seen.second, e.page.blocks)
            ways["first"] = context_kernels.best_expected(seen.first, e.page.blocks)
            ways["half"] = seen.second > 0.5
        for way, kept in ways.items():
            text = "\n".join(t for t, k in zip(e.texts, kept, strict=True) if k)
            out.setdefault(way, []).append((e.dataset, e.kind, f1(e.gold, text)))
    return out


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
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data" / "extract")
    parser.add_argument("--check", choices=["folds", "sets"], help="test instead of writing a model")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "src/fyke/clean/content.model")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="with --check: keep each part's model as fold0.model, …"
    )
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        print(f"train_content: no data at {arguments.data}; name its folder with --data", file=sys.stderr)
        return 2
    settings = boosting.Settings()
    examples = [e for dataset in SETS for e in load(arguments.data, dataset, FOLDS)]
    print(len(examples), "pages,", sum(len(e.truth) for e in examples), "blocks", file=sys.stderr, flush=True)
    if arguments.check is None:
        data = fit(examples, settings).to_bytes()
        arguments.out.write_bytes(data)
        print(arguments.out, len(data), "bytes, sha256", hashlib.sha256(data).hexdigest())
        return 0
    parts = (
        [[e.fold == fold for e in examples] for fold in range(FOLDS)]
        if arguments.check == "folds"
        else [[e.dataset == dataset for e in examples] for dataset in SETS]
    )
    results: dict[str, list[tuple[str, str, float]]] = {}
    for number, part in enumerate(parts):
        made = fit([e for e, held in zip(examples, part, strict=True) if not held], settings)
        if arguments.keep:
            (arguments.keep / f"fold{number}.model").write_bytes(made.to_bytes())
        for way, scores in evaluate([e for e, held in zip(examples, part, strict=True) if held], made).items():
            results.setdefault(way, []).extend(scores)
    report(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
