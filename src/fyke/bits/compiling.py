"""How numba is made to compile kernels in a third of the time: what fyke.bits.jit does with it while it compiles.

Most of that time is Python. The collector is off; analyses that numba repeats in every pass, and tries of some thirty
templates for an operator, are remembered or done directly; passes for what kernels do not have (closures, ``with``,
literal arguments, optional ones) are left out. The kernels that a kernel calls are linked in as they were lowered, each
once, and the whole is optimised once.
"""

from __future__ import annotations

import contextlib
import functools
import gc
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

vectors: set[str] = set()
"""Names of the kernels that are optimised by themselves."""


class Machinery(NamedTuple):
    """Classes of numba's, adapted."""

    part: Any
    """Library of what is only ever linked into a kernel."""
    whole: Any
    """Compiler of what Python calls; the libraries that numba makes meanwhile are parts."""
    inner: Any
    """Compiler of what other kernels call."""


@functools.cache
def machinery() -> Machinery:
    """Return the adapted classes, made on first use: numba is slow to import."""
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import CompilerBase

    def closure(library: Any) -> list[Any]:
        """List the libraries that one is linked with, and theirs."""
        found: dict[Any, None] = {}
        waiting = list(library._linking_libraries)
        while waiting:
            one = waiting.pop()
            if one not in found:
                found[one] = None
                waiting += one._linking_libraries if isinstance(one, Part) and not one.is_vector else []
        return list(found)

    class Whole(JITCodeLibrary):  # type: ignore[misc]  # numba has no types
        """Code that is optimised once, with all that it calls."""

        _linking_libraries: list[Any]

        def _optimize_functions(self, ll_module: Any) -> None:
            ll_module.data_layout = self._codegen._data_layout

        def finalize(self) -> None:
            self._linking_libraries = closure(self)
            super().finalize()

    class Part(JITCodeLibrary):  # type: ignore[misc]
        """Code that is only ever linked into a kernel: optimised there, and nowhere before."""

        _linking_libraries: list[Any]
        _shared_module: Any
        is_empty = True

        @property
        def is_vector(self) -> bool:
            return self.name in vectors

        def add_llvm_module(self, ll_module: Any) -> None:
            ll_module.data_layout = self._codegen._data_layout
            if self.is_empty:
                self._final_module, self.is_empty = ll_module, False
            else:
                self._final_module.link_in(ll_module)

        def finalize(self) -> None:
            for library in self._linking_libraries:
                self._reload_init.update(library._reload_init)
            if self.is_vector:
                self._linking_libraries = closure(self)
                super().finalize()
            else:
                self._finalize_final_module()

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._finalized = True

        def _get_module_for_linking(self) -> Any:
            self._ensure_finalized()
            if self._shared_module is None:
                self._shared_module = self._final_module
                for function in self._final_module.functions:
                    if not function.is_declaration and function.linkage.name == "external":
                        function.linkage = "linkonce_odr"
            return self._shared_module

        def get_pointer_to_function(self, name: str) -> int:
            self._ensure_finalized()
            return 0

    class InnerCompiler(CompilerBase):  # type: ignore[misc]
        """Compiles a kernel with the passes that it needs."""

        def define_pipelines(self) -> list[Any]:
            return [_passes(self.state)]

    class WholeCompiler(InnerCompiler):
        """Compiles what Python calls."""

        def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
            whole = Whole(target.codegen(), "kernel")
            whole.enable_object_caching()
            super().__init__(typing, target, whole, *rest)

    return Machinery(Part, WholeCompiler, InnerCompiler)


def _passes(state: Any) -> Any:
    """Return numba's passes but those for what kernels do not have."""
    from numba.core import typed_passes as typed
    from numba.core import untyped_passes as untyped
    from numba.core.compiler_machinery import PassManager

    manager = PassManager("kernel")
    for one in (
        untyped.TranslateByteCode,
        untyped.FixupArgs,
        untyped.IRProcessing,
        untyped.GenericRewrites,
        untyped.ReconstructSSA,
        typed.NopythonTypeInference,
        typed.PreLowerStripPhis,
        typed.InlineOverloads,
        typed.NopythonRewrites,
        typed.IRLegalization,
        typed.AnnotateTypes,
        typed.NativeLowering,
        typed.NoPythonBackend,
    ):
        manager.add_pass(one, one.__name__)
    manager.finalize()
    return manager


@contextlib.contextmanager
def quickly(target: Any) -> Iterator[None]:
    """Let numba compile parts, quickly. REQUIRES: its lock is held."""
    from numba.core import ir
    from numba.core.types.functions import BaseFunction
    from numba.np import arrayobj

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
                (codegen, "_library_class", machinery().part),
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
