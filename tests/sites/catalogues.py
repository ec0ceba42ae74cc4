"""Probing a catalogue of the world without sockets: what a program would send, and what it found."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from fyke.formats.html import parse
from fyke.sites.form_safety import refusal
from fyke.sites.forms import forms, request_of
from fyke.sites.probing import BUDGET, Probe
from fyke.sites.results import page_words, read_answer
from fyke.url import Url
from fyke.values import Request
from fyke.world.catalogue import Catalogue

HTML = "text/html; charset=utf-8"


@dataclass
class Probed:
    """What came of it."""

    probe: Probe
    sent: list[Request] = field(default_factory=list)
    found: set[str] = field(default_factory=set)
    """Addresses that answers link to."""

    def coverage(self, catalogue: Catalogue) -> float:
        """The share of the records that was found."""
        return len(self.found & catalogue.urls) / len(catalogue.urls)


def probes(catalogue: Catalogue, *, post: bool = False, budget: int = BUDGET) -> list[Probe]:
    """The machines of the forms of the home page that may be sent; robots.txt is obeyed by the path."""
    home = Url(f"{catalogue.base}/")
    body = catalogue.answer("/", 0.0).body
    page = parse(body)
    links = [home.join(href) for href in page.links().hrefs]
    return [
        Probe.of(form, links, page_words(body, HTML), budget)
        for form in forms(body, HTML, home)
        if refusal(form, home, post=post) is None and not form.target.path.startswith("/private/")
    ]


def probe(catalogue: Catalogue, machine: Probe, *, forget: bool = False) -> Probed:
    """Do what the machine says until it is done; ``forget``: its state is written and read between any two requests."""
    probed = Probed(machine)
    while (ask := probed.probe.next()) is not None:
        url = Url(ask.href)
        request = request_of(url)
        probed.sent.append(request)
        answer = catalogue.answer(request.url.target, 0.0, request.form if request.method == "POST" else None)
        read = read_answer(answer.body, HTML, url) if answer.status == 200 else None
        probed.found |= {each.href for each in read.results} if read is not None else set()
        probed.probe.took(read)
        if forget:
            probed.probe = msgspec.msgpack.decode(msgspec.msgpack.encode(probed.probe), type=Probe)
    return probed
