"""Termination: which loops that test a predicate surely end, and how many iterations the others may have.

A loop ends whatever the data are if it counts by 1 to a bound that it leaves as it is, whatever else it tests beside
that, or by a constant to a constant. Of all others it is not known: they are counted, and given up in the end.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from xeemu.ir import control, ops
from xeemu.ir.control import While
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge import analysis, induction
from xeemu.knowledge.access_tree import Key
from xeemu.knowledge.analysis import Facts
from xeemu.language import source

# Of a loop that ends by itself but for one inside it: it has to look whether that one was given up.
_MOST = 2**31 - 1


@dataclasses.dataclass(frozen=True, eq=False)
class IterationLimits:
    """After how many iterations the loops of a program are given up.

    Attributes:
      most: iterations of a loop that need not end; None for no limit.
      loops: the loops of the program that test a predicate, in its order.
      numbers: for the key of each, on each of its call paths, its number.
      limits: for the key of each that is counted its limit.
    """

    most: int | None
    loops: tuple[Op, ...] = ()
    numbers: Mapping[Key, int] = dataclasses.field(default_factory=dict)
    limits: Mapping[Key, int] = dataclasses.field(default_factory=dict)

    @property
    def any(self) -> bool:
        """True if some loop is counted."""
        return bool(self.limits)

    def given_up(self, exceeded: Iterable[bool]) -> list[Op]:
        """The loops, of those in the order of `loops`, that were given up."""
        return [op for op, given_up in zip(self.loops, exceeded, strict=True) if given_up]

    def check(self, exceeded: Iterable[bool], hint: str) -> None:
        """Refuses a run in which loops, in the order of `loops`, were given up.

        Raises:
          KernelError: one was; with the hint what to do about it.
        """
        for op in self.given_up(exceeded):
            raise source.kernel_error(f"a loop has not ended after {self.most} iterations; {hint}", source.of_op(op))


NONE = IterationLimits(None)
"""Of a program whose loops nobody counts."""


def limits(programs: Sequence[Facts], most: int | None) -> IterationLimits:
    """The limits of a program's loops.

    Args:
      programs: what is known of the program as it was written, and of what groups carry out of it instead, with the
        same loops.
      most: iterations of a loop that need not end; None for no bound.
    """
    if most is None:
        return NONE
    each = [list(_loops(facts)) for facts in programs]
    numbers = {key: number for loops in each for number, (key, _) in enumerate(loops)}
    found = {key: limit for loops in each for key, op in loops if (limit := _limit(op, most)) is not None}
    return IterationLimits(most, tuple(op for _, op in each[0]), numbers, found)


def _loops(facts: Facts) -> Iterator[tuple[Key, Op]]:
    for inner in analysis.bodies(facts):
        for number, op in enumerate(inner.body.ops):
            if isinstance(control.of(op), While):
                yield (inner, number), op


def _limit(op: Op, most: int) -> int | None:
    """The limit of a loop that is counted."""
    loop = control.of(op)
    assert isinstance(loop, While)
    if not surely_ends(loop):
        return most
    return _MOST if any(map(_may_go_on, op.regions)) else None


def _may_go_on(body: Region) -> bool:
    """True if some loop of a (sub)program need not end."""
    loops = (control.of(op) for op in body.walk())
    return any(isinstance(loop, While) and not surely_ends(loop) for loop in loops)


# By how much a comparison's counter has to change for it to come out False in the end, and the comparison turned round.
_DIRECTIONS = {"lt": 1, "le": 1, "gt": -1, "ge": -1}
_TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "ne": "ne"}


def surely_ends(loop: While) -> bool:
    """True if a loop ends for all data; its body may hold loops that do not."""
    return any(_counts(loop, op) for op in _tests(loop.predicate, loop.predicate.outputs[0]))


def _tests(predicate: Region, result: Value) -> Iterator[Op]:
    """The comparisons of which each has to hold for the loop to go on."""
    op = predicate.made.get(result)
    if op is None:
        return
    if op.name == "and" or (op.name == "convert_element_type" and op.operands[0].dtype == bool):
        for operand in op.used:
            yield from _tests(predicate, operand)
    elif op.name in _TURNED:
        yield op


def _counts(loop: While, test: Op) -> bool:
    """True if a comparison is of a counter with a bound that it reaches."""
    one, other = (ops.unconverted(value, loop.predicate.made) for value in test.operands)
    name = test.name
    return _reaches(loop, name, one, other) or _reaches(loop, _TURNED[name], other, one)


def _reaches(loop: While, name: str, counter: Value, bound: Value) -> bool:
    """True if a counter, compared so, reaches a bound: going by 1 it meets each number, else none may be left out."""
    carries = loop.predicate.inputs
    if isinstance(counter, Constant) or counter not in carries or counter.shape or counter.dtype.kind not in "iu":
        return False
    k = carries.index(counter)
    step = induction.increment(loop.body, loop.body.inputs[k], loop.body.outputs[k])
    if not step or _DIRECTIONS.get(name, step) * step < 0:
        return False
    if isinstance(bound, Constant):
        return (abs(step) == 1 and name == "ne") or _is_met(name, bound.array, step)
    return abs(step) == 1 and name in ("lt", "gt", "ne") and induction.keeps(loop, bound)


def _is_met(name: str, bound: np.ndarray, step: int) -> bool:
    """True if a counter that goes by constant steps up or down stops at a constant before it would wrap."""
    if name == "ne" or bound.dtype.kind not in "iu":
        return False
    limits = np.iinfo(bound.dtype)
    strict = name in ("lt", "gt")
    end = int(bound) + step - (int(np.sign(step)) if strict else 0)
    return limits.min <= end <= limits.max
