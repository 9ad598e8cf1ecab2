"""Work: how long work-groups compute, estimated from what they do in elements of its results."""

import math

from xeemu.devices.target import Threads
from xeemu.ir import control, ops
from xeemu.ir.program import Op, Region
from xeemu.knowledge import addressing
from xeemu.knowledge.analysis import Facts

# A loop that tests a predicate is taken to go round so many times.
_TURNS = 32


def of_body(body: Region, facts: Facts, figures: Threads, looped: bool = False) -> int:
    """The work of one group in a (sub)program, the longest of branches counted.

    Args:
      body: the (sub)program.
      facts: its analysis.
      figures: what operations take.
      looped: whether it is in a loop.
    """
    return sum(_of_op(number, op, facts, figures, looped) for number, op in enumerate(body.ops))


def _of_op(number: int, op: Op, facts: Facts, figures: Threads, looped: bool) -> int:
    structure = control.of(op)
    if structure is None:
        return _of_operation(op, facts, figures, looped)
    looped |= isinstance(structure, control.Scan | control.While)
    inner = [of_body(body, known, figures, looped) for body, known in facts.within(number, op)]
    match structure:
        case control.Scan(length=length):
            return length * sum(inner)
        case control.While():
            return _TURNS * sum(inner)
        case control.Cond():
            return max(inner)
    return sum(inner)


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
