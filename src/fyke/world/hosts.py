"""The hosts of a world: names, sizes, languages and peculiarities, by their number.

Peculiarities repeat every 25 hosts, at fixed numbers, so that a small world is easy to read and a world of 25
hosts has met them all.
"""

from __future__ import annotations

from fyke.world.chance import draw
from fyke.world.config import SMALLEST_HOST, WorldConfig
from fyke.world.languages import LANGUAGES, TOPICS
from fyke.world.scripted import MANNERS
from fyke.world.truth import Host, RobotsKind, Template, Validity

PERIOD = 25
TRAPS, MIRROR, SLOW, DELAYED, FLAKY, UNVALIDATED, BROKEN_ROBOTS = (2, 15), 4, 6, 7, 8, 9, 10
SCRIPTED = 1  # of five
SOFT, UNMAPPED, NOW, FROZEN, MOVED_ROBOTS, NO_ROBOTS, CLOSED = 12, 13, 16, 18, 20, 22, 24

PAGES_PER_SECTION = 40
CRAWL_DELAY = 0.5
"""Seconds; short, since tests on real sockets wait for it."""
SLOW_LATENCY = 0.4

_FIRST = [
    "amber", "ancient", "bright", "calm", "cedar", "clear", "copper", "distant", "early", "elder", "fair",
    "golden", "granite", "green", "hidden", "ivory", "little", "lunar", "misty", "northern", "open", "quiet",
    "river", "silver",
]  # fmt: skip
_SECOND = [
    "atlas", "beacon", "bulletin", "chronicle", "compass", "courier", "digest", "forum", "gazette", "guide",
    "herald", "journal", "ledger", "library", "monitor", "notes", "observer", "paper", "post", "record",
    "review", "tribune", "weekly", "works",
]  # fmt: skip
_SUBDOMAINS = ("blog", "shop", "docs", "forum")
_TEMPLATES = (
    Template.ARTICLE, Template.ARTICLE, Template.FORUM, Template.ARTICLE,
    Template.DOCUMENTATION, Template.ARTICLE, Template.PRODUCT,
)  # fmt: skip
_LANGUAGES = ("en", "en", "de", "en", "en", "fr", "ru", "en", "en", "zh", "en", "ja", "el", "ar", "en", "hi", "th")


def make_hosts(config: WorldConfig) -> tuple[Host, ...]:
    """Every host, in order of number. Mirrors have the size of their original; the others share ``config.pages``."""
    mirrors = {j for j in range(config.hosts) if config.mirrors and j % PERIOD == MIRROR}
    sizes = _sizes(config.pages, [j for j in range(config.hosts) if j not in mirrors])
    names = _names(config)
    made: list[Host] = []
    for j in range(config.hosts):
        original = j - 1 if j in mirrors else None
        model = original if original is not None else j
        made.append(_host(config, j, model, names[j], sizes[model]))
    return tuple(made)


def _host(config: WorldConfig, j: int, model: int, name: str, pages: int) -> Host:
    """Host ``j``; a mirror looks like its ``model`` and has no peculiarity of its own but being one."""
    kind = j % PERIOD
    robots = RobotsKind.ABSENT
    if config.robots:
        robots = {
            BROKEN_ROBOTS: RobotsKind.BROKEN, MOVED_ROBOTS: RobotsKind.REDIRECT,
            NO_ROBOTS: RobotsKind.ABSENT, CLOSED: RobotsKind.CLOSED,
        }.get(kind, RobotsKind.RULES)  # fmt: skip
    validity = {UNVALIDATED: Validity.NONE, NOW: Validity.NOW, FROZEN: Validity.FROZEN}.get(kind, Validity.HONEST)
    return Host(
        number=j,
        name=name,
        language=_LANGUAGES[model % len(_LANGUAGES)] if config.languages else "en",
        topic=tuple(TOPICS)[draw(config.seed, "host topic", model) % len(TOPICS) if model >= len(TOPICS) else model],
        template=_TEMPLATES[model % len(_TEMPLATES)],
        pages=pages,
        sections=max(1, round((pages - 1) / (PAGES_PER_SECTION + 1))),
        mirror_of=model if model != j else None,
        robots=robots,
        crawl_delay=CRAWL_DELAY if config.robots and kind == DELAYED else 0.0,
        validity=validity,
        soft_errors=config.errors and kind == SOFT,
        traps=config.traps and kind in TRAPS,
        latency=SLOW_LATENCY if config.slow and kind == SLOW else 0.0,
        flaky=config.flaky and kind == FLAKY,
        rotating_ads=config.changes and model % 3 == 1,
        sitemap=kind != UNMAPPED,
        atom=model % 2 == 1,
        scripted=MANNERS[j // 5 % len(MANNERS)] if config.scripted and j % 5 == SCRIPTED else "",
    )


def _sizes(pages: int, hosts: list[int]) -> dict[int, int]:
    """Share ``pages`` among ``hosts`` exactly, the k-th about ∝ 1/(k+3)^0.7, none below the smallest."""
    weights = [1 / (k + 3) ** 0.7 for k in range(len(hosts))]
    spare, total = pages - SMALLEST_HOST * len(hosts), sum(weights)
    sizes = [SMALLEST_HOST + int(spare * w / total) for w in weights]
    for k in range(pages - sum(sizes)):
        sizes[k % len(sizes)] += 1
    return dict(zip(hosts, sizes, strict=True))


def _names(config: WorldConfig) -> list[str]:
    """Distinct names under .test, which no resolver knows; every fifth host is a sister of the one before."""
    names: list[str] = []
    turn = draw(config.seed, "names")
    for j in range(config.hosts):
        if j % 5 == 3:
            names.append(f"{_SUBDOMAINS[j // 5 % len(_SUBDOMAINS)]}.{names[-1].removeprefix('www.')}")
            continue
        n = (turn + j * 7) % (len(_FIRST) * len(_SECOND))
        word = f"{_FIRST[n % len(_FIRST)]}-{_SECOND[n // len(_FIRST)]}"
        many = j * 7 // (len(_FIRST) * len(_SECOND))
        names.append(f"www.{word}{many or ''}.test")
    return names


assert set(_LANGUAGES) == set(LANGUAGES)
