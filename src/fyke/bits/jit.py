"""Kernels: compiled hot loops, cached on disk by their source. Who writes one needs nothing else of numba.

``@kernel`` compiles a function over arrays the first time it is called with arguments of given types and keeps the
machine code under ``$FYKE_CACHE_DIR`` (default ``~/.cache/fyke``)``/kernels`` (bits/kernelcache.py), by a name that
covers all that it depends on (bits/kernelkeys.py): an edit anywhere below recompiles, another checkout with the same
source does not. While something compiles, one line on stderr says so, and other processes that want it wait for its
file. ``FYKE_KERNEL_LOG`` names a file to which every compilation is noted. With ``NUMBA_DISABLE_JIT=1`` a kernel is the
plain function itself.

What Python calls is compiled whole: the kernels that it calls are linked in as they were lowered, and the whole
is optimised once. (numba by itself optimises each of them, then again in every caller, and keeps each.) They are
specialised by the types of their arguments, not by the values of constants. CONTRIBUTING.md says what makes a
kernel quick to compile.

``leading_zeros``, ``trailing_zeros`` and ``popcount`` of a 64-bit word are one machine instruction inside a kernel;
``bytes_equal`` and ``bytes_below`` compare LANES bytes of an array at once, ``copy_lanes`` copies as many,
``eight_bytes`` reads so many; ``read_at`` reads an open file.

A kernel's callees are defined or imported above it. No kernel calls itself: a cached self-recursive
function crashes in the next process.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
REGISTRY: list[FunctionType] = []
"""Every kernel's plain function, in order of definition: the tests check that each one runs without JIT."""


def kernel(function: F) -> F:
    """Compile ``function`` on first use. REQUIRES: it lives in a module file, takes arrays and scalars."""
    return _registered(function)


def leaf(function: F) -> F:
    """Make a kernel that allocates nothing: arrays reach it without reference counts, which cost 10 ns a call."""
    return _registered(function, _nrt=False)


def inlined(function: F) -> F:
    """Make a leaf whose body is copied into every caller: for the few instructions of an innermost step."""
    return _registered(function, _nrt=False, forceinline=True)


def vector(function: F) -> F:
    """Make a leaf whose loops become vectors: optimised by itself, before what calls it knows too much to see that."""
    return _registered(function, _nrt=False, vector=True)


def _registered(function: F, **options: bool) -> F:
    plain = cast(FunctionType, function)
    REGISTRY.append(plain)
    if not JIT:
        return function
    from fyke.bits.dispatcher import Kernel

    return cast(F, Kernel(plain, **options))


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


def _as_word(plain: Callable[..., int]) -> Callable[..., Any]:
    import numpy as np

    return lambda *arguments: np.uint64(plain(*arguments))


def _lane_mask(name: str, predicate: str, plain: _Lanes) -> _Lanes:
    """Return ``plain`` as a comparison of vectors. REQUIRES: a contiguous array of uint8 with LANES more bytes."""
    if not JIT:
        return _as_word(plain)
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


def _eight_bytes(plain: Callable[[Any, int], int]) -> Callable[[Any, int], Any]:
    if not JIT:
        return _as_word(plain)
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    def eight_bytes(typing_context: object, array: Any, at: object) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            place = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(64).as_pointer())
            return builder.load(place, align=1)

        return types.uint64(array, types.int64), emit

    return cast("Callable[[Any, int], Any]", intrinsic(eight_bytes))


eight_bytes = _eight_bytes(lambda array, at: int.from_bytes(array[at : at + 8].tobytes(), "little"))
"""``eight_bytes(array, at)``: eight bytes as a uint64, the first one lowest (as all machines of today have them).
REQUIRES: a contiguous array of uint8 with so many from there on."""


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


def _read_at(file: int, target: Any, place: int) -> int:
    return os.preadv(file, [target], place)


def _file_read(plain: Callable[[int, Any, int], int]) -> Callable[[int, Any, int], int]:
    """Return ``plain`` as a call of the C library's ``pread``."""
    if not JIT:
        return plain
    from llvmlite import ir
    from numba import types
    from numba.core.cgutils import get_or_insert_function
    from numba.extending import intrinsic

    def read_at(typing_context: object, file: object, target: Any, place: object) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            word, pointer = ir.IntType(64), ir.IntType(8).as_pointer()
            kind = ir.FunctionType(word, [ir.IntType(32), pointer, word, word])
            array = context.make_array(signature.args[1])(context, builder, arguments[1])
            size = builder.mul(builder.extract_value(array.shape, 0), array.itemsize)
            number, data = builder.trunc(arguments[0], ir.IntType(32)), builder.bitcast(array.data, pointer)
            called = get_or_insert_function(builder.module, kind, "pread")
            return builder.call(called, [number, data, size, arguments[2]])

        return types.int64(types.int64, target, types.int64), emit

    return cast("Callable[[int, Any, int], int]", intrinsic(read_at))


read_at = _file_read(_read_at)
"""``read_at(file, target, place)`` fills an array from byte ``place`` of an open file on and says how many bytes there
were, below 0 where it failed: half a microsecond. What is read so is not mapped, and no memory of this process.
REQUIRES: a contiguous array of one dimension."""
