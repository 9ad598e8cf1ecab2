"""Partial records: copies of ones of which not all fields have a value.

C allows these copies (C11, 6.2.6.1): the copy's field has no value then either, and only who reads it is wrong. Where a
kernel is checked and copies such records, each memory of private records has flags: which elements have a value.
"""

import dataclasses
import functools
from typing import Any

import jax.numpy as jnp
import numpy as np

from xeemu.frontends import types, values
from xeemu.frontends.functions import Function
from xeemu.frontends.lowering import effects
from xeemu.frontends.lowering.walk import MemoryLayout, Walk
from xeemu.frontends.tree import (
    Assignment,
    Call,
    Declaration,
    Expression,
    Member,
    Name,
    Return,
    Subscript,
    Unary,
    Variable,
)
from xeemu.frontends.values import Data


@dataclasses.dataclass(frozen=True)
class _Flags:
    """The key of the flags of a memory, a byte for each element."""

    of: Any


@functools.lru_cache(maxsize=512)
def are_copied(kernel: Function) -> bool:
    """True if a kernel declares records without a value, and copies records."""
    nodes = [node for function in effects.functions(kernel) for node in effects.nodes(function.body)]
    declared = [v for node in nodes if isinstance(node, Declaration) for v in node.variables]
    if not any(_holds_records(v) and v.initializer is None for v in declared):
        return False
    initial = [v.initializer for v in declared if v.initializer is not None]
    return any(map(_is_record, [*initial, *(value for node in nodes for value in _copied(node))]))


def _copied(node: object) -> tuple[Expression, ...]:
    match node:
        case Assignment(value=value):
            return (value,)
        case Call(arguments=arguments):
            return arguments
        case Return(value=value) if value is not None:
            return (value,)
    return ()


def _is_record(node: Expression) -> bool:
    """True if an expression is a record as an lvalue."""
    return isinstance(node.type, types.Record) and isinstance(node, Name | Member | Subscript | Unary)


def prepare(walk: Walk, kernel: Function) -> None:
    """Makes the flags of a kernel's memories of records."""
    if not (walk.checked and are_copied(kernel)):
        return
    for key, layout in list(walk.layouts.items()):
        if isinstance(key, Variable) and layout.space == "private" and _holds_records(key):
            (count,) = walk.memories[key].shape
            walk.memories[_Flags(key)] = walk.wg.private(count, np.uint8, name=layout.name)
            walk.layouts[_Flags(key)] = MemoryLayout(layout.name, "private", types.UCHAR)
            note(walk, key, values.consecutive(np.int32(0), count, walk.shape), False)


def _holds_records(variable: Variable) -> bool:
    return isinstance(types.innermost(variable.type), types.Record)


def note(walk: Walk, key: Any, index: Data, valued: bool) -> None:
    """Notes that elements of a memory have a value from now on, or none any more."""
    if (flags := _Flags(key)) in walk.memories:
        walk.memories[flags] = walk.memories[flags].at[index].set(np.uint8(valued))


def are_noted(walk: Walk, key: Any) -> bool:
    """True if it is noted which elements of a memory have a value."""
    return _Flags(key) in walk.memories


def valued(walk: Walk, key: Any, index: Data) -> Data:
    """Where elements of such a memory have a value."""
    return jnp.not_equal(walk.memories[_Flags(key)].load(index), np.uint8(0))
