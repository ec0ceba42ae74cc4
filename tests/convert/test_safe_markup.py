"""``convert --to html`` and Markdown promise a safe subset: whatever a page holds, nothing in them runs or hides.

The vectors are ours; what comes out is judged by HTML parsers that are not (Lexbor, and html.parser for what it keeps
apart), Markdown after markdown-it has made HTML of it with raw HTML let through, as the most trusting renderers do.
"""

# ruff: noqa: E501 - vectors stand as they are

from __future__ import annotations

import itertools
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from selectolax.lexbor import LexborHTMLParser

from fyke.convert import convert_here, prepare
from fyke.formats.markdown import markdown
from fyke.reading.content import extract
from fyke.url import Url

ALLOWED = frozenset(
    "html head body h1 h2 h3 h4 h5 h6 p br hr ul ol li dl dt dd table caption thead tbody tfoot tr td th pre code "
    "blockquote a img b strong i em u s del ins sub sup q cite abbr small mark kbd samp var figure figcaption div span "
    "math time title address details summary ruby rt rp rb section article".split()
)
"""What may stand in the output; ``math`` holds TeX as text."""
LINKS = ("javascript:alert(1)", "data:text/html,<script>alert(1)</script>", "vbscript:msgbox(1)", "JaVaScRiPt:alert(1)",
         " javascript:alert(1)", "java\tscript:alert(1)", "java\nscript:alert(1)", "\x01javascript:alert(1)", "&#106;avascript:alert(1)",
         "&#x6A;avascript&colon;alert(1)", "javascript&#58;alert(1)", "jav&Tab;ascript:alert(1)", "&NewLine;javascript:alert(1)",
         "feed:javascript:alert(1)", "view-source:javascript:alert(1)", "blob:x", "filesystem:x", "data:image/svg+xml;base64,PHN2Zz4=",
         "//evil.test/x\" onclick=\"alert(1)", "x' onclick='alert(1)", "http://a.test/)](javascript:alert(1))", "http://a.test/>\"<script>",
         "javascript:/*--></title></style></textarea></script><svg/onload=alert(1)>", "\u202ejavascript:alert(1)",
         "javascript\u200b:alert(1)", "JAVASCRIPT&colon;alert&lpar;1&rpar;")  # fmt: skip
PLACES = (
    '<p>words <a href="{}">link</a> words</p>', "<p>words <a href='{}'>link</a> words</p>", '<img src="{}" alt="x">', '<img alt="{}" src=x>',
    '<area href="{}">', '<iframe src="{}">', '<object data="{}">', '<form action="{}"><button formaction="{}">b</button></form>',
    '<base href="{}"><a href=x>y</a>', '<meta http-equiv=refresh content="0; url={}">', '<svg><a xlink:href="{}"><text>x</text></a></svg>',
    '<math><a xlink:href="{}">x</a></math>', '<link rel=stylesheet href="{}">', '<table background="{}"><tr><td>x</table>', '<q cite="{}">x</q>',
    '<p style="background:url({})">x</p>', '<video src="{}" poster="{}"></video>', '<a href="x" ping="{}">y</a>', "<pre>{}</pre>", "<title>{}</title>",
    '<input type=image src="{}">', "<textarea>{}</textarea>", "<h2>{}</h2>", "<td>{}", "<li>{}", "<code>`{}`</code>", "<blockquote>{}", "<dt>{}<dd>{}",
)  # fmt: skip
MARKUP = (
    "<script>alert(1)</script>", "<scr<script>ipt>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)>", "<svg><script>alert(1)",
    "<body onload=alert(1)>", "<math><mtext><script>alert(1)</script></mtext></math>", "<p onclick=alert(1)>x", "<style>@import 'x'</style>",
    "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">", "<template><script>alert(1)</script></template>", "<xmp><script>alert(1)</script></xmp>",
    "<!--><script>alert(1)</script>-->", "<![CDATA[<script>alert(1)</script>]]>", "<iframe srcdoc='<script>alert(1)</script>'>", "<p>&lt;script>alert(1)&lt;/script>",
    "&lt;img src=x onerror=alert(1)&gt;", "<p>[x](javascript:alert(1))", "<p>![x](javascript:alert(1))", "<p>&lt;javascript:alert(1)&gt;", "<p>[a]: javascript:alert(1)\n\n[a]",
    "<p>```\n&lt;script>alert(1)&lt;/script>\n```", "<pre>```\n&lt;script>alert(1)&lt;/script></pre>", "<code>``&lt;script>``</code>", "<p>&lt;!-- x --&gt;&lt;svg onload=alert(1)>",
    "<plaintext><script>alert(1)</script>", "<textarea></textarea><script>alert(1)</script>", "<title></title><script>alert(1)</script>", "<a href=x onmouseover=alert(1)>y</a>",
    "<details open ontoggle=alert(1)>x", "<marquee onstart=alert(1)>x", "<math><maction actiontype=statusline xlink:href=javascript:alert(1)>x", "<p>|a|\n|-|\n|&lt;script>x&lt;/script>|",
    "<table><td>&lt;script>alert(1)&lt;/script>", "<h1>&lt;script>alert(1)&lt;/script></h1>", "<li>&lt;iframe src=javascript:alert(1)>", "<abbr title='\"><script>alert(1)</script>'>x</abbr>",
    "<time datetime='\"><script>alert(1)</script>'>x</time>", "<ol start='1\"><script>alert(1)</script>'><li>x", "<code class='language-\"><script>alert(1)</script>'>x</code>",
    "<pre><code class=\"language-x` onclick=alert(1)\">y</code></pre>", "<img alt='](javascript:alert(1))' src=http://a.test/x.png>", "<a href='http://a.test/ \"onclick=alert(1)'>x</a>",
    "<math><annotation encoding='application/x-tex'>&lt;script>alert(1)&lt;/script></annotation></math>", "<math alttext='&lt;script>alert(1)&lt;/script>'><mi>x</mi></math>",
)  # fmt: skip
VECTORS = [place.replace("{}", link) for place, link in itertools.product(PLACES, LINKS)] + list(MARKUP)
BASE = Url.parse("http://a.test/page")
_URLS = ("href", "src", "action", "formaction", "data", "cite", "poster", "background", "xlink:href", "srcset", "ping")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_SAFE = (
    "http:",
    "https:",
    "mailto:",
    "ftp:",
    "ftps:",
    "tel:",
    "file:",
    "news:",
    "sms:",
    "geo:",
    "magnet:",
    "xmpp:",
    "irc:",
    "sip:",
)


def harm(markup: str) -> list[str]:
    """What is in a page that could run, load code or hide: empty for a safe one."""
    found = []
    for node in LexborHTMLParser(markup).css("*"):
        if node.tag not in ALLOWED:
            found.append(f"<{node.tag}>")
        for name, value in (node.attributes or {}).items():
            if name.startswith("on") or name in ("style", "srcdoc", "formaction", "http-equiv"):
                found.append(f"{name}={value}")
            # browsers drop tabs and newlines, and what is no sign at the beginning
            link = re.sub(r"[\t\n\r]", "", value or "").lstrip("".join(map(chr, range(33))))
            scheme = _SCHEME.match(link)
            if name in _URLS and scheme and not link.lower().startswith(_SAFE):
                found.append(f"{name}={value}")
    return found


def made(page: str) -> dict[str, str]:
    """The safe forms of a page."""
    document = convert_here(prepare(page.encode(), "text/html", BASE))
    content = extract(page, url=BASE.href)
    render = MarkdownIt("commonmark", {"html": True}).enable("table").render
    # markdown-it itself leaves out links of unsafe schemes; a renderer that does not is what is promised for
    trusting = MarkdownIt("commonmark", {"html": True}).enable("table")
    trusting.validateLink = lambda url: True  # type: ignore[method-assign]
    return {
        "html": document.html,
        "content": content.html,
        "markdown": render(markdown(document.html)),
        "markdown, trusting": trusting.render(markdown(document.html)),
        "content's markdown": trusting.render(content.markdown),
    }


def test_the_judge_sees_harm() -> None:
    assert harm("<script>x</script>") == ["<script>"]
    assert harm("<a href=' java\tscript:x'>y</a>")
    assert harm("<p onclick=x>y") == ["onclick=x"]
    assert harm("<a href='http://a.test/'>x</a><img src='/y.png'>") == []


@pytest.mark.parametrize("part", range(8))
def test_nothing_in_the_output_runs(part: int) -> None:
    found = {}
    for vector in VECTORS[part::8]:
        for kind, markup in made(f"<html><body><article><p>Some words before.</p>{vector}<p>and after.</p>").items():
            if bad := harm(markup):
                found[f"{kind}: {vector}"] = bad
    assert found == {}


@given(st.lists(st.sampled_from([*MARKUP, *PLACES, *LINKS, "<b>", "</b>", "\n", "`", "```", "[", "](", ")", "<", ">", "&lt;", "|", "\\", "*", "    "]), max_size=8))  # fmt: skip
def test_nor_does_a_mixture_of_them(parts: list[str]) -> None:
    for kind, markup in made(f"<p>{''.join(parts)}".replace("{}", LINKS[0])).items():
        assert harm(markup) == [], kind


@given(st.text(alphabet=string.printable, max_size=60))
def test_text_stays_text(text: str) -> None:
    """What a page shows as text is no markup in any form."""
    from html import escape

    for kind, markup in made(f"<p>{escape(text)}</p>").items():
        assert harm(markup) == [], kind
