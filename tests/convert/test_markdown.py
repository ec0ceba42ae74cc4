"""Pages to Markdown, compared with what other converters' own tests expect."""

from __future__ import annotations

import json
import re

import pytest
from markdown_it import MarkdownIt

from bench.measure import SHARED
from fyke.convert import convert_here, prepare
from fyke.formats.markdown import markdown

PAIRS = SHARED / "data" / "markdown" / "pairs.jsonl"
COMMONMARK = MarkdownIt("commonmark", {"html": True, "maxNesting": 200}).enable(["table", "strikethrough"])
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
BLOCK_TAG = re.compile(r"\s*(</?(?:p|ul|ol|li|h\d|table|thead|tbody|tr|t[dh]|pre|blockquote|hr|div|br)[^>]*>)\s*")


def compared(text: str) -> str:
    """Rendered Markdown without what dialects differ in: white space and comments."""
    html = COMMONMARK.render(COMMENT.sub("", text.strip("\n")))
    return BLOCK_TAG.sub(r"\1", re.sub(r"\s+", " ", html)).strip()


def test_nine_of_ten_pairs_of_other_converters_give_the_same_document() -> None:
    if not PAIRS.exists():
        pytest.skip("the public pairs of HTML and Markdown are not here")
    rows = [json.loads(line) for line in PAIRS.read_text("utf-8").splitlines()]
    same = 0
    for row in rows:
        wanted = row["markdown"]
        if row["suite"] == "turndown-gfm":  # GFM takes one tilde, this renderer two
            wanted = re.sub(r"(?<!~)~(?!~)", "~~", wanted)
        document = convert_here(prepare(row["html"].encode(), "text/html; charset=utf-8"))
        same += compared(markdown(document.html)) == compared(wanted)
    assert same >= 0.9 * len(rows)


@pytest.mark.kernel
def test_a_page_keeps_what_markdown_can_say() -> None:
    page = b"""<h1>T</h1><p>a <kbd>b</kbd> <s>c</s> x<sup>2</sup><hr><ol start=4><li>d<ol><li>e</ol></ol>
    <pre><code class="language-py">f = 1
</code></pre><p><img src=/g.png alt=g title=h> <a href=/i title=j>k</a>
    <table><thead><tr><td>l<td align=right>m</thead><tr><td colspan=2>n</table>
    <p><math alttext="o^2"><mi>o</mi></math></p><ul><li><input type=checkbox checked> p</ul>"""
    document = convert_here(prepare(page, "text/html"))
    assert markdown(document.html) == (
        "# T\n\na `b` ~~c~~ x<sup>2</sup>\n\n* * *\n\n4. d\n   1. e\n\n```py\nf = 1\n```\n\n"
        '![g](/g.png "h") [k](/i "j")\n\n| l | m |\n| --- | --: |\n| n |  |\n\n$`o^2`$\n\n- [x] p\n'
    )
    assert "g k" in document.text


@pytest.mark.kernel
def test_rules_pictures_and_formulas_write_no_empty_lines() -> None:
    page = (
        b"<p>a</p><img src=/x.png><hr><ul><li><hr></ul><p>b<math><semantics><mi>x</mi>"
        b"<annotation encoding='application/x-tex'>x_1</annotation></semantics></math></p><h1>c<hr>d</h1>"
        b"<code class=language-math>y</code> <math><mi>z</mi></math>"
    )
    found = convert_here(prepare(page, "text/html"))
    assert found.whole == "a\n\nbx_1\n\nc\nd\n\ny z"
    assert found.html == (
        '<p>a</p><p><img alt="" src="/x.png"></p><hr><ul><li><hr></li></ul><p>b'
        '<code class="language-math">x_1</code></p><h1>c<br>d</h1><p><code class="language-math">y</code> '
        '<code class="language-math">z</code></p>'
    )


def written(html: str) -> str:
    return markdown(convert_here(prepare(html.encode(), "text/html; charset=utf-8")).html)


@pytest.mark.parametrize(
    ("formula", "tex"),
    [
        ("<mi>x</mi><mo>=</mo><mfrac><mn>1</mn><mn>2</mn></mfrac>", r"x=\frac{1}{2}"),
        ("<msup><mi>e</mi><mrow><mi>i</mi><mi>π</mi></mrow></msup>", r"e^{i\pi }"),
        ("<msubsup><mo>∫</mo><mn>0</mn><mi>∞</mi></msubsup><msqrt><mi>x</mi></msqrt>", r"\int_{0}^{\infty }\sqrt{x}"),
        ("<mroot><mi>a</mi><mn>3</mn></mroot><mi>sin</mi><mo>&#8289;</mo><mi>x</mi>", r"\sqrt[3]{a}\sin x"),
        ("<mover><mi>v</mi><mo>→</mo></mover><mtext>50 %</mtext>", r"\vec{v}\text{50 \%}"),
        ("<mtable><mtr><mtd>1</mtd><mtd>0</mtd></mtr><mtr><mtd>0</mtd><mtd>1</mtd></mtr></mtable>",
         r"\begin{matrix}1 & 0 \\ 0 & 1\end{matrix}"),
        ("<annotation encoding='StarMath'>no</annotation><annotation encoding='TeX'>E&lt;\"m\"</annotation>", 'E<"m"'),
    ],
)  # fmt: skip
def test_formulas_are_tex(formula: str, tex: str) -> None:
    assert written(f"<p>Let <math>{formula}</math> be.</p>") == f"Let $`{tex}`$ be.\n"


def test_a_formula_stands_once() -> None:
    """KaTeX and Wikipedia show it again to the eye; kramdown leaves it to a script."""
    katex = (
        "<span class=katex><span class=katex-mathml><math><mi>a</mi><annotation encoding='application/x-tex'>a^2"
        "</annotation></math></span><span class=katex-html aria-hidden=true><span>a</span>2</span></span>"
    )
    assert written(f"<p>So {katex} is.</p>") == "So $`a^2`$ is.\n"
    image = "<img class='mwe-math-fallback-image-inline' src='x.svg' alt='{\\displaystyle b}'>"
    assert written(f"<p>So <math alttext='b'><mi>b</mi></math>{image} is.</p>") == "So $`b`$ is.\n"
    assert written("<p>So <script type='math/tex; mode=display'>c<d&e</script> is.</p>") == "So $`c<d&e`$ is.\n"
    assert written("<p>So <script>c()</script> is.</p>") == "So is.\n"


def test_codes_with_a_space_between_them_are_two() -> None:
    assert written("<p><code>-a</code> <code>-b</code> and <tt>c</tt>\n<kbd>d</kbd></p>") == "`-a` `-b` and `c` `d`\n"
    assert written("<p><math alttext='x'></math> <math alttext='y'></math></p>") == "$`x`$ $`y`$\n"
    assert written("<p><code>a</code><code>b</code></p>") == "`ab`\n"


def test_pictures_that_are_loaded_late_have_their_address() -> None:
    late = (
        '<p><img src="data:image/gif;base64,R0lG" data-src="/a.jpg" alt=A><img srcset="/b.jpg 1x, /c.jpg 2x" alt=B></p>'
    )
    assert written(late) == "![A](/a.jpg)![B](/b.jpg)\n"
    assert written('<p><img src="/d.jpg" data-src="javascript:x" alt=D></p>') == "![D](/d.jpg)\n"


def test_columns_are_aligned_as_a_style_says() -> None:
    table = (
        "<table><tr><th style='color:red;text-align: right'>a<th style='text-align:center;x'>b<th align=left>c</table>"
    )
    assert written(table).split("\n")[1] == "| --: | :-: | :-- |"
    rows = "| a | b |\n| :-- | --- |\n| c | d |\n"
    assert written(COMMONMARK.render(rows)) == rows
