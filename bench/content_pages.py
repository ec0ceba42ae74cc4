"""Pages with known main text, for training and testing: which blocks of each are content."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from bench.class_words import NO_VOTES, Votes, class_votes, text_votes
from fyke.clean.columns import WORDS
from fyke.clean.elements import Array
from fyke.clean.page import Page, read
from fyke.clean.render import block_texts
from fyke.formats.encoding import decoded

SETS = {"magic-article": 3.0, "wcxb-dev": 1.0}
"""Data sets, with the weight of one page: a small set counts more, so that none is drowned."""
_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_TOKEN = re.compile(rf"[{_CJK}]|[^\W{_CJK}]+")
Gram = tuple[str, ...]
FOLDS = 4


@dataclass(frozen=True, slots=True)
class Example:
    name: str
    dataset: str
    host: str
    draw: int
    """A number drawn by the host, by which hosts are dealt out to parts; and one for the folds."""
    fold: int
    kind: str
    gold: str
    page: Page
    texts: list[str]
    truth: Array
    """1 for a block whose text is in the gold text, else 0."""
    weight: Array
    class_votes: Votes = NO_VOTES
    text_votes: Votes = NO_VOTES


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


def load(folder: Path, dataset: str) -> list[Example]:
    found = []
    for line in (folder / dataset / "truth.jsonl").read_bytes().splitlines():
        row = json.loads(line)
        body = gzip.decompress((folder / dataset / "html" / f"{row['id']}.html.gz").read_bytes())
        page = read(decoded(body, "text/html").text)
        texts = block_texts(page)
        truth = labels(texts, row["text"])
        words = page.blocks[:, WORDS] + 0.5
        site = host(row.get("url", ""), row["id"])
        weight = SETS.get(dataset, 1.0) * words / max(1.0, words.sum())
        example = Example(
            row["id"], dataset, site, zlib.crc32(site.encode()) // FOLDS, zlib.crc32(site.encode()) % FOLDS,
            row.get("ptype") or "", gold=row["text"], page=page, texts=texts, truth=truth, weight=weight,
            class_votes=class_votes(page, truth), text_votes=text_votes(page, truth),
        )  # fmt: skip
        found.append(example)
    return found


def f1(gold: str, got: str) -> float:
    a, b = grams(_TOKEN.findall(gold)), grams(_TOKEN.findall(got))
    if not a and not b:
        return 1.0
    return 2 * (a & b).total() / (a.total() + b.total())
