"""Hashed words to scores: features of pages and links, a linear classifier, online logistic regression, OPIC's table.

- Words are those of fyke.text, folded, a space behind each. A word's hash is FNV-1a over its bytes, finished by
  splitmix64.
- A feature is the hash of a word or of two neighbouring words, cut to the size of the table. Of a link's fields
  (anchor, URL, context) each word is a feature of its field.
- A page's vector is x_f = (1 + ln n_f)/|x| for n_f occurrences: a word said a hundred times weighs six times one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fyke.bits.hashing import mix
from fyke.bits.jit import inlined, kernel, leaf
from fyke.text.word_kernels import SPACE, fold_words

OFFSET = np.uint64(0xCBF29CE484222325)
PRIME = np.uint64(0x100000001B3)
PAIR = np.uint64(0x9FB21C651E98DF25)
ZERO = np.uint64(0)

FIELD_END, LINK_END = 1, 2
"""Bytes that end a field and a link in the text that ``link_features`` reads."""


@leaf
def read_word(folded: Any, i: Any) -> Any:
    """Return the hash of the word that begins at ``i``, and where the next one begins: behind the space."""
    h = OFFSET
    while folded[i] != SPACE:
        h = (h ^ np.uint64(folded[i])) * PRIME
        i += 1
    return mix(h), i + 1


@leaf
def add_words(
    folded: Any, weight: Any, pairs: Any, mask: Any, counts: Any, touched: Any, used: Any
) -> Any:  # fmt: skip
    """Count the words of ``folded``, and its pairs of words where ``pairs``; return (features used, words).

    ``counts`` gains ``weight`` for each; a feature met first is noted in ``touched``. REQUIRES: room there for two
    features a word; a space behind each word.
    """
    words = 0
    previous = ZERO
    i = 0
    while i < folded.size:
        h, i = read_word(folded, i)
        words += 1
        place = np.int64(h & mask)
        if counts[place] == 0:
            touched[used] = place
            used += 1
        counts[place] += weight
        if pairs and previous != ZERO:
            place = np.int64(mix(previous * PAIR + h) & mask)
            if counts[place] == 0:
                touched[used] = place
                used += 1
            counts[place] += weight
        previous = h
    return used, words


@leaf
def page_vector(counts: Any, touched: Any, used: Any, values: Any) -> Any:
    """Write the vector's values into ``values``, and clear the counts; return how many words occur."""
    total = 0.0
    norm = 0.0
    for k in range(used):
        n = counts[touched[k]]
        counts[touched[k]] = 0
        total += n
        x = 1.0 + np.log(n) if n > 1 else 1.0
        values[k] = x
        norm += x * x
    scale = 1.0 / np.sqrt(norm) if norm > 0 else 0.0
    for k in range(used):
        values[k] *= scale
    return total


@leaf
def dot(touched: Any, values: Any, used: Any, weights: Any) -> Any:
    """Return the product of a page's vector and the weights."""
    total = 0.0
    for k in range(used):
        total += values[k] * weights[touched[k]]
    return total


@leaf
def link_features(
    buffer: Any, room: Any, salts: Any, mask: Any, weights: Any, starts: Any, features: Any, looks: Any, most: Any,
) -> Any:  # fmt: skip
    """Features of links, at most ``most`` of each, and how their words look to the page classifier; return how many.

    ``buffer`` is the links' fields, each ended by FIELD_END, each link by LINK_END. ``looks`` gets Σ w/√n over the n
    words of a link. REQUIRES: ``starts`` has a place more than there are links; ``room`` is for all of ``buffer``.
    """
    links = field = used = words = begin = 0
    total = 0.0
    starts[0] = 0
    for end in range(buffer.size):
        b = buffer[end]
        if b != FIELD_END and b != LINK_END:
            continue
        size, _ = fold_words(buffer, begin, end, room)
        begin = end + 1
        i = 0
        if field == 1 and size:
            _, i = read_word(room.out, i)  # the scheme says nothing
        while i < size:
            h, i = read_word(room.out, i)
            total += weights[np.int64(h & mask)]
            words += 1
            if used - starts[links] < most:
                features[used] = np.int64(mix(h ^ salts[min(field, salts.size - 1)]) & mask)
                used += 1
        field += 1
        if b == LINK_END:
            looks[links] = total / np.sqrt(words) if words else 0.0
            links += 1
            starts[links] = used
            field = words = 0
            total = 0.0
    return links


@leaf
def _log_odds(k: Any, rows: Any, starts: Any, features: Any, kinds: Any, weights: Any) -> Any:
    """Of link ``k``: the sum of its features' weights and of its kinds'."""
    total = 0.0
    for c in range(kinds.shape[1]):
        total += weights[kinds[k, c]]
    for j in range(starts[rows[k]], starts[rows[k] + 1]):
        total += weights[features[j]]
    return total


@leaf
def predict(rows: Any, starts: Any, features: Any, kinds: Any, weights: Any, out: Any) -> None:
    """Write the log-odds of each link of ``rows``."""
    for k in range(out.size):
        out[k] = _log_odds(np.int64(k), rows, starts, features, kinds, weights)


@leaf
def judge(links: Any, parent: Any, levels: Any, weights: Any, kinds: Any, scores: Any) -> None:
    """Kinds, prediction and worth of the links of one page: ``links.kinds_of``, ``predict`` and ``worth`` in one pass.

    worth = sigmoid(Σ weights of kinds and features) · min(1, allowed/pages), or by lot if that is higher. O(features).
    Plain tuples: with names they cost a microsecond each to hand over. ``links`` are, by link, features, looks (scores,
    of which slope·look + offset is the logit, or the probability itself where ``slope`` is 0), whether they stay on the
    host, how relevant the target's host turned out (below 0: nothing is known), how many pages of it were fetched, and
    keys. ``parent`` is slope, offset, the kinds of links to another host and to the own one, pages that a host may have
    (0 where a tunnel ends), and the share to explore; ``levels`` where looks and hosts pass from kind to kind.
    """
    starts, features, looks, same, shares, pages, keys = links
    slope, offset, parents, allowed, explore = parent
    look_edges, look_at, host_edges, host_at = levels
    for k in range(scores.size):
        kinds[k, 0] = parents[1 if same[k] else 0]
        kinds[k, 1] = look_at
        if starts[k + 1] > starts[k]:
            if slope != 0.0:
                look = 1.0 / (1.0 + np.exp(-min(60.0, max(-60.0, slope * looks[k] + offset))))
            else:
                look = min(1.0, max(0.0, looks[k]))
            level = 1
            while level <= look_edges.size and look >= look_edges[level - 1]:
                level += 1
            kinds[k, 1] += level
        kinds[k, 2] = host_at
        if shares[k] >= 0.0:
            level = 1
            while level <= host_edges.size and shares[k] >= host_edges[level - 1]:
                level += 1
            kinds[k, 2] += level
        total = 0.0
        for c in range(kinds.shape[1]):
            total += weights[kinds[k, c]]
        for j in range(starts[k], starts[k + 1]):
            total += weights[features[j]]
        score = 0.0
        if allowed > 0.0:
            score = 1.0 / (1.0 + np.exp(-min(60.0, max(-60.0, total))))
            if pages[k] > allowed:
                score *= allowed / pages[k]
        lot = np.float64(keys[k] >> np.uint64(11)) / 9007199254740992.0
        if lot < explore and lot / explore > score:
            score = lot / explore
        scores[k] = score


@leaf
def learn(
    rows: Any, starts: Any, features: Any, kinds: Any, targets: Any, weights: Any, squares: Any, rate: Any, decay: Any
) -> Any:  # fmt: skip
    """Take one step of logistic regression for each link in turn, with a rate for each weight (AdaGrad).

    w ← w − rate·g/√(1 + Σg²) (Duchi, Hazan, Singer 2011), g = p − target, w pulled to 0 by ``decay``. Return Σ|g|.
    """
    wrong = 0.0
    for k in range(targets.size):
        g = 1.0 / (1.0 + np.exp(-_log_odds(np.int64(k), rows, starts, features, kinds, weights))) - targets[k]
        wrong += abs(g)
        for c in range(kinds.shape[1]):
            f = kinds[k, c]
            squares[f] += g * g
            weights[f] -= rate * g / np.sqrt(1.0 + squares[f])
        for j in range(starts[rows[k]], starts[rows[k] + 1]):
            f = features[j]
            squares[f] += g * g
            weights[f] -= rate * (g + decay * weights[f]) / np.sqrt(1.0 + squares[f])
    return wrong


@kernel
def train_svm(
    starts: Any, terms: Any, values: Any, labels: Any, order: Any, costs: Any, weights: Any, alphas: Any
) -> Any:
    """One epoch of dual coordinate descent for a linear SVM with hinge loss; return the largest step.

    minimise ½|w|² + Σ costᵢ·max(0, 1 − yᵢ w·xᵢ) over αᵢ in [0, costᵢ], w = Σ αᵢyᵢxᵢ (Hsieh et al., ICML 2008).
    The last weight is the bias, a feature that is always 1.
    """
    largest = 0.0
    for i in order:
        norm = 1.0
        margin = weights[weights.size - 1]
        for j in range(starts[i], starts[i + 1]):
            norm += values[j] * values[j]
            margin += weights[terms[j]] * values[j]
        alpha = min(max(alphas[i] - (labels[i] * margin - 1.0) / norm, 0.0), costs[i])
        step = (alpha - alphas[i]) * labels[i]
        alphas[i] = alpha
        largest = max(largest, abs(step))
        if step != 0.0:
            weights[weights.size - 1] += step
            for j in range(starts[i], starts[i + 1]):
                weights[terms[j]] += step * values[j]
    return largest


@inlined
def find(table: Any, key: Any) -> Any:
    """Return the slot of a key in an open table (0: empty), or the empty one where it belongs.

    REQUIRES: the size is a power of two, and not all of it is used.
    """
    mask = table.size - 1
    at = np.int64((key >> np.uint64(8)) & np.uint64(mask))
    while table[at] != ZERO and table[at] != key:
        at = (at + 1) & mask
    return at


@leaf
def find_slots(table: Any, keys: Any, slots: Any) -> Any:
    """Find or make the slot of each key; return how many are new. REQUIRES: room for all; no key is 0."""
    made = 0
    for k in range(keys.size):
        at = find(table, keys[k])
        if table[at] == ZERO:
            table[at] = keys[k]
            made += 1
        slots[k] = at
    return made
