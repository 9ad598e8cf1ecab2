"""Lifetimes: where the objects of a program of the host end, and what their destructors do there."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xeemu.frontends import functions, tree, types
from xeemu.frontends.callees import TEMPORARY
from xeemu.frontends.hosting import layouts
from xeemu.frontends.hosting.machine import Frame, Machine, Stopped, Thrown
from xeemu.frontends.hosting.memories import Memory
from xeemu.frontends.lowering import effects
from xeemu.frontends.tree import Expression, Statement, Variable
from xeemu.frontends.types import Type

Run: TypeAlias = Callable[[Frame], Any]
_MADE = "<this>"


def needed(machine: Machine, of: Type) -> bool:
    """True if something is done at the end of an object or array."""
    if isinstance(of, types.Array):
        return needed(machine, of.element)
    return isinstance(of, types.Record) and machine.destructor(of) is not None


def end(machine: Machine, memory: Memory, at: Any, of: Type) -> None:
    """Ends an object; of an array its elements, the last one first."""
    if isinstance(of, types.Array):
        for k in reversed(range(of.count)):
            end(machine, memory, at + k * layouts.size(of.element), of.element)
    elif isinstance(of, types.Record) and (function := machine.destructor(of)) is not None:
        machine.call(function, [(memory, at)])


def declared(statements: Sequence[Statement | None]) -> list[Variable]:
    """The variables that some statements declare."""
    return [v for s in statements if isinstance(s, tree.Declaration) for v in s.variables]


def scoped(machine: Machine, variables: Sequence[Variable], run: Run, given: bool = False) -> Run:
    """What ends the variables after it, however it is left, the last one first; `given` if they are there before it."""
    ended = [v for v in variables if _is_ended(machine, v)]
    if not ended:
        return run

    def within(frame: Frame) -> Any:
        for variable in ended if not given else ():
            frame.pop(variable, None)
            frame.pop(_kept(variable), None)
        try:
            left = run(frame)
        except Thrown:
            _end_all(machine, ended, frame, unwinding=True)
            raise
        _end_all(machine, ended, frame)
        return left

    return within


def leave(machine: Machine, variables: Sequence[Variable], frame: Frame) -> None:
    """Ends those of the variables that there are, where a `goto` goes back to before them."""
    _end_all(machine, variables, frame)


def _is_ended(machine: Machine, variable: Variable) -> bool:
    return needed(machine, variable.type) or _extends(machine, variable)


def _extends(machine: Machine, variable: Variable) -> bool:
    """True if a variable is a reference to a temporary object, which lives as long."""
    first = variable.initializer if isinstance(variable.type, types.Pointer) and machine.strict else None
    return isinstance(first, tree.Unary) and first.op == "&" and has_temporaries(machine, first)


def _kept(variable: Variable) -> Any:
    return "kept", variable


def _end_all(machine: Machine, variables: Sequence[Variable], frame: Frame, unwinding: bool = False) -> None:
    for variable in reversed(variables):
        for memory, of in frame.pop(_kept(variable), ()):
            end(machine, memory, 0, of)
        memory = frame.pop(variable, None) if needed(machine, variable.type) else None
        if memory is None:
            continue
        if variable.name != _MADE:
            end(machine, memory, 0, variable.type)
        elif unwinding and isinstance(variable.type, types.Record):  # what a constructor has made before it has thrown
            for field in reversed(variable.type.fields):
                end(machine, memory, layouts.at(variable.type, field.name), field.type)


# --- Temporaries ---


def has_temporaries(machine: Machine, node: Any) -> bool:
    """True if there are temporary objects in an expression or statement at whose end something is done."""
    found = (v for part in effects.nodes(node) if isinstance(part, tree.Declaration) for v in part.variables)
    return any(v.name == TEMPORARY and needed(machine, v.type) for v in found)


def is_eventful(machine: Machine, node: Statement) -> bool:
    """True if objects at whose end something is done, or exceptions, are in a statement or in what it calls."""
    calls = [n.function for n in effects.nodes(node) if isinstance(n, tree.Call) and n.function is not None]
    called = {f for function in calls for f in effects.functions(function)}
    parts = [p for block in (node, *(f.body for f in called)) for p in effects.nodes(block)]
    variables = [v for p in parts if isinstance(p, tree.Declaration) for v in p.variables]
    variables += [v for f in called for v in f.parameters]
    return any(isinstance(p, tree.Try) for p in parts) or any(needed(machine, v.type) for v in variables)


def full(machine: Machine, node: Expression | tree.Declaration, run: Run) -> Run:
    """A full expression, whose temporary objects end with it."""
    if not machine.strict or not has_temporaries(machine, node):
        return run
    waiting = machine.temporaries

    def settled(frame: Frame) -> Any:
        mark = len(waiting)
        try:
            return run(frame)
        except Stopped:
            del waiting[mark:]
            raise
        finally:
            while len(waiting) > mark:
                memory, of = waiting.pop()
                end(machine, memory, 0, of)

    return settled


def keep(machine: Machine, variable: Variable, pointer: Any, frame: Frame, mark: int) -> None:
    """Lets the temporary object to which a new reference refers live as long as that."""
    waiting = machine.temporaries
    for k in reversed(range(mark, len(waiting))):
        if isinstance(pointer, tuple) and waiting[k][0] is pointer[0]:
            frame.setdefault(_kept(variable), []).append(waiting.pop(k))


# --- The heap, and the program's end ---


def end_heap(machine: Machine, pointer: Any, of: Type) -> None:
    """Ends the objects at a pointer that `new` has given, which may be of a class derived from the pointer's."""
    memory, at = pointer
    own = memory.element
    if isinstance(own, types.Record) and own != of and types.base_path(own, of):
        of, at = own, 0
    if needed(machine, of):
        size = layouts.size(of)
        for k in reversed(range((memory.size - at) // size)):
            end(machine, memory, at + k * size, of)


def end_program(machine: Machine) -> None:
    """Ends the static objects and calls the functions given to `atexit`, the last one first."""
    while machine.static_objects:
        last = machine.static_objects.pop()
        if isinstance(last, functions.Function):
            machine.call(last, [])
        else:
            end(machine, last[0], 0, last[1])
