"""An example: where the notes have it, which module does it, and its facts, told by both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

Said = tuple[str, object, object]
"""What is asked, what the notes say (or ``Example.by``), what fyke says."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One number, or word, of an example."""

    what: str
    notes: str
    fyke: str

    @property
    def agrees(self) -> bool:
        """Whether fyke says what the notes say."""
        return self.notes == self.fyke


@dataclass(frozen=True, slots=True)
class Example:
    """A worked example."""

    title: str
    chapter: str
    """Which notes, and the heading there."""
    module: str
    """The module of fyke that does it."""
    work: Callable[[], Iterable[Said]]
    by: str = "the notes"
    """Whose value stands beside fyke's: the notes' own, or one made from what they say."""

    def facts(self) -> Iterator[Fact]:
        """Do the example. Numbers are compared as they are written: the notes' digits are the ones that count."""
        for what, notes, found in self.work():
            yield Fact(what, shown(notes), shown(found))


def example(chapter: str, module: str, by: str = "the notes") -> Callable[[Callable[[], Iterable[Said]]], Example]:
    """Make an example of a function that does it; the first line of its docstring is the title."""

    def decorate(work: Callable[[], Iterable[Said]]) -> Example:
        return Example((work.__doc__ or "").split("\n")[0].rstrip("."), chapter, module, work, by)

    return decorate


def shown(value: object) -> str:
    """A value in the notes' manner: lists without commas, truth as yes and no."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return " ".join(shown(one) for one in value)
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return str(value)
