"""Which forms a program may send: what asks for documents, in any language, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.sites.form_safety import normal, refusal
from fyke.sites.form_words import Unsafe
from fyke.sites.forms import forms
from fyke.url import Url

HERE = Url("https://a.example/x/page")


def judge(markup: str, *, post: bool = False) -> Unsafe | None:
    (form,) = forms(markup.encode(), "text/html; charset=utf-8", HERE)
    return refusal(form, HERE, post=post)


SAFE = """
<form action=/search><input name=q></form>
<form action=/><input type=search name=s><button>Go</button></form>
<form action=/find class="mobile-search-form"><input name=keys><input type=submit value=Apply></form>
<form action=/s/ref=nb_sb_noss><select name=url><option>all<option>books</select><input name=field-keywords></form>
<form action=/index.php><input type=hidden name=title value=Special:Search><input name=search></form>
<form action=/c><select name=cat><option>a<option>b</select><select name=sort_order><option>u<option>d</select></form>
<form><select name=year><option>2001<option>2002</select><input type=date name=from><input type=number name=n></form>
<form action=/suche><input name=suchbegriff placeholder="Suchen …"><button>Los</button></form>
<form action=/recherche><input name=mot><button>Rechercher</button></form>
<form action=/поиск><input name=текст><button>Найти</button></form>
<form action=/s><input name=q placeholder="搜索"><button>搜索</button></form>
<form action=/s><label>検索 <input name=q></label></form>
<form action=/parts><input name=q placeholder="Search iPhone parts, headphones and compasses"></form>
<form action=/topics><select name=topic><option>Email<option>Payments<option>Registers of voters</select></form>
<form action=/passages><input name=passage><input type=checkbox name=exact></form>
<form action=/s><input name=q><button type=button>Cancel</button><input type=reset value=Clear></form>
""".strip().split("\n")

REFUSED = {
    Unsafe.LOGIN: """
<form action=/in><input name=a><input type=password name=b></form>
<form action=/login><input name=q></form>
<form action=/x><input name=username></form>
<form action=/x><input name=q><button>Anmelden</button></form>
<form action=/x><input name=q placeholder="Mot de passe"></form>
<form action=/войти><input name=q></form>
<form action=/x><input name=q><button>登录</button></form>
<form action=/x><input name=q><button>ログイン</button></form>""",
    Unsafe.ACCOUNT: """
<form action=/x id=signupForm><input name=q></form>
<form action=/account/><select name=s><option>a<option>b</select></form>
<form action=/logout><select name=s><option>a<option>b</select></form>
<form action=/x><input name=q><button>Créer un compte</button></form>
<form action=/x><input name=q><button>注册</button></form>""",
    Unsafe.CONTACT: """
<form action=/x><input type=email name=a></form>
<form action=/x><input type=tel name=a></form>
<form action=/x><textarea name=a></textarea></form>
<form action=/contact><input name=q></form>
<form action=/x><input name=replyEmail></form>
<form action=/x><input name=e-mail></form>
<form action=/x><input name=q placeholder="Ihre Nachricht"></form>
<form action=/x><input name=q><button>Написать нам сообщение</button></form>
<form action=/x><label>お問い合わせ<input name=q></label></form>
<form action=/x><input type=tomorrow name=q></form>""",
    Unsafe.PAYMENT: """
<form action=/x><input name=cardNumber></form>
<form action=/cart/add><select name=size><option>1<option>2</select></form>
<form action=/order><select name=size><option>1<option>2</select></form>
<form action=/x><select name=size><option>1<option>2</select><button>Buy now</button></form>
<form action=/x><select name=size><option>1<option>2</select><button>In den Warenkorb</button></form>
<form action=/x><select name=size><option>1<option>2</select><button>购买</button></form>""",
    Unsafe.DELETE: """
<form action=/delete><input type=hidden name=id value=3><select name=a><option>1<option>2</select></form>
<form action=/x><select name=id><option>1<option>2</select><button>Delete</button></form>
<form action=/x><select name=id><option>1<option>2</select><button>Löschen</button></form>
<form action=/l%C3%B6schen?a=1><select name=id><option>1<option>2</select></form>
<form action=/x><select name=id><option>1<option>2</select><button>Supprimer</button></form>
<form action=/x><select name=id><option>1<option>2</select><button>Удалить</button></form>
<form action=/x><select name=id><option>1<option>2</select><button>删除</button></form>
<form action=/x><select name=id><option>1<option>2</select><button>حذف</button></form>
<form action=/x><select name=action><option>Archive<option>Delete selected</select></form>
<form action=/x><input type=hidden name=do value=remove><input name=q></form>
<form action=/x><input name=q><button formaction=/delete>Go</button></form>""",
    Unsafe.SUBSCRIBE: """
<form action=/subscribe><input name=e></form>
<form action=/x class=newsletter><input name=e></form>
<form action=/x><input name=e><button>S'abonner</button></form>
<form action=/x><input name=e><button>Подписаться</button></form>
<form action=/x><input name=e><button>訂閱</button></form>""",
    Unsafe.UPLOAD: """
<form action=/x><input type=file name=f></form>
<form action=/x method=post enctype=multipart/form-data><input name=q></form>
<form action=/upload><input name=q></form>""",
    Unsafe.CHANGE: """
<form action=/vote><input type=radio name=a value=1><input type=radio name=a value=2></form>
<form action=/x><input name=q><button>Send</button></form>
<form action=/items/edit><input name=q></form>
<form action=/x><select name=a><option>1<option>2</select><input type=submit value=Abstimmen></form>
<form action=/theme><select name=theme><option>dark<option>light</select></form>""",
    Unsafe.TOKEN: """
<form action=/s><input name=q><input type=hidden name=csrfmiddlewaretoken value=x></form>
<form action=/s><input name=q><input type=hidden name=__RequestVerificationToken></form>
<form action=/s><input name=q><input type=hidden name=_wpnonce></form>
<form action=/s><input name=q><input type=hidden name=_method value=put></form>""",
    Unsafe.CONSENT: "<form action=/s><input name=q><input type=checkbox name=c required></form>",
    Unsafe.CAPTCHA: "<form action=/s><input name=q><input name=captcha></form>",
    Unsafe.SEVERAL_TEXTS: "<form action=/s><input name=a><input name=b></form>",
    Unsafe.NOTHING: """
<form action=/s></form>
<form action=/s><input type=hidden name=a value=1><button>Go</button></form>
<form action=/s><input></form>
<form action=/s><select name=a><option>one</select></form>""",
    Unsafe.ELSEWHERE: """
<form action=https://b.example/s><input name=q></form>
<form action=ftp://a.example/s><input name=q></form>""",
    Unsafe.METHOD: """
<form action=/search method=post><input name=q></form>
<form action=/search><input name=q><button formmethod=post>Go</button></form>""",
}


@pytest.mark.parametrize("markup", SAFE)
def test_searches_are_safe(markup: str) -> None:
    assert judge(markup) is None


@pytest.mark.parametrize(
    ("why", "markup"), [(why, line) for why, lines in REFUSED.items() for line in lines.strip().split("\n")]
)
def test_whatever_does_something_is_refused(why: Unsafe, markup: str) -> None:
    assert judge(markup) is why
    assert judge(markup, post=True) is (None if why is Unsafe.METHOD else why)


@pytest.mark.parametrize("markup", [line for lines in REFUSED.values() for line in lines.strip().split("\n")])
def test_post_that_is_allowed_allows_nothing_else(markup: str) -> None:
    posted = markup.replace("<form ", "<form method=post ", 1)
    assert judge(posted) is not None
    if markup not in REFUSED[Unsafe.METHOD]:
        assert judge(posted, post=True) is not None


def test_a_form_that_is_not_whole_is_refused() -> None:
    (form,) = forms(SAFE[0].encode(), "text/html", HERE)
    assert refusal(replace(form, whole=False), HERE) is Unsafe.TOO_LARGE


@given(st.text(max_size=300))
def test_any_text_has_a_normal_form_that_is_one(text: str) -> None:
    assert normal(normal(text)) == normal(text)


@given(st.sampled_from(SAFE), st.text(alphabet="<>=/\"' abcinputformselect", max_size=40))
def test_broken_markup_is_judged(markup: str, noise: str) -> None:
    for form in forms((markup[:-7] + noise + "</form>").encode(), "text/html", HERE):
        assert isinstance(refusal(form, HERE), Unsafe | None)
