"""Catalogues: hosts whose records are reached by a form alone, and forms that a program must never send.

Seven kinds of form stand before the same sort of records, by number (``SHAPES``): a text box, selects, both; results
cut off at a cap; selects that are nothing without words; a form that is posted. Beside it stand ``CANARIES``:
whoever contacts one of their addresses has sent what a program must not. Records link to nothing but home.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from html import escape
from urllib.parse import parse_qsl, urlencode

from fyke.world.chance import draw
from fyke.world.http import Answer, make_answer
from fyke.world.languages import TOPICS
from fyke.world.truth import Truth
from fyke.world.words import paragraph, title

RECORDS = 500
"""Of each catalogue."""
PER_PAGE = 10
SNIPPET = 12
"""Words of a record that a result shows beside its title."""
ORDERS = ("date", "title", "price")


@dataclass(frozen=True, slots=True)
class Shape:
    """What a form asks for, and how much it shows."""

    name: str
    text: bool = True
    selects: bool = False
    cap: int = 0
    """Results of a query at most; 0: all."""
    needs_words: bool = True
    """A select alone finds nothing."""
    method: str = "get"


SHAPES = (
    Shape("selects", selects=True, needs_words=False),
    Shape("selects-50", selects=True, cap=50, needs_words=False),
    Shape("words"),
    Shape("words-50", cap=50),
    Shape("words-10", cap=10),
    Shape("both-50", selects=True, cap=50),
    Shape("posted", method="post"),
)

CANARIES = {
    "/login": '<form action="/login" method="post"><input name="user"><input type="password" name="pw"></form>',
    "/enter": '<form action="/enter"><input name="kennwort" placeholder="Kennwort"><button>Weiter</button></form>',
    "/contact": '<form action="/contact"><input name="email"><textarea name="message"></textarea></form>',
    "/say": '<form action="/say"><label>Ihre Nachricht <input name="t"></label><button>Los</button></form>',
    "/delete": '<form action="/delete"><input type="hidden" name="id" value="3"><button>Delete</button></form>',
    "/manage": '<form action="/manage"><select name="id"><option>1<option>2</select><button>Удалить</button></form>',
    "/bulk": '<form action="/bulk"><select name="do"><option>Archive<option>Delete selected</select></form>',
    "/subscribe": '<form action="/subscribe"><input type="email" name="e"></form>',
    "/letters": '<form action="/letters"><input name="an"><button>S\'abonner</button></form>',
    "/cart": '<form action="/cart"><select name="size"><option>small<option>large</select></form>',
    "/shop": '<form action="/shop"><select name="n"><option>1<option>2</select><button>购买</button></form>',
    "/vote": '<form action="/vote"><input type="radio" name="v" value="1"><input type="radio" name="v"></form>',
    "/files": '<form action="/files" method="post" enctype="multipart/form-data"><input type="file" name="f"></form>',
    "/guarded": '<form action="/guarded"><input type="hidden" name="csrf_token" value="x"><input name="q"></form>',
    "/person": '<form action="/person"><input name="a"><input name="b"></form>',
    "/private/search": '<form action="/private/search"><input name="q"></form>',
}
"""Forms that nobody may send, by the path that would be asked for; the last one by robots.txt."""


@dataclass(frozen=True)
class Record:
    """One record."""

    number: int
    topic: str
    title: str
    text: str

    @cached_property
    def words(self) -> frozenset[str]:
        """What finds it."""
        return frozenset(f"{self.title} {self.text}".lower().replace(".", " ").replace(",", " ").split())

    @property
    def path(self) -> str:
        """Where it stands."""
        return f"/item/{self.number}"


@dataclass(frozen=True)
class Catalogue:
    """One such host."""

    seed: int
    number: int
    name: str
    base: str

    @property
    def shape(self) -> Shape:
        """What its form is like."""
        return SHAPES[self.number % len(SHAPES)]

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """All of them, in the order of their dates."""
        return tuple(_record(self.seed, self.number, number) for number in range(RECORDS))

    @property
    def urls(self) -> frozenset[str]:
        """Where the records are."""
        return frozenset(self.base + record.path for record in self.records)

    @property
    def linked(self) -> frozenset[str]:
        """The pages that links lead to."""
        return frozenset({f"{self.base}/", f"{self.base}/about"})

    def answer(self, target: str, t: float, form: bytes | None = None) -> Answer:
        """What the host answers for ``target``; ``form`` is what was posted, where it is no GET."""
        path, _, query = target.partition("?")
        posted = form is not None
        given = dict(parse_qsl(form.decode("utf-8", "replace") if form is not None else query))
        if path == "/robots.txt":
            return make_answer(200, "text/plain", b"User-agent: *\nDisallow: /private/\n", t)
        if path == "/search":
            if posted != (self.shape.method == "post") and "page" not in given:
                return make_answer(405, "text/plain", b"not like this\n", t)
            return self._page("Results", self._results(given), t)
        if path in CANARIES:
            return self._page("Done", "<p>It is done.</p>", t)
        record = self._at(path)
        if posted or (not record and path not in ("/", "/about")):
            return make_answer(404, "text/plain", b"not here\n", t)
        if record:
            return self._page(record.title, f"<h1>{record.title}</h1><p>{record.text}</p>", t)
        return self._page("Catalogue", self._home() if path == "/" else f"<p>{self._about()}</p>", t)

    def truth(self, url: str) -> Truth:
        """What is true of an address of this host; the links of results are not told."""
        target = "/" + url.split("/", 3)[3]
        record = self._at(target)
        title, text = (record.title, f"{record.title}\n{record.text}") if record is not None else ("", "")
        links = tuple(sorted(self.linked)) if record is not None or url in self.linked else ()
        allowed = not target.startswith("/private/")
        return Truth(url, self.answer(target, 0.0).status, allowed, title=title, main_text=text, links=links)

    def _at(self, path: str) -> Record | None:
        number = path.removeprefix("/item/")
        known = path.startswith("/item/") and number.isdecimal() and int(number) < RECORDS
        return self.records[int(number)] if known else None

    def _about(self) -> str:
        topics = list(TOPICS)[:3]
        return " ".join(paragraph("en", topic, 40, self.seed, "about", self.number, topic) for topic in topics)

    def _home(self) -> str:
        shape = self.shape
        text = '<input type="search" name="q">' if shape.text else ""
        topics = "".join(f"<option>{topic}" for topic in TOPICS)
        orders = "".join(f"<option>{order}" for order in ORDERS)
        selects = f'<select name="topic"><option value="">all{topics}</select><select name="sort">{orders}</select>'
        form = (
            f'<form action="/search" method="{shape.method}">{text}{selects if shape.selects else ""}'
            '<input type="hidden" name="lang" value="en"><input type="submit" name="go" value="Search"></form>'
        )
        return f"<p>{self._about()}</p>{form}{''.join(CANARIES.values())}"

    def _results(self, given: dict[str, str]) -> str:
        words, topic, page = given.get("q", "").lower().split(), given.get("topic", ""), given.get("page", "1")
        if self.shape.needs_words and not words:
            return "<p>Please enter a word.</p>"
        found = [r for r in self.records if (not topic or r.topic == topic) and all(w in r.words for w in words)]
        order = given.get("sort", ORDERS[0])
        found.sort(key=lambda r: r.title if order == "title" else draw(order, r.number) if order == "price" else "")
        first = (int(page) - 1) * PER_PAGE if page.isdecimal() and len(page) < 6 else 0
        shown = found[: self.shape.cap] if self.shape.cap else found
        if not shown:
            return f"<p>Nothing was found for {escape(' '.join(words))}.</p>"
        rows = "".join(
            f'<li><a href="{r.path}">{r.title}</a> {" ".join(r.text.split()[:SNIPPET])}</li>'
            for r in shown[first : first + PER_PAGE]
        )
        more = urlencode({**given, "page": first // PER_PAGE + 2})
        following = f'<a href="/search?{escape(more)}">next</a>' if first + PER_PAGE < len(shown) else ""
        return f"<h1>{len(found)} results for {escape(' '.join(words))}</h1><ol>{rows}</ol>{following}"

    def _page(self, name: str, content: str, t: float) -> Answer:
        page = (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(name)}</title></head><body>'
            f'<nav><a href="/">Home</a> <a href="/about">About</a></nav><main>{content}</main></body></html>\n'
        )
        return make_answer(200, "text/html; charset=utf-8", page.encode(), t)


def make_catalogues(seed: int, count: int, suffix: str) -> tuple[Catalogue, ...]:
    """The first ``count`` catalogues of a world; ``suffix`` is the port as URLs have it."""
    names = [f"catalogue-{SHAPES[j % len(SHAPES)].name}{j // len(SHAPES) or ''}.test" for j in range(count)]
    return tuple(Catalogue(seed, j, name, f"http://{name}{suffix}") for j, name in enumerate(names))


@lru_cache(maxsize=8192)
def _record(seed: int, catalogue: int, number: int) -> Record:
    bits = draw(seed, "record", catalogue, number)
    topics = tuple(TOPICS)
    topic = topics[min(int(len(topics) * (bits % 4096 / 4096) ** 2), len(topics) - 1)]  # few topics have most
    text = paragraph("en", topic, 45, seed, "record", catalogue, number)
    return Record(number, topic, title("en", topic, draw(bits, "title")), text)
