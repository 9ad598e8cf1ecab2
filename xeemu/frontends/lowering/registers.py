"""Registers: private arrays that are accessed at known elements alone, as by loops that are written out.

So are arrays in small records, the objects of C++ whose methods access them by numbers that are known where they are
called, such as ids and ranges.

As compilers do, each of their elements is a variable. Where an index turns out not to be known, or an element is read
that was given no value, the kernel is traced again with the array in a memory.
"""

import dataclasses
import functools
from collections.abc import Iterator

from xeemu.frontends import types, values
from xeemu.frontends.functions import Function
from xeemu.frontends.lowering import effects
from xeemu.frontends.lowering.walk import Key, Walk
from xeemu.frontends.tree import (
    Assignment,
    Binary,
    Cast,
    Constant,
    Declaration,
    Expression,
    Initializer,
    Loop,
    Name,
    Statement,
    Step,
    Subscript,
    Unary,
    Variable,
)
from xeemu.frontends.values import ArrayValue, Fields, Null, Number, Value
from xeemu.language.interface import Retrace

_MOST = 256
"""Elements of an array in registers: no more than a device has registers for."""
_MANY = 64
"""A loop that is written out for an array has no more iterations, see `loops`."""

IN_MEMORY = 0
"""Among the granules: the array is in a memory, of its own elements."""


_MOST_IN_RECORDS = 16
"""Numbers of a record with arrays in registers."""


@functools.lru_cache(maxsize=512)
def promotable(kernel: Function) -> frozenset[Variable]:
    """The private arrays, and records with some, of a kernel and its functions that may be accessed at known elements
    alone."""
    return _arrays(kernel) | _records(kernel)


def _records(kernel: Function) -> frozenset[Variable]:
    """The small records with arrays in them; only those who are called know if their elements are."""
    indexed = effects.indexed(kernel)
    found = set()
    for function in effects.functions(kernel):
        declared = [v for node in effects.nodes(function.body) if isinstance(node, Declaration) for v in node.variables]
        given = function.parameters if function is not kernel else ()
        found |= {v for v in (*given, *declared) if _is_object(v) and v not in indexed}
    return frozenset(found)


def _is_object(variable: Variable) -> bool:
    of = variable.type
    if not isinstance(of, types.Record) or variable.space != "private" or variable.volatile or types.holds_pointer(of):
        return False
    return not types.holds_volatile(of) and len(types.scalars(of)) <= _MOST_IN_RECORDS and not _has_union(of)


def _has_union(of: types.Type) -> bool:
    match of:
        case types.Array(element=inner):
            return _has_union(inner)
        case types.Record(fields=fields, union=union):
            return union or any(_has_union(f.type) for f in fields)
    return False


def _arrays(kernel: Function) -> frozenset[Variable]:
    parts = [node for function in effects.functions(kernel) for node in effects.nodes(function.body)]
    found = {v for node in parts if isinstance(node, Declaration) for v in node.variables if _is_small(v)}
    if not found:
        return frozenset()
    counters = frozenset(v for node in parts if isinstance(node, Loop) for v in _counters(node))
    named: dict[Variable, int] = dict.fromkeys(found, 0)
    for node in parts:
        if isinstance(node, Name) and node.variable in named:
            named[node.variable] += 1
        elif isinstance(node, Unary) and node.op == "&":
            found -= effects.sources(node)
        elif isinstance(node, Subscript) and not isinstance(node.type, types.Array):
            variable = _subscripted(node, counters)
            if variable in named:
                named[variable] -= 1
    return frozenset(v for v in found if not named[v])


def _is_small(variable: Variable) -> bool:
    of: types.Type = variable.type
    count = 1
    while isinstance(of, types.Array):
        count, of = count * of.count, of.element
    given = variable.initializer
    return (
        isinstance(variable.type, types.Array)
        and variable.space == "private"
        and not variable.volatile
        and isinstance(of, types.Scalar | types.Vector)
        and 0 < count <= _MOST
        and (given is None or isinstance(given, Initializer))
    )


def _counters(node: Loop) -> Iterator[Variable]:
    """The counters of a loop that may be written out."""
    bounds = [n.value for n in effects.nodes(node.condition) if isinstance(n, Constant)] if node.condition else []
    if node.unroll is not None or any(abs(n) <= _MANY for n in bounds):
        for part in effects.nodes(node.step) if node.step is not None else ():
            if isinstance(part, Step | Assignment):
                target = part.operand if isinstance(part, Step) else part.target
                if isinstance(target, Name):
                    yield target.variable


def _subscripted(node: Expression, counters: frozenset[Variable]) -> Variable | None:
    """The array of which an element is named, if its indices may be known."""
    while isinstance(node, Subscript):
        if not all(_may_be_known(part, counters) for part in effects.nodes(node.index)):
            return None
        node = node.base
    return node.variable if isinstance(node, Name) else None


def _may_be_known(node: object, counters: frozenset[Variable]) -> bool:
    return isinstance(node, Constant | Cast | Binary) or (isinstance(node, Name) and node.variable in counters)


# ---- while the tree is walked ----


def indexes(walk: Walk, body: Statement, counter: Variable) -> bool:
    """True if a loop's counter is an index of arrays that are in registers as long as their indices are known."""
    found = (node for node in effects.nodes(body) if isinstance(node, Subscript))
    return any(
        any(isinstance(part, Name) and part.variable == counter for part in effects.nodes(node.index))
        and not walk.promoted.isdisjoint(effects.sources(node.base))
        for node in found
    )


def unset(of: types.Type) -> Value:
    """An array, or a record with some, of which no element was given a value."""
    match of:
        case types.Array(element=element, count=count):
            return ArrayValue(of, (unset(element),) * count)
        case types.Record(fields=fields):
            return Fields(of, {f.name: unset(f.type) for f in fields})
    return Null(of)


def is_unset(value: Value) -> bool:
    """True if an element of an array or field of a record, or of one in it, was given no value."""
    if isinstance(value, ArrayValue):
        return any(map(is_unset, value.items))
    if isinstance(value, Fields):
        return any(map(is_unset, value.items.values()))
    return isinstance(value, Null) or (isinstance(value, Number) and value.unset is not None)


def settled(value: Value) -> Value:
    """A value in which what has none is zero: where it is in registers for good, nobody finds who reads it."""
    match value:
        case Fields(type=of_record, items=fields):
            return Fields(of_record, {name: settled(item) for name, item in fields.items()})
        case ArrayValue(type=of_array, items=items):
            return ArrayValue(of_array, tuple(map(settled, items)))
        case Null(type=types.Scalar() | types.Vector()):
            return values.zero(value.type)
        case Number():
            return dataclasses.replace(value, unset=None)
    return value


def held(walk: Walk, variable: Variable, value: Value) -> Value:
    """What a variable in registers holds of a value: of one whose reads are found also what has none."""
    return value if variable in walk.promoted or not is_unset(value) else settled(value)


def is_promoted(walk: Walk, key: Key) -> bool:
    return key[1] in walk.promoted


def give_up(key: Key) -> Retrace:
    """The error by which an array gets into a memory."""
    return Retrace(key[1], IN_MEMORY)
