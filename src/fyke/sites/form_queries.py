"""What a form is asked for: a select and its sample, one request, a query and the pages of its answer."""

from __future__ import annotations

import msgspec

SAMPLE = 10
"""Values of a select that are tried before the others."""
DISTINCT = 0.25
"""Of their answers, the share that must differ."""
NEW = 0.2
"""Of the links of their answers, the share that must be new."""
MAX_VALUES = 200
"""Of a select; they are spread over all where there are more."""


class Choice(msgspec.Struct, array_like=True):
    """A select, and what is known of it."""

    name: str
    values: list[str]
    """Still to be asked for."""
    sample: int
    """Of these, how many belong to the sample."""
    signatures: list[int] = []
    """Of the answers."""
    links: int = 0
    """Of all answers."""
    new: int = 0
    """Of these, those that were new."""

    @classmethod
    def of(cls, name: str, values: list[str]) -> Choice:
        """Return a select whose sample, spread over all its values, comes first."""
        values = [*dict.fromkeys(value for value in values if value)]
        values = values[:: max(1, len(values) // MAX_VALUES)][:MAX_VALUES]
        count = min(SAMPLE, len(values))
        sample = dict.fromkeys(values[i * len(values) // count] for i in range(count))
        return cls(name, [*sample, *(value for value in values if value not in sample)], count)

    @property
    def informative(self) -> bool:
        """Whether its answers differ, and bring something."""
        distinct = len(set(self.signatures)) >= DISTINCT * max(1, len(self.signatures))
        return distinct and self.new >= NEW * max(1, self.links)

    @property
    def worth(self) -> float:
        """What a value of it brings."""
        return self.new / max(1, len(self.signatures))


class Ask(msgspec.Struct, array_like=True, frozen=True):
    """One request."""

    href: str
    worth: float
    """New results that it is expected to bring; of a next page, what the one before it brought."""
    query: int
    """The query that it belongs to, by number."""
    values: dict[str, str] = {}
    """What was filled in; empty for a next page."""
    choice: int = -1
    """The select that it is a value of."""


class Course(msgspec.Struct, array_like=True):
    """A query whose pages are not at their end."""

    share: float = 0.0
    """Of the results known when it was asked, those that held its word."""
    pages: int = 0
    length: int = 0
