"""Pages hold exactly what the ground truth says: links, main text, encodings, formats, copies."""

from __future__ import annotations

import csv
import io
import os
import re
import subprocess
import sys
import zipfile
from collections import Counter
from itertools import combinations

import lxml.html
import pypdfium2
import pytest

from fyke.url import Url
from fyke.world import Host, Trap, Truth, World, WorldConfig
from fyke.world.config import START
from fyke.world.copies import jaccard, shingles
from fyke.world.languages import LANGUAGES, TOPICS
from fyke.world.pairs import resembling
from fyke.world.truth import Template
from tests.world.conftest import SMALL, ask, steady

T = START + 3 * 86_400

DIGEST = """
import hashlib
from fyke.world import World, WorldConfig
world = World(WorldConfig(seed=3, hosts=25, pages=1600))
digest = hashlib.sha256()
for host in world.hosts:
    for url in [*world.pages(host.name)][::5] + [world.bases[host.number] + x for x in
            ("/robots.txt", "/sitemap.xml", "/feed.xml", "/calendar/2023/11/")]:
        answer = world.answer(host.name, "/" + url.split("/", 3)[3], 1_700_250_000.0)
        digest.update(repr((answer.status, answer.headers)).encode() + answer.body)
print(digest.hexdigest())
"""
KNOWN = "f87dd8444e058058508e9fc3a17ee03eeb63be8fe7e5c43f6a8483da12ad81a1"


@pytest.mark.parametrize("hash_seed", ["1", "77"])
def test_a_seed_is_one_world_in_every_process_and_version(hash_seed: str) -> None:
    """The digest is pinned: whoever changes the world changes it here, knowingly."""
    done = subprocess.run(
        [sys.executable, "-c", DIGEST], env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == KNOWN


def test_another_seed_is_another_world(world: World) -> None:
    other = World(WorldConfig(seed=4, hosts=25, pages=1600))
    assert not set(world.seeds) & set(other.seeds) or world.truth(world.seeds[0]) != other.truth(world.seeds[0])


def test_sizes_are_as_asked(world: World) -> None:
    urls = [url for host in world.hosts for url in world.pages(host.name)]
    assert len(urls) == len(set(urls))
    assert sum(host.pages for host in world.hosts if host.mirror_of is None) == SMALL.pages


def tree(world: World, url: str, truth: Truth) -> lxml.html.HtmlElement:
    body = ask(world, url, T).body
    return lxml.html.document_fromstring(body.decode(truth.encoding or "utf-8"))


def followed(url: str, root: lxml.html.HtmlElement) -> set[str]:
    base = Url.parse(url)
    return {
        base.join(a.get("href")).href for a in root.iter("a") if a.get("href") and "nofollow" not in a.get("rel", "")
    }


def test_links_are_what_the_truth_says(world: World) -> None:
    checked = 0
    for url in steady(world)[::3]:
        truth = world.truth(url, T)
        if truth.media_type == "text/html":
            assert followed(url, tree(world, url, truth)) == set(truth.links), url
            assert truth.links == world.links(url, T)
            checked += 1
    assert checked > 300


def test_links_of_traps_prints_and_regrets_are_what_the_truth_says(world: World) -> None:
    host = world.hosts[2]
    page = [*world.pages(host.name)][host.sections + 4]
    article = next(h for h in world.hosts if h.template is Template.ARTICLE and h.number == 0)
    printed = [*world.pages(article.name)][article.sections + 2] + "?print=1"
    base = world.bases[2]
    for url in (f"{base}/calendar/2023/11/", f"{base}/archive/deep/more/", f"{page}?sid=0123456789abcdef", printed):
        truth = world.truth(url, T)
        assert truth.status == 200
        assert followed(url, tree(world, url, truth)) == set(truth.links), url


MAIN = ("//main/article", '//div[@id="content"]', '//div[@class="b4"]', "(//body/table)[2]", '//div[@role="main"]')


def test_main_text_is_exactly_the_main_element(world: World) -> None:
    """So an extractor can reach F1 = 1, and what it must leave out stands elsewhere."""
    templates = Counter[Template | None]()
    for url in steady(world)[::4]:
        truth = world.truth(url, T)
        if truth.media_type != "text/html" or truth.status != 200:
            continue
        own = host_of(world, url)
        root = tree(world, url, truth)
        [main] = root.xpath(MAIN[(own.number if own.mirror_of is None else own.mirror_of) % len(MAIN)])
        for who in main.xpath('.//div[@class="who"]'):
            who.drop_tree()
        shown = [w for text in main.itertext() for w in text.split()]
        assert "".join(shown) == "".join(truth.main_text.split()), url
        assert root.findtext(".//title").startswith(truth.title)
        everything = len("".join(root.text_content().split()))
        assert everything > len("".join(shown)) + 60, "furniture is missing"
        templates[truth.template] += 1
    assert set(templates) == set(Template)


def test_text_reads_like_text(world: World) -> None:
    """Zipf: the commonest words make a large part, and half of the vocabulary occurs rarely."""
    english = [world.truth(u) for u in steady(world) if "/private/" not in u]
    words = Counter(w.lower() for t in english if t.language == "en" for w in re.findall(r"[a-zA-Z]+", t.main_text))
    total = sum(words.values())
    top = [n / total for _, n in words.most_common(1000)]
    assert 0.1 < sum(top[:10]) < 0.35
    assert 0.5 < sum(top[:100]) < 0.8
    assert len(words) > 2000


def test_pages_of_a_topic_use_its_words_and_link_to_it(world: World) -> None:
    own = other = linked = links = 0
    for url in steady(world)[::5]:
        truth = world.truth(url)
        if truth.language != "en" or truth.template is Template.LISTING or not truth.main_text or truth.copy_of:
            continue
        words = re.findall(r"[a-z]+", truth.main_text.lower())
        own += sum(w in TOPICS[truth.topic] for w in words)
        another = next(t for t in TOPICS if t != truth.topic)
        other += sum(w in TOPICS[another] for w in words)
        targets = [world.truth(u).topic for u in truth.links[-12:-6]]
        links += len(targets)
        linked += targets.count(truth.topic)
    assert own > 10 * other
    assert linked / links > 2 / len(TOPICS)


def test_every_language_encoding_and_format_is_there_and_decodes(world: World) -> None:
    there = [t for t in map(world.truth, steady(world)) if t.status == 200 and not t.soft_error]
    assert {t.language for t in there} == set(LANGUAGES)
    assert {t.encoding for t in there} >= {"utf-8", "utf-16", "iso-8859-1", "gb18030", "shift_jis", "windows-1251"}
    assert any(t.mislabelled for t in there)
    assert any(t.declared_encoding == "" and t.encoding not in ("", "utf-16") for t in there)
    for truth in there:
        if truth.encoding and truth.media_type == "text/html":
            answer = ask(world, truth.url, START)
            assert truth.title in lxml.html.fromstring(answer.body.decode(truth.encoding)).text_content()
            header = dict(answer.headers)["Content-Type"]
            found = re.search(rb'<meta charset="([^"]+)"', answer.body)
            declared = header.partition("charset=")[2] or (found[1].decode() if found else "")
            assert declared == truth.declared_encoding


def host_of(world: World, url: str) -> Host:
    host = world.host(Url.parse(url).host)
    assert host is not None
    return host


def squeezed(text: str) -> str:
    return "".join(text.split())


def test_documents_of_other_formats_are_valid_and_hold_the_text() -> None:
    world = World(WorldConfig(seed=5, hosts=20, pages=6000))
    seen: dict[str, Truth] = {}
    for url in steady(world):
        key = url.rpartition(".")[2] + host_of(world, url).language
        if not url.endswith((".html", "/")):
            seen.setdefault(key, world.truth(url))
    assert {key[:-2] for key in seen} == {"pdf", "docx", "odt", "epub", "rtf", "csv", "txt"}
    for key, truth in seen.items():
        body = ask(world, truth.url, START).body
        if key.startswith("pdf"):
            document = pypdfium2.PdfDocument(body)
            text = " ".join(page.get_textpage().get_text_bounded() for page in document)
        elif key.startswith(("docx", "odt", "epub")):
            archive = zipfile.ZipFile(io.BytesIO(body))
            name = {"do": "word/document.xml", "od": "content.xml", "ep": "page.xhtml"}[key[:2]]
            root = lxml.etree.fromstring(archive.read(name))
            text = " ".join(e.text or "" for e in root.iter() if not str(e.tag).endswith("title"))
            assert archive.testzip() is None
        elif key.startswith("rtf"):
            text = re.sub(r"\\u(-?\d+)\?", lambda m: chr(int(m[1]) % 65536), body.decode("ascii"))
            text = re.sub(r"\{\\rtf1\\ansi\\uc1|\{\\b |\\par|\}", "", text)
        elif key.startswith("csv"):
            text = " ".join(row[1] for row in csv.reader(io.StringIO(body.decode(truth.encoding))))
        else:
            text = body.decode(truth.encoding)
        assert squeezed(text) == squeezed(truth.main_text), key


def test_copies_have_the_jaccard_that_is_stated(world: World) -> None:
    stated = []
    for url in steady(world):
        truth = world.truth(url)
        if not truth.copy_of:
            continue
        original = world.truth(truth.copy_of)
        mirrored = host_of(world, url).mirror_of is not None
        assert original.copy_of == "" or mirrored
        assert jaccard(truth.main_text, original.main_text) == pytest.approx(truth.jaccard)
        assert (truth.rate, original.rate) == (0.0, 0.0) or mirrored
        stated.append(truth.jaccard)
    assert sum(j == 1.0 for j in stated) > 20
    assert sum(0.8 <= j < 1.0 for j in stated) > 20
    assert sum(j < 0.8 for j in stated) > 5
    assert min(stated) > 0.3


def test_exact_copies_and_mirrors_are_the_same_bytes(world: World) -> None:
    exact = mirrored = 0
    for url in steady(world):
        truth = world.truth(url)
        own, of = Url.parse(url).host, Url.parse(truth.copy_of).host if truth.copy_of else ""
        if truth.jaccard == 1.0 and host_of(world, url).mirror_of is not None:
            assert ask(world, url, T).body == ask(world, truth.copy_of, T).body
            mirrored += 1
        elif truth.jaccard == 1.0 and own == of and ask(world, url, T).body == ask(world, truth.copy_of, T).body:
            exact += 1
    assert mirrored > 30
    assert exact > 20


def test_pages_that_are_no_copies_are_unlike(world: World) -> None:
    texts = [t.main_text for t in map(world.truth, steady(world)[::11]) if t.language == "en" and not t.copy_of][:60]
    assert max(jaccard(a, b) for i, a in enumerate(texts) for b in texts[:i] if a and b) < 0.05


def test_a_large_world_is_made_lazily() -> None:
    world = World(WorldConfig(hosts=200, pages=100_000))
    host = world.hosts[150]
    url = [*world.pages(host.name)][-1]
    assert world.truth(url).title
    assert ask(world, url, START).status in (200, 404)


def test_difficulties_can_be_switched_off() -> None:
    names = ["languages", "encodings", "formats", "copies", "mirrors", "changes", "robots", "redirects", "errors",
             "traps", "slow", "flaky"]  # fmt: skip
    world = World(WorldConfig(seed=2, hosts=25, pages=1500, **dict.fromkeys(names, False)))
    expected = world.expected(world.seeds)
    assert not expected.others
    assert not expected.disallowed
    assert not expected.traps
    for url in expected.pages:
        truth = world.truth(url, T)
        facts = (
            truth.status,
            truth.language,
            truth.encoding,
            truth.media_type,
            truth.copy_of,
            truth.rate,
            truth.version,
        )
        assert facts == (200, "en", "utf-8", "text/html", "", 0.0, 0)


def test_traps_are_endless_and_marked(world: World) -> None:
    doors = [u for u in world.links(world.seeds[2]) if world.truth(u).trap]
    assert {world.truth(u).trap for u in doors} == set(Trap)
    for door in doors:
        seen = [door]
        for _ in range(50):
            new = [u for u in world.links(seen[-1]) if u not in seen and u.startswith(world.bases[2])]
            seen.append(next(u for u in reversed(new) if ("sid=" in u) == ("sid=" in door) and "print" not in u))
            if len(seen) % 10 == 0:
                assert world.truth(seen[-1]).trap is world.truth(door).trap


def test_resembling_pairs_are_all_pairs(world: World) -> None:
    """Against the comparison of every page with every other, over three hosts of which one is a mirror."""
    urls = [u for host in world.hosts[2:5] for u in world.pages(host.name)]
    texts = {t.url: shingles(t.main_text) for t in map(world.truth, urls) if t.status == 200}
    found = {(p.first, p.second) for p in resembling(world, urls, 0.6)}
    every = {
        (a, b)
        for a, b in combinations(sorted(texts), 2)
        if min(len(texts[a]), len(texts[b])) / max(len(texts[a]), len(texts[b])) >= 0.6
        and len(texts[a] & texts[b]) / len(texts[a] | texts[b]) >= 0.6
    }
    assert found == every
    assert len(found) > 60
