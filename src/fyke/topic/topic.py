r"""A topic: what a user is after, as a TOML file says it.

::

    name = "sailing"                                   # all of it is optional but one of the first three
    relevant = ["https://example.org/knots.html", "examples/rigging.html"]     # example pages: URLs or files
    words = ["keel", "rudder", "man overboard"]        # a page with enough of them is relevant
    patterns = ["\\bcatamarans?\\b"]                   # a page whose URL, title or text matches one is relevant
    irrelevant = ["https://example.org/cookies.html"]  # what it is not; drawn from a store where none is given
    languages = ["en"]                                 # any other language is irrelevant
    types = ["text/html", "application/pdf"]           # any other media type is irrelevant
    threshold = 0.5                                    # relevant pages are at least so probably about the topic
    tunnel = 3                                         # irrelevant pages in a row through which links are followed
    decay = 0.5                                        # what is left of a page's relevance after each of them
    explore = 0.05                                     # share of links that are followed by lot
    host_share = 0.25                                  # of all pages, what one host gets before it has to wait
"""

from __future__ import annotations

import tomllib

import msgspec

from fyke.errors import UserError
from fyke.patterns import Pattern

FREE_PAGES = 100.0
"""Pages of a host before its share of all counts."""


class Topic(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a user is after; see the module for what the fields mean."""

    name: str = ""
    relevant: tuple[str, ...] = ()
    irrelevant: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    threshold: float = 0.5
    tunnel: int = 3
    decay: float = 0.5
    explore: float = 0.05
    host_share: float = 0.25

    def __post_init__(self) -> None:
        """Refuse what makes no topic."""
        for name, low, high in (
            ("threshold", 0.0, 1.0), ("decay", 0.0, 1.0), ("explore", 0.0, 1.0), ("host_share", 0.0, 1.0),
            ("tunnel", 0, 100),
        ):  # fmt: skip
            if not low <= getattr(self, name) <= high:
                raise UserError(f"the topic's {name} is {getattr(self, name)}; give one between {low} and {high}")
        for pattern in self.patterns:
            try:
                Pattern(pattern)
            except ValueError as error:
                raise UserError(f"the topic's pattern {pattern[:80]!r} is no regular expression: {error}") from None
        both = sorted(set(self.relevant) & set(self.irrelevant))
        if both:
            raise UserError(f"{both[0]} is given as relevant and as irrelevant; keep it in one list")


def parse(text: str, name: str) -> Topic:
    """Read a topic file's text. Raises ``UserError``; ``name`` is the file's, for its messages."""
    try:
        topic = msgspec.convert(tomllib.loads(text), Topic)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{name} is no TOML ({error}); `fyke topic train --help` shows a topic file") from None
    except msgspec.ValidationError as error:
        raise UserError(f"{name} is no topic: {error}; `fyke topic train --help` shows a topic file") from None
    return check(topic, name)


def check(topic: Topic, name: str) -> Topic:
    """Return a topic that says something. Raises ``UserError`` for one that does not."""
    if not (topic.relevant or topic.words or topic.patterns):
        raise UserError(f"{name} has no positive example; give relevant pages, words or patterns")
    return topic
