"""Forms as pages have them, and as they are sent."""

from __future__ import annotations

from urllib.parse import parse_qsl

from hypothesis import given
from hypothesis import strategies as st

from fyke.sites.forms import MAX_FIELDS, MAX_FORMS, MAX_OPTIONS, Form, forms, request_of
from fyke.url import Url

HERE = Url("https://a.example/x/page?q=1")


def one(markup: str) -> Form:
    (form,) = forms(markup.encode(), "text/html", HERE)
    return form


def test_what_a_browser_would_send() -> None:
    page = b"""<base href="/base/"><form action="enter?a=1" method="POST"><input type=hidden name=csrf value="a&amp;b">
    <input name=user><input TYPE=Password name=pw><select name=s><option value=1>x<option value=2 selected>y</select>
    <textarea name=t>hi</textarea><input type=checkbox name=c><input type=radio name=r value=1 checked></form>
    <form><input name=q value=old></form><form action="javascript:x()"></form>"""
    login, search = forms(page, "text/html", HERE)[:2]
    assert (login.target.href, login.method) == ("https://a.example/base/enter?a=1", "POST")
    sent = login.filled({"user": "anna", "pw": "p&w"})
    assert dict(parse_qsl(sent.form.decode())) == {
        "csrf": "a&b", "s": "2", "t": "hi", "r": "1", "user": "anna", "pw": "p&w",
    }  # fmt: skip
    assert dict(login.inputs)["pw"] == "password"
    assert search.filled({"q": "fish nets"}).url.href == "https://a.example/x/page?q=fish+nets"


def test_a_form_has_what_stands_between_its_tags_however_it_is_nested() -> None:
    table = "<table><form action=/s><tr><td><input name=q></td></tr></form></table><input name=out>"
    torn = "<div><form action=/s><input name=q></div><input type=password name=p></form><input name=out>"
    nested = "<form action=/s><input name=q><form action=/other><input name=inner></form><input name=out>"
    assert [f.name for f in one(table).fields] == ["q"]
    assert [(f.name, f.kind) for f in one(torn).fields] == [("q", "text"), ("p", "password")]
    assert [f.name for f in one(nested).fields] == ["q", "inner"]
    assert one(nested).target.path == "/s"


def test_fields_may_name_their_form_and_be_off_or_not_there() -> None:
    page = """<input name=far form=f><form id=f action=/s><input name=off disabled><template><input name=t></template>
    <!-- <input name=c> --><script>"<input name=j>"</script><select name=s multiple><option>a<option>b</select>
    <label>Words <input name=q placeholder="fish?"></label><label for=w>Weir</label><input id=w name=w>
    <button name=go value=1>Find</button><button formaction=/delete>Drop</button></form>"""
    form = one(page)
    assert {f.name for f in form.fields} == {"far", "s", "q", "w", "go", ""}
    assert [f.label for f in form.fields if f.name in ("q", "w")] == ["Words fish?", "Weir"]
    assert form.pressed == (("go", "1"),)
    assert form.sent == (("q", ""), ("w", ""), ("far", ""))  # nothing of the list is chosen
    assert form.address({"q": "net"}).target == "/s?q=net&w=&far=&go=1"


def test_options_are_read_as_written_and_radio_buttons_are_one_field() -> None:
    page = """<form><select name=s><option value="">all<option>Ely &amp; Wells<option value=x disabled>no</select>
    <input type=radio name=r value=1><input type=radio name=r value=2 checked></form>"""
    choice, radio = one(page).fields
    assert choice.options == (("", "all"), ("Ely & Wells", "Ely & Wells"))
    assert (radio.value, [value for value, _ in radio.options]) == ("2", ["1", "2"])


def test_values_are_sent_in_the_encoding_of_their_page() -> None:
    page = '<meta charset="windows-1251"><form action=/s><input name=q value="рыба"></form>'.encode("windows-1251")
    (form,) = forms(page, "text/html", HERE)
    assert form.filled({}).url.target == "/s?q=%F0%FB%E1%E0"
    assert form.filled({"q": "水"}).url.target == "/s?q=%26%2327700%3B"  # as browsers do


@given(
    st.dictionaries(st.text(min_size=1, max_size=9), st.text(max_size=20), max_size=4), st.sampled_from(["", "?a=1"])
)
def test_an_address_of_a_post_says_what_was_posted(values: dict[str, str], own: str) -> None:
    values = {name: value.encode("utf-8", "replace").decode() for name, value in values.items()}
    form = Form(Url(f"https://a.example/s{own}"), "POST")
    address = form.address(values)
    request = request_of(address)
    assert (request.url, request.method) == (form.target, "POST")
    assert request.form == form.data(values, ()).encode()
    assert request_of(Url("https://a.example/s?q=1")).method == "GET"


def test_large_pages_are_read_so_far() -> None:
    many = "<form action=/s>" + "<input name=a>" * (MAX_FIELDS + 5) + "</form>"
    assert (len(one(many).fields), one(many).whole) == (MAX_FIELDS, False)
    assert len(forms(b"<form></form>" * (MAX_FORMS + 9), "text/html", HERE)) == MAX_FORMS
    (choice,) = one("<form><select name=s>" + "<option>x" * 10_000 + "</form>").fields
    assert len(choice.options) == 10_000
    (choice,) = one("<form><select name=s>" + "<option>x" * (MAX_OPTIONS + 1) + "</form>").fields
    assert len(choice.options) == MAX_OPTIONS
    assert not one("<form>" + "<label></label>" * 30_000 + "<input type=password>").whole


PIECES = st.sampled_from(
    ["<form>", "</form>", "<form action='/s' method=post>", "<select name=s>", "</select>", "<option>",
     "<option value=1>", "<input name=q>", "<input type=radio name=r>", "<textarea name=t>", "</textarea>", "<button>",
     "<label for=x>",
     "<template>", "</template>", "<fieldset disabled>", "<table>", "<td>", "x", "&amp;", "<input form=f name=g>", "<"]
)  # fmt: skip


@given(st.lists(PIECES | st.text(max_size=5), max_size=30))
def test_any_heap_of_tags_has_some_forms_or_none(pieces: list[str]) -> None:
    for form in forms("".join(pieces).encode("utf-8", "replace"), "text/html", HERE):
        assert form.filled({"a": "b"}).url.href.startswith("http")
        assert form.address({"a": "b"}).href.startswith("https://a.example/")


@given(st.binary(max_size=300))
def test_any_page_has_some_forms_or_none(noise: bytes) -> None:
    for form in forms(b"<form action=/x>" + noise + b"<input name=a></form>", "text/html", HERE):
        assert form.filled({"a": "b"}).url.href.startswith("http")
