"""Files that a kernel reads: an open file at any place, by the system's ``pread``. Cost: a call of the system, 0.5 µs.

What is read so is not mapped: however much of a file is asked for, it is no memory of this process.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, cast

from fyke.bits.jit import JIT, leaf


def _read(file: int, target: Any, place: int) -> int:
    return os.preadv(file, [target], place)


def _native(plain: Callable[[int, Any, int], int]) -> Callable[[int, Any, int], int]:
    """Return ``plain`` as a call of the C library; without JIT ``plain`` itself."""
    if not JIT:
        return plain
    from llvmlite import ir
    from numba import types
    from numba.core.cgutils import get_or_insert_function
    from numba.extending import intrinsic

    def pread(typing_context: object, file: object, target: Any, place: object) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            word, pointer = ir.IntType(64), ir.IntType(8).as_pointer()
            kind = ir.FunctionType(word, [ir.IntType(32), pointer, word, word])
            array = context.make_array(signature.args[1])(context, builder, arguments[1])
            size = builder.mul(builder.extract_value(array.shape, 0), array.itemsize)
            number, data = builder.trunc(arguments[0], ir.IntType(32)), builder.bitcast(array.data, pointer)
            called = get_or_insert_function(builder.module, kind, "pread")
            return builder.call(called, [number, data, size, arguments[2]])

        return types.int64(types.int64, target, types.int64), emit

    return cast("Callable[[int, Any, int], int]", intrinsic(pread))


_pread = _native(_read)


@leaf
def read_at(file: int, target: Any, place: int) -> int:
    """Fill an array from byte ``place`` of an open file on; return how many bytes there were, below 0 if it failed.

    REQUIRES: a contiguous array of one dimension.
    """
    return _pread(file, target, place)
