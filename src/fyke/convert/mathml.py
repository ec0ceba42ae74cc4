r"""Formulas of pages to TeX: MathML by its annotation or from its elements, and the scripts that MathJax reads.

What comes out is ``<math alttext="\frac{a}{b}"></math>``, which the writer of tagged text knows as a formula.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import escape, unescape

from fyke.convert.elements import replaced
from fyke.convert.formulas import SIGNS
from fyke.formats.xml import End, Start, events

_SCRIPT = re.compile(rb'<script type="math/tex[^"]*">', re.IGNORECASE)
_TOLD = re.compile(rb'[^>]* alttext="[^"]*[^"\s]')
_ANNOTATION = re.compile(
    rb'<annotation [^<>]{0,300}encoding="[^"<>]{0,100}tex[^<>]{0,300}>(.*?)</annotation>', re.DOTALL | re.IGNORECASE
)
_ANNOTATED = b"</annotation>"
_FUNCTIONS = frozenset({
    "arccos", "arcsin", "arctan", "cos", "cosh", "cot", "coth", "csc", "deg", "det", "dim", "exp", "gcd", "inf", "ker",
    "lim", "ln", "log", "max", "min", "sec", "sin", "sinh", "sup", "tan", "tanh",
})  # fmt: skip
_INVISIBLE = str.maketrans("", "", "\u2061\u2062\u2063\u2064\u200b")
_ACCENTS = {
    "^": "hat", "ˆ": "hat", "~": "tilde", "˜": "tilde", "¯": "bar", "‾": "overline", "→": "vec", "⃗": "vec",
    "˙": "dot", "¨": "ddot", "⏞": "overbrace",
}  # fmt: skip
_NOTHING = frozenset({"annotation", "annotation-xml", "mphantom", "maligngroup", "malignmark", "none", "mprescripts"})
_COMMAND = re.compile(r"\\[A-Za-z]+")
_SPECIAL = re.compile(r"([#$%&_{}])")


def with_formulas(markup: bytes, most: int) -> bytes:
    """Return canonical markup whose first formulas, ``most`` > 0 of them, say in an attribute what they are in TeX."""
    left = iter(range(most))
    return replaced(markup, lambda tag, content: _told(tag, content, left))


def _told(tag: bytes, content: bytes, left: Iterator[int]) -> bytes | None:
    is_script = _SCRIPT.fullmatch(tag) is not None
    if not (is_script or tag.startswith(b"<math")) or next(left, None) is None:
        return None
    if is_script:
        said = content.decode("utf-8", "replace")
    elif _TOLD.match(tag):
        return None
    elif annotation := _ANNOTATION.search(content, 0, content.rfind(_ANNOTATED) + len(_ANNOTATED)):
        said = unescape(annotation[1].decode("utf-8", "replace"))
    else:
        said = tex(tag + content + b"</math>")
    said = " ".join(said.split())
    return b'<math alttext="' + escape(said).replace("&#x27;", "'").encode() + b'"></math>' if said else None


def tex(markup: bytes) -> str:
    """Return MathML as TeX. What is not known is transparent; never raises."""
    stack: list[tuple[str, dict[str, str], list[str]]] = [("", {}, [])]
    for event in events(markup.replace(b"&nbsp;", b" ")):
        if isinstance(event, Start):
            stack.append((event.name.rpartition(":")[2].lower(), event.attributes, []))
        elif isinstance(event, End):
            name, attributes, parts = stack.pop()
            stack[-1][2].append("" if name in _NOTHING else _element(name, attributes, parts))
        elif said := event.translate(_INVISIBLE).strip():
            stack[-1][2].append(said if stack[-1][0].startswith("m") else "")
    return " ".join("".join(stack[0][2]).split())


def _element(name: str, attributes: dict[str, str], parts: list[str]) -> str:
    joined = "".join(parts)
    match name:
        case "mi":
            return _identifier(joined)
        case "mn" | "mo" | "ms":
            return _signs(joined)
        case "mtext":
            return rf"\text{{{_SPECIAL.sub(_backslash, joined)}}}" if joined else ""
        case "msqrt":
            return rf"\sqrt{{{joined}}}"
        case "mfenced":
            between = attributes.get("separators", ",")[:1]
            return f"{attributes.get('open', '(')}{between.join(parts)}{attributes.get('close', ')')}"
        case "mtr" | "mlabeledtr":
            return " & ".join(parts) + r" \\ "
        case "mtable":
            return r"\begin{matrix}" + joined.removesuffix(r" \\ ") + r"\end{matrix}"
        case "mspace":
            return " "
    make = _SCRIPTS.get(name)
    return make(*parts) if make is not None and len(parts) == _PARTS[name] else joined


def _backslash(found: re.Match[str]) -> str:
    return "\\" + found[1]


def _signs(text: str) -> str:
    escaped = _SPECIAL.sub(_backslash, text)
    return "".join(f"\\{SIGNS[sign]} " if sign in SIGNS else sign for sign in escaped)


def _identifier(text: str) -> str:
    if text in _FUNCTIONS:
        return f"\\{text} "
    return _signs(text) if len(text) == 1 or not text.isascii() else rf"\mathrm{{{_signs(text)}}}"


def _base(text: str) -> str:
    """Return what a script stands at: in braces, unless it is one sign."""
    text = text.strip()
    return text if len(text) == 1 or _COMMAND.fullmatch(text) else f"{{{text}}}"


def _over(base: str, over: str) -> str:
    accent = _ACCENTS.get(over.strip()) or {r"\to": "vec"}.get(over.strip())
    return rf"\{accent}{{{base}}}" if accent else f"{_base(base)}^{{{over}}}"


_SCRIPTS: dict[str, Callable[..., str]] = {
    "mfrac": lambda above, below: rf"\frac{{{above}}}{{{below}}}",
    "mroot": lambda base, degree: rf"\sqrt[{degree}]{{{base}}}",
    "msup": lambda base, above: f"{_base(base)}^{{{above}}}",
    "msub": lambda base, below: f"{_base(base)}_{{{below}}}",
    "msubsup": lambda base, below, above: f"{_base(base)}_{{{below}}}^{{{above}}}",
    "munder": lambda base, below: f"{_base(base)}_{{{below}}}",
    "munderover": lambda base, below, above: f"{_base(base)}_{{{below}}}^{{{above}}}",
    "mover": _over,
}
_PARTS = {"msubsup": 3, "munderover": 3} | dict.fromkeys(("mfrac", "mroot", "msup", "msub", "munder", "mover"), 2)
