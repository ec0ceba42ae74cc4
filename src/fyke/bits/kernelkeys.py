"""The names of compiled kernels in their cache: everything that machine code depends on is in them.

That is the source and the constants of a kernel's module, the same of the modules whose kernels it imports, the modules
here that compile it, the types of the arguments, the versions of Python, numba and llvmlite, and the processor.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from pathlib import Path
from types import FunctionType
from typing import Any

PORTABLE_CPU = "x86-64-v3"
PORTABLE_FEATURES = (
    "+avx,+avx2,+bmi,+bmi2,+cmov,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,+sse,+sse2,+sse3,"
    "+sse4.1,+sse4.2,+ssse3,+xsave"
)
PORTABLE = PORTABLE_CPU, PORTABLE_FEATURES
"""What a platform wheel's kernels are compiled for: the processors of the last ten years."""

COMPILER = ("jit.py", "kernelkeys.py", "dispatcher.py", "compiling.py")
SOURCE = b"".join(Path(__file__).with_name(name).read_bytes() for name in COMPILER)
_module_keys: dict[str, str] = {}


def file_names(plain: FunctionType, triple: str, args: Any) -> tuple[str, str | None]:
    """Return the file of a kernel for these types on this processor, and the one that a platform wheel would have."""

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
    from numba.core.registry import CPUDispatcher

    module = plain.__globals__
    key = _module_keys.get(plain.__module__)
    if key is not None:
        return key
    whole = hashlib.sha256(Path(plain.__code__.co_filename).read_bytes() + _compiler_key().encode())
    imported = {
        value.py_func.__module__: value.py_func
        for value in module.values()
        if isinstance(value, CPUDispatcher) and value.py_func.__globals__ is not module
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
