"""Kernels as objects: numba's dispatcher with a compiler and a cache of our own. Imported once a kernel is made.

What Python calls (``Kernel``) is compiled whole and kept on disk; the kernels that it calls (``Inner``) are compiled
into it.
"""

from __future__ import annotations

import functools
import os
import sys
import time
from pathlib import Path
from types import FunctionType
from typing import Any, cast

from numba.core import sigutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import Environment
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys
from numba.core.types.misc import unliteral

from fyke.bits import compiling, kernelcache
from fyke.bits.kernelkeys import file_names
from fyke.bits.libraries import InnerCompiler, WholeCompiler, vectors


class Inner(CPUDispatcher):  # type: ignore[misc]
    """A kernel as other kernels call it."""

    def compile(self, sig: Any) -> Any:
        """Return the code for these types."""
        args, return_type = sigutils.normalize_signature(sig)
        made = self.overloads.get(tuple(args))
        if made is None:
            with global_compiler_lock, self._compiling_counter:
                made = self._compiler.compile(args, return_type)
                self.add_overload(made)
        return made.entry_point


class Kernel(CPUDispatcher):  # type: ignore[misc]
    """A kernel as Python calls it."""

    def __init__(self, plain: FunctionType, *, vector: bool = False, **options: bool) -> None:
        if vector:
            vectors.add(plain.__name__)
        target = {"nopython": True, "nogil": True, "no_cfunc_wrapper": True, **options}
        super().__init__(plain, targetoptions=target, pipeline_class=WholeCompiler)

    @functools.cached_property
    def inner(self) -> Inner:
        """The same for other kernels."""
        options = {**self.targetoptions, "no_cpython_wrapper": True}
        return Inner(self.py_func, targetoptions=options, pipeline_class=InnerCompiler)

    def compile(self, sig: Any) -> Any:
        """Return the code for these types: of this process, of the cache, or made now, by one process of all."""
        args, return_type = sigutils.normalize_signature(sig)
        with global_compiler_lock, self._compiling_counter:
            made = self.overloads.get(tuple(args))
            if made is not None:
                return made.entry_point
            rtsys.initialize(self.targetctx)  # all that machine code needs; the rest is the compiler's
            triple, *_ = self.targetctx.codegen().magic_tuple()
            name, shipped = file_names(self.py_func, triple, args)
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
        """How another kernel calls it: by the types of arguments, whatever their values."""
        return self.inner.get_call_template([unliteral(a) for a in args], kws)

    def get_overload(self, sig: Any) -> Any:
        """The code that another kernel calls."""
        return self.inner.get_overload(sig)


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
    environments = [
        (each.globals.get("__name__", ""), each.consts, each.env_name)
        for each in (made.environment, *made._find_referenced_environments())
    ]
    kept = code, symbols, described, environments, made.signature, made.reload_init
    return cast(bytes, serialize.dumps(kept))


def _environment(module: str, constants: list[Any], name: str) -> Environment:
    """Return what numba keeps beside a compiled function: what it raises. Its module is not loaded for that."""
    known = Environment._memo.get(name)
    if known is not None:
        return known
    made = Environment(sys.modules[module].__dict__ if module in sys.modules else {})
    made.consts[:] = constants
    made.env_name = name
    Environment._memo[name] = made
    return made


def _loaded(target: Any, data: bytes | None) -> Any:
    """Return the compile result of ``_kept``; None where there is none."""
    if data is None:
        return None
    from numba import cloudpickle

    code, symbols, described, kept, signature, reload_init = cloudpickle.loads(data)
    environment, *environments = (_environment(*each) for each in kept)
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


def _note(function: str, args: Any, seconds: float) -> None:
    log = os.environ.get("FYKE_KERNEL_LOG")
    if log:
        types = ", ".join(map(str, args))
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(f"{os.getpid()}\t{seconds:.3f}\t{function}\t{types}\n")
