"""Encodings: bytes to text by what is declared, then by what the bytes are; WHATWG names throughout.

The order, strongest first: byte order mark; the charset of the HTTP header; the declaration inside (``<meta>``
prescan, XML declaration); UTF-8 if the bytes are strictly that; a detector. Decoding itself follows the
encoding standard (``whatwg-*`` codecs), so malformed bytes become U+FFFD, are counted, and nothing raises.

Departures from the standard, where the bytes prove a label wrong or the standard gives no text at all:

- a label under which most of the text beyond ASCII is malformed falls to the next candidate;
- a legacy label on bytes that are strictly UTF-8, with ``PROOF`` characters beyond ASCII, falls to the next too;
- UTF-32 is read (by its mark, or by its zero bytes), and so are hz-gb-2312 and iso-2022-kr, which browsers replace.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import webencodings

PROOF = 4
"""So many well-formed UTF-8 sequences in text of single bytes, or so many malformed ones in UTF-8, are no accident."""
PROOF_PAIRED = 200
"""The same where the label's own characters are pairs of bytes: a sentence can be both, a page cannot."""
_PAIRED = frozenset({"Big5", "EUC-JP", "EUC-KR", "GBK", "ISO-2022-JP", "Shift_JIS", "gb18030"})

_DETECTOR_BYTES = 65_536
"""The detector reads this much: more does not change its mind."""
_PRESCAN = 1024
"""The standard's window for ``<meta>``. A later declaration is looked for only where none is here."""
_LATE_PRESCAN = 262_144

_STEP = 16_384
"""Bytes of which it is told at once whether they are UTF-8."""
_WIDE_SAMPLE = 400
"""Bytes by which UTF-16 and UTF-32 are told."""
_MOSTLY = 0.6
"""Of the characters of UTF-16 must be ASCII, or it is not told without a mark."""

_MARKS = (
    (codecs.BOM_UTF8, "UTF-8"),
    (codecs.BOM_UTF32_LE, "UTF-32LE"),  # before UTF-16LE, whose mark begins it
    (codecs.BOM_UTF32_BE, "UTF-32BE"),
    (codecs.BOM_UTF16_LE, "UTF-16LE"),
    (codecs.BOM_UTF16_BE, "UTF-16BE"),
)
_MARKING = frozenset(mark[:1] for mark, _ in _MARKS)
_SPELLING = {"big5": "Big5", "shift_jis": "Shift_JIS", "gb18030": "gb18030", "macintosh": "macintosh"}
_REPLACED = {"hz-gb-2312": "hz", "iso-2022-kr": "iso2022_kr", "csiso2022kr": "iso2022_kr"}
_DETECTED = {
    "koi8-r": "KOI8-U",  # which holds it but for line drawing
    "hz": "hz-gb-2312",
    "iso2022_kr": "iso-2022-kr",
    "cp949": "EUC-KR",
    "cp932": "Shift_JIS",
    "euc_jp": "EUC-JP",
    "iso2022_jp": "ISO-2022-JP",
    "iso8859-16": "ISO-8859-16",
    "mac-cyrillic": "x-mac-cyrillic",
    "mac-roman": "macintosh",
    "big5hkscs": "Big5",
}
"""A detector's name to the encoding, where the standard's table of labels does not know it."""

_CHARSET = re.compile(r"""charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;"']+))""", re.IGNORECASE)
_XML_DECLARATION = re.compile(rb"""\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']""")
_USUAL = re.compile(
    rb"""(?:[^<]*+<(?:!doctype|html|head|title|/title)(?:[^<>"'=]|="[^"<>]*"|=[^\s"'<>]+)*+>)*+[^<]*+"""
    rb"""<meta[ \t\n\f\r]+charset=(?:(["'])([A-Za-z0-9:_-]+)\1[ \t\n\f\r]*/?|([A-Za-z0-9:_-]+)[ \t\n\f\r]*)>""",
    re.IGNORECASE,
)
"""How most pages begin that declare their encoding: where this matches, the prescan comes to the same, but slower."""
_TAG = re.compile(rb"</?[a-zA-Z][^\t\n\f\r />]*")
_ATTRIBUTE = re.compile(
    rb"""[\t\n\f\r /]*([^\t\n\f\r />][^\t\n\f\r />=]*)"""
    rb"""(?:[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)("?)|'([^']*)('?)|([^\t\n\f\r >]*)))?"""
)


class Decoded(NamedTuple):
    """Text, and how it came about."""

    text: str
    encoding: str
    """The WHATWG name (UTF-32LE and UTF-32BE beside them)."""
    how: str
    """What decided: ``bom``, ``http``, ``meta``, ``xml``, ``utf-8``, ``detected`` or ``default``."""
    replaced: int
    """How many U+FFFD stand for malformed bytes."""

    def utf8(self, data: bytes) -> bytes:
        """Return the text as UTF-8: ``data`` itself, which it was decoded from, where it is that."""
        plain = self.encoding == "UTF-8" and not self.replaced and not data.startswith(codecs.BOM_UTF8)
        if plain or (self.text.isascii() and len(self.text) == len(data)):
            return data
        return self.text.encode("utf-8", "replace")


class Utf8(NamedTuple):
    """Text as UTF-8, and how it came about, as ``Decoded`` has it."""

    data: bytes
    encoding: str
    how: str
    replaced: int


def decode(data: bytes, content_type: str | None = None) -> tuple[str, str]:
    """Return the text of ``data`` and the WHATWG name of its encoding; never raises.

    ``content_type`` is the HTTP header's value, where there was one.
    """
    found = decoded(data, content_type or "")
    return found.text, found.encoding


def decoded(data: bytes, content_type: str = "") -> Decoded:
    """Return the text of ``data`` with the encoding, how that was found, and the count of replacements."""
    for mark, name in _MARKS if data[:1] in _MARKING else ():
        if data.startswith(mark) and not (name == "UTF-32LE" and len(data) % 4):
            return _decoded(data[len(mark) :], name, "bom")
    wide = wide_encoding(data)
    if wide:
        return _decoded(data, wide, "detected")
    html = _is_html(data, content_type)
    try:
        unicode = data.decode()
    except UnicodeDecodeError:
        unicode = None
    for name, how in _declarations(data, content_type, html):
        proof = PROOF_PAIRED if name in _PAIRED else PROOF
        if unicode is not None and name == "UTF-8":
            return Decoded(unicode, name, how, 0)
        if unicode is not None and _beyond_ascii(unicode) >= proof:
            continue
        candidate = _decoded(data, name, how)
        if candidate.replaced < proof or candidate.replaced * 2 <= _beyond_ascii(candidate.text):
            return candidate
    if unicode is not None and b"\x1b$" in data:
        return _decoded(data, "ISO-2022-JP", "detected")  # seven bits, so it is ASCII too
    if unicode is not None:
        if html and unicode.isascii():
            return Decoded(unicode, "windows-1252", "default", 0)  # what every browser says of such a page
        return Decoded(unicode, "UTF-8", "utf-8", 0)
    return _decoded(data, _detect(data), "detected")


def as_utf8(data: bytes, content_type: str = "") -> Utf8:
    """Return what ``decoded`` returns, its text as UTF-8: ``data`` itself, where it is that."""
    is_ascii = data.isascii()
    if (is_ascii or (data[:1] not in _MARKING and _is_utf8(data))) and not wide_encoding(data):
        html = _is_html(data, content_type)
        name, how = next(_declarations(data, content_type, html), ("", ""))
        if name == "UTF-8":
            return Utf8(data, name, how, 0)
        if not name and b"\x1b$" not in data:
            return Utf8(data, "windows-1252", "default", 0) if html and is_ascii else Utf8(data, "UTF-8", "utf-8", 0)
    text, name, how, replaced = decoded(data, content_type)
    is_itself = name == "UTF-8" and not replaced and how != "bom"
    return Utf8(data if is_itself else text.encode("utf-8", "replace"), name, how, replaced)


def _is_utf8(data: bytes) -> bool:
    """Whether bytes are UTF-8, in steps: a text of them all, which nobody reads, would take twice the time."""
    at, view = 0, memoryview(data)
    try:
        while at < len(data):
            step = view[at : at + _STEP]
            at += codecs.utf_8_decode(step, "strict", at + len(step) == len(data))[1]
    except UnicodeDecodeError:
        return False
    return True


def _is_html(data: bytes, content_type: str) -> bool:
    return "html" in content_type or (not content_type and data[:_PRESCAN].lstrip().startswith(b"<"))


@lru_cache(maxsize=512)
def lookup(label: str) -> str | None:
    """Return the WHATWG name of an encoding label, None for an unknown one."""
    if label.strip().lower() in _REPLACED:
        return label.strip().lower()
    known = webencodings.lookup(label)
    if known is None or known.name == "replacement":
        return None
    name: str = known.name
    return _SPELLING.get(name) or (name if name.startswith(("windows", "x-")) else name.upper())


def http_charset(content_type: str) -> str:
    """Return the charset parameter of a Content-Type value, empty where there is none."""
    match = _CHARSET.search(content_type)
    return (match[1] or match[2] or match[3] or "").strip() if match else ""


@lru_cache(maxsize=64)
def _http_encoding(content_type: str) -> str | None:
    label = http_charset(content_type)
    return lookup(label) if label else None


def meta_charset(data: bytes) -> str | None:
    """Return the encoding that a ``<meta>`` of an HTML page declares, by the standard's prescan.

    Where none stands in the first 1024 bytes, the following are looked at too, as browsers do while they parse.
    """
    window = data[:_PRESCAN]
    if usual := _USUAL.match(window):
        return _labelled(usual[2] or usual[3]) or _prescan(window)
    found = _prescan(window)
    return _prescan(data[:_LATE_PRESCAN]) if found is None and len(data) > _PRESCAN else found


def wide_encoding(data: bytes) -> str:
    """Return UTF-16 or UTF-32 without a mark, where zeros in every second or fourth byte give it away; else nothing."""
    sample = data[:_WIDE_SAMPLE]
    if b"\0" not in sample or len(sample) < 8:
        return ""
    if len(data) % 4 == 0:
        whole = len(sample) // 4
        if sample[3::4].count(0) == whole and sample[2::4].count(0) == whole:
            return "UTF-32LE"
        if sample[0::4].count(0) == whole and sample[1::4].count(0) == whole:
            return "UTF-32BE"
    half, odd, even = len(sample) // 2, sample[1::2].count(0), sample[0::2].count(0)
    if even == 0 and odd > half * _MOSTLY:
        return "UTF-16LE"
    if odd == 0 and even > half * _MOSTLY:
        return "UTF-16BE"
    return ""


def _declarations(data: bytes, content_type: str, html: bool) -> Iterator[tuple[str, str]]:
    if content_type and (name := _http_encoding(content_type)):
        yield name, "http"
    if (match := _XML_DECLARATION.match(data)) and (name := lookup(match[1].decode("ascii"))):
        yield ("UTF-8" if name.startswith("UTF-16") else name), "xml"
    if (html or match) and (found := meta_charset(data)):
        yield found, "meta"


def _prescan(window: bytes) -> str | None:
    """The standard's "prescan a byte stream to determine its encoding", up to the last tag that may say it."""
    lower = window.lower()
    last = lower.rfind(b"<meta", 0, max(0, lower.rfind(b"charset")))
    at = 0
    while 0 <= (at := window.find(b"<", at)) <= last:
        if window.startswith(b"<!--", at):
            at = window.find(b"-->", at + 2)
        elif tag := _TAG.match(window, at):
            attributes, at = _attributes(window, tag.end())
            if tag[0].lower() == b"<meta" and at >= 0 and (name := _declared(attributes)):
                return name
        else:
            at = window.find(b">", at) if window[at + 1 : at + 2] in (b"!", b"/", b"?") else at + 1
        if at < 0:  # cut off by the end of the window
            return None
    return None


def _attributes(window: bytes, at: int) -> tuple[dict[bytes, bytes], int]:
    """Return the attributes of the tag whose name ends at ``at``, and where it ends (-1: it does not)."""
    seen: dict[bytes, bytes] = {}
    while match := _ATTRIBUTE.match(window, at):
        name, double, double_end, single, single_end, bare = match.groups()
        if double_end == b"" or single_end == b"":
            return seen, -1
        seen.setdefault(name.lower(), double or single or bare or b"")
        at = match.end()
    return seen, window.find(b">", at)


def _declared(attributes: dict[bytes, bytes]) -> str | None:
    label = attributes.get(b"charset")
    if label is None and attributes.get(b"http-equiv", b"").lower() == b"content-type":
        label = http_charset(attributes.get(b"content", b"").decode("latin-1")).encode("latin-1")
    name = lookup(label.decode("latin-1")) if label else None
    if name is not None and name.startswith("UTF-16"):
        return "UTF-8"  # the declaration was read as ASCII, so it is wrong
    return "windows-1252" if name == "x-user-defined" else name


@lru_cache(maxsize=64)
def _labelled(label: bytes) -> str | None:
    return _declared({b"charset": label})


def _beyond_ascii(text: str) -> int:
    return 0 if text.isascii() else len(text) - len(text.encode("ascii", "ignore"))


def _detect(data: bytes) -> str:
    """Ask turbohtml's detector; what is windows-1252 to it is its last resort, so chardet has the word then."""
    from turbohtml.detect import detect

    sample = data[:_DETECTOR_BYTES]
    # Declarations are read and judged by now: in front of it, spaces fill the window that the detector reads them in.
    said = detect(b" " * _PRESCAN + sample).encoding
    if said in (None, "windows-1252"):
        import chardet

        said = chardet.detect(sample, prefer_superset=True)["encoding"]
    said = (said or "").lower()
    return _DETECTED.get(said) or lookup(said) or "windows-1252"


def _decoded(data: bytes, name: str, how: str) -> Decoded:
    if name == "UTF-8":
        text = data.decode("utf-8", "replace")
    elif name.startswith("UTF-32") or name in _REPLACED:
        text = data.decode(_REPLACED.get(name, name), "replace")
    else:
        import turbohtml.detect  # noqa: F401 - registers the whatwg-* codecs; most pages need none of them

        text = data.decode(f"whatwg-{name}")
    return Decoded(text, name, how, text.count("\ufffd"))
