"""Languages: fyke's detector beside those that ship their model in a package, on ../shared/data/language.

``python -m bench.language``. Right answers by kind of text; CPU per text of the kind "long" (about 2,000 characters);
MB that the package takes. Old codes (iw, jw, no) count as what they mean now for all. Beside the public texts: the
sentences in capitals, noisy (every tenth letter lost, digits and a URL put in), and two languages mixed two to one.
A peer that is not installed is left out.
"""

from __future__ import annotations

import importlib
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, files

import msgspec

from bench.measure import SHARED, best_cpu, figure, table
from fyke.text.language import identify, primary

KINDS = ("two words", "short", "sentence", "paragraph", "long", "capitals", "noisy", "mixed")
Detector = Callable[[str], str]


class Text(msgspec.Struct, frozen=True):
    lang: str
    iso3: str
    kind: str
    text: str


def texts() -> list[Text]:
    lines = (SHARED / "data/language/texts.jsonl").read_bytes().splitlines()
    read = [msgspec.json.decode(line, type=Text) for line in lines]
    chance = random.Random(1)
    made = []
    sentences = [text for text in read if text.kind == "sentence"]
    for text in sentences:
        other = chance.choice([s for s in sentences if s.lang != text.lang])
        noisy = "".join(c for c in text.text if not (c.isalpha() and chance.random() < 0.1))
        noisy = f"{chance.randrange(10**6)} {noisy} https://example.org/?id={chance.randrange(10**6)} 12:30"
        double = f"{text.text} {other.text[: len(text.text) // 2]} {text.text}"
        for kind, changed in (("capitals", text.text.upper()), ("noisy", noisy), ("mixed", double)):
            made.append(Text(text.lang, text.iso3, kind, changed))
    return read + made


def cld2() -> Detector:
    module = importlib.import_module("pycld2")

    def detect(text: str) -> str:
        try:
            return str(module.detect(text, isPlainText=True)[2][0][1])
        except module.error:
            return ""

    return detect


def lingua(low: bool) -> Detector:
    builder = importlib.import_module("lingua").LanguageDetectorBuilder.from_all_languages()
    built = (builder.with_low_accuracy_mode() if low else builder).build()

    def detect(text: str) -> str:
        found = built.detect_language_of(text)
        return str(found.iso_code_639_1.name.lower()) if found else ""

    return detect


def classify(name: str) -> Detector:
    module = importlib.import_module(name)
    return lambda text: str(module.classify(text)[0])


def resiliparse() -> Detector:
    detect = importlib.import_module("resiliparse.parse.lang").detect_fast
    return lambda text: str(detect(text, cutoff=10**6)[0])


def eld() -> Detector:
    detector = importlib.import_module("eld").LanguageDetector()
    return lambda text: str(detector.detect(text).language)


def whatlang() -> Detector:
    module = importlib.import_module("whatlang")

    def detect(text: str) -> str:
        try:
            return str(module.detect(text).lang or "")
        except ValueError:
            return ""

    return detect


def heliport() -> Detector:
    identifier = importlib.import_module("heliport").Identifier()
    return lambda text: str(identifier.identify(text))


def langdetect() -> Detector:
    module = importlib.import_module("langdetect")

    def detect(text: str) -> str:
        try:
            return str(module.detect(text))
        except module.LangDetectException:
            return ""

    return detect


def peers() -> Iterator[tuple[str, str, Callable[[], Detector]]]:
    """Name, distribution, and how to make the detector."""

    yield "CLD2 as it comes", "pycld2", cld2
    yield "py3langid", "py3langid", lambda: classify("py3langid")
    yield "langid", "langid", lambda: classify("langid")
    yield "lingua", "lingua-language-detector", lambda: lingua(False)
    yield "lingua, low accuracy", "lingua-language-detector", lambda: lingua(True)
    yield "resiliparse", "resiliparse", resiliparse
    yield "whatlang", "whatlang-pyo3", whatlang
    yield "eld", "eld", eld
    yield "heliport", "heliport", heliport
    yield "langdetect", "langdetect", langdetect


def megabytes(distribution: str) -> float:
    found = files(distribution) or []
    return sum(path.stat().st_size for file in found if (path := file.locate()).exists()) / 1e6  # type: ignore[attr-defined]


def main() -> None:
    read = texts()
    three = {text.iso3: text.lang for text in read} | {"nob": "nb", "cmn": "zh", "pes": "fa", "arb": "ar", "ekk": "et"}
    total = Counter(text.kind for text in read)
    long = [text.text for text in read if text.kind == "long"]
    detectors: dict[str, tuple[float, Detector]] = {"fyke": (megabytes("pycld2"), lambda text: identify(text).code)}
    for name, distribution, make in peers():
        try:
            detectors[name] = megabytes(distribution), make()
        except (ImportError, PackageNotFoundError) as missing:
            print(f"{name} is left out: {missing}")
    rows, times = [], {}
    for name, (size, detect) in detectors.items():
        right: Counter[str] = Counter()
        for text in read:
            said = re.split("[-_]", detect(text.text))[0]
            right[text.kind] += primary(three.get(said, said)) == text.lang
        times[name] = best_cpu(lambda detect=detect: [detect(text) for text in long], 2) / len(long) * 1e6  # type: ignore[misc]
        rows.append([name, *(right[kind] for kind in KINDS), times[name], f"{size:.0f}"])
    print(table(["detector", *(f"{kind} ({total[kind]})" for kind in KINDS), "µs", "MB"], rows))
    figure("language of a long text", "µs", times.pop("fyke"), times)


if __name__ == "__main__":
    main()
