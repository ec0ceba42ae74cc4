"""Formulas of Word (OMML) to TeX, in the place where they stand: the engine would drop those inside lines."""

from __future__ import annotations

import re
from collections.abc import Callable

from fyke.convert.html import MAX_FORMULAS
from fyke.convert.tidying import formula
from fyke.formats.xml import End, Start, events

_FORMULA = re.compile(rb"<m:oMath(?=[ >])[^<>]*>.*?</m:oMath>", re.DOTALL)
_PARAGRAPH = re.compile(rb"</?m:oMathPara(?=[ >])[^<>]*>")
_PROPERTIES = re.compile(rb"<m:oMathParaPr>.*?</m:oMathParaPr>", re.DOTALL)
_APART = re.compile(
    rb"(?<=/w:p>|body>|:tbl>|tcPr>|tent>)(?:\s*<m:oMathPara(?=[ >])[^<>]*>.*?</m:oMathPara>)+", re.DOTALL
)
"""Formulas between paragraphs."""
_SPACE = b"http://schemas.openxmlformats.org/officeDocument/2006/math"
_WORD = b"http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_NAMES = (
    "α alpha β beta γ gamma δ delta ε epsilon ζ zeta η eta θ theta ι iota κ kappa λ lambda μ mu ν nu ξ xi π pi ρ rho"
    " σ sigma τ tau υ upsilon φ phi χ chi ψ psi ω omega Γ Gamma Δ Delta Θ Theta Λ Lambda Ξ Xi Π Pi Σ Sigma Φ Phi Ψ Psi"
    " Ω Omega × times ÷ div ± pm ∓ mp · cdot ≤ le ≥ ge ≠ ne ≈ approx ≡ equiv ∞ infty ∂ partial ∇ nabla ∈ in ∉ notin"
    " ⊂ subset ∪ cup ∩ cap ∀ forall ∃ exists → to ⇒ Rightarrow ↔ leftrightarrow ∑ sum ∏ prod ∫ int √ surd ° circ"
    " … ldots"
)
SIGNS = dict(re.findall(r"(\S) (\w+)", _NAMES))
"""What a sign is called in TeX."""
_ACCENTS = {"\u0302": "hat", "\u0303": "tilde", "\u0305": "bar", "\u20d7": "vec", "\u0307": "dot", "\u0308": "ddot"}
_TEMPLATES = {
    "f": r"\fracnumden", "sSup": "e^sup", "sSub": "e_sub", "sSubSup": "e_sub^sup", "bar": r"\overline e",
    "groupChr": "e", "limLow": "e_lim", "limUpp": "e^lim", "func": "fName e", "sPre": "{}_sub^sup e",
}  # fmt: skip


def with_formulas(document: bytes) -> bytes:
    """Return the XML of a Word document whose formulas are text: TeX between the engine's marks."""
    if _SPACE not in document:
        return document
    document = _sub(_APART, rb"<w:p>\g<0></w:p>", document, b"</m:oMathPara>")
    document = _PARAGRAPH.sub(b"", _sub(_PROPERTIES, b"", document, b"</m:oMathParaPr>"))
    return _sub(_FORMULA, _as_run, document, b"</m:oMath>", MAX_FORMULAS)


def _sub(
    pattern: re.Pattern[bytes],
    said: bytes | Callable[[re.Match[bytes]], bytes],
    document: bytes,
    end: bytes,
    most: int = 0,
) -> bytes:
    """``pattern.sub`` up to the last ``end``: beyond it each beginning would be followed through all of the rest."""
    head, last, rest = document.rpartition(end)
    return pattern.sub(said, head + last, count=most) + rest


def _as_run(found: re.Match[bytes]) -> bytes:
    inner = tex(b'<r xmlns:m="' + _SPACE + b'" xmlns:w="' + _WORD + b'">' + found[0] + b"</r>")
    said = formula(formula_safe(inner))
    return b'<w:r><w:t xml:space="preserve">' + said.encode() + b"</w:t></w:r>" if inner else b""


def formula_safe(text: str) -> str:
    """Return TeX on one line."""
    return " ".join(text.split())


def tex(markup: bytes) -> str:
    """Return OMML as TeX. What is not known is transparent; never raises."""
    stack: list[tuple[str, dict[str, str], list[str], dict[str, str]]] = [("", {}, [], {})]
    in_text = False
    for event in events(markup):
        if isinstance(event, Start):
            name = event.name.rpartition(":")[2]
            in_text = name == "t"
            if name.endswith("Pr") or name in {"chr", "begChr", "endChr", "sepChr"}:
                stack[-1][3].update({name: event.attributes.get("val", "")} if name.endswith("hr") else {})
            stack.append((name, event.attributes, [], {}))
        elif isinstance(event, End):
            name, attributes, parts, said = stack.pop()
            in_text = False
            top = stack[-1]
            if name.endswith("Pr"):
                top[3].update(said)
            elif name in {"chr", "begChr", "endChr", "sepChr"}:
                top[3][name] = attributes.get("val", "")
            else:
                written = _element(name, parts, said)
                if name in {"num", "den", "e", "sup", "sub", "deg", "fName", "lim", "mr"}:
                    top[2].append(f"\0{name}\0{written}\0")
                else:
                    top[2].append(written)
        elif in_text:
            stack[-1][2].append("".join(f"\\{SIGNS[sign]} " if sign in SIGNS else sign for sign in event))
    return re.sub(r"\0\w*\0|\0", "", "".join(stack[0][2])).strip()


_PART = re.compile("\0(\\w+)\0([^\0]*)\0")


def _element(name: str, parts: list[str], said: dict[str, str]) -> str:
    """Return an element in TeX from its parts, each marked with its name."""
    joined = "".join(parts)
    named = _PART.findall(joined)
    if not named:
        return joined
    found: dict[str, str] = dict(reversed(named))
    if name in _TEMPLATES:
        return re.sub(r"num|den|fName|lim|sup|sub|e(?![a-z])", lambda key: _group(key[0], found), _TEMPLATES[name])
    if name == "rad":
        degree = f"[{found['deg']}]" if found.get("deg") else ""
        return rf"\sqrt{degree}{{{found.get('e', '')}}}"
    if name == "nary":
        sign = said.get("chr", "∫")
        bounds = "".join(f"{mark}{{{found[key]}}}" for mark, key in (("_", "sub"), ("^", "sup")) if found.get(key))
        return f"\\{SIGNS.get(sign, 'int')}{bounds} {found.get('e', '')}"
    if name == "d":
        inner = said.get("sepChr", ",").join(text for key, text in named if key == "e")
        return rf"\left{said.get('begChr', '(') or '.'}{inner}\right{said.get('endChr', ')') or '.'}"
    if name == "acc":
        return rf"\{_ACCENTS.get(said.get('chr', ''), 'hat')}{{{found.get('e', '')}}}"
    if name == "mr":
        return " & ".join(text for key, text in named if key == "e")
    if name == "m":
        return r"\begin{matrix}" + r" \\ ".join(text for key, text in named if key == "mr") + r"\end{matrix}"
    return _PART.sub(lambda part: part[2], joined)


def _group(key: str, found: dict[str, str]) -> str:
    text = found.get(key, "")
    return text if key == "fName" or (key == "e" and len(text) == 1) else f"{{{text}}}"
