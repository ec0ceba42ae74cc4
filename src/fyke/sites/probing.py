"""Probing a form: which values to ask it for, so that few requests show most of what is behind it.

After Madhavan et al., "Google's Deep-Web Crawl" (2008); that every next request is the one which promises most new
results is ours. A ``Probe`` is the state of one form, and a pure machine: ``next`` says what to ask for, ``took`` takes
in what came, one at a time. Requests are of four kinds:

- a **sample** of a select: ``SAMPLE`` of its values, spread evenly. It is *informative* where the answers differ
  (distinct signatures ≥ ``DISTINCT``) and show new results (≥ ``NEW`` of their links): the second rule drops orders;
- the **rest** of an informative select's values, each worth what the sample brought;
- a **next page**, worth what the page before it and other pages of its number brought;
- **words** for the text box, worth what the last queries brought: first those of the form's own page, then words of
  results, the broadest first, then by what they promise (``_promise``).

It stops when the budget is spent, when nothing is left to ask, when all words bring the same, or when the last
``WINDOW`` requests (twice as many where results are cut off at a cap) brought less than ``STOP`` new results each.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec
import xxhash

from fyke.errors import UrlError
from fyke.sites.form_queries import Ask, Choice, Course
from fyke.sites.form_safety import choices, free_texts
from fyke.sites.forms import Form
from fyke.sites.results import Answer
from fyke.url import Url

BUDGET = 200
"""Requests of one form."""
WINDOW = 20
STOP = 0.3
CAPPED = 3
"""Queries that end at the greatest length, which is then taken for a cap."""
BROAD = 3
"""Queries for the broadest words of results, before others."""
RECENT = 8
"""Queries by which a further one is judged."""
PAGE = 10
"""Results of a page, until it is known."""
OWN = 0.5
"""How much the page before counts for the next one, beside other pages of its number."""
FORGET = 0.3
"""How much the last one counts in what is learnt from one after another."""
BEYOND = 3.0
"""A query that met the cap has so many times the hits of it, as far as anybody knows."""
DOUBT = 5.0
"""Results of the average that a word's own are mixed with."""
MAX_CHOICES = 6
"""Selects of a form that are tried."""
MAX_QUERIES = 500
MAX_LINKS = 50_000
MAX_WORDS = 4_000
MAX_OPEN = 200
MAX_SEEDS = 60
_HOPELESS = 4
"""Queries in a row without any result before the form is given up, where none ever had one."""
_NO_CAP = 1 << 40


class Probe(msgspec.Struct, array_like=True):
    """The state of one form. Version 1: its fields in this order, as MessagePack."""

    version: int
    target: str
    method: str
    sent: list[tuple[str, str]]
    encoding: str
    box: str
    """The name of the text box; empty where there is none."""
    choices: list[Choice]
    seeds: list[str]
    """Words of the form's own page, the best last."""
    budget: int = BUDGET
    requests: int = 0
    queries: int = 0
    broad: int = 0
    """Queries for the broadest words."""
    asked: set[str] = set()
    """Words that were asked for."""
    pending: Ask | None = None
    nexts: list[Ask] = []
    open: dict[int, Course] = {}
    """Queries that are not at their end."""
    furniture: set[int] = set()
    """Links of the form's own page: they are no results."""
    seen: set[int] = set()
    """Results so far."""
    shown: int = 0
    """The same, each as often as it was shown."""
    frequency: dict[str, int] = {}
    """In how many results a word stands."""
    returned: dict[str, int] = {}
    """The same, each as often as it was shown."""
    brought: list[int] = []
    """New results of the last requests."""
    by_words: list[int] = []
    """The same of the last queries for words."""
    by_page: dict[int, float] = {}
    """The same by the number of a page, on average."""
    ends: dict[int, int] = {}
    """How many queries ended after so many results."""
    scale: float = 0.0
    """Hits of a word that stands in every result, as learnt; 0 until then."""
    widest: int = 0
    """Results of the fullest page."""
    full: int = 0
    """The same of pages that had a next one."""
    barren: int = 0
    """Queries for words in a row without any result."""
    over: str = ""
    """Why no more is asked for."""

    @classmethod
    def of(cls, form: Form, links: Iterable[Url], text: Sequence[str], budget: int = BUDGET) -> Probe:
        """Return a machine for a safe form; ``links`` and ``text`` (words) are those of the page it stands on."""
        box = free_texts(form)
        return cls(
            1, form.target.href, form.method, [*form.sent, *form.pressed], form.encoding, box[0].name if box else "",
            [Choice.of(each.name, [value for value, _ in each.options]) for each in choices(form)[:MAX_CHOICES]],
            _seeds(text), budget, furniture={_hash(url.href) for url in links},
        )  # fmt: skip

    # ---- what to ask for

    def next(self) -> Ask | None:
        """Return what to ask for, which is then pending; None where the form is done with (``over`` says why)."""
        while self.pending is None and not self.over:
            self.over = self._why_stop()
            ask = self._best() if not self.over else None
            if ask is None:
                self.over = self.over or "nothing left to ask for"
            elif ask.href:
                self.pending = ask
        return self.pending

    def _why_stop(self) -> str:
        if self.requests >= self.budget:
            return "budget spent"
        window = 2 * WINDOW if self.cap < _NO_CAP else WINDOW  # with a cap, what is left is harder to find
        recent = self.brought[-window:]
        tried = not self.box or bool(self.by_words)
        if tried and len(recent) == window and sum(recent) < STOP * window:
            return "little new"
        if len(self.by_words) == RECENT and len(self.seen) <= self.widest:
            return "always the same"
        return "no results" if self.barren >= _HOPELESS and not self.seen else ""

    def _best(self) -> Ask | None:
        for number, choice in enumerate(self.choices):
            if choice.sample > 0 and choice.values:
                return self._of_choice(number, PAGE)
        page, page_worth = self._best_page()
        rest = ((each.worth, i) for i, each in enumerate(self.choices) if each.values and each.informative)
        choice_worth, number = max(rest, default=(0.0, -1))
        words = _mean(self.by_words, PAGE) if self.box and self.queries < MAX_QUERIES else -1.0
        if page is not None and page_worth > 0 and page_worth >= max(words, choice_worth):
            self.nexts.remove(page)
            return page
        if number >= 0 and choice_worth >= words:
            return self._of_choice(number, choice_worth)
        return self._of_words(words) if words >= 0 else None

    def _best_page(self) -> tuple[Ask | None, float]:
        def worth(ask: Ask) -> float:
            number = self.open[ask.query].pages + 1 if ask.query in self.open else 2
            return OWN * ask.worth + (1 - OWN) * self.by_page.get(number, ask.worth)

        best = max(self.nexts, key=worth, default=None)
        return best, worth(best) if best is not None else 0.0

    def _of_choice(self, number: int, worth: float) -> Ask:
        choice = self.choices[number]
        choice.sample -= 1
        return self._query({choice.name: choice.values.pop(0)}, worth, number)

    def _of_words(self, worth: float) -> Ask | None:
        word = self._word()
        if not word:
            return None
        self.asked.add(word)
        ask = self._query({self.box: word}, worth)
        if self._knows_words and len(self.open) < MAX_OPEN:
            self.open[ask.query] = Course(self.frequency.get(word, 0) / len(self.seen))
        return ask

    def _query(self, values: dict[str, str], worth: float, choice: int = -1) -> Ask:
        """A query; without an address where none can be made of it."""
        self.queries += 1
        try:
            form = Form(Url(self.target), self.method, encoding=self.encoding)
            href = form.address_of(values, tuple(self.sent)).href
        except UrlError:
            href = ""
        return Ask(href, worth, self.queries, values, choice)

    # ---- which word

    @property
    def _knows_words(self) -> bool:
        return len(self.seen) >= PAGE

    def _word(self) -> str:
        """The word that promises most; empty where there is none."""
        left = [word for word in self.frequency if word not in self.asked]
        if left and (self._knows_words or not self.seeds):
            cap = self.cap
            if self.broad < BROAD and cap == _NO_CAP:
                self.broad += 1
                return max(left, key=lambda word: self.frequency[word])
            return max(left, key=lambda word: self._promise(word, cap))
        while self.seeds:
            word = self.seeds.pop()
            if word not in self.asked:
                return word
        return ""

    @property
    def cap(self) -> int:
        """Results of a query that the site shows at most, as far as that is known."""
        longest = max(self.ends, default=0)
        return longest if self.ends.get(longest, 0) >= CAPPED else _NO_CAP

    @property
    def _scale(self) -> float:
        return self.scale or max(2.0 * len(self.seen), 5.0 * PAGE)

    def _promise(self, word: str, cap: int) -> tuple[float, int]:
        """New results that the first page of a query for a word will bring; of equal ones the rarer word first.

        Beyond the cap what is shown is what the site's order puts first, and is seen soon.
        """
        known = self.frequency[word]
        hits = known / max(1, len(self.seen)) * self._scale
        first = min(hits, self.full or PAGE) * min(1.0, cap / hits)
        return first * self._unseen(word), -known

    def _unseen(self, word: str) -> float:
        """The share of the results with a word that was never shown, as capture and recapture tell.

        How often results are shown follows a Poisson law, of which nobody sees the zeros: from the mean of the
        others comes its rate, from that the share of zeros.
        """
        average = self.shown / max(1, len(self.seen))
        mean = (self.returned[word] + DOUBT * average) / (self.frequency[word] + DOUBT)
        rate = 2.0 * max(mean - 1.0, 1e-6)
        for _ in range(4):
            rate = mean * (1.0 - math.exp(-rate))
        return math.exp(-rate)

    # ---- what came

    def took(self, answer: Answer | None) -> int:
        """Take in the answer to what is pending (None: there is none); return how many results are new."""
        ask, self.pending = self.pending, None
        assert ask is not None, "nobody asked"
        self.requests += 1
        links, new = [], 0
        for each in answer.results if answer is not None else ():
            link = _hash(each.href)
            if link in self.furniture:
                continue
            links.append(link)
            fresh = link not in self.seen and len(self.seen) < MAX_LINKS
            if fresh:
                self.seen.add(link)
                new += 1
            self._learn(each.words, fresh)
        self.shown += len(links)
        self.widest = max(self.widest, len(links))
        self.brought = [*self.brought[1 - 2 * WINDOW :], new]
        self._follow(ask, answer.following if answer is not None else "", len(links), new)
        if ask.choice >= 0 and ask.values:
            self._judge(ask, answer, links, new)
        elif ask.values:
            self.by_words = [*self.by_words[1 - RECENT :], new]
            self.barren = 0 if links else self.barren + 1
        return new

    def skip(self) -> None:
        """What is pending is not asked for: others ask for it, or it is not wanted."""
        self.pending = None

    def _learn(self, words: Iterable[str], fresh: bool) -> None:
        for word in words:
            if word in self.frequency or (fresh and len(self.frequency) < MAX_WORDS and _is_word(word)):
                self.frequency[word] = self.frequency.get(word, 0) + fresh
                self.returned[word] = self.returned.get(word, 0) + 1

    def _follow(self, ask: Ask, following: str, links: int, new: int) -> None:
        """Note a next page; or what a query came to, which has no further one."""
        course = self.open.pop(ask.query, None) or Course()
        course.pages += 1
        course.length += links
        known = self.by_page.get(course.pages, float(new))
        self.by_page[course.pages] = (1 - FORGET) * known + FORGET * new
        if following:
            self.full = max(self.full, links)
            if len(self.nexts) < MAX_OPEN and len(self.open) < MAX_OPEN:
                self.open[ask.query] = course
                self.nexts.append(Ask(following, float(new), ask.query, {}, ask.choice))
        elif course.length and (course.length in self.ends or len(self.ends) < MAX_OPEN):
            self.ends[course.length] = self.ends.get(course.length, 0) + 1
            if course.share:
                hits = course.length / course.share
                true = hits if course.length < self.cap else max(self._scale, BEYOND * hits)
                self.scale = self._scale ** (1 - FORGET) * true**FORGET

    def _judge(self, ask: Ask, answer: Answer | None, links: list[int], new: int) -> None:
        """Learn what a select is good for; an uninformative one is dropped with its pages."""
        choice = self.choices[ask.choice]
        said = sorted(answer.text - {*ask.values.values()}) if answer is not None and not links else []
        text = " ".join(word for word in said if not word.isdigit())
        choice.signatures.append(hash(tuple(links)) if links else -(_hash(text) >> 1))
        choice.links += len(links)
        choice.new += new
        if choice.sample <= 0 and not choice.informative:
            self.nexts = [each for each in self.nexts if each.choice != ask.choice]
            choice.values = []


def _seeds(text: Sequence[str]) -> list[str]:
    """The words of a page that are worth asking for, the best last: often there."""
    counts = Counter(word for word in text if _is_word(word))
    return [word for word, _ in sorted(counts.items(), key=lambda pair: (pair[1], len(pair[0])))][-MAX_SEEDS:]


def _is_word(word: str) -> bool:
    """Whether a word is worth asking for: in scripts without spaces words are pairs of characters."""
    return (3 <= len(word) <= 40 or (len(word) == 2 and not word.isascii())) and not word.isdigit()


def _hash(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode())


def _mean(values: Sequence[int], first: float) -> float:
    return sum(values) / len(values) if values else first
