"""Group-invariant memory: local memories that all work-groups fill alike, of which one is enough for all of them.

Tables that every group copies from global memory are such, and so is what is computed from them alone. That a memory is
alike is assumed and then checked: if all stores to it do the same in every group as long as it and other memories are
alike, they do so from the first store to the last.
"""

from collections.abc import Iterator

from xeemu.ir import control, ops
from xeemu.ir.program import Op, Value
from xeemu.knowledge import dataflow
from xeemu.knowledge.analysis import Facts, Known
from xeemu.language.program import Program


def analyse(program: Program, rows: range | None = None) -> Facts | None:
    """The facts of a program of which some local memories are alike in all groups; None if they all differ.

    Args:
      program: the program.
      rows: see `dataflow.analyse`.
    """
    # A single group has its own memories anyway.
    allocated = frozenset(op.results[0] for op in program.body.walk() if _allocates(op))
    invariant = allocated if program.geometry.groups > 1 else frozenset()
    while invariant:
        facts = dataflow.analyse(program, rows, invariant)
        differing = _differing(facts) & invariant
        if not differing:
            return facts
        invariant -= differing
    return None


def _differing(facts: Facts) -> frozenset[Value]:
    """The local memories to which not all groups do the same, by what allocates them."""
    memories, differing = dict[Known, Value](), set[Known]()
    for op, inside, diverging in _operations(facts):
        if _allocates(op):
            memories[inside.values[op.results[0]]] = op.results[0]
        if _differs(op, inside, diverging):
            differing.add(inside.values[op.operands[0]])
    return frozenset(memories[memory] for memory in differing if memory in memories)


def _allocates(op: Op) -> bool:
    return op.name == ops.ALLOCATE and op.attributes["space"] == "local"


def _operations(facts: Facts, diverging: bool = False) -> Iterator[tuple[Op, Facts, bool]]:
    """The operations of a (sub)program and its inner ones, their facts, and whether only some groups may be there."""
    for number, op in enumerate(facts.body.ops):
        yield op, facts, diverging
        inner = facts.within(number)
        match control.of(op):
            case control.Cond():
                varying = facts.value(op.operands[0]).varying
            case control.While(predicate=predicate):
                varying = inner[0].value(predicate.outputs[0]).varying
            case _:
                varying = False
        for part in inner:
            yield from _operations(part, diverging or varying)


def _differs(op: Op, facts: Facts, diverging: bool) -> bool:
    """True if it changes a memory, and not in all groups alike, or by an atomic operation."""
    if op.name not in ops.ACCESSES or not ops.of(op).writes:
        return False
    varying = any(facts.value(a).varying for a in op.operands[1:])
    return diverging or varying or op.name != ops.STORE
