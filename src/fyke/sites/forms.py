"""The forms of a page: where each leads, how, what it asks for, and what it would send as it stands.

Read from tokens, as browsers own controls: whatever stands between ``<form>`` and ``</form>`` is the form's, however
the elements around it are nested; a form within a form is none; ``form=ID`` names another owner. Bounded by the
``MAX_`` figures; of a form that has more it is noted, since nobody knows what the rest asks for.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import parse_qsl, unquote_plus, urlencode

import numpy as np

from fyke.errors import UrlError
from fyke.formats.encoding import decoded
from fyke.formats.html import Page, parse
from fyke.formats.markup import CLOSE, KIND, OPEN, RAW, TEXT, Markup, Tag, fold
from fyke.formats.markup_names import ELEMENT
from fyke.formats.markup_rows import ELEMENT_, SELF_CLOSING
from fyke.limits import note
from fyke.url import Url
from fyke.values import Request

MAX_FORMS = 100
"""Of a page."""
MAX_FIELDS = 1000
"""Of a form."""
MAX_OPTIONS = 20_000
"""Of a page's selects: the largest real ones, of places and makes, have some thousands."""
MAX_TAGS = 50_000
"""Of all that make forms; a page is read so far."""
MAX_TEXT = 200
"""Characters of a label or option."""
POSTED = "__wb_method=POST"
"""Begins the query of the address under which an answer to a POST is kept, the data behind it: as archives name it."""
_LABEL_TOKENS = 32

_TAGS = ("form", "input", "select", "option", "textarea", "button", "label", "legend", "template")
_BUTTONS = frozenset({"submit", "image", "button", "reset"})


@dataclass(frozen=True)
class Field:
    """One control of a form, or one group of radio buttons."""

    name: str
    kind: str
    """Of an input its type; else select, radio, textarea or button."""
    value: str = ""
    """What is sent unless somebody changes it."""
    options: tuple[tuple[str, str], ...] = ()
    """Value and label of each choice."""
    label: str = ""
    """What is written at it: label, placeholder, the text of a button."""
    sent: bool = True
    """Whether it is sent as it stands: a box that is not checked is not."""
    required: bool = False
    is_input: bool = True
    """An ``<input>``."""
    action: str = ""
    """Of a button that leads elsewhere, where and how."""


@dataclass(frozen=True)
class Form:
    """One form."""

    target: Url
    method: str
    """GET or POST."""
    fields: tuple[Field, ...] = ()
    about: str = ""
    """What the form is called: its id, name, class, label and legends."""
    action: str = ""
    """Where it leads, as it is written, escapes resolved."""
    multipart: bool = False
    """It is made to send files."""
    whole: bool = True
    """All of its fields are here."""
    encoding: str = field(default="utf-8", compare=False)
    """A codec for what is sent: that of its page."""

    @cached_property
    def sent(self) -> tuple[tuple[str, str], ...]:
        """Name and value of what is sent unless somebody fills it in: hidden fields, defaults, choices made."""
        return tuple((f.name, f.value) for f in self.fields if f.name and f.sent and f.kind not in _BUTTONS)

    @cached_property
    def inputs(self) -> tuple[tuple[str, str], ...]:
        """Name and type of each input."""
        return tuple((f.name, f.kind) for f in self.fields if f.name and f.is_input)

    @cached_property
    def pressed(self) -> tuple[tuple[str, str], ...]:
        """Name and value of the button by which the form is sent, where that is sent too."""
        first = next((f for f in self.fields if f.kind == "submit" and not f.action), None)
        return ((first.name, first.value),) if first is not None and first.name else ()

    def filled(self, values: dict[str, str]) -> Request:
        """Return what sends the form with these values in the places of its own."""
        data = self.data(values, self.sent)
        if self.method == "POST":
            return Request(self.target, "POST", form=data.encode())
        return Request(Url.parse(self.target.href.partition("?")[0] + "?" + data))

    def data(self, values: dict[str, str], sent: tuple[tuple[str, str], ...]) -> str:
        """Return ``sent`` as it goes over the wire, with these values in the places of its own."""
        pairs = [(name, values.get(name, value)) for name, value in sent]
        known = {name for name, _ in sent}
        pairs += [(name, value) for name, value in values.items() if name not in known]
        return urlencode(pairs, encoding=self.encoding, errors="xmlcharrefreplace")

    def address(self, values: dict[str, str]) -> Url:
        """Return the address of the answer to the form as a person sends it, by its button, with these values.

        That of a POST has its data in the query, behind ``POSTED``; ``request_of`` is the inverse. Raises ``UrlError``.
        """
        return self.address_of(values, self.sent + self.pressed)

    def address_of(self, values: dict[str, str], sent: tuple[tuple[str, str], ...]) -> Url:
        """Return the same of other things that are sent. Raises ``UrlError``."""
        data = self.data(values, sent)
        parts = (self.target.query, POSTED, data) if self.method == "POST" else (data,)
        return Url.parse(self.target.href.partition("?")[0] + "?" + "&".join(filter(None, parts)))


def request_of(url: Url) -> Request:
    """Return what asks for the document at an address that ``Form.address`` made."""
    head, _, query = url.href.partition("?")
    own, mark, data = query.partition(POSTED)
    if not mark:
        return Request(url)
    own = own.removesuffix("&")
    return Request(Url(f"{head}?{own}" if own else head), "POST", form=data.removeprefix("&").encode())


def values_of(data: str) -> dict[str, str]:
    """Return what a query or posted data says, by name; of several values the last."""
    return dict(parse_qsl(data, keep_blank_values=True))


def forms(body: bytes, content_type: str, url: Url) -> list[Form]:
    """Return the forms of the page at ``url`` whose target is an address. Takes any bytes."""
    page = decoded(body, content_type)
    return [*read_forms(parse(page.text), url, _codec(page.encoding))]


def read_forms(page: Page, url: Url, encoding: str = "utf-8") -> Iterator[Form]:
    """Yield the forms of a page whose target is an address; ``encoding`` is a codec for what they send."""
    try:
        base = url.join(page.base) if page.base else url
    except UrlError:
        base = url
    for draft in _Reader(page.tokens).drafts():
        tag = draft.tag
        action = tag.get("action")
        try:
            target = base.join(action) if action else url
        except UrlError:
            continue
        yield Form(
            target,
            "POST" if tag.get("method").lower() == "post" else "GET",
            tuple(draft.fields),
            fold(" ".join([*(tag.get(name) for name in ("id", "name", "class", "aria-label", "title")), *draft.texts])),
            unquote_plus(action),
            "multipart" in tag.get("enctype").lower(),
            draft.whole,
            encoding,
        )


class _Draft:
    """A form that is being read."""

    def __init__(self, tag: Tag) -> None:
        self.tag = tag
        self.fields: list[Field] = []
        self.texts: list[str] = []
        self.whole = True
        self._radios: dict[str, int] = {}

    def add(self, made: Field) -> None:
        """Add a field; the buttons of a radio group are one."""
        at = self._radios.get(made.name, -1) if made.kind == "radio" else -1
        if at >= 0:
            known = self.fields[at]
            value, sent = (made.value, True) if made.sent else (known.value, known.sent)
            options = known.options + made.options if len(known.options) < MAX_FIELDS else known.options
            self.fields[at] = Field(made.name, "radio", value, options, known.label, sent, known.required)
        elif len(self.fields) < MAX_FIELDS:
            if made.kind == "radio":
                self._radios[made.name] = len(self.fields)
            self.fields.append(made)
        else:
            self.whole = False


class _Reader:
    """One pass over the tags that make forms."""

    def __init__(self, markup: Markup) -> None:
        self._markup = markup
        self._drafts: list[_Draft] = []
        self._strays: list[tuple[str, Field]] = []  # fields that name their form
        self._labels: dict[str, str] = {}
        self._options = 0
        self._form: _Draft | None = None
        self._select: tuple[Tag, list[tuple[str, str, bool]]] | None = None
        self._label = ""

    def drafts(self) -> list[_Draft]:
        """Return the forms, in order."""
        markup = self._markup
        rows = markup.tokens[:-1]
        elements = rows[:, ELEMENT_] & (SELF_CLOSING - 1)
        wanted = np.isin(elements, [ELEMENT[name] for name in _TAGS]) & np.isin(rows[:, KIND], (OPEN, CLOSE))
        places = np.flatnonzero(wanted)[: MAX_TAGS + 1].tolist()
        if not any(markup.name(at) == "form" for at in places):
            return []
        for at in places:
            if markup.name(at) == "label" and markup.kind(at) == OPEN and (owner := markup.get(at, "for")):
                self._labels.setdefault(owner, self._text(at))
        hidden = 0
        for at in places:
            name, opens = markup.name(at), markup.kind(at) == OPEN
            if name == "template":  # what stands in it is not there
                hidden = max(0, hidden + (1 if opens else -1))
            elif not hidden:
                self._open(name, at) if opens else self._close(name)
        self._close("select")
        if len(places) > MAX_TAGS:
            note("form-tags")
        if len(places) > MAX_TAGS or len(self._strays) == MAX_FIELDS:
            for each in self._drafts:
                each.whole = False
        for owner, made in self._strays:
            draft = next((each for each in self._drafts if each.tag.get("id") == owner), None)
            if draft is not None:
                draft.add(made)
        return self._drafts

    def _open(self, name: str, at: int) -> None:
        tag = self._markup.tag(at)
        if name == "form":
            self._close("select")
            if self._form is None:
                self._form = _Draft(tag)
                if len(self._drafts) < MAX_FORMS:
                    self._drafts.append(self._form)
                else:
                    note("forms")
        elif name == "label":
            self._label = self._text(at)
        elif name == "legend":
            if self._form is not None:
                self._form.texts.append(self._text(at))
        elif name == "option":
            if self._select is not None:
                self._add_option(tag)
        elif name == "select":
            self._close("select")
            self._select = tag, []
        else:
            self._close("select")
            self._add(tag, _control(tag, name, self._said(tag), self._inner(at)))

    def _close(self, name: str) -> None:
        if name == "form":
            self._close("select")
            self._form = None
        elif name == "label":
            self._label = ""
        elif name == "select" and self._select is not None:
            tag, options = self._select
            self._select = None
            chosen = [value for value, _, selected in options if selected] or [value for value, _, _ in options[:1]]
            several = "multiple" in tag.attributes and not any(selected for _, _, selected in options)
            choices = tuple((value, label) for value, label, _ in options)
            value = chosen[-1] if chosen else ""
            sent = bool(chosen) and not several
            self._add(tag, Field(tag.get("name"), "select", value, choices, self._said(tag), sent, is_input=False))

    def _add_option(self, tag: Tag) -> None:
        assert self._select is not None
        if self._options >= MAX_OPTIONS:
            note("form-options")
            return
        self._options += 1
        label = _cut(self._following(tag.token))
        value = tag.attributes.get("value")
        if "disabled" not in tag.attributes:
            self._select[1].append((label if value is None else value, label, "selected" in tag.attributes))

    def _add(self, tag: Tag, made: Field) -> None:
        if "disabled" in tag.attributes:
            return
        if owner := tag.get("form"):
            if len(self._strays) < MAX_FIELDS:
                self._strays.append((owner, made))
        elif self._form is not None:
            self._form.add(made)

    def _said(self, tag: Tag) -> str:
        texts = (self._labels.get(tag.get("id"), "") if tag.get("id") else "", self._label)
        return fold(" ".join([*texts, tag.get("placeholder"), tag.get("aria-label"), tag.get("title")]))

    def _text(self, at: int) -> str:
        return _cut(self._markup.content(at, _LABEL_TOKENS))

    def _inner(self, at: int) -> str:
        """The text of a button or a textarea."""
        name = self._markup.name(at)
        if name == "textarea":
            return self._markup.text(at + 1) if at + 1 < len(self._markup) and self._markup.kind(at + 1) == RAW else ""
        return self._text(at) if name == "button" else ""

    def _following(self, at: int) -> str:
        """The text up to the next tag: that of an option, which nobody closes."""
        parts, end = [], min(at + _LABEL_TOKENS, len(self._markup))
        for each in range(at + 1, end):
            if self._markup.kind(each) in (OPEN, CLOSE):
                break
            if self._markup.kind(each) == TEXT:
                parts.append(self._markup.text(each))
        return "".join(parts)


def _control(tag: Tag, element: str, said: str, inner: str) -> Field:
    """The field of an input, a textarea or a button."""
    name, required = tag.get("name"), "required" in tag.attributes
    value = tag.attributes.get("value", "")
    if element == "textarea":
        return Field(name, "textarea", inner, (), said, required=required, is_input=False)
    kind = tag.get("type").lower() or ("submit" if element == "button" else "text")
    if element == "button" or kind in _BUTTONS:
        label = fold(f"{said} {inner} {tag.get('alt')} {value}")
        elsewhere = fold(f"{tag.get('formmethod')} {tag.get('formaction')}")
        return Field(name, kind if kind in _BUTTONS else "submit", value, (), label, False, False, element == "input",
                     elsewhere)  # fmt: skip
    if kind in ("checkbox", "radio"):
        value = tag.attributes.get("value", "on")
        options = ((value, said),)
        return Field(name, kind, value, options, said, "checked" in tag.attributes, required)
    return Field(name, kind, value, (), said, required=required)


def _codec(label: str) -> str:
    """A codec that writes what a page in this encoding sends; UTF-8 where there is none, and for wide ones."""
    try:
        name = codecs.lookup(label).name
    except LookupError:
        return "utf-8"
    return "utf-8" if name.startswith(("utf", "iso2022", "hz")) else name


def _cut(text: str) -> str:
    text = fold(text)
    if len(text) > MAX_TEXT:
        note("form-text")
    return text[:MAX_TEXT]
