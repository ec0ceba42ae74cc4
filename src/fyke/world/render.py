"""Pages as HTML: main content in the furniture of its host.

Furniture is a head line, navigation, a cookie banner, a sidebar of links, advertising and a footer. Five skins
lay them out and name them differently, from semantic elements to tables. All of it but the advertising is the
same on every page of a host, as on the web, and is made once.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from fyke.world.chance import draw
from fyke.world.content import Block, Content
from fyke.world.graph import Anchor, Graph
from fyke.world.languages import LANGUAGES
from fyke.world.plan import Plan
from fyke.world.truth import Host, RobotsKind, Template
from fyke.world.words import title

ADVERTISEMENTS = 12


@dataclass(frozen=True, slots=True)
class Skin:
    """Where things stand; ``{}`` takes the part."""

    banner: str
    header: str
    main: str
    side: str
    ad: str
    footer: str


SKINS = (
    Skin('<div id="cookie-banner" role="dialog">{}</div>', "<header>{}</header>", "<main><article>{}</article></main>",
         "<aside>{}</aside>", '<aside class="ad">{}</aside>', "<footer>{}</footer>"),
    Skin('<div class="cc-window">{}</div>', '<div id="top">{}</div>', '<div id="content" class="post-body">{}</div>',
         '<div id="sidebar">{}</div>', '<div class="advert sponsored">{}</div>', '<div id="footer">{}</div>'),
    Skin('<div class="b1">{}</div>', '<div class="b2">{}</div>', '<div class="b3"><div class="b4">{}</div></div>',
         '<div class="b5">{}</div>', '<div class="b6">{}</div>', '<div class="b7">{}</div>'),
    Skin("<p class=note>{}</p>", "<table width=100%><tr><td>{}</td></tr></table>",
         "<table><tr><td valign=top>{}</td></tr></table>", "<table><tr><td width=160>{}</td></tr></table>",
         "<center>{}</center>", "<hr><center><font size=1>{}</font></center>"),
    Skin('<section class="consent">{}</section>', '<header class="site">{}</header>',
         '<div role="main" class="entry-content">{}</div>', '<nav class="related">{}</nav>',
         '<div class="banner-ad">{}</div>', '<footer class="site">{}</footer>'),
)  # fmt: skip


class Renderer:
    """Renders pages. ``bases`` are the origins of the hosts, by number."""

    def __init__(self, graph: Graph, hosts: tuple[Host, ...], bases: list[str], seed: int) -> None:
        self._graph = graph
        self._hosts = hosts
        self._bases = bases
        self._seed = seed
        self._furniture: dict[int, tuple[str, str]] = {}

    def page(self, plan: Plan, content: Content, day: int) -> str:
        """A whole page, with the advertising of ``day``."""
        host = self._hosts[plan.host]
        skin = SKINS[plan.host % len(SKINS)]
        before, after = self._parts(host, skin)
        declared = f'<meta charset="{plan.declared}">' if plan.declared_by == "meta" else ""
        main = skin.main.format(self._main(plan, content))
        advert = skin.ad.format(self._advert(host, plan.index + day))
        extra = ""
        if host.robots is RobotsKind.RULES and plan.template is Template.ARTICLE:
            extra = f'<p class="tools"><a href="{plan.path}?print=1">Print</a></p>'
        return (
            f'<!DOCTYPE html>\n<html lang="{plan.language}"><head>{declared}<title>{escape(content.title)} - '
            f"{brand(host)}</title>{before}{main}\n{extra}{advert}{after}"
        )

    def bare(self, plan: Plan, content: Content) -> str:
        """The page to be printed: its main content alone."""
        return (
            f'<!DOCTYPE html>\n<html lang="{plan.language}"><head><meta charset="utf-8"><title>{escape(content.title)}'
            f"</title></head><body>{self._main(plan, content)}</body></html>\n"
        )

    def notice(self, host: Host, heading: str, text: str, links: str = "") -> str:
        """A page without content of its own in the host's furniture: errors, traps."""
        before, after = self._parts(host, SKINS[host.number % len(SKINS)])
        return (
            f'<!DOCTYPE html>\n<html lang="en"><head><title>{escape(heading)}</title>{before}'
            f"<h1>{escape(heading)}</h1><p>{escape(text)}</p>{links}{after}"
        )

    def href(self, own: int, anchor: Anchor) -> str:
        """How a page of host ``own`` writes a link: from the root on its own host, absolute to another."""
        return anchor.target if anchor.host == own else self._bases[anchor.host] + anchor.target

    def _a(self, own: int, anchor: Anchor, fragment: str = "") -> str:
        return f'<a href="{self.href(own, anchor)}{fragment}">{escape(anchor.text)}</a>'

    def _item(self, plan: Plan, block: Block) -> str:
        """An item of a listing; what stands below the listing is linked relative to it."""
        anchor = block.links[0]
        href = self.href(plan.host, anchor)
        if plan.section and href.startswith(plan.path) and not self._hosts[plan.host].traps:
            href = href[len(plan.path) :]
        return f'<li><a href="{href}">{escape(anchor.text)}</a><p>{escape(block.text)}</p></li>'

    def _main(self, plan: Plan, content: Content) -> str:
        out = [f"<h1>{escape(content.title)}</h1>"]
        opened = ""
        for k, block in enumerate(content.blocks):
            wrapper = {"li": "ul", "td": "table", "item": "ul"}.get(block.tag, "")
            if wrapper != opened:
                out.append((f"</{opened}>" if opened else "") + (f"<{wrapper}>" if wrapper else ""))
                opened = wrapper
            out.append(self._block(plan, block, k))
        if opened:
            out.append(f"</{opened}>")
        return "\n".join(out)

    def _block(self, plan: Plan, block: Block, k: int) -> str:
        text = escape(block.text)
        if block.tag == "item":
            return self._item(plan, block)
        if block.tag == "td":
            name, _, value = text.partition("\t")
            return f"<tr><th>{name}</th><td>{value}</td></tr>"
        if block.links:
            text += f" {block.see} {', '.join(self._a(plan.host, link) for link in block.links)}."
        if block.tag == "post":
            number = draw(self._seed, "author", plan.host, plan.index, k) % 997
            who = f'<a href="/user/{number}" rel="nofollow">user{number}</a>'
            return f'<div class="post"><div class="who">{who}</div><p>{text}</p></div>'
        return f"<{block.tag}>{text}</{block.tag}>"

    def _parts(self, host: Host, skin: Skin) -> tuple[str, str]:
        """What stands before and after the main content and the advertising."""
        if host.number not in self._furniture:
            home, search, popular, imprint, cookies, accept = LANGUAGES[host.language].furniture
            links = "".join(f"<li>{self._a(host.number, a)}</li>" for a in self._graph.navigation(host))
            feed = f'<link rel="alternate" type="application/{"atom" if host.atom else "rss"}+xml" href="/feed.xml">'
            before = (
                f"{feed}<style>body{{font:16px serif}}nav li{{display:inline}}</style></head><body>"
                + skin.banner.format(f"{cookies} <button>{accept}</button>")
                + skin.header.format(
                    f'<a href="/">{brand(host)}</a> <form action="/search"><input name="q" title="{search}"></form>'
                    f"<nav><ul>{links}</ul></nav>"
                )
            )
            fragment = "#main" if host.number % 4 == 1 and not host.traps else ""
            side = "".join(f"<li>{self._a(host.number, a, fragment)}</li>" for a in self._graph.popular(host))
            after = (
                skin.side.format(f"<h4>{popular}</h4><ul>{side}</ul>")
                + skin.footer.format(f'© {brand(host)} | <a href="/">{home}</a> | <a href="/">{imprint}</a>')
                + "<script>var visited = true;</script></body></html>\n"
            )
            self._furniture[host.number] = before, after
        return self._furniture[host.number]

    def _advert(self, host: Host, turn: int) -> str:
        number = turn % ADVERTISEMENTS
        words = title("en", "finance", draw(self._seed, "advertisement", host.number, number))
        return f'<a href="/ad/click/{number}" rel="nofollow sponsored">{words}! Buy now, {10 + number} % off</a>'


def brand(host: Host) -> str:
    """The name that a host gives itself."""
    return host.name.split(".")[-2].replace("-", " ").title()
