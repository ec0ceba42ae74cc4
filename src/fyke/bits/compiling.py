"""How numba is made to compile kernels in a third of the time: what bits/dispatcher.py does with it meanwhile.

Most of that time is Python. The collector is off; analyses that numba repeats in every pass, and tries of some thirty
templates for an operator, are remembered or done directly. bits/libraries.py leaves passes out, and optimises once.
"""

from __future__ import annotations

import contextlib
import functools
import gc
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


@contextlib.contextmanager
def quickly(target: Any) -> Iterator[None]:
    """Let numba compile parts, quickly. REQUIRES: its lock is held."""
    from numba.core import ir
    from numba.core.types.functions import BaseFunction
    from numba.np import arrayobj

    from fyke.bits.libraries import Part

    codegen = target.codegen()
    set_env = codegen.set_env

    def set_env_if_known(name: str, environment: object) -> None:
        if codegen._engine.get_global_value_address(name):  # not that of a part
            set_env(name, environment)

    sizes: dict[str, int] = {}

    def get_abi_sizeof(kind: Any) -> int:
        name = str(kind)
        if name not in sizes:
            sizes[name] = kind.get_abi_size(target.target_data)
        return sizes[name]

    collecting = gc.isenabled()
    gc.disable()
    try:
        with contextlib.ExitStack() as stack:
            for owner, name, value in (
                (codegen, "_library_class", Part),
                (codegen, "set_env", set_env_if_known),
                (codegen, "_check_llvm_bugs", lambda: None),
                (target, "get_abi_sizeof", get_abi_sizeof),
                (arrayobj, "raise_with_shape_context", _shape_error()),
                (BaseFunction, "get_call_type", _remembering(BaseFunction.get_call_type)),
                (ir.Stmt, "list_vars", lambda self: _variables(self.__dict__.values(), [])),
                (ir.Expr, "list_vars", lambda self: _variables(self._kws.values(), [])),
            ):
                stack.enter_context(_replaced(owner, name, value))
            yield
    finally:
        if collecting:
            gc.freeze()  # most of what was made is kept; to look for the rest takes a twentieth of the time to compile
            gc.enable()


def with_room(call: Callable[[], T]) -> T:
    """Call with a frame so large that those below it share its chunk of Python's stack.

    Chunks are 16 KB otherwise; numba's recursion crosses their borders all the time, and at each crossing one is
    mapped, touched and unmapped: a tenth of the time to compile.
    """
    return call()


with_room.__code__ = with_room.__code__.replace(co_stacksize=80_000)


@functools.cache
def _shape_error() -> Any:
    """Return what raises an error where a slice gets an array of another shape: numba's compiles strings to tell it."""
    from numba.extending import overload

    def mismatch(source: Any, target: Any) -> None:
        raise NotImplementedError

    @overload(mismatch)  # type: ignore[untyped-decorator]
    def _typed(source: Any, target: Any) -> Any:
        def implementation(source: Any, target: Any) -> None:
            raise ValueError("cannot assign to a slice of another shape")

        return implementation

    return mismatch


@contextlib.contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    own = vars(owner)
    before, had = own.get(name), name in own
    setattr(owner, name, value)
    try:
        yield
    finally:
        if had:
            setattr(owner, name, before)
        else:
            delattr(owner, name)


def _variables(values: Any, found: list[Any]) -> list[Any]:
    """Add the variables among the parts of an instruction to ``found``, in order."""
    var, instruction = _kinds()
    for value in values:
        if value.__class__ is var:
            found.append(value)
        elif isinstance(value, instruction):
            found += value.list_vars()
        elif isinstance(value, (list, tuple)):
            _variables(value, found)
        elif isinstance(value, dict):
            _variables(value.values(), found)
    return found


@functools.cache
def _kinds() -> tuple[Any, Any]:
    from numba.core import ir

    return ir.Var, ir.Inst


def _remembering(resolve: Any) -> Any:
    """Return a BaseFunction.get_call_type that remembers what the operators of given types are."""
    from numba.core.targetconfig import ConfigStack

    known: dict[Any, Any] = _known_calls()

    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        flags = ConfigStack.top_or_none()
        options = known.get(id(flags))
        if options is None:
            values = None if flags is None else tuple(sorted((n, str(v)) for n, v in flags._values.items()))
            options = known[id(flags)] = flags, values
        key = id(self), tuple(args), tuple(kws.items()), options[1]
        found = known.get(key)
        if found is None:
            signature = resolve(self, context, args, kws)
            if signature is not None:
                known[key] = self, signature, self._impl_keys[signature.args]
            return signature
        _, signature, implementation = found
        self._impl_keys[signature.args] = implementation
        return signature

    return get_call_type


@functools.cache
def _known_calls() -> dict[Any, Any]:
    """Return where calls are remembered. What a key identifies by its id is kept alive in the value."""
    from numba.core.targetconfig import TargetConfig

    equal = TargetConfig.__eq__  # compares forty properties, and its hash is the same for all
    TargetConfig.__hash__ = lambda self: 0
    TargetConfig.__eq__ = lambda self, other: (
        (type(self) is type(other) and self._values == other._values) or equal(self, other)
    )
    return {}
