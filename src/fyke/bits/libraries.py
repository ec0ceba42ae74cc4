"""Libraries and compilers of numba's, adapted: a kernel is optimised once, with all that it calls.

The libraries that numba makes while a whole kernel is compiled are parts: linked in as they were lowered, each once.
Passes for what kernels do not have (closures, ``with``, literal arguments, optional ones) are left out.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase

vectors: set[str] = set()
"""Names of the kernels that are optimised by themselves."""


class Whole(JITCodeLibrary):  # type: ignore[misc]  # numba has no types
    """Code that is optimised once, with all that it calls."""

    _linking_libraries: list[Any]

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Link everything in, and optimise."""
        self._linking_libraries = _closure(self)
        super().finalize()


class Part(JITCodeLibrary):  # type: ignore[misc]
    """Code that is only ever linked into a kernel: optimised there, and nowhere before."""

    _linking_libraries: list[Any]
    _shared_module: Any
    is_empty = True

    @property
    def is_vector(self) -> bool:
        """Whether it is optimised by itself."""
        return self.name in vectors

    def add_llvm_module(self, ll_module: Any) -> None:
        """Take code in as it was lowered."""
        ll_module.data_layout = self._codegen._data_layout
        if self.is_empty:
            self._final_module, self.is_empty = ll_module, False
        else:
            self._final_module.link_in(ll_module)

    def finalize(self) -> None:
        """Optimise nothing but vectors."""
        for library in self._linking_libraries:
            self._reload_init.update(library._reload_init)
        if self.is_vector:
            self._linking_libraries = _closure(self)
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
        """Return none: nobody calls a part."""
        self._ensure_finalized()
        return 0


class InnerCompiler(CompilerBase):  # type: ignore[misc]
    """Compiles a kernel with the passes that it needs."""

    def define_pipelines(self) -> list[Any]:
        """Return the passes."""
        return [_passes(self.state)]


class WholeCompiler(InnerCompiler):
    """Compiles what Python calls."""

    def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
        whole = Whole(target.codegen(), "kernel")
        whole.enable_object_caching()
        super().__init__(typing, target, whole, *rest)


def _closure(library: Any) -> list[Any]:
    """List the libraries that one is linked with, and theirs."""
    found: dict[Any, None] = {}
    waiting = list(library._linking_libraries)
    while waiting:
        one = waiting.pop()
        if one not in found:
            found[one] = None
            waiting += one._linking_libraries if isinstance(one, Part) and not one.is_vector else []
    return list(found)


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
