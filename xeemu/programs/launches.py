"""Launches: what the host submits as a launch of a kernel over arrays."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from xeemu.frontends import tree, types
from xeemu.frontends.hosting import layouts
from xeemu.frontends.hosting.machine import Machine
from xeemu.frontends.hosting.memories import LOCAL, Memory
from xeemu.frontends.hosting.rewriting import TreeRewriter
from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.sycl import host
from xeemu.frontends.sycl.parameters import Leaf
from xeemu.frontends.tree import Variable
from xeemu.frontends.types import Pointer, Record, Scalar, Type, Vector
from xeemu.language.local import Local
from xeemu.programs import transfers


@dataclasses.dataclass(frozen=True, eq=False)
class Pointed:
    """What a parameter that is a pointer points to.

    Attributes:
      variable: the parameter.
      memory: the memory; None of a null pointer.
      at: offset in it, in bytes.
    """

    variable: Variable
    memory: Memory | None
    at: int

    @property
    def element(self) -> Type:
        assert isinstance(self.variable.type, Pointer)
        return self.variable.type.pointee


@functools.lru_cache(maxsize=4096)
def located(whole: Record, path: str) -> tuple[Type, int]:
    """The type and offset of a part of a record, by names of fields and numbers of elements, as in `a.r.v[0]`."""
    of: Type = whole
    offset = 0
    while path:
        if path.startswith("["):
            number, _, path = path[1:].partition("]")
            assert isinstance(of, types.Array)
            offset += int(number) * layouts.size(of.element)
            of = of.element
            continue
        assert isinstance(of, Record)
        path = path.removeprefix(".")
        field = max((f for f in of.fields if _begins(path, f.name)), key=lambda f: len(f.name))
        offset += layouts.at(of, field.name)
        of, path = field.type, path[len(field.name) :]
    return of, offset


def _begins(path: str, name: str) -> bool:
    return path == name or path.startswith((f"{name}.", f"{name}["))


def value(machine: Machine, leaf: Leaf, of: Type, memory: Memory, at: Any) -> Any:
    """The argument for a parameter; of a pointer a `Pointed`, or `xe.Local`."""
    match of:
        case Pointer():
            return _pointed(machine, leaf.variable, memory.get(at, of))
        case Scalar():
            found = memory.get(at, of)
            return of.dtype.type(_known(machine, leaf, found))
        case Vector(element=element, count=count):
            parts = [memory.get(at + k * element.size, element) for k in range(count)]
            return tuple(_known(machine, leaf, part) for part in parts)
        case Record() | types.Array():
            data = host.record_bytes(of, memory, at)
            return _known(machine, leaf, UNKNOWN if data is None else data)
    raise machine.refuse(f"{leaf.path} is of type {of}, which a kernel cannot take")


def _known(machine: Machine, leaf: Leaf, found: Any) -> Any:
    if found is UNKNOWN:
        raise machine.refuse(f"the kernel captures {leaf.path}, which nobody has set; initialise the variable")
    return found


def _pointed(machine: Machine, variable: Variable, pointer: Any) -> Pointed | Local:
    if pointer is UNKNOWN:
        raise machine.refuse(f"the kernel captures the pointer {variable.name}, which nobody has set; initialise it")
    memory, at = pointer
    if memory is not None and memory.kind == LOCAL:
        return Local(memory.size - at)
    if memory is not None and memory.freed is not None:
        machine.on_use_after_free(memory, "the kernel that is submitted takes")
    return Pointed(variable, memory, at)


def is_plain(values: Sequence[Any], written: Sequence[str]) -> bool:
    """True if each memory is that of one parameter, from its beginning on, or is only read."""
    pointed = [v for v in values if isinstance(v, Pointed) and v.memory is not None]
    if any(p.at for p in pointed):
        return False
    changed = {p.memory for p in pointed if p.variable.name in written}
    return all(sum(p.memory is memory for p in pointed) == 1 for memory in changed)


@dataclasses.dataclass(frozen=True)
class MemorySharing:
    """How the parameters of a kernel share memories.

    Attributes:
      bases: by parameter the number of the one that has its memory; None of one that is no memory.
      moved: those that begin within the memory.
    """

    bases: tuple[int | None, ...]
    moved: tuple[int, ...]

    def parts(
        self, value: tree.Expression, variables: Sequence[Variable]
    ) -> tuple[tree.Expression, Sequence[Variable]]:
        """A function object made of one parameter for each memory, and offsets into them, with these parameters."""
        place = variables[0].place
        offsets = {k: Variable(f"{variables[k].name} offset", types.LONG, "private", place) for k in self.moved}
        given: dict[Variable, tree.Expression] = {}
        for k, base in enumerate(self.bases):
            if base is not None:
                given[variables[k]] = _into(variables[base], variables[k], offsets.get(k))
        kept = [v for k, v in enumerate(variables) if self.bases[k] in (None, k)]
        return TreeRewriter(given, lambda call: None).of(value), [*kept, *offsets.values()]

    def values(self, values: Sequence[Any], variables: Sequence[Variable]) -> list[Any]:
        """The arguments of that kernel, whose parameters are `variables`."""
        kept = [v for k, v in enumerate(values) if self.bases[k] in (None, k)]
        found: list[Any] = []
        for variable, one in zip(variables, kept, strict=False):
            found.append(Pointed(variable, one.memory, 0) if isinstance(one, Pointed) else one)
        moved = [values[k] for k in self.moved]
        return found + [np.int64(one.at // layouts.size(one.element)) for one in moved]


def sharing(values: Sequence[Any]) -> MemorySharing:
    """How pointers share memories."""
    first: dict[int, int] = {}
    bases: list[int | None] = []
    for k, one in enumerate(values):
        known = isinstance(one, Pointed) and one.memory is not None
        bases.append(first.setdefault(id(one.memory), k) if known else None)
    return MemorySharing(tuple(bases), tuple(k for k, one in enumerate(values) if isinstance(one, Pointed) and one.at))


def _into(base: Variable, variable: Variable, offset: Variable | None) -> tree.Expression:
    """A pointer into the memory of another parameter."""
    of, place = variable.type, variable.place
    name: tree.Expression = tree.Name(base.type, place, base)
    if of != base.type:
        name = tree.Cast(of, place, name)
    return name if offset is None else tree.Binary(of, place, "+", name, tree.Name(types.LONG, place, offset))


def arrays(values: Sequence[Any]) -> list[Any]:
    """Arguments for a launch."""
    return [_array(v) if isinstance(v, Pointed) else v for v in values]


def _array(one: Pointed) -> np.ndarray | None:
    return None if one.memory is None else transfers.array(one.memory, one.element)
