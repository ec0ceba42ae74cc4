"""All examples, in the order of a document's way."""

from __future__ import annotations

from fyke.lecture import archives, crawling, duplicates, ranking, storing

EXAMPLES = (*crawling.EXAMPLES, *storing.EXAMPLES, *duplicates.EXAMPLES, *archives.EXAMPLES, *ranking.EXAMPLES)
