"""Placeholders: titles and authors that a template, a program or nobody wrote. They are no facts.

Office programs say "Untitled", "Slide 1", "PowerPoint Presentation"; libraries sign as "python-docx"; templates leave
"{{title}}"; systems put an id where a title should be. ``is_placeholder`` is the one judgement of all rooms.
"""

from __future__ import annotations

import re
from functools import lru_cache

MAX_LENGTH = 120
"""Characters: what is longer was written by somebody."""

MAX_SPACES = 8
"""Spaces in it: no default has so many."""

_NOBODY = (
    "untitled|no title|not titled|title|the title|document title|page title|your title here|title here|title goes here"
    "|insert title here|add title here|enter title here|type the document title|click to edit master title style"
    "|click to add title|new page|new document|new presentation|blank|blank page|empty|unknown|anonymous|unnamed|noname"
    "|no name|no subject|no author|none|null|nil|undefined|nan|n a|na|tbd|todo|default|default title|void"
    "|object object|template|powerpoint presentation|powerpoint slides|word document|microsoft word document"
    "|microsoft powerpoint presentation|microsoft word|microsoft powerpoint|microsoft excel|excel|cover page|cover"
    "|title page|title slide|table of contents|contents|front matter|frontcover|front cover|half title"
    "|untitled document|untitled page|untitled presentation|untitled spreadsheet|untitled design|loading|redirecting"
    "|sans titre|document sans titre|ohne titel|unbenannt|unbenanntes dokument|kein titel|sin titulo|sin título"
    "|documento sin título|senza titolo|senza nome|sem título|sem titulo|naamloos|namnlös|namnlöst|uten navn"
    "|uten tittel"
    "|unavngivet|nimetön|bez názvu|bez nazwy|bez tytułu|névtelen|fără titlu|isimsiz|adsız|χωρίς τίτλο"
    "|без названия|без имени|без заголовка|无标题|無標題|无题|無題|未命名|名称未設定|無題のドキュメント"
    "|제목 없음|제목없음|बिना शीर्षक"
    "|بدون عنوان|ללא שם|ללא כותרת"
)
_COUNTED = (
    "untitled|untitled document|document|documento|dokument|presentation|présentation|presentación|präsentation"
    "|workbook|book|mappe|classeur|libro|sheet|worksheet|tabelle|feuil|hoja|slide|folie|diapositive|diapositiva"
    "|page|seite|scan|scanned document|image|img|doc|untitled presentation|new page|new document|sans titre|unbenannt"
    "|section|chapter|unknown|layout|drawing|chart"
)
_SOFTWARE = (
    "pdftk|pdftk java|python docx|python pptx|openpyxl|xlsxwriter|apache poi|poi|itext|itextpdf|reportlab|docx4j"
    "|microsoft office user|microsoft office|ms office|office user|windows user|user|users|username|user name"
    "|utilisateur"
    "|benutzer|usuario|utente|admin|administrator|administrateur|administrador|amministratore|webadmin|site admin"
    "|superuser|root|owner|author|the author|your name|name|first last|firstname lastname|guest|test|tester|nobody"
    "|www data|hp|dell|lenovo|acer|asus|toshiba|compaq|pc|mac|latex|tex|pdftex|pdflatex|latex with hyperref"
    "|latex with hyperref package|acrobat|adobe acrobat|adobe indesign|quarkxpress|ghostscript|cairo|prince|wkhtmltopdf"
    "|libreoffice|openoffice|openoffice org|writer|calc|impress|google docs|pandoc|calibre|sphinx|wordpress|drupal"
    "|joomla|super user|preferred customer|valued customer|customer|client|registered user|authorised user"
    "|authorized user|not specified|unspecified|unknown author|various|system|sysadmin|default user|uploader"
)
_WORDS = re.compile(r"[\W_]+")
_OPENING = re.compile(r"[^\W_][^\W\d_]*")
_OPENINGS = frozenset(
    _OPENING.findall(name + number)[0].replace("ı", "i")  # which are one letter where case is ignored
    for names in (_NOBODY, _COUNTED, _SOFTWARE)
    for name in names.split("|")
    for number in ("", "no", "nr")
)
"""The first words of defaults, up to a digit."""
_DEFAULTS = frozenset(_NOBODY.replace("ı", "i").split("|"))
"""What ``_TITLE`` matches of ASCII."""
_NUMBERED = frozenset(
    name + number for name in _COUNTED.split("|") for number in ("", " ", "no ", "nr ", " no ", " nr ")
)
"""What it matches before a number of up to _MAX_DIGITS."""
_DIGITS, _MAX_DIGITS = "0123456789", 4
_TITLE = re.compile(rf"(?:{_NOBODY})|(?:{_COUNTED}) ?(?:no |nr |# ?)?\d{{1,4}}", re.IGNORECASE)
_AUTHOR = re.compile(rf"(?:{_NOBODY})|(?:{_SOFTWARE})(?: [\d. ]{{1,12}})?|user ?\d{{1,6}}", re.IGNORECASE)
_ID = re.compile(
    r"\{?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\}?"  # a UUID
    r"|(?=[^a-f]*[a-f])(?=\D*\d)[0-9a-f]{16,128}|\d{9,}|urn:\S+|uuid:\S+",
    re.IGNORECASE,
)
_FIELD = re.compile(
    r"\{\{.*\}\}|\{%.*%\}|<%.*%>|\$\{.*\}|%%?\w+%%?|\[\[?[\w -]+\]?\]|<[\w -]+>|\{\w+\}|__\w+__", re.DOTALL
)
"""A template's field that was never filled."""
_FILE = re.compile(
    r"(?:microsoft word - )?[\w.()~-]+\.(?:docx?|dvi|eps|html?|indd|odp|ods|odt|p65|pdf|pmd|ppt[xm]?|ps|qxd|rtf|tex|txt"
    r"|tmp|wpd|xlsx?|xps)",
    re.IGNORECASE,
)


def is_placeholder(text: str, *, author: bool = False) -> bool:
    """Whether what stands as a title (or as an author) says nothing: a default, an id, a field, a file's name."""
    return _is_placeholder(text[: 4 * MAX_LENGTH].strip(), author)


@lru_cache(maxsize=1024)  # a page's title is judged more than once, a site's name and authors on each of its pages
def _is_placeholder(value: str, author: bool) -> bool:
    if not author and " " in value and value.isascii() and value.replace(" ", "").isalnum():  # plain words: most titles
        return value.count(" ") <= MAX_SPACES and _is_default(" ".join(value.lower().split()))
    opening = _OPENING.search(value)
    if opening is None:
        return True
    if len(value) > MAX_LENGTH or value.count(" ") > MAX_SPACES:
        return False
    if " " not in value and _ID.fullmatch(value):
        return True
    if _FIELD.fullmatch(value) or ("." in value and _FILE.fullmatch(value)):
        return True
    word = opening[0].lower()
    if word not in _OPENINGS and word.isascii():
        return False
    plain = _WORDS.sub(" ", value).strip()
    return (_AUTHOR if author else _TITLE).fullmatch(plain) is not None


def _is_default(plain: str) -> bool:
    """Whether ``_TITLE`` matches what is in ASCII and lower case, by looking it up: no default is MAX_LENGTH long."""
    name = plain.rstrip(_DIGITS)
    digits = len(plain) - len(name)
    return plain in _DEFAULTS or (0 < digits <= _MAX_DIGITS and name in _NUMBERED)
