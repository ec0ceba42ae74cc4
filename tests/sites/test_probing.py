"""Probing forms: most of what is behind them by few requests, no canary, nothing posted."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.sites.form_queries import SAMPLE
from fyke.sites.forms import Form, forms
from fyke.sites.probing import _HOPELESS, BUDGET, RECENT, Probe
from fyke.sites.results import Answer, Result, read_answer
from fyke.url import Url
from fyke.world.catalogue import CANARIES, SHAPES, Catalogue, make_catalogues
from tests.sites.catalogues import probe, probes

HERE = Url("https://a.example/x")
LEAST = 0.9
"""Of the records."""


def catalogue(name: str, seed: int = 1) -> Catalogue:
    return next(each for each in make_catalogues(seed, len(SHAPES), "") if each.shape.name == name)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("shape", [each.name for each in SHAPES])
def test_most_records_by_two_hundred_requests(shape: str, seed: int) -> None:
    site = catalogue(shape, seed)
    posts = site.shape.method == "post"
    assert len(probes(site)) == (not posts)  # one form is safe, none where it is posted
    (machine,) = probes(site, post=posts)
    probed = probe(site, machine)
    assert len(probed.sent) <= BUDGET
    assert probed.coverage(site) >= LEAST, f"{probed.coverage(site):.1%}, {machine.over}"
    assert {request.url.path for request in probed.sent} == {"/search"}
    assert not {request.url.path for request in probed.sent} & set(CANARIES)
    assert all(request.method == "GET" for request in probed.sent) or posts


def test_a_machine_that_is_written_and_read_does_the_same() -> None:
    site = catalogue("selects-50")
    (one,), (other,) = probes(site), probes(site)
    first, second = probe(site, one), probe(site, other, forget=True)
    assert first.sent == second.sent
    assert len(msgspec.msgpack.encode(second.probe)) < 100_000  # which is written with every answer


def test_nothing_is_asked_for_twice_and_a_budget_holds() -> None:
    site = catalogue("words-50")
    (machine,) = probes(site, budget=30)
    sent = [(request.url, request.form) for request in probe(site, machine).sent]
    assert len(sent) == len(set(sent)) == 30
    assert machine.over == "budget spent"


def machine_of(markup: str, text: str = "eel weir net hoop bag fyke") -> Probe:
    (form,) = forms(markup.encode(), "text/html", HERE)
    return Probe.of(form, [], text.split())


def drive(machine: Probe, answers: dict[str, Answer], otherwise: Answer | None = None) -> list[str]:
    """Answer by the value of any field; return what was asked for."""
    asked = []
    while (ask := machine.next()) is not None:
        asked.append(Url(ask.href).target)
        machine.took(next((answers[each] for each in ask.values.values() if each in answers), otherwise))
    return asked


def shown(*names: str) -> Answer:
    return Answer(tuple(Result(f"https://a.example/{name}", (f"{name}word",)) for name in names))


SELECTS = """<form action=/s><select name=kind><option value="">all<option>a<option>b<option>c</select>
<select name=sort><option>up<option>down</select><input type=submit name=go value=Go></form>"""


def test_orders_are_dropped_and_defaults_sent() -> None:
    machine = machine_of(SELECTS)
    found = {
        "a": shown("1", "2"),
        "b": shown("3", "4"),
        "c": shown("5"),
        "up": shown("1", "2"),
        "down": shown("2", "1"),
    }
    asked = drive(machine, found)
    kinds = [f"/s?kind={kind}&sort=up&go=Go" for kind in "abc"]
    assert asked == [*kinds, "/s?kind=&sort=up&go=Go", "/s?kind=&sort=down&go=Go"]
    assert [each.informative for each in machine.choices] == [True, False]
    assert machine.over == "nothing left to ask for"


def test_a_select_whose_answers_are_all_the_same_is_left_alone() -> None:
    page = "<form action=/s><select name=k>" + "".join(f"<option>{n}x" for n in range(60)) + "</select></form>"
    for same in (Answer((), text=frozenset({"please", "enter"})), shown("1", "2"), None):
        assert len(drive(machine_of(page), {}, same)) == SAMPLE
    assert len(drive(machine_of(page), {f"{n}x": shown(str(n)) for n in range(60)})) == 60


def test_ten_thousand_options_are_sampled() -> None:
    page = "<form action=/s><select name=k>" + "".join(f"<option>{n}x" for n in range(10_000)) + "</select></form>"
    machine = machine_of(page)
    assert len(msgspec.msgpack.encode(machine)) < 10_000
    asked = drive(machine, {f"{n}x": shown(str(n)) for n in range(10_000)})
    assert len(asked) == BUDGET
    assert asked[1] == "/s?k=1000x"  # spread over all


def test_a_box_without_results_is_given_up_soon() -> None:
    assert len(drive(machine_of("<form action=/s><input name=q></form>"), {})) == _HOPELESS
    many = machine_of("<form action=/s><input name=q></form>", " ".join(f"word{n}" for n in range(99)))
    assert len(drive(many, {}, shown("1", "2"))) == RECENT
    assert many.over == "always the same"


def test_what_is_not_asked_for_costs_nothing() -> None:
    machine = machine_of("<form action=/s><input name=q></form>")
    first = machine.next()
    machine.skip()
    second = machine.next()
    assert (first, machine.requests) != (second, 1)
    assert machine.next() is second  # until it is answered


def test_links_of_the_forms_own_page_are_no_results() -> None:
    (form,) = forms(b"<form action=/s><input name=q></form>", "text/html", HERE)
    machine = Probe.of(form, [Url("https://a.example/menu")], ["eel"])
    machine.next()
    assert machine.took(shown("menu", "1")) == 1


# ---- answers

ASKED = Url("https://a.example/search?q=eel&lang=en")


def answer_to(markup: str, asked: Url) -> Answer:
    return read_answer(markup.encode(), "text/html; charset=utf-8", asked)


@pytest.mark.parametrize(
    ("markup", "following"),
    [
        ("<a href='/search?q=eel&lang=en&page=2'>2</a><a href='/search?q=eel&lang=en&page=3'>3</a>", "page=2"),
        ("<a href='?q=eel&amp;lang=en&amp;start=10'>more</a>", "start=10"),
        ("<a href='/search?q=eel&lang=en&sort=date'>by date</a><a href='/search?q=eel&lang=en&cat=7'>books</a>", ""),
        ("<a href='/search?q=other&lang=en&page=2'>2</a>", ""),
        ("<a href='/search?token=x&cursor=abc'>Next »</a>", "cursor=abc"),
        ("<a href='/search?token=x&cursor=abc'>weiter</a>", "cursor=abc"),
        ("<a href='/elsewhere?n=2'>next</a>", ""),
        ("<a rel=next href='/list/2'>x</a>", "/list/2"),
        ("<a href='/search/page/2?q=eel&lang=en'>2</a><a href='/search/page/9?q=eel&lang=en'>9</a>", "/page/2?"),
        ("<a href='http://[bad/'>next</a><a>next</a><a href='mailto:x'>next</a>", ""),
    ],
)
def test_where_a_list_goes_on(markup: str, following: str) -> None:
    found = answer_to(markup, ASKED).following
    assert following in found
    assert bool(found) is bool(following)


def test_the_page_before_is_never_the_next_one() -> None:
    asked = Url("https://a.example/search?q=eel&page=3")
    page = "".join(f"<a href='/search?q=eel&page={n}'>{n}</a>" for n in (1, 2, 3, 4, 5))
    assert answer_to(page, asked).following == "https://a.example/search?q=eel&page=4"
    posted = Form(Url("https://a.example/search"), "POST").address({"q": "eel"})
    assert answer_to("<a href='/search?q=eel&page=2'>2</a>", posted).following.endswith("?q=eel&page=2")


def test_results_are_links_with_the_words_up_to_the_next() -> None:
    page = """<nav><a href=/>Home</a></nav><li><a href=/item/1><img></a> <a href=/item/1>Grey Eel</a> of the weir</li>
    <li><a href=/item/2>Bream</a><script>no</script><p>in nets</li><a href='/search?q=eel&lang=en&page=2'>2</a>"""
    results = {each.href: each.words for each in answer_to(page, ASKED).results}
    assert results["https://a.example/item/1"] == ("grey", "eel", "of", "the", "weir")
    assert results["https://a.example/item/2"] == ("bream", "in", "nets")
    assert len(results) == 3


@given(st.lists(st.sampled_from(["<a href=/1>", "</a>", "<a>", "x", "next", "<a href='?page=2'>", "<li>", "\0", "<"])))
def test_any_answer_is_read(pieces: list[str]) -> None:
    answer = answer_to("".join(pieces), ASKED)
    machine = machine_of("<form action=/s><input name=q></form>")
    machine.next()
    assert machine.took(answer) == len(answer.results)
