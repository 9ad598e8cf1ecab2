"""Statics: variables of program scope, and static ones of functions, that are no constants.

One that no kernel of the file writes is a constant. Any other is a global memory of the launch, which begins with the
values of its initialiser each time: nothing is kept from one launch to the next.
"""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from xeemu.errors import KernelError
from xeemu.frontends import types
from xeemu.frontends.functions import Function, TranslationUnit
from xeemu.frontends.lowering import constants, effects, memories
from xeemu.frontends.lowering.walk import MemoryLayout, Walk
from xeemu.frontends.tree import Declaration, Name, Variable
from xeemu.language.memory import Memory


@functools.lru_cache(maxsize=512)
def of(program: TranslationUnit, kernel: Function) -> dict[str, Variable]:
    """The statics that a kernel uses and some kernel of the file writes, by the names of their memories."""
    found = [v for v in _used(program, kernel) if _is_written(program, v)]
    taken = {p.name for p in kernel.parameters}
    named: dict[str, Variable] = {}
    for variable in found:
        free = variable.name not in taken and variable.name not in named
        named[variable.name if free else f"{variable.name} of line {variable.place.line}"] = variable
    return named


def belongs(program: TranslationUnit, variable: Variable) -> bool:
    """True if a variable is a static of a language whose kernels may use such: those of SYCL C++ are the host's."""
    return variable.space == "global" and bool(program.functions)


def _used(program: TranslationUnit, kernel: Function) -> list[Variable]:
    """The statics that a kernel and its functions name."""
    mutable = {v for v in program.globals if v.space == "global"}
    found: dict[Variable, None] = {}
    for function in effects.functions(kernel):
        for node in effects.nodes(function.body):
            if isinstance(node, Declaration):
                mutable |= {v for v in node.variables if v.space == "global"}
            elif isinstance(node, Name) and node.variable in mutable:
                found[node.variable] = None
    for variable in (pending := list(found)):
        for node in effects.nodes(variable.initializer) if variable.initializer is not None else ():
            if isinstance(node, Name) and node.variable in mutable and node.variable not in found:
                found[node.variable] = None
                pending.append(node.variable)
    return list(found)


def _is_written(program: TranslationUnit, variable: Variable) -> bool:
    """True if some kernel of the file may write a variable; one that cannot be read may."""
    for kernel in program.kernels:
        try:
            # What is stored through a pointer does not change the pointer.
            through = frozenset() if isinstance(variable.type, types.Pointer) else effects.reached(kernel)
            if variable in effects.of(kernel.body).assigned or variable in through:
                return True
        except KernelError:
            return True
    return False


def initial(walk: Walk, variable: Variable, granule: int | None) -> np.ndarray:
    """What a static's memory holds before a launch, in elements of its own or of a granule."""
    scalars = types.scalars(variable.type)
    numbers = constants.flat(walk, variable.initializer, variable.type)
    whole = np.zeros(variable.type.size, np.uint8)
    for (offset, scalar), number in zip(scalars, numbers, strict=False):
        whole[offset : offset + scalar.size] = np.frombuffer(scalar.dtype.type(number).tobytes(), np.uint8)
    return whole.view(memories.element(variable.type, granule).dtype)


def place(walk: Walk, given: Mapping[Variable, Memory]) -> None:
    """Makes the memories of a launch those of its statics."""
    for variable, memory in given.items():
        if types.holds_pointer(variable.type):
            raise walk.refuse(
                f"{variable.name} is a pointer of program scope that is written; pass pointers as arguments",
                variable.place,
            )
        walk.memories[variable] = memory
        walk.layouts[variable] = MemoryLayout(variable.name, "global", types.BY_DTYPE[np.dtype(memory.dtype)])


class Nobody:
    """What stands for a work-group where constants are evaluated before a launch."""

    def local_id(self, d: int) -> Any:
        """An id of no work-item."""
        return np.zeros(())
