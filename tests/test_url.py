from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fyke import url
from fyke.errors import UrlError
from fyke.url import MAX_LENGTH, Url, registered_domain, whatwg

hosts = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?(\.[a-z]{2,4}){1,2}", fullmatch=True)
targets = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x2FF), max_size=30).map(lambda t: "/" + t)


def addresses() -> st.SearchStrategy[str]:
    return st.builds(
        lambda scheme, host, port, target: f"{scheme}://{host}{port}{target}",
        st.sampled_from(["http", "https", "ftp"]),
        hosts,
        st.one_of(st.just(""), st.integers(0, 65535).map(lambda p: f":{p}")),
        targets,
    )


def parsed(text: str) -> Url | None:
    try:
        return Url.parse(text)
    except UrlError:
        return None


def test_the_lecture_notes_join() -> None:
    page = Url.parse("http://en.wikipedia.org/wiki/Main_Page")
    assert page.join("/wiki/Wikipedia:General_disclaimer").href == (
        "http://en.wikipedia.org/wiki/Wikipedia:General_disclaimer"
    )


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("HTTP://Example.ORG:80", "http://example.org/"),
        ("https://example.org:443/a/./b/../c#part", "https://example.org/a/c"),
        ("http://example.org/%7e%c3%a9?q=%c3%a9&A=%7e", "http://example.org/%7E%C3%A9?q=%c3%a9&A=%7e"),
        ("http://bücher.example/ü", "http://xn--bcher-kva.example/%C3%BC"),
        ("http://user:secret@example.org/x", "http://example.org/x"),
        ("http://example.org/mail@example.org", "http://example.org/mail@example.org"),
        ("  http://example.org/\t", "http://example.org/"),
        ("http://[::1]:8080/", "http://[::1]:8080/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("file:///tmp/a.html", "file:///tmp/a.html"),
    ],
)
def test_normal_form(text: str, normal: str) -> None:
    assert Url.parse(text).href == normal


def test_parts() -> None:
    url = Url.parse("https://www.example.co.uk:8443/a/b?x=1?2")
    assert (url.scheme, url.host, url.port) == ("https", "www.example.co.uk", 8443)
    assert (url.path, url.query, url.target) == ("/a/b", "x=1?2", "/a/b?x=1?2")
    assert (url.site, url.domain) == ("https://www.example.co.uk:8443", "example.co.uk")
    assert Url.parse("http://[::1]:81/").host == "[::1]"
    assert Url.parse("http://[::1]/").port == 80
    assert Url.parse("file:///etc/x").host == ""


@pytest.mark.parametrize(
    ("variant", "plain"),
    [
        ("http://a.org/x/index.html", "http://a.org/x/"),
        ("http://a.org/x/", "http://a.org/x"),
        ("http://a.org/x;jsessionid=0A1B?y=1", "http://a.org/x?y=1"),
        ("http://a.org/x?PHPSESSID=ab12&y=1", "http://a.org/x?y=1"),
        ("http://a.org/x?y=1&utm_source=n&gclid=3", "http://a.org/x?y=1"),
        ("http://a.org/default.aspx", "http://a.org/"),
        ("http://a.org/x?ASPSESSIONIDQQBSTATD=ab12&y=1", "http://a.org/x?y=1"),
        ("http://a.org/(S(lit3py55t21z5v55vlm25s55))/x", "http://a.org/x"),
    ],
)
def test_variants_share_a_duplicate_key_and_stay_themselves(variant: str, plain: str) -> None:
    assert Url.parse(variant).duplicate_key == Url.parse(plain).duplicate_key
    assert Url.parse(variant).href == variant


def test_different_documents_have_different_duplicate_keys() -> None:
    texts = ["http://a.org/", "http://a.org/x", "http://a.org/x?y=1", "http://a.org/x?y=2", "http://a.org/reindex.html"]
    assert len({Url.parse(t).duplicate_key for t in texts}) == len(texts)


@given(addresses())
def test_normal_form_is_a_fixed_point_and_key_inverts(text: str) -> None:
    url = parsed(text)
    if url is not None:
        assert Url.parse(url.href) == url
        assert Url.from_key(url.key) == url
        assert url.href.isascii()


@given(addresses(), addresses())
def test_keys_identify_and_group_by_host(one: str, other: str) -> None:
    a, b = parsed(one), parsed(other)
    if a is not None and b is not None:
        assert (a.key == b.key) == (a == b)
        prefix = a.key[: 2 + len(a.host) + 1]
        assert b.key.startswith(prefix) == (a.host == b.host)


_PIECES = (
    *("http", "https", "HTTP", "ftp", "file", "://", ":", "//", "/", "\\", ".", "..", "/.", "%2e", "%2F", "%aF"),
    *("h.example", "H.Example", "127.1", "0x7f.0.0.1", "xn--a", "[::1]", "u@", "80", "443", "?", "#", "=", ";"),
    *("./", "../"),
    *(" ", "\t", "\n", "é", "ﬀ", "|", "'", '"', "<", "~", "_", "-", "+", ",", "*", "$", "C|", "a.B", "x" * 1100),
)
_references = st.lists(st.sampled_from(_PIECES), max_size=9).map("".join)
_bases = st.sampled_from(
    [
        *(
            "http://h.example/",
            "http://h.example/a/b.html?q=/x/y",
            "https://h.example:8080/.x/%C3%A9/../z/",
            "ftp://f/a/b",
        ),
        *("file:///C:/a/b", "http://[::1]/?a", "http://127.0.0.1:81/a//b", f"http://h.example/{'y' * 1000}/z"),
    ]
).map(Url.parse)


@given(_bases, st.one_of(_references, addresses(), targets, targets.map(lambda text: text[1:])))
@example(Url("http://h/"), "http://xn--a/b")
@example(Url("http://h/"), "http://127.1/b")
@example(Url("http://h/a?b/c"), "d#e f")
@example(Url("http://h/"), "/x?#")
@example(Url("http://h/a//b"), "../../../x?a=../b")
def test_what_is_plain_to_see_is_joined_as_the_parser_does(base: Url, reference: str) -> None:
    try:
        wanted = url._normal(reference, base.href)
    except UrlError:
        with pytest.raises(UrlError):
            base.join(reference)
    else:
        assert base.join(reference).href == wanted


def test_a_url_prefix_is_a_key_prefix() -> None:
    directory, page = Url.parse("https://a.org:8/x/"), Url.parse("https://a.org:8/x/y?z")
    assert page.key.startswith(directory.key)
    assert not Url.parse("http://a.org:8/x/y").key.startswith(directory.key)


@given(st.text(max_size=200))
def test_any_text_gives_a_value_or_a_clear_error(text: str) -> None:
    url = parsed(text)
    assert url is None or url.href.startswith(("http://", "https://", "ftp://", "file://"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/relative",
        "http://",
        "http://a b/",
        "http://a:99999/",
        "http://a:x/",
        "http://\0/",
        "http://a%00b/",
        "http://[::1/",
        "mailto:a@b.org",
        "javascript:alert(1)",
        "http://a/" + "x" * 2_000_000,
        "http://" + "a." * 1_000_000,
        "http://a/" + "é" * 30_000,
        "\ud800",
    ],
    ids=lambda t: repr(t[:20]),
)
def test_hostile_text_is_refused_with_one_line(text: str) -> None:
    with pytest.raises(UrlError) as caught:
        Url.parse(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_refusal_takes_linear_time() -> None:
    # In quadratic time it would not end before the suite's limit.
    for text in ("http://a/" + "../" * 700_000, "http://a/?" + "%" * 2_000_000, "http://" + "[" * 2_000_000):
        with pytest.raises(UrlError):
            Url.parse(text)
    Url.parse("http://a/" + "../" * (MAX_LENGTH // 3 - 10))


def test_urls_are_values() -> None:
    a, b = Url.parse("http://a.org/"), Url.parse("http://A.org")
    assert a == b
    assert hash(a) == hash(b)
    assert a < Url.parse("http://b.org/")
    with pytest.raises(AttributeError):
        a.href = "x"


def test_wpt(shared_data: Path) -> None:
    """All cases of web-platform-tests: href, or failure, and the parts where the scheme is one of ours."""
    cases = [c for c in json.loads((shared_data / "url" / "urltestdata.json").read_text()) if isinstance(c, dict)]
    assert len(cases) == 891
    for case in cases:
        base = case["base"]
        if case.get("failure"):
            with pytest.raises(UrlError):
                whatwg(case["input"], base)
            continue
        href = whatwg(case["input"], base)
        assert href == case["href"], case
        url = parsed(href)
        if url is not None:
            start = parsed(base) if base else None
            assert start is None or start.join(case["input"]) == url, case
            assert (url.scheme + ":", url.host) == (case["protocol"], case["hostname"])
            assert url.path.lower() == case["pathname"].lower()
            assert ("?" + url.query if url.query else "") == case["search"]
            assert url.authority == case["host"]


def test_wpt_toascii(shared_data: Path) -> None:
    for case in json.loads((shared_data / "url" / "toascii.json").read_text()):
        if not isinstance(case, dict):
            continue
        url = parsed(f"https://{case['input']}/x")
        assert (url.host if url else None) == case["output"], case


def test_public_suffixes(shared_data: Path) -> None:
    text = (shared_data / "publicsuffix" / "test_psl.txt").read_text(encoding="utf-8")
    checks = re.findall(r"^checkPublicSuffix\('?(.*?)'?, '?(.*?)'?\);", text, re.MULTILINE)
    assert len(checks) >= 70
    for host, expected in checks:
        if host == "null" or host.startswith("."):
            continue
        wanted = host.lower() if expected == "null" else expected
        assert registered_domain(host.lower()) == wanted, host


def test_parts_of_long_urls_are_right_and_not_kept_at_hand() -> None:
    before = url._host.cache_info().currsize, url._key.cache_info().currsize
    for n in range(20):
        long = Url(f"http://host{n}.example:81/{'a' * 20_000}")
        assert long.host == f"host{n}.example"
        assert Url.from_key(long.key) == long
    assert (url._host.cache_info().currsize, url._key.cache_info().currsize) == before
