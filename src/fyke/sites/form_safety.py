"""Which forms may be sent by a program: those that ask for documents, and do nothing.

A form is judged by all that it says of itself: method, fields and their labels, buttons, where it leads, what it is
called. It is safe if nothing of that tells otherwise (``refusal``), and what is refused has a reason. When in doubt it
is refused: a form that is wrongly refused costs some pages, one that is wrongly sent somebody's data.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from fyke.sites.form_words import PLACES, STEMS, VERBS, WORDS, Unsafe
from fyke.sites.forms import Field, Form
from fyke.url import Url

FREE = frozenset({"text", "search", ""})
"""Types of inputs that take any words."""
TYPED = frozenset({"number", "range", "date", "datetime", "datetime-local", "month", "week", "time", "color", "url"})
"""Types that take values of their kind: they are sent as they stand."""
_KNOWN = FREE | TYPED | {"hidden", "checkbox", "radio", "select", "submit", "image", "button", "reset"}
_BY_TYPE = {
    "password": Unsafe.LOGIN,
    "file": Unsafe.UPLOAD,
    "email": Unsafe.CONTACT,
    "tel": Unsafe.CONTACT,
    "textarea": Unsafe.CONTACT,
}

_TOKEN = re.compile(
    r"csrf|xsrf|(?:^|_)token|nonce|authenticity|requestverification|viewstate|eventvalidation|sesskey|form_key|"
    r"form_build_id|captcha|honeypot|signature|(?:^|_)hash(?:$|_)|(?:^|_)method(?:$|_)"
)
"""Names of hidden fields that only forms which do something have."""
_ONE_WORD = re.compile(r"i(?:Phone|Pad|Pod)|eBay")
_BREAKS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^\w]+|_+")


def _pattern(stems: str, words: str) -> re.Pattern[str]:
    parts = [re.escape(normal(stem.replace("_", " ")).strip()) for stem in stems.split()]
    whole = [rf"(?<!\w){re.escape(normal(word.replace('_', ' ')).strip())}(?!\w)" for word in words.split()]
    return re.compile("|".join(parts + whole) or r"(?!)")


@lru_cache(maxsize=4096)
def normal(text: str) -> str:
    """Return text as it is compared: lower case, no accents, one space between words, ``camelCase`` as two."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", text[:2000]) if not unicodedata.combining(c))
    bare = _ONE_WORD.sub(lambda found: found[0].lower(), bare)
    return _BREAKS.sub(" ", bare).lower().strip()


_SAID = {why: _pattern(STEMS.get(why, ""), WORDS.get(why, "")) for why in {**STEMS, **WORDS}}
_LEADS = {why: _pattern("", words) for why, words in PLACES.items()}
_STARTS = {why: _pattern("", words) for why, words in VERBS.items()}
_CHOSEN = re.compile(
    rf"(?:{_SAID[Unsafe.DELETE].pattern}|{_SAID[Unsafe.SUBSCRIBE].pattern}|{_SAID[Unsafe.PAYMENT].pattern}"
    r"|logout|log out|sign out|abmelden)(?: (?:all|selected|alle|tout|todo))?"
)
"""What a choice says that does something: the whole of it, since a catalogue may have any topic."""


def refusal(form: Form, page: Url, *, post: bool = False) -> Unsafe | None:
    """Return why the form of ``page`` is not sent by a program; None where it may be. ``post`` allows POST."""
    if not form.target.href.startswith(("http://", "https://")) or form.target.host != page.host:
        return Unsafe.ELSEWHERE
    if not form.whole:
        return Unsafe.TOO_LARGE
    if form.multipart and form.method == "POST":
        return Unsafe.UPLOAD
    return _by_fields(form) or _by_words(form) or _by_shape(form) or _by_method(form, post)


def free_texts(form: Form) -> list[Field]:
    """The boxes that take any words."""
    return [each for each in form.fields if each.kind in FREE and each.name]


def choices(form: Form) -> list[Field]:
    """The selects and radio groups that have a choice."""
    return [each for each in form.fields if each.kind in ("select", "radio") and each.name and len(each.options) > 1]


def _by_method(form: Form, post: bool) -> Unsafe | None:
    if form.method == "POST" and not post:
        return Unsafe.METHOD
    if any(normal(each.action).startswith("post") for each in form.fields) and not post:
        return Unsafe.METHOD
    return None


def _by_fields(form: Form) -> Unsafe | None:
    for each in form.fields:
        if why := _BY_TYPE.get(each.kind):
            return why
        if each.kind == "hidden" and _TOKEN.search(normal(each.name).replace(" ", "_")):
            return Unsafe.TOKEN
        if each.kind == "checkbox" and each.required:
            return Unsafe.CONSENT
        if each.kind not in _KNOWN:
            return Unsafe.CONTACT  # a type of tomorrow
    return None


def _by_words(form: Form) -> Unsafe | None:
    path, _, query = form.action.partition("?")
    last = normal(path.rstrip("/").rpartition("/")[2].partition(".")[0])
    for said in _sayings(form, path, query):
        if why := _meaning(_SAID, said):
            return why
    if why := _meaning(_LEADS, last):
        return why
    for each in form.fields:
        if each.kind in ("submit", "image") and (why := _starting(normal(each.label))):
            return why
        if each.kind == "hidden" and _CHOSEN.fullmatch(normal(each.value)):
            return Unsafe.DELETE
        if any(_CHOSEN.fullmatch(normal(text)) for pair in each.options[:200] for text in pair):
            return Unsafe.DELETE
    return None


def _sayings(form: Form, path: str, query: str) -> Iterable[str]:
    """All that says what a form is for, and where words are never those of a catalogue."""
    yield normal(path)
    yield normal(query)
    yield normal(form.about)
    for each in form.fields:
        yield normal(each.name)
        if each.kind in FREE or each.kind in ("submit", "image", "button"):
            yield normal(each.label)
        if each.action:
            yield normal(each.action)


def _by_shape(form: Form) -> Unsafe | None:
    texts = free_texts(form)
    if len(texts) > 1:
        return Unsafe.SEVERAL_TEXTS
    return None if texts or choices(form) else Unsafe.NOTHING


def _meaning(table: dict[Unsafe, re.Pattern[str]], said: str) -> Unsafe | None:
    return next((why for why, pattern in table.items() if pattern.search(said)), None) if said else None


def _starting(said: str) -> Unsafe | None:
    return next((why for why, pattern in _STARTS.items() if pattern.match(said)), None) if said else None
