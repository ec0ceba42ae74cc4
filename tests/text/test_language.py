"""Languages: known texts, any text, and the public set where it is there."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.measure import SHARED
from fyke.text.language import LIKELY, UNKNOWN, identify, language_of, primary

TEXTS = SHARED / "data" / "language" / "texts.jsonl"

KNOWN = {
    "en": "The quick brown fox jumps over the lazy dog, and nobody in the village saw it happen.",
    "de": "Der Hund des Nachbarn bellte die ganze Nacht, sodass niemand im Haus schlafen konnte.",
    "fr": "Le conseil municipal a décidé hier soir de fermer la piscine pendant les travaux.",
    "ru": "Вчера вечером городской совет решил закрыть бассейн на время ремонта.",
    "ja": "昨夜、市議会は工事の間プールを閉鎖することを決めました。",
    "zh": "昨天晚上，市议会决定在施工期间关闭游泳池。",
    "hi": "कल शाम नगर परिषद ने मरम्मत के दौरान तरणताल बंद करने का निर्णय लिया।",
    "th": "เมื่อคืนนี้สภาเทศบาลตัดสินใจปิดสระว่ายน้ำในระหว่างการซ่อมแซม",
    "ar": "قرر مجلس المدينة مساء أمس إغلاق المسبح خلال أعمال الترميم.",
    "he": "מועצת העיר החליטה אמש לסגור את הבריכה במהלך השיפוצים.",
    "nb": "Kommunestyret bestemte i går kveld at svømmehallen skal stenges mens arbeidet pågår.",
}


@pytest.mark.parametrize("code", KNOWN)
def test_a_sentence_tells_its_language(code: str) -> None:
    found = identify(KNOWN[code])
    assert found.code == code
    assert found.score >= LIKELY


def test_most_of_a_mixed_text_decides_and_the_score_says_how_much() -> None:
    mixed = identify(KNOWN["de"] * 8 + " " + KNOWN["ru"] * 3)
    assert mixed.code == "de"
    assert mixed.score < identify(KNOWN["de"] * 8).score


@pytest.mark.parametrize("text", ["", " ", "12345 67890", "\x1e\x00", "!!! ???", "\ud800"])
def test_what_has_no_language_gets_none(text: str) -> None:
    assert identify(text) == UNKNOWN


def test_the_beginning_and_the_middle_of_a_long_text_are_read() -> None:
    assert identify("Home " * 400 + KNOWN["fr"] * 200).code == "fr"
    assert identify(KNOWN["en"] * 50_000) == identify(KNOWN["en"] * 50_000)


def test_blocks_and_controls_hide_no_language() -> None:
    text = KNOWN["de"]
    assert identify(text.replace(" ", "\x1e", 3)).code == "de"
    assert identify(text.replace(" ", "\x00 \ufffe", 3)).code == "de"


def test_what_is_declared_counts_before_what_is_found() -> None:
    assert language_of(KNOWN["de"], "fr-CH") == "fr"
    assert language_of(KNOWN["de"], "{{lang}}") == "de"
    assert language_of("Kiel") == ""


@given(st.text(max_size=200) | st.text(st.characters(min_codepoint=0xD800, max_codepoint=0xFFFF), max_size=40))
def test_any_text_gets_an_answer(text: str) -> None:
    code, score = identify(text)
    assert 0.0 <= score <= 1.0
    assert code == primary(code)
    assert code or score == 0.0


@pytest.mark.parametrize(
    ("declared", "code"),
    [("en-GB", "en"), ("zh_Hant", "zh"), (" DE ", "de"), ("iw", "he"), ("no", "nb"), ("", ""), ("x-default", ""),
     ("english", ""), ("{{lang}}", ""), ("é1", "")],
)  # fmt: skip
def test_declared_tags_are_read_the_same_way(declared: str, code: str) -> None:
    assert primary(declared) == code


@pytest.mark.skipif(not TEXTS.exists(), reason="../shared/data/language is not here")
def test_the_public_set() -> None:
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for line in TEXTS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        total[row["kind"]] += 1
        right[row["kind"]] += identify(row["text"]).code == row["lang"]
    assert total["long"] == 54
    assert right["long"] >= 50
    assert right["sentence"] >= 0.95 * total["sentence"]
