"""Forms as pages have them, and as they are sent."""

from __future__ import annotations

from urllib.parse import parse_qsl

from hypothesis import given
from hypothesis import strategies as st

from fyke.sites.forms import forms
from fyke.url import Url

HERE = Url("https://a.example/x/page?q=1")


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


@given(st.binary(max_size=300))
def test_any_page_has_some_forms_or_none(noise: bytes) -> None:
    for form in forms(b"<form action=/x>" + noise + b"<input name=a></form>", "text/html", HERE):
        assert form.filled({"a": "b"}).url.href.startswith("http")
