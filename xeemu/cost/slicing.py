"""Slicing: what of a program a profile has to carry out for its counts alone (M. Weiser, "Program Slicing", 1981)."""

import dataclasses
from collections.abc import Sequence, Set

from xeemu.cost.census import Census
from xeemu.ir import ops
from xeemu.ir.program import Op, Region, Value
from xeemu.knowledge import work
from xeemu.knowledge.access_tree import Key
from xeemu.knowledge.analysis import Facts
from xeemu.language.program import Program
from xeemu.passes import eliminate_dead_code

# The operation that takes values and gives none.
_LOOK = ops.REGION


def of_counts(taken: Census, facts: Facts) -> Region:
    """What addresses, masks and predicates are computed by of all that a census has left open; to look at alone."""
    keys = {*taken.left, *taken.untallied}
    # Of code in which work-items part, masks tell how many sub-groups execute it.
    parting = None in taken.active.values()
    marked = _marked(facts, keys, parting)
    return eliminate_dead_code.live(Region(marked.inputs, marked.ops, ()))


def _marked(facts: Facts, keys: Set[Key], parting: bool) -> Region:
    """A (sub)program that has, before each access of these keys, an operation that does something with its address."""
    made: list[Op] = []
    for number, op in enumerate(facts.body.ops):
        if (facts, number) in keys:
            made.append(_look(op, (*ops.indices(op), *filter(None, [ops.mask(op)]))))
        elif op.name == ops.REGION and parting:
            made.append(_look(op, op.operands))
        regions = tuple(_marked(inner, keys, parting) for inner in facts.within(number))
        made.append(dataclasses.replace(op, regions=regions, apply=None) if regions else op)
    return Region(facts.body.inputs, tuple(made), facts.body.outputs)


def _look(op: Op, values: Sequence[Value]) -> Op:
    return Op(_LOOK, tuple(values), (), {}, has_effects=True)


def is_shorter_apart(slice_: Region, program: Program, launched: Program) -> bool:
    """Whether a launch and a slice of it take less than the program as it was written: by their memory operations."""
    return work.accesses(slice_) + work.accesses(launched.body) < work.accesses(program.body)


def has_memories(slice_: Region) -> bool:
    """Whether it needs what is in memories of a work-group or a work-item."""
    return any(op.name == ops.ALLOCATE for op in slice_.walk())
