"""Kernels: a kernel's tree, walked for the work-group for which the kernel language traces it."""

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from xeemu.frontends import composites, opaques, types, values
from xeemu.frontends.functions import Function, TranslationUnit
from xeemu.frontends.lowering import (
    constants,
    definite_assignment,
    effects,
    expressions,
    groupmemories,
    lifetimes,
    memories,
    nulls,
    partial_records,
    presence,
    printing,
    registers,
    statements,
    statics,
    transfers,
)
from xeemu.frontends.lowering.memories import element
from xeemu.frontends.lowering.walk import MemoryLayout, Walk
from xeemu.frontends.texts import Pieces
from xeemu.frontends.tree import (
    Assignment,
    Binary,
    Call,
    Choice,
    Declaration,
    If,
    Loop,
    Member,
    Name,
    Subscript,
    Switch,
    Variable,
)
from xeemu.frontends.types import Scalar
from xeemu.frontends.values import Data, Pointing, Value
from xeemu.language.memory import Memory
from xeemu.language.workgroup import WorkGroup

__all__ = ["TracedArguments", "deciding", "element", "run", "written"]


@dataclasses.dataclass(frozen=True)
class TracedArguments:
    """What a kernel is traced with.

    Attributes:
      arrays: by parameter the memory of rank 1 that a global or constant pointer points to.
      scalars: by parameter a NumPy scalar (known), a traced scalar, an array for a vector, bytes for a record.
      local_bytes: by parameter the size of a local memory.
      granules: by key of a memory the bytes of its elements, where something smaller is accessed than its type says.
      printed: where its texts are kept, see `printing`; None if nobody wants to see them.
      null: the parameters that are null pointers.
      statics: the memories of variables of program scope, see `statics`.
      extents: those of declared arrays whose bounds are checked, see `extents`.
      checked: True if copies under way are followed, see `transfers`.
    """

    arrays: Mapping[str, Memory]
    scalars: Mapping[str, Any]
    local_bytes: Mapping[str, int]
    granules: Mapping[Any, int]
    printed: tuple[Memory, Pieces] | None
    null: Collection[str]
    statics: Mapping[Variable, Memory]
    extents: Mapping[str, Memory]
    checked: bool


def run(program: TranslationUnit, function: Function, wg: WorkGroup, given: TracedArguments) -> dict[str, Memory]:
    """Walks a kernel while it is traced.

    Args:
      program: the file.
      function: the kernel.
      wg: the work-group.
      given: its arguments, and how it is traced.

    Returns:
      The memories that the kernel stores to somewhere, by parameter, in order, and those of its texts and statics.

    Raises:
      Retrace: a memory is accessed in smaller pieces than its elements; `granules` has to say so.
    """
    walk = Walk(program, function, wg, expressions.evaluate, statements.execute, given.granules)
    walk.flows = effects.flows(function)
    walk.promoted = registers.promotable(function).difference(given.granules)
    before = {p.name: _parameter(walk, p, given.arrays, given.local_bytes) for p in function.parameters}
    for name in given.null:
        walk.layouts[name] = dataclasses.replace(walk.layouts[name], null=True)
    statics.place(walk, given.statics)
    walk.extents, walk.checked = given.extents, given.checked
    walk.renewed = lifetimes.renewed(function) if given.checked else frozenset()
    _allocate(walk, function)
    presence.prepare(walk, function)
    partial_records.prepare(walk, function)
    _assign(walk, function, given.scalars)
    if given.printed is not None:
        printing.prepare(walk, *given.printed)
    walk.written = frozenset([*_written(walk, function), *given.statics])
    walk.execute(function.body)
    transfers.before_barrier(walk)
    keys = [p.name for p in function.parameters if isinstance(before[p.name], Memory)]
    # What is stored to only where nobody gets comes back too: the results do not depend on sizes.
    texts = [] if given.printed is None else [printing.MEMORY]
    found = {k: walk.memories[k] for k in [*(k for k in written(function) if k in keys), *texts]}
    return found | {memory.name: walk.memories[variable] for variable, memory in given.statics.items()}


def _assign(walk: Walk, function: Function, scalars: Mapping[str, Any]) -> None:
    """Gives the parameters that are no memories their values."""
    for parameter in function.parameters:
        if parameter.space == "constant" and parameter.name in scalars:
            walk.constants[parameter] = constants.held(parameter.type, scalars[parameter.name])
        elif parameter.name in scalars and walk.key(parameter) not in walk.bindings:
            memories.give(walk, parameter, _value(parameter.type, scalars[parameter.name]))


def initial(program: TranslationUnit, function: Function, variable: Variable, granule: int | None) -> np.ndarray:
    """What the memory of a variable of program scope holds before a launch, see `statics`."""
    nobody: Any = statics.Nobody()
    walk = Walk(program, function, nobody, expressions.evaluate, statements.execute, {})
    return statics.initial(walk, variable, granule)


def _parameter(
    walk: Walk, parameter: Variable, arrays: Mapping[str, Memory], local: Mapping[str, int]
) -> Memory | None:
    """Declares a parameter that is a memory; gives its global one."""
    of, name = parameter.type, parameter.name
    if isinstance(of, types.Pointer):
        start = Pointing(of, name, values.constant(0, types.INT))
        if of.space == "local":
            walk.at(
                parameter.place,
                lambda: memories.allocate(walk, name, name, types.Array(of.pointee, 1), "local", local[name]),
            )
        else:
            walk.memories[name] = arrays[name]
            walk.layouts[name] = MemoryLayout(name, of.space, types.BY_DTYPE[np.dtype(arrays[name].dtype)])
        walk.declare(parameter, start)
        return arrays.get(name)
    if opaques.is_image(of):
        walk.memories[name] = arrays[name]
        walk.layouts[name] = MemoryLayout(name, "image", types.BY_DTYPE[np.dtype(arrays[name].dtype)])
        walk.declare(parameter, values.Handle(of, name))
        return arrays[name]
    return None


def _value(of: types.Type, given: Any) -> Value:
    """A scalar argument as a value of its parameter's type."""
    match of:
        case Scalar():
            return _number(of, given)
        case types.Vector(element=inner, count=count):
            return composites.assembled(of, [_number(inner, x) for x in np.asarray(given).ravel()[:count]])
        case types.Record():
            numbers = constants.held(of, given)
            scalars = [s for _, s in types.scalars(of)]
            return composites.assembled(of, [_number(s, x) for s, x in zip(scalars, numbers, strict=True)])
    return values.constant(given.bits, types.UINT)  # a sampler, as the source's constants write it


def _number(of: Scalar, given: Data | Any) -> values.Number:
    if isinstance(given, np.generic | bool | int | float):
        return dataclasses.replace(values.constant(given, of), given=True)
    data = values.cast(given, of.dtype)
    return values.held(of, data)


def _allocate(walk: Walk, kernel: Function) -> None:
    """Makes the local memories and private arrays of a kernel and of all that it calls, before anything else."""
    nulls.allocate(walk)
    groupmemories.allocate(walk, kernel)
    elsewhere = {*effects.indexed(kernel), *walk.granules, *definite_assignment.doubtful(kernel)}
    for function in effects.functions(kernel):
        declared = [v for node in effects.nodes(function.body) if isinstance(node, Declaration) for v in node.variables]
        for variable in (*function.parameters, *declared):
            needed = _in_memory(variable) and variable not in walk.promoted
            if needed or variable in elsewhere:
                _make(walk, variable)


def _in_memory(variable: Variable) -> bool:
    """True if a variable is a memory: local and volatile ones, arrays, and records with arrays or unions in them."""
    if variable.space == "local":
        # A pointer in local memory is one for the whole group, and as such a variable.
        return not isinstance(variable.type, types.Pointer)
    # Pointers are not stored in memories; an array of them, or a record with some, is in registers.
    held = variable.volatile or types.holds_volatile(variable.type) or _has_array(variable.type)
    return variable.space == "private" and held and not types.holds_pointer(variable.type)


def _has_array(of: types.Type) -> bool:
    match of:
        case types.Array(element=inner):
            return _has_array(inner) if isinstance(inner, types.Array) else not isinstance(inner, types.Opaque)
        case types.Record(fields=fields, union=union):
            return union or any(_has_array(f.type) for f in fields)
    return False


def _make(walk: Walk, variable: Variable) -> None:
    walk.at(variable.place, lambda: memories.allocate(walk, variable, variable.name, variable.type, variable.space))


def written(function: Function) -> tuple[str, ...]:
    """The names of the parameters through which a kernel stores to global memory, in order."""
    stored = effects.reached(function)
    return tuple(p.name for p in function.parameters if p in stored and _is_global(p.type))


def prints(function: Function, names: Collection[str] = printing.PRINTING) -> bool:
    """True if a kernel calls `printf`, or has an `assert`."""
    parts = (node for part in effects.functions(function) for node in effects.nodes(part.body))
    return any(isinstance(node, Call) and node.name in names for node in parts)


def _is_global(of: types.Type) -> bool:
    return opaques.is_image(of) or (isinstance(of, types.Pointer) and of.space == "global")


def _written(walk: Walk, function: Function) -> set[Any]:
    """The keys of the memories that a kernel may write."""
    stored = effects.reached(function)
    return {v for v in stored if v in walk.memories} | {p.name for p in function.parameters if p in stored}


def deciding(program: TranslationUnit, function: Function) -> frozenset[str]:
    """The integer parameters on which a loop, a branch, an index or a size hangs: these have to be known."""
    wanted: set[Variable] = set()
    for part in effects.functions(function):
        for node in effects.nodes(part.body):
            for expression in _decisive(node):
                wanted |= {n.variable for n in effects.nodes(expression) if isinstance(n, Name)}
    values_of = _givers(function)
    pending = list(wanted)
    while pending:
        for giver in values_of.get(pending.pop(), ()):
            if giver not in wanted:
                wanted.add(giver)
                pending.append(giver)
    integers = (p for p in function.parameters if isinstance(p.type, Scalar) and p.type.is_integer)
    return frozenset(p.name for p in integers if p in wanted)


def _decisive(node: object) -> list[Any]:
    """The expressions of a node that decide where it goes or what it accesses."""
    match node:
        case If(condition=c) | Choice(condition=c):
            return [c]
        case Loop(condition=c, step=step):
            return [x for x in (c, step) if x is not None]
        case Switch(value=value):
            return [value]
        case Subscript(index=index):
            return [index]
        case Binary(type=types.Pointer()) | Binary(op="&&") | Binary(op="||"):
            return [node]
        case Assignment(target=target, value=value) if isinstance(target.type, types.Pointer):
            return [value]
        case Call(function=None, arguments=arguments):
            pointers = any(isinstance(a.type, types.Pointer) for a in arguments)
            return [a for a in arguments if pointers and isinstance(a.type, Scalar) and a.type.is_integer]
    return []


def _givers(kernel: Function) -> dict[Variable, set[Variable]]:
    """For each variable those of which its values are made."""
    found: dict[Variable, set[Variable]] = {}

    def add(variable: Variable, value: Any) -> None:
        names = {n.variable for n in effects.nodes(value) if isinstance(n, Name)}
        found.setdefault(variable, set()).update(names)

    for function in effects.functions(kernel):
        for node in effects.nodes(function.body):
            match node:
                case Declaration(variables=variables):
                    for variable in variables:
                        if variable.initializer is not None:
                            add(variable, variable.initializer)
                case Assignment(target=Name(variable=variable) | Member(base=Name(variable=variable)), value=value):
                    add(variable, value)
                case Call(function=callee, arguments=arguments) if callee is not None:
                    for parameter, argument in zip(callee.parameters, arguments, strict=False):
                        add(parameter, argument)
    return found
