"""The document slope curve: the plateau against brute force, and where slices do better."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fyke
from fyke.clean.page import read
from fyke.clean.plateau_kernels import low_slope, plateau, token_gains
from fyke.clean.slope import FINN, LAVRENKO, Slices

Bits = list[int]


def objective(bits: Bits, i: int, j: int, c: float) -> float:
    """Tags before i + c · non-tags in [i, j) + tags from j on, as the textbooks write it."""
    return sum(bits[:i]) + c * sum(1 - b for b in bits[i:j]) + sum(bits[j:])


def brute_force(bits: Bits, c: float) -> float:
    return max(objective(bits, i, j, c) for i in range(len(bits) + 1) for j in range(i, len(bits) + 1))


def page_of(bits: Bits) -> bytes:
    return b"".join(b"<p>" if bit else b" w " for bit in bits)


bit_strings = st.integers(1, 2**13).map(lambda n: [int(bit) for bit in f"{n:b}"[1:]])


@settings(max_examples=2000)
@given(bit_strings)
def test_the_plateau_is_brute_forces_for_both_objectives(bits: Bits) -> None:
    tokens = read(page_of(bits)).tokens
    i, j = FINN.run(tokens)
    assert objective(bits, i, j, 1.0) == brute_force(bits, 1.0)
    c = sum(bits) / max(1, len(bits) - sum(bits))
    i, j = LAVRENKO.run(tokens)
    assert objective(bits, i, j, c) == pytest.approx(brute_force(bits, c))
    if 0 in bits:  # with Lavrenko's c the whole page scores what nothing scores
        assert objective(bits, 0, len(bits), c) == pytest.approx(sum(bits))


@pytest.mark.kernel
def test_plateau_is_the_first_of_the_shortest_best_runs() -> None:
    assert plateau(np.array([-1.0, 2.0, -1.0, 1.0, -5.0, 2.0])) == (1, 2)
    assert plateau(np.array([-1.0])) == (0, 0)
    assert plateau(np.zeros(0)) == (0, 0)


@pytest.mark.kernel
def test_gains_know_links_inline_tags_and_ideographs() -> None:
    tokens = read("<p>one <a>two</a> <b>x</b> 漢字漢字</p>".encode()).tokens
    gains = token_gains(tokens.page, tokens.starts, tokens.ends, tokens.kinds, 0.5, -0.5, -0.3, True)
    assert gains.tolist() == pytest.approx([-1, 0.5, -0.3, -0.5, -0.3, -0.3, 0.5, -0.3, 1.0, -1])


@pytest.mark.kernel
def test_low_slope_marks_slices() -> None:
    tokens = read(b"<p><p>w w w w<p>w<p>").tokens
    marks = low_slope(tokens.page, tokens.starts, tokens.ends, tokens.kinds, 2, 0.5)
    assert marks.tolist() == [0, 0, 1, 1, 1, 1, 0, 0, 0]


def test_a_text_heavy_footer_defeats_the_plateau_and_not_the_slices() -> None:
    content = "<p>" + "content " * 60 + "</p>"
    navigation, menu = "<li><a>menu</a></li>" * 20, "<li><a>menu</a></li>" * 8
    item, longer = "<li><a>legal words of it</a></li>", "<li><a>legal words of the footer</a></li>"
    footer = (item + item + longer) * 40 + "</ul></div></footer></body></html>"  # 13 words for 12 tags
    page = (navigation + content + menu + footer).encode()
    defeated = fyke.extract(page, FINN).text
    assert "menu" in defeated
    assert defeated.count("legal") >= 119
    found = fyke.extract(page, Slices()).text
    assert "content" in found
    assert "legal" not in found
