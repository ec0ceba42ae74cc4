"""What the text of each format reads like: small files of our own, each text read by a person before it stood here."""

from __future__ import annotations

from email.message import EmailMessage

import pytest

from fyke.convert import Limits, convert_here, prepare
from fyke.convert.formulas import tex, with_formulas
from fyke.convert.mail import plain
from fyke.convert.tidying import tidied
from fyke.formats import media_types as kinds
from fyke.formats.markdown import markdown
from fyke.values import Reason
from tests.convert.made import converted, zipped

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
MATH = "http://schemas.openxmlformats.org/officeDocument/2006/math"


# Tables of text.


def test_tabs_part_cells_however_many_commas_there_are() -> None:
    assert converted("a, b, c\td\n1, 2, 3\t4\n", "x.tsv").text == "a, b, c\td\n1, 2, 3\t4"


def test_a_delimiter_is_what_stands_equally_often_in_every_line() -> None:
    assert converted("name;note\nx;a, b, c, d\ny;e, f\n", "x.csv").text == "name\tnote\nx\ta, b, c, d\ny\te, f"


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085", "\x0c"])
def test_only_line_ends_end_rows(separator: str) -> None:
    assert markdown(converted(f"a,b{separator}c\nd,e\n", "x.csv").html).count("\n| ") == 3


def test_a_bad_row_loses_itself_and_is_named() -> None:
    data = f"a,b\n{'x' * 500},c\nd,e\n".encode()
    found = convert_here(prepare(data, "text/csv", limits=Limits(max_text=300)))
    assert found.text == "a\tb\nd\te"
    assert found.failure is Reason.DAMAGED
    assert "row 2" in found.detail


def test_a_quotation_mark_that_nothing_ends_takes_no_later_row() -> None:
    found = converted('a,b\n"c,d\ne,f\nh,i\n', "x.csv")
    assert found.text == 'a\tb\n"c\td\ne\tf\nh\ti'
    assert found.failure is Reason.DAMAGED
    assert "row 2" in found.detail
    many = '"x,y\n' * 20_001
    assert converted(many, "y.csv").text.count("\n") > 9_000


# Mail.


def message(text: str, **headers: str) -> EmailMessage:
    made = EmailMessage()
    for name, value in headers.items():
        made[name] = value
    made.set_content(text)
    return made


def test_lines_and_quotes_of_mail_stay() -> None:
    body = "Dear Ann,\nsecond line\n\nOn Monday you wrote:\n> first\n> second\n>> older\n\nRegards\n"
    found = converted(bytes(message(body, Subject="Hello", From="Bob <b@x.org>", To="a@x.org")))
    assert "Dear Ann,\nsecond line" in found.text
    assert "> first\\\n> second\n>\n> > older\n\nRegards" in markdown(found.html)


def test_flowed_lines_are_joined() -> None:
    assert plain("one \ntwo\nthree", is_flowed=True) == "<p>one  two<br>three"


def test_the_sender_wrote_a_message_whatever_its_html_says() -> None:
    made = message("x", Subject="S", From='"Ann B." <a@x.org>', Date="Mon, 16 Nov 2026 10:00:00 +0100")
    made.add_alternative('<meta name=author content="Template Inc."><p>Hello there', subtype="html")
    found = converted(bytes(made))
    assert (found.title, found.meta.author, found.meta.published) == ("S", "Ann B.", "2026-11-16T09:00:00Z")


def test_messages_of_a_mailbox_are_parted_without_headers_too() -> None:
    box = b"From a Mon Jun 01 10:00:00 2009\nFrom: a@x\n\nOne\n\n>From here\n\nFrom b Mon Jun 01 11:00:00 2010\n\nTwo\n"
    found = converted(box, "x.mbox")
    assert len(found.parts) == 2
    assert "\nFrom here" in found.text


# XML.


def test_links_of_a_feed_stand_once() -> None:
    feed = (
        "<?xml version='1.0'?><rss version='2.0'><channel><title>F</title><link>http://x.org/</link><ttl>60</ttl>"
        "<item><title>T</title><link>http://x.org/a</link><guid>http://x.org/a</guid><description>D</description>"
        "</item></channel></rss>"
    )
    assert converted(feed).text.split() == ["F", "http://x.org/", "T", "http://x.org/a", "D"]


def test_sentences_are_not_cut_at_inline_elements() -> None:
    book = (
        "<?xml version='1.0'?><!DOCTYPE chapter PUBLIC '-//OASIS//DTD DocBook XML V4.5//EN' ''><chapter>"
        "<title>T</title><para>See <sgmltag>XRef</sgmltag>, <guimenu>File</guimenu> and more.</para>"
        "<para><strange>A</strange> b.</para></chapter>"
    )
    assert converted(book).text == "T\n\nSee XRef, File and more.\n\nA b."


def test_a_fiction_book_has_its_title_and_no_style_sheet() -> None:
    book = (
        "<?xml version='1.0'?><FictionBook><stylesheet>p{margin:0}</stylesheet><description><title-info>"
        "<genre>prose</genre><author><first-name>Leo</first-name><last-name>T.</last-name></author>"
        "<book-title>War</book-title><lang>ru</lang></title-info></description><body><p>Well, Prince.</p></body>"
        "<binary>AAAA</binary></FictionBook>"
    )
    found = converted(book)
    assert (found.title, found.meta.author, found.language) == ("War", "Leo T.", "ru")
    assert found.text == "Well, Prince."


# What the engine gives.


def test_numbers_have_the_digits_that_were_typed_and_empty_rows_go() -> None:
    sheet = (
        "<table><tr><th>0.049999999999999975</th><th></th></tr><tr><td></td><td></td></tr>"
        "<tr><td>0.30000000000000004</td><td>2</td></tr></table>"
    )
    tidy = tidied(sheet, kinds.XLSX)
    assert tidy == "<table><tr><th>0.05</th></tr><tr><td>0.3</td><td>2</td></tr></table>"


def test_attachments_markers_internals_and_tabs() -> None:
    letter = "<p>body</p>\n<p>Attachments:</p>\n<h2>a.txt</h2><p>&lt;p&gt;x&lt;/p&gt;</p>"
    assert tidied(letter, kinds.MSG) == "<p>body</p>\n"
    assert tidied("<p>two[cmt:2] and three [^1].</p>", kinds.DOCX) == "<p>two and three.</p>"
    slides = "<p>42541D1C-A9DC-49A9-814C-7FC1338850A2</p><p>st0-108.jpg</p><p>Tables/DataList-8</p><p>A real line</p>"
    assert tidied(slides, kinds.KEYNOTE) == "<p>A real line</p>"
    table = tidied("<p>a\tb\t\tc\td</p>", kinds.DOC)
    assert table == "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>"


def test_formulas_of_word_are_tex_in_their_place() -> None:
    body = (
        f'<w:document xmlns:w="{WORD}" xmlns:m="{MATH}"><w:body><w:p><w:r><w:t xml:space="preserve">For </w:t></w:r>'
        "<m:oMath><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>λ</m:t></m:r></m:den></m:f>"
        "<m:r><m:t>=</m:t></m:r><m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup>"
        '</m:oMath><w:r><w:t xml:space="preserve"> holds.</w:t></w:r></w:p></w:body></w:document>'
    )
    changed = with_formulas(body.encode())
    assert b"oMath" not in changed.replace(MATH.encode(), b"")
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType='
        '"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
    )
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
        'Target="word/document.xml"/></Relationships>'
    )
    data = zipped(("[Content_Types].xml", types), ("_rels/.rels", relations), ("word/document.xml", body))
    assert markdown(converted(data).html) == "For $`\\frac{a}{\\lambda }=x^{2}`$ holds.\n"
    apart = "<m:oMathPara><m:oMath><m:r><m:t>y</m:t></m:r></m:oMath></m:oMathPara>"
    between = body.replace("</w:body>", f"{apart}\n{apart}<w:p><w:r><w:t>End</w:t></w:r></w:p></w:body>")
    data = zipped(("[Content_Types].xml", types), ("_rels/.rels", relations), ("word/document.xml", between))
    assert markdown(converted(data).html).split("\n\n")[1:] == ["$`yy`$", "End\n"]


def test_formulas_of_word() -> None:
    def wrapped(inner: str) -> bytes:
        return f'<r xmlns:m="{MATH}">{inner}</r>'.encode()

    run = "<m:r><m:t>{}</m:t></m:r>"
    n, i = run.format("n"), run.format("i")
    nary = f'<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>{i}</m:sub><m:sup>{n}</m:sup><m:e>{i}</m:e></m:nary>'
    assert tex(wrapped(nary)) == r"\sum_{i}^{n} i"
    assert tex(wrapped(f"<m:rad><m:deg>{n}</m:deg><m:e>{i}</m:e></m:rad>")) == r"\sqrt[n]{i}"
    assert tex(wrapped(f"<m:d><m:e>{i}</m:e><m:e>{n}</m:e></m:d>")) == r"\left(i,n\right)"
    assert tex(b"<m:f><") == ""


# Titles and authors.


def test_what_says_nothing_is_no_title_and_no_author() -> None:
    rtf = b"{\\rtf1{\\info{\\title untitled}{\\author pdftk-java}}Hello.}"
    found = converted(rtf)
    assert (found.title, found.meta.author) == ("", "")


def test_a_title_is_the_first_heading_where_there_is_no_other() -> None:
    assert converted("some text\n\n# The Heading\n\nmore", "x.md").title == "The Heading"


GOLDEN = {
    "x.tex": (
        (
            "\\documentclass{article}\n\\title{On Fish}\n\\author{Ann B.}\n\\begin{document}\n\\section{Rivers}\n\n"
            "Fish swim.\n\\begin{itemize}\n\\item Pike\n\\item Eel\n\\end{itemize}\n\\end{document}\n"
        ),
        "On Fish",
        "# Rivers\n\nFish swim.\n\n- Pike\n- Eel\n",
    ),
    "x.org": (
        "#+TITLE: On Fish\n* Rivers\nFish /swim/ here.\n- Pike\n- Eel\n",
        "On Fish",
        "# Rivers\n\nFish *swim* here.\n\n- Pike\n- Eel\n",
    ),
    "x.rst": (
        "On Fish\n=======\n\nFish *swim* here.\n\n- Pike\n- Eel\n\n::\n\n  code\n",
        "On Fish",
        "# On Fish\n\nFish *swim* here.\n\n- Pike\n- Eel\n\n```\ncode\n```\n",
    ),
    "x.md": (
        "# On Fish\n\nFish *swim* `x`.\n\n| a | b |\n|---|---|\n| 1 |  |\n",
        "On Fish",
        "# On Fish\n\nFish *swim* `x`.\n\n| a | b |\n| --- | --- |\n| 1 |  |\n",
    ),
    "x.ipynb": (
        (
            '{"cells":[{"cell_type":"markdown","metadata":{},"source":["# On Fish\\n","They swim."]},'
            '{"cell_type":"code",'
            '"metadata":{},"source":["print(1)"],"outputs":[],"execution_count":1}],"metadata":{},"nbformat":4,'
            '"nbformat_minor":5}'
        ),
        "On Fish",
        "# On Fish\n\nThey swim.\n\n```\nprint(1)\n```\n",
    ),
    "x.opml": (
        (
            "<?xml version='1.0'?><opml version='2.0'><head><title>Subs</title></head><body><outline text='News'>"
            "<outline text='Fish daily' xmlUrl='http://x/f'/></outline></body></opml>"
        ),
        "Subs",
        "# Subs\n\nNews\n\nFish daily\n",
    ),
    "x.json": ('{"name": "pike",\n "legs": 0}', "", '```json\n{"name": "pike",\n "legs": 0}\n```\n'),
    "x.txt": ("On fish\n\nThey swim\nin rivers.\n", "", "On fish\n\nThey swim in rivers.\n"),
    "x.rtf": (
        "{\\rtf1\\ansi{\\info{\\title On Fish}{\\author Ann B.}}Fish \\b swim\\b0 .\\par Second.\\par}",
        "On Fish",
        "Fish **swim**.\n\nSecond.\n",
    ),
    "x.xml": (
        "<?xml version='1.0'?><doc><title>On Fish</title><p>They <i>swim</i> well.</p></doc>",
        "On Fish",
        "# On Fish\n\nThey *swim* well.\n",
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_the_text_of_each_kind(name: str) -> None:
    data, title, expected = GOLDEN[name]
    found = converted(data, name)
    assert (found.title, markdown(found.html)) == (title, expected)


def test_frames_of_an_open_document_are_not_glued() -> None:
    body = (
        '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
        'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"><office:body><office:text><text:p>Before'
        "<draw:frame><draw:text-box><text:p>In the box</text:p><text:p>Second</text:p></draw:text-box></draw:frame>"
        "</text:p><text:p>After</text:p></office:text></office:body></office:document-content>"
    )
    data = zipped(("mimetype", "application/vnd.oasis.opendocument.text"), ("content.xml", body))
    assert {"box", "Second", "After"} <= set(converted(data).text.split())


def test_spaces_of_an_open_document_part_words() -> None:
    body = (
        '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:text><text:p>One'
        '<text:s text:c="2"/>two<text:s/>three<text:s></text:s>four<text:span>five</text:span></text:p></office:text>'
        "</office:body></office:document-content>"
    )
    data = zipped(("mimetype", "application/vnd.oasis.opendocument.text"), ("content.xml", body))
    assert converted(data).text == "One two three fourfive"


def test_names_that_come_in_parts_are_authors() -> None:
    docbook = (
        '<article xmlns="http://docbook.org/ns/docbook"><info><title>T</title><authorgroup><author><personname>'
        "<firstname>Ann</firstname><surname>Lee</surname></personname></author><author><personname><surname>Roe"
        "</surname><firstname>Bo</firstname></personname></author></authorgroup></info><para>See <code>x</code>.</para>"
        "<para>By <firstname>No</firstname> <surname>One</surname></para></article>"
    )
    found = converted(docbook, "x.xml")
    assert found.meta.author == "Ann Lee, Bo Roe"
    assert found.html.startswith("<h1>T</h1><p>Ann Lee</p><p>Roe Bo</p><p>See <code>x</code>.</p>")
