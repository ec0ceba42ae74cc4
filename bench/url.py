"""Parse + join + key of URLs in µs, beside yarl, w3lib and urllib (which have no row key: joined and canonical)."""

from __future__ import annotations

import random
from urllib.parse import urljoin, urlsplit

from w3lib.url import canonicalize_url
from yarl import URL

from bench.measure import best_cpu, figure, table
from fyke.url import Url

COUNT = 20_000


def links(count: int) -> tuple[str, list[str]]:
    """A page and the links on it: absolute, rooted, relative, with queries and escapes."""
    chance = random.Random(1)
    shapes = ["/wiki/{}_{}", "../{}/{}.html?x=1&y=2", "https://host{}.example.org/{}/index.html#top", "{}/%7euser/{}"]
    words = [f"word{chance.randrange(10**6)}" for _ in range(1000)]
    return "http://en.wikipedia.org/wiki/Main_Page", [
        chance.choice(shapes).format(chance.choice(words), chance.choice(words)) for _ in range(count)
    ]


def main() -> None:
    base, references = links(COUNT)
    page, yarl_page = Url.parse(base), URL(base)
    runs = {
        "fyke Url: join + normal form + row key": lambda: [page.join(r).key for r in references],
        "fyke Url: join + normal form": lambda: [page.join(r) for r in references],
        "yarl: join": lambda: [yarl_page.join(URL(r)) for r in references],
        "urllib: urljoin + urlsplit": lambda: [urlsplit(urljoin(base, r)) for r in references],
        "w3lib: urljoin + canonicalize_url": lambda: [canonicalize_url(urljoin(base, r)) for r in references],
    }
    times = {name: best_cpu(work, 3) / COUNT * 1e6 for name, work in runs.items()}
    own = next(iter(times.values()))
    figure("join, normal form and row key", "µs", own, {k: v for k, v in times.items() if not k.startswith("fyke")})
    print(table(["what", "µs per URL", "× fyke"], [[name, t, t / own] for name, t in times.items()]))


if __name__ == "__main__":
    main()
