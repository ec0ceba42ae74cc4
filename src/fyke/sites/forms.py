"""The forms of a page: where each leads, how, and what it would send as it stands."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from urllib.parse import urlencode

from fyke.errors import UrlError
from fyke.formats.encoding import decoded
from fyke.formats.html import parse
from fyke.url import Url
from fyke.values import Request

MAX_FORMS = 100
MAX_FIELDS = 1000


@dataclass(frozen=True, slots=True)
class Form:
    """One form."""

    target: Url
    method: str
    """GET or POST."""
    sent: tuple[tuple[str, str], ...]
    """Name and value of what is sent unless somebody fills it in: hidden fields, defaults, choices made."""
    inputs: tuple[tuple[str, str], ...]
    """Name and type of each input."""

    def filled(self, values: dict[str, str]) -> Request:
        """Return what sends the form with these values in the places of its own."""
        pairs = [(name, value) for name, value in self.sent if name not in values] + list(values.items())
        data = urlencode(pairs)
        if self.method == "POST":
            return Request(self.target, "POST", form=data.encode())
        return Request(Url.parse(self.target.href.partition("?")[0] + "?" + data))


def forms(body: bytes, content_type: str, url: Url) -> list[Form]:
    """Return the forms of the page at ``url`` whose target is an address. Takes any bytes."""
    page = parse(decoded(body, content_type).text)
    found = []
    for form in islice(page.tree.select("form"), MAX_FORMS):
        try:
            base = url.join(page.base) if page.base else url
            target = base.join(str(form.attrs.get("action") or url.href))
        except UrlError:
            continue
        method = "POST" if str(form.attrs.get("method") or "").strip().lower() == "post" else "GET"
        sent = tuple((str(name), str(value)) for name, value in form.form_data()[:MAX_FIELDS])
        inputs = tuple(
            (str(each.attrs["name"]), str(each.attrs.get("type") or "text").lower())
            for each in islice(form.select("input"), MAX_FIELDS)
            if each.attrs.get("name")
        )
        found.append(Form(target, method, sent, inputs))
    return found
