"""Texts for property tests of words and sketches."""

from __future__ import annotations

from hypothesis import strategies as st

from fyke.text.characters import Folding

# Texts that meet every branch: ASCII, accents, marks, Han, kana, Thai, astral planes, controls, surrogates' neighbours.
ALPHABET = "aB9 .,-\t\0éÉßñ\u0301\u0307İ漢字かなガ\u3099ไทย한국हिन्दीதமிழ்שָׁלוֹם𠀀𝒜🐟\ufffd\u00ad\u2028\uffff\U0010ffff"
texts = st.text(st.one_of(st.sampled_from(ALPHABET), st.characters(codec="utf-8")), max_size=60)
BROKEN = [b"\xe6\xbc", b"\xa2", b"a", b"\xc0\x80", b"\xf0\x9f", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe6\xbc\xa2"]
foldings = st.builds(Folding, st.booleans(), st.booleans())
