"""``lazy``: an attribute that is made when first asked for, and kept: ``cached_property`` without its lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801 - used as a decorator
    """Make the attribute by the decorated method. REQUIRES: the class has a ``__dict__``."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._name = make.__name__
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, owner: None, kind: type[Any]) -> lazy[T]: ...
    @overload
    def __get__(self, owner: object, kind: type[Any]) -> T: ...
    def __get__(self, owner: object | None, kind: type[Any]) -> lazy[T] | T:
        if owner is None:
            return self
        made = owner.__dict__[self._name] = self._make(owner)
        return made
