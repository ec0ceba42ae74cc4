"""Simulated crawling: an archive and its graph replayed as a web, ordered by the live crawler's own policies.

The room's name is also its main function: ``fyke.simulate(archive, "bfs", budget=1000)`` calls the package.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """A package that can be called: importing ``fyke.simulate`` hides the function of that name otherwise."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Run ``fyke.simulate.run.simulate``."""
        from fyke.simulate.run import simulate

        return simulate(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
