"""Kernels: compiled hot loops, cached on disk by their source. The only module that mentions numba.

``@kernel`` compiles a function over arrays the first time it is called with arguments of given types and
keeps the machine code under ``$FYKE_CACHE_DIR`` (default ``~/.cache/fyke``)``/kernels``. The key is a hash of
the module's source, of its constants (they may come from elsewhere) and of the keys of the kernels it imports from
other modules, so an edit anywhere below recompiles, and another checkout with the same source does not. While something
compiles for the first time, one line on stderr says so. With ``NUMBA_DISABLE_JIT=1`` a kernel is the plain function
itself.

``leading_zeros``, ``trailing_zeros`` and ``popcount`` of a 64-bit word are one machine instruction inside a kernel;
``bytes_equal`` and ``bytes_below`` compare LANES bytes of an array at once, ``copy_lanes`` copies as many.

A kernel's callees are defined or imported above it. No kernel calls itself: a cached self-recursive
function crashes in the next process.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
REGISTRY: list[FunctionType] = []
"""Every kernel's plain function, in order of definition: the tests check that each one runs without JIT."""

_module_keys: dict[str, str] = {}
_notice_given = False


def kernel(function: F) -> F:
    """Compile ``function`` on first use. REQUIRES: it lives in a module file, takes arrays and scalars."""
    return _registered(function)


def leaf(function: F) -> F:
    """Make a kernel that allocates nothing: arrays reach it without reference counts, which cost 10 ns a call."""
    return _registered(function, _nrt=False)


def inlined(function: F) -> F:
    """Make a leaf whose body is copied into every caller: for the few instructions of an innermost step."""
    return _registered(function, _nrt=False, forceinline=True)


def kernel_key(function: object) -> str | None:
    """Return the source key under which a compiled kernel is cached; None for anything else."""
    return getattr(function, "fyke_key", None)


def cache_directory() -> Path:
    """Return the directory of fyke's caches: what is in it can be deleted at any time."""
    own = os.environ.get("FYKE_CACHE_DIR")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fyke"


def _registered(function: F, **options: bool) -> F:
    plain = cast(FunctionType, function)
    REGISTRY.append(plain)
    return cast(F, _compiled(plain, **options)) if JIT else function


def _compiled(plain: FunctionType, **options: bool) -> Any:
    import numba
    from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

    key = _source_key(plain)

    class SourceKeyLocator(_CacheLocator):  # type: ignore[misc]  # numba has no types
        _py_file = plain.__code__.co_filename

        def get_cache_path(self) -> str:
            return str(cache_directory() / "kernels" / f"{plain.__module__}-{key[:16]}")

        def get_source_stamp(self) -> str:
            return key

        def get_disambiguator(self) -> str:
            return str(plain.__code__.co_firstlineno)

        @classmethod
        def from_function(cls, py_func: object, py_file: str) -> SourceKeyLocator:
            return cls()

    class CacheImpl(CompileResultCacheImpl):  # type: ignore[misc]
        _locator_classes = [SourceKeyLocator]  # noqa: RUF012 - numba's own name and shape

    class KernelCache(FunctionCache):  # type: ignore[misc]
        _impl_class = CacheImpl

        def load_overload(self, sig: object, target_context: object) -> object:
            found = super().load_overload(sig, target_context)
            if found is None:
                _give_notice()
            return found

    dispatcher = numba.njit(plain, nogil=True, **options)
    dispatcher._cache = KernelCache(plain)
    dispatcher.fyke_key = key
    return dispatcher


def _source_key(plain: FunctionType) -> str:
    """Hash the module's source, its constants, the kernels that it imports, and the compiler's version."""
    import numba
    import numpy as np

    source = _module_keys.get(plain.__module__)
    if source is None:
        source = hashlib.sha256(Path(plain.__code__.co_filename).read_bytes()).hexdigest()
        _module_keys[plain.__module__] = source
    imported = sorted(
        key
        for value in plain.__globals__.values()
        if (key := kernel_key(value)) is not None and value.py_func.__module__ != plain.__module__
    )
    whole = hashlib.sha256("\n".join([source, *imported, numba.__version__]).encode())
    for name, value in plain.__globals__.items():
        if isinstance(value, np.ndarray):
            whole.update(name.encode() + value.tobytes())
        elif all(isinstance(v, (int, float, np.generic)) for v in (value if isinstance(value, tuple) else [value])):
            whole.update(f"{name}={value!r}".encode())
    return whole.hexdigest()


def _give_notice() -> None:
    global _notice_given  # noqa: PLW0603 - once per process
    if not _notice_given:
        _notice_given = True
        print("fyke: compiling kernels, once; the next run starts at once", file=sys.stderr, flush=True)


def _bit_instruction(name: str, plain: Callable[[Any], int]) -> Callable[[Any], int]:
    """Return ``plain`` as one LLVM instruction on a uint64; outside kernels and without JIT, ``plain`` itself."""
    if not JIT:
        return plain
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    def build(typing_context: object, word: object) -> Any:
        def emit(context: object, builder: Any, signature: object, arguments: Any) -> Any:
            operands = [builder.bitcast(arguments[0], ir.IntType(64))]
            if name != "ctpop":
                operands.append(ir.Constant(ir.IntType(1), 0))  # zero is a defined input: 64
            return getattr(builder, name)(*operands)

        return types.int64(types.uint64), emit

    build.__name__ = plain.__name__
    return cast("Callable[[Any], int]", intrinsic(build))


leading_zeros = _bit_instruction("ctlz", lambda word: 64 - int(word).bit_length())
trailing_zeros = _bit_instruction("cttz", lambda word: (int(word) & -int(word)).bit_length() - 1 if word else 64)
popcount = _bit_instruction("ctpop", lambda word: int(word).bit_count())


_Lanes = Callable[[Any, int, Any], int]
LANES = 32
"""Bytes that are compared at once: one vector register of today's machines."""


def _lane_mask(name: str, predicate: str, plain: _Lanes) -> _Lanes:
    """Return ``plain`` as a comparison of vectors. REQUIRES: a contiguous array of uint8 with LANES more bytes."""
    if not JIT:
        return plain
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    def build(typing_context: object, array: Any, at: object, byte: object) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            lanes = ir.VectorType(ir.IntType(8), LANES)
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            place = builder.bitcast(builder.gep(data, [arguments[1]]), lanes.as_pointer())
            found = builder.load(place, align=1)
            one = builder.insert_element(ir.Constant(lanes, ir.Undefined), arguments[2], ir.IntType(32)(0))
            every = builder.shuffle_vector(
                one, ir.Constant(lanes, ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
            )
            mask = builder.bitcast(builder.icmp_unsigned(predicate, found, every), ir.IntType(LANES))
            return builder.zext(mask, ir.IntType(64))

        return types.uint64(array, types.int64, types.uint8), emit

    build.__name__ = name
    return cast("_Lanes", intrinsic(build))


bytes_equal = _lane_mask(
    "bytes_equal", "==", lambda array, at, byte: sum(1 << k for k in range(LANES) if array[at + k] == byte)
)
"""``bytes_equal(array, at, byte)``: bit k says whether ``array[at + k] == byte``."""
bytes_below = _lane_mask(
    "bytes_below", "<", lambda array, at, byte: sum(1 << k for k in range(LANES) if array[at + k] < byte)
)
"""``bytes_below(array, at, byte)``: bit k says whether ``array[at + k] < byte``."""


def _copy_lanes(source: Any, start: int, target: Any, place: int) -> None:
    target[place : place + LANES] = source[start : start + LANES]


def _lane_copy(plain: Callable[[Any, int, Any, int], None]) -> Callable[[Any, int, Any, int], None]:
    if not JIT:
        return plain
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    def copy_lanes(typing_context: object, source: Any, start: object, target: Any, place: object) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            lanes = ir.VectorType(ir.IntType(8), LANES).as_pointer()
            places = [
                builder.bitcast(
                    builder.gep(context.make_array(kind)(context, builder, array).data, [at]),
                    lanes,
                )
                for kind, array, at in zip(signature.args[::2], arguments[::2], arguments[1::2], strict=True)
            ]
            builder.store(builder.load(places[0], align=1), places[1], align=1)
            return context.get_dummy_value()

        return types.void(source, types.int64, target, types.int64), emit

    return cast("Callable[[Any, int, Any, int], None]", intrinsic(copy_lanes))


copy_lanes = _lane_copy(_copy_lanes)
"""``copy_lanes(source, start, target, place)`` copies LANES bytes. REQUIRES: both arrays are contiguous arrays of uint8
and have so many from there on; what is beyond the bytes that were wanted is overwritten later."""
