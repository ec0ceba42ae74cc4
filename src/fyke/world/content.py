"""What a page says: title and blocks of main text with their links, at one version.

Version v of a page differs from v-1 in one block: the paragraphs are rewritten in turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from fyke.world.chance import draw
from fyke.world.copies import WANTED, edited
from fyke.world.graph import SECTIONS_SHOWN, Anchor, Graph
from fyke.world.languages import LANGUAGES
from fyke.world.plan import EXACT, Plan, Plans
from fyke.world.truth import Template
from fyke.world.words import content_word, paragraph, title, vocabulary

LEAST_PARAGRAPHS, PARAGRAPHS_SPREAD = 3, 5
LEAST_WORDS, WORDS_SPREAD = 40, 50
TEASER_WORDS = 16


@dataclass(frozen=True, slots=True)
class Block:
    """One block of main text; ``text`` goes on with ``see`` and the links' texts."""

    tag: str
    """p, h2, li, pre, post, item, or td (name and value, separated by a tab)."""
    text: str
    links: tuple[Anchor, ...] = ()
    see: str = ""

    def plain(self) -> str:
        """All of its text as a reader sees it."""
        if self.tag == "item":
            return f"{self.links[0].text}\n{self.text}"
        if not self.links:
            return self.text
        return f"{self.text} {self.see} {', '.join(link.text for link in self.links)}."


@dataclass(frozen=True, slots=True)
class Content:
    """The main content of a page at one version."""

    title: str
    blocks: tuple[Block, ...]

    @property
    def main_text(self) -> str:
        """Ground truth for everything that extracts main content: a block a line."""
        return "\n".join([self.title, *(block.plain() for block in self.blocks)])


class Writer:
    """Writes the content of pages."""

    def __init__(self, plans: Plans, graph: Graph) -> None:
        self._plans = plans
        self._graph = graph
        self._seed = plans.config.seed

    def content(self, plan: Plan, version: int, t: float) -> Content:
        """The content of a page. ``t`` decides what a listing lists; nothing else looks at it."""
        if plan.member < 0:
            return self._listing(plan, t)
        source = self._graph.original(plan)
        if source is None:
            return self._member(plan, version)
        content = self._member(source, 0)
        return content if plan.kind == EXACT else self._near(plan, source, content)

    def _near(self, plan: Plan, source: Plan, content: Content) -> Content:
        wanted = WANTED[plan.title_bits % len(WANTED)]
        if LANGUAGES[plan.language].space != " " or plan.language == "hi":
            return content  # words are not runs of letters there: a copy in other furniture
        spare = list(vocabulary(source.language, source.topic)[-120:])
        texts = edited([b.text for b in content.blocks], spare, wanted, self._seed, plan.host, plan.index)
        blocks = tuple(Block(b.tag, text, b.links, b.see) for b, text in zip(content.blocks, texts, strict=True))
        return Content(content.title, blocks)

    def _member(self, plan: Plan, version: int) -> Content:
        bits = draw(self._seed, "content", plan.host, plan.index)
        count = LEAST_PARAGRAPHS + bits % PARAGRAPHS_SPREAD
        links = self._graph.main_links(plan) if plan.format == "html" else ()
        see = LANGUAGES[plan.language].see
        tag = "post" if plan.template is Template.FORUM else "p"
        blocks: list[Block] = []
        for k in range(count):
            words = LEAST_WORDS + (bits >> 8 + 5 * k) % WORDS_SPREAD
            rewritten = (version + count - 1 - k) // count  # how often the turn came to paragraph k
            text = paragraph(plan.language, plan.topic, words, self._seed, plan.host, plan.index, k, rewritten)
            if k and tag == "p" and (bits >> 48 + k) & 1:
                blocks.append(Block("h2", self._title(plan, k)))
            blocks.append(Block(tag, text, links[k::count], see))
            blocks += self._extras(plan, k, bits)
        return Content(title(plan.language, plan.topic, plan.title_bits), tuple(blocks))

    def _extras(self, plan: Plan, k: int, bits: int) -> list[Block]:
        """What else a template has between its paragraphs: a list, a listing of code, a table."""
        if plan.template is Template.DOCUMENTATION and k == 0:
            return [Block("li", self._short(plan, j, 10)) for j in range(3 + bits % 3)]
        if plan.template is Template.DOCUMENTATION and k == 1:
            names = [content_word("en", "computing", draw(self._seed, "code", plan.index, j)) for j in range(6)]
            return [Block("pre", "\n".join(f"{n}.{m}({j})" for j, (n, m) in enumerate(pairwise(names))))]
        if plan.template is Template.PRODUCT and k == 0:
            words = [
                content_word(plan.language, plan.topic, draw(self._seed, "spec", plan.host, plan.index, j))
                for j in range(10)
            ]
            return [
                Block("td", f"{a}\t{b} {j + 2}") for j, (a, b) in enumerate(zip(words[::2], words[1::2], strict=True))
            ]
        return []

    def _title(self, plan: Plan, k: int) -> str:
        return title(plan.language, plan.topic, draw(self._seed, "heading", plan.host, plan.index, k))

    def _short(self, plan: Plan, j: int, words: int) -> str:
        return paragraph(plan.language, plan.topic, words, self._seed, "short", plan.host, plan.index, j)

    def listed(self, plan: Plan, t: float) -> list[Anchor]:
        """The links of a home page or section, in order."""
        host = self._plans.hosts[plan.host]
        if plan.index == 0:
            return list(self._graph.sections(host))
        anchors = [self._graph.anchor(p.host, p.index) for p in self._graph.members(plan, t)]
        further = plan.section + SECTIONS_SHOWN
        return [*anchors, self._graph.anchor(plan.host, further)] if further <= host.sections else anchors

    def _listing(self, plan: Plan, t: float) -> Content:
        blocks = [Block("item", self._teaser(plan, anchor), (anchor,)) for anchor in self.listed(plan, t)]
        return Content(title(plan.language, plan.topic, plan.title_bits), tuple(blocks))

    def _teaser(self, plan: Plan, anchor: Anchor) -> str:
        return paragraph(plan.language, plan.topic, TEASER_WORDS, self._seed, "teaser", plan.host, anchor.target)
