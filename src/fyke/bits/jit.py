"""Kernels: compiled hot loops, cached on disk by their source. Only this and bits/compiling.py mention numba.

``@kernel`` compiles a function over arrays the first time it is called with arguments of given types and
keeps the machine code under ``$FYKE_CACHE_DIR`` (default ``~/.cache/fyke``)``/kernels`` (bits/kernelcache.py). The key
covers the module's source and constants (they may come from elsewhere), the same of the modules whose kernels it
imports, this module, the types of the arguments, the versions of Python, numba and llvmlite, and the processor; so an
edit anywhere below recompiles, and another checkout with the same source does not. While something compiles, one line
on stderr says so, and other processes that want it wait for its file. ``FYKE_KERNEL_LOG`` names a file to which every
compilation is noted. With ``NUMBA_DISABLE_JIT=1`` a kernel is the plain function itself.

What Python calls is compiled whole: the kernels that it calls are linked in as they were lowered, and the whole
is optimised once. (numba by itself optimises each of them, then again in every caller, and keeps each.) They are
specialised by the types of their arguments, not by the values of constants. CONTRIBUTING.md says what makes a
kernel quick to compile.

``leading_zeros``, ``trailing_zeros`` and ``popcount`` of a 64-bit word are one machine instruction inside a kernel;
``bytes_equal`` and ``bytes_below`` compare LANES bytes of an array at once, ``copy_lanes`` copies as many,
``eight_bytes`` reads so many.

A kernel's callees are defined or imported above it. No kernel calls itself: a cached self-recursive
function crashes in the next process.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

from fyke.bits import compiling, kernelcache

F = TypeVar("F", bound=Callable[..., Any])

JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
REGISTRY: list[FunctionType] = []
"""Every kernel's plain function, in order of definition: the tests check that each one runs without JIT."""

PORTABLE_CPU = "x86-64-v3"
PORTABLE_FEATURES = (
    "+avx,+avx2,+bmi,+bmi2,+cmov,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,+sse,+sse2,+sse3,"
    "+sse4.1,+sse4.2,+ssse3,+xsave"
)
PORTABLE = PORTABLE_CPU, PORTABLE_FEATURES
"""What a platform wheel's kernels are compiled for: the processors of the last ten years."""

SOURCE = b"".join(Path(__file__).with_name(name).read_bytes() for name in ("jit.py", "compiling.py"))
_module_keys: dict[str, str] = {}


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
    compiling.vectors.add(function.__name__)
    return _registered(function, _nrt=False)


def _registered(function: F, **options: bool) -> F:
    plain = cast(FunctionType, function)
    REGISTRY.append(plain)
    return cast(F, _compiled(plain, **options)) if JIT else function


def _compiled(plain: FunctionType, **options: bool) -> Any:
    return _dispatchers()(plain, options)


@functools.cache
def _dispatchers() -> Any:
    """Return the class of kernels: numba's dispatcher with a compiler and a cache of our own."""
    from numba.core import sigutils
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.registry import CPUDispatcher
    from numba.core.runtime import rtsys
    from numba.core.types.misc import unliteral

    made_by = compiling.machinery()

    class Inner(CPUDispatcher):  # type: ignore[misc]
        """A kernel as other kernels call it."""

        def compile(self, sig: Any) -> Any:
            args, return_type = sigutils.normalize_signature(sig)
            made = self.overloads.get(tuple(args))
            if made is None:
                with global_compiler_lock, self._compiling_counter:
                    made = self._compiler.compile(args, return_type)
                    self.add_overload(made)
            return made.entry_point

    class Kernel(CPUDispatcher):  # type: ignore[misc]
        """A kernel as Python calls it."""

        def __init__(self, plain: FunctionType, options: dict[str, bool]) -> None:
            target = {"nopython": True, "nogil": True, "no_cfunc_wrapper": True, **options}
            super().__init__(plain, targetoptions=target, pipeline_class=made_by.whole)

        @functools.cached_property
        def inner(self) -> Inner:
            options = {**self.targetoptions, "no_cpython_wrapper": True}
            return Inner(self.py_func, targetoptions=options, pipeline_class=made_by.inner)

        def compile(self, sig: Any) -> Any:
            args, return_type = sigutils.normalize_signature(sig)
            with global_compiler_lock, self._compiling_counter:
                made = self.overloads.get(tuple(args))
                if made is not None:
                    return made.entry_point
                rtsys.initialize(self.targetctx)  # all that machine code needs; the rest is the compiler's
                name, shipped = _file_names(self, args)
                made = _loaded(self.targetctx, kernelcache.load(name, shipped))
                if made is None:
                    with kernelcache.lock(name):  # another process may be at it
                        made = _loaded(self.targetctx, kernelcache.load(name, shipped))
                        if made is None:
                            self.targetctx.refresh()
                            made = self._compiled_whole(args, return_type)
                            kernelcache.save(name, _kept(made))
                self.add_overload(made)
                return made.entry_point

        def _compiled_whole(self, args: Any, return_type: Any) -> Any:
            kernelcache.tell("compiling kernels, once; the next run starts at once")
            began = time.process_time()
            with compiling.quickly(self.targetctx):
                made = compiling.with_room(lambda: self._compiler.compile(args, return_type))
                for environment in made._find_referenced_environments():
                    self.targetctx.codegen().set_env(environment.env_name, environment)
            _note(f"{self.py_func.__module__}.{self.py_func.__name__}", args, time.process_time() - began)
            return made

        def get_call_template(self, args: Any, kws: Any) -> Any:
            return self.inner.get_call_template([unliteral(a) for a in args], kws)

        def get_overload(self, sig: Any) -> Any:
            return self.inner.get_overload(sig)

    return Kernel


def _kept(made: Any) -> bytes:
    """Return a compile result as bytes: object code and what is to be known of it."""
    from numba.core import serialize

    library, described = made.library, made.fndesc
    described.typemap = described.calltypes = None
    module = library._final_module
    symbols = [
        one.name for group in (module.functions, module.global_variables) for one in group if not one.is_declaration
    ]
    code = library._get_compiled_object()
    environments = made._find_referenced_environments()
    kept = code, symbols, described, made.environment, made.signature, made.reload_init, environments
    return cast(bytes, serialize.dumps(kept))


def _loaded(target: Any, data: bytes | None) -> Any:
    """Return the compile result of ``_kept``; None where there is none."""
    if data is None:
        return None
    from numba import cloudpickle
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import CompileResult

    code, symbols, described, environment, signature, reload_init, environments = cloudpickle.loads(data)
    for again in reload_init:
        again()
    codegen = target.codegen()
    library = JITCodeLibrary(codegen, "kernel")
    library.enable_object_caching()
    library._set_compiled_object(code)
    library._finalize_final_module()
    codegen._engine._defined_symbols.update(symbols)
    entry = target.get_executable(library, described, environment)
    for other in environments:
        codegen.set_env(other.env_name, other)
    return CompileResult(
        typing_context=target.typing_context, target_context=target, entry_point=entry, typing_error=None,
        type_annotation="", signature=signature, objectmode=False, lifted=(), fndesc=described, library=library,
        call_helper=None, environment=environment, metadata=None, reload_init=reload_init,
        referenced_envs=environments,
    )  # fmt: skip


def _file_names(dispatcher: Any, args: Any) -> tuple[str, str | None]:
    """Return the file of a kernel for these types on this processor, and the one that a platform wheel would have."""
    plain = dispatcher.py_func
    triple, *_ = dispatcher.targetctx.codegen().magic_tuple()

    def name(*cpu: str) -> str:
        whole = "\n".join([_module_key(plain), *map(str, args), triple, *cpu])
        function = f"{plain.__module__}.{plain.__qualname__}-{plain.__code__.co_firstlineno}"
        return f"{function}-{hashlib.sha256(whole.encode()).hexdigest()[:24]}"

    return name(*processor()), name(*PORTABLE) if is_portable() else None


@functools.cache
def processor() -> tuple[str, str]:
    """Return the name of this processor and its features, as kernels are compiled for it."""
    from numba.core.registry import cpu_target

    _, name, features = cpu_target.target_context.codegen().magic_tuple()
    return name, features


def is_portable() -> bool:
    """Whether this processor runs what is compiled for ``PORTABLE``."""
    return set(PORTABLE_FEATURES.split(",")) <= set(processor()[1].split(","))


def _module_key(plain: FunctionType) -> str:
    """Hash the module's source and constants, the same of modules whose kernels it imports, and the compiler."""
    import numpy as np

    module = plain.__globals__
    key = _module_keys.get(plain.__module__)
    if key is not None:
        return key
    whole = hashlib.sha256(Path(plain.__code__.co_filename).read_bytes() + _compiler_key().encode())
    imported = {
        value.py_func.__module__: value.py_func
        for value in module.values()
        if isinstance(value, _dispatchers()) and value.py_func.__globals__ is not module
    }
    for name in sorted(imported):
        whole.update(_module_key(imported[name]).encode())
    for name, value in module.items():
        if isinstance(value, np.ndarray):
            whole.update(name.encode() + value.tobytes())
        elif all(isinstance(v, (int, float, np.generic)) for v in (value if isinstance(value, tuple) else [value])):
            whole.update(f"{name}={value!r}".encode())
    _module_keys[plain.__module__] = whole.hexdigest()
    return _module_keys[plain.__module__]


@functools.cache
def _compiler_key() -> str:
    import llvmlite
    import numba

    own = hashlib.sha256(SOURCE).hexdigest()
    return " ".join([own, sys.implementation.cache_tag, numba.__version__, llvmlite.__version__])


def _note(function: str, args: Any, seconds: float) -> None:
    log = os.environ.get("FYKE_KERNEL_LOG")
    if log:
        types = ", ".join(map(str, args))
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(f"{os.getpid()}\t{seconds:.3f}\t{function}\t{types}\n")


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
