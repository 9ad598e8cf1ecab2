"""Work: how much a program has to compute, by its operations, or by what these take for each element."""

import math

from xeemu.devices.host_figures import Threads
from xeemu.ir import control, ops
from xeemu.ir.program import Op, Region
from xeemu.ir.table import Kind
from xeemu.knowledge import addressing
from xeemu.knowledge.analysis import Facts

# Of a loop that tests a predicate, whose number nobody knows.
_USUAL_ITERATIONS = 32
_PASSES = frozenset((Kind.ACCESS, Kind.REDUCTION, Kind.SCAN, Kind.SORT, Kind.CONTRACTION, Kind.COLLECTIVE))


def operations(body: Region) -> int:
    """How many operations a work-item carries out in a (sub)program, of branches all."""
    return sum(_iterations(op) * sum(map(operations, op.regions)) or 1 for op in body.ops)


def passes(body: Region) -> int:
    """How many operations of a (sub)program are passes of their own, as a work-item carries them out, of branches all.

    Accesses to memory, and what combines the values of many elements; the compiler joins others with these.
    """
    return sum(_iterations(op) * sum(map(passes, op.regions)) or int(ops.of(op).kind in _PASSES) for op in body.ops)


def of_body(facts: Facts, figures: Threads, looped: bool = False) -> int:
    """The work of one group in a (sub)program, the longest of branches counted.

    Args:
      facts: what is known of it.
      figures: what operations take.
      looped: true if it is in a loop.
    """
    return sum(_of_op(number, op, facts, figures, looped) for number, op in enumerate(facts.body.ops))


def _of_op(number: int, op: Op, facts: Facts, figures: Threads, looped: bool) -> int:
    structure = control.of(op)
    if structure is None:
        return _of_operation(op, facts, figures, looped)
    looped |= isinstance(structure, control.Scan | control.While)
    inner = [of_body(part, figures, looped) for part in facts.within(number)]
    return max(inner) if isinstance(structure, control.Cond) else _iterations(op) * sum(inner)


def _iterations(op: Op) -> int:
    """How often what an operation holds is carried out, if at all."""
    match control.of(op):
        case control.Scan(length=length):
            return length
        case control.While():
            return _USUAL_ITERATIONS
    return 1


def _of_operation(op: Op, facts: Facts, figures: Threads, looped: bool) -> int:
    if op.name in ops.ACCESSES:
        return math.prod(op.attributes["access"].shape) * _of_access(op, facts, figures, looped)
    computed = [v for v in op.results if facts.values[v].space is None and facts.values[v].form is None]
    each = figures.costly if ops.of(op).slow else 1
    return each * sum(math.prod(v.shape) for v in computed)


def _of_access(op: Op, facts: Facts, figures: Threads, looped: bool) -> int:
    if addressing.is_formed(op, facts):
        return figures.looped if looped else figures.sliced
    return figures.looked_up
